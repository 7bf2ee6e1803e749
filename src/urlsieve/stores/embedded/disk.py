"""The file operations of the embedded store in one place: paths in, and what was done is on the disk, or OSError.

No other module of the store opens, writes, renames, removes or syncs a file (tests/unit/test_house.py looks); SQLite does so with its own.
What is durable, and when: `sync` makes a file's bytes or a folder's names durable. A name is not durable before its folder is synced,
and a file's bytes may come to the disk later than its name. What else is assumed of a file system is said in docs/stores.md, and
tests/power takes the power away at every one of these operations.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
from collections.abc import Iterable
from pathlib import Path


def sync(path: Path) -> None:
    """The file's bytes, or the folder's names, are durable when this returns."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def move(path: Path, place: Path) -> None:
    """Under another name at once, also over what has it. Durable when the folder is synced."""
    os.replace(path, place)


def remove(path: Path) -> None:
    """What is not there is removed. Durable when the folder is synced."""
    path.unlink(missing_ok=True)


def remove_tree(path: Path, *, anyway: bool = False) -> None:
    """With all that it has. `anyway`: as much as can be, without an error."""
    shutil.rmtree(path, ignore_errors=anyway)


def make_folder(path: Path) -> None:
    """With those above it that are missing; what is there is left as it is. Its name and theirs are durable when this returns."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        sync(folder.parent)


def make_new_folder(path: Path) -> None:
    """FileExistsError if there is something of that name. Its name is durable when this returns."""
    path.mkdir()
    sync(path.parent)


def write_new(path: Path, blocks: Iterable[bytes]) -> int:
    """A new file of these bytes, durable but for its name; how many. What is written of it stays when it fails."""
    with path.open("xb") as file:
        for block in blocks:
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def copy(path: Path, place: Path) -> None:
    """The bytes of one file in another, durable but for its name."""
    shutil.copyfile(path, place)
    sync(place)


def link(path: Path, place: Path) -> None:
    """The same bytes under another name too, which stay when the first one goes; copied where a file system has no links. Durable when the
    folder of the new name is synced."""
    try:
        os.link(path, place)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        copy(path, place)


def mapped(path: Path) -> mmap.mmap:
    """All its bytes, to be read as they are needed. ValueError if it has none."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def head(path: Path, size: int) -> bytes:
    """Its first bytes, fewer where it is shorter."""
    with path.open("rb") as file:
        return file.read(size)


def open_lock(path: Path) -> int:
    """A descriptor for `flock`, of a file that is made if it is missing. It holds nothing, and its durability does not matter."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
