"""What a program did to its files in, what a disk may have of it after a power cut out.

The model, which is what the store assumes of a file system (docs/stores.md says it for users):

- A file's bytes are durable when `fsync` of it has returned. Of what was written since, any part may be there: nothing, all, the first
  writes, any of the writes, any of their sectors (512 bytes, or pages of 4,096), a write torn at any byte. Where a part is missing the
  old bytes are, or zeros where the file was shorter; the size may have changed before the bytes came.
- Names (made, renamed, removed) are one list of changes. Model "ordered" (ext4 and its like): after the cut the first so many of the
  changes are there. Those before an fsync of a folder are, and those before an fsync of a file that is new, or has a new size, since its
  last one. Model "loose" (POSIX): a change is durable when its own folder was synced; of the others any may be there and any not.
- A rename is there or not, never half. Bytes that are durable stay, and are read as they were written.
- An fsync that fails promises nothing; what it should have made durable may be gone although a later one says that all is well.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

MODELS = ("ordered", "loose")
SECTORS = (512, 4096)
_HEAD = struct.Struct("<cBHiqII")


class Record(NamedTuple):
    """See recorder.c."""

    kind: str
    error: int
    fd: int
    offset: int
    first: bytes
    second: bytes


def records(log: Path) -> list[Record]:
    data = log.read_bytes()
    found, at = [], 0
    while at < len(data):
        kind, error, _, fd, offset, first, second = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        found.append(Record(kind.decode(), error, fd, offset, data[at : at + first], data[at + first : at + first + second]))
        at += first + second
    return found


class Write(NamedTuple):
    offset: int
    data: bytes


class Size(NamedTuple):
    size: int


@dataclass(eq=False)
class File:
    durable: bytearray = field(default_factory=bytearray)
    live: bytearray = field(default_factory=bytearray)
    pending: list[Write | Size] = field(default_factory=list)
    changed: bool = False  # it is new, or has a new size, since its last fsync

    def do(self, change: Write | Size) -> None:
        before = len(self.live)
        apply(self.live, change)
        self.changed |= len(self.live) != before
        self.pending.append(change)

    def sync(self) -> None:
        for change in self.pending:
            apply(self.durable, change)
        self.pending = []
        self.changed = False

    def fail_to_sync(self) -> None:
        """The worst that a kernel may do: the bytes are taken for written, and are not."""
        self.pending = []


def apply(content: bytearray, change: Write | Size) -> None:
    if isinstance(change, Size):
        del content[change.size :]
        content.extend(bytes(change.size - len(content)))
    else:
        end = change.offset + len(change.data)
        content.extend(bytes(max(0, change.offset - len(content))))
        content[change.offset : end] = change.data


@dataclass(eq=False)
class Folder:
    """`names`: as the program sees it. `kept`: as they are durable."""

    names: dict[str, File | Folder] = field(default_factory=dict)
    kept: dict[str, File | Folder] = field(default_factory=dict)


class Named(NamedTuple):
    """One change of names, done in one piece: these are set (None: removed)."""

    sets: tuple[tuple[Folder, str, File | Folder | None], ...]


class Disk:
    """A folder as a program changes it. `apply` takes the records of its log one after the other."""

    def __init__(self, root: Path, base: Path, model: str) -> None:
        """`root` had what `base` has when the log began, and that is durable."""
        self.root, self.model = str(root), model
        self.top = _read(base)
        self.changes: list[Named] = []  # of names, not durable yet
        self._fds: dict[int, File | Folder] = {}

    # -- what the program does

    def apply(self, record: Record) -> None:
        kind, path = record.kind, record.first.decode() if record.kind in "ORUMX" else ""
        if kind == "O":
            self._open(record.fd, record.offset, path)
        elif kind == "C":
            self._fds.pop(record.fd, None)
        elif kind == "D":
            self._fds[record.offset] = self._fds[record.fd]
        elif kind == "W":
            self._file(record.fd).do(Write(record.offset, record.first))
        elif kind == "T":
            self._file(record.fd).do(Size(record.offset))
        elif kind == "S":
            self._sync(self._fds[record.fd], failed=bool(record.error))
        elif kind == "M":
            self._set((*self._at(path), Folder()))
        elif kind in "UX":
            self._set((*self._at(path), None))
        elif kind == "R":
            folder, name = self._at(path)
            self._set((folder, name, None), (*self._at(record.second.decode()), folder.names[name]))

    def _file(self, fd: int) -> File:
        found = self._fds[fd]
        assert isinstance(found, File)
        return found

    def _at(self, path: str) -> tuple[Folder, str]:
        *above, name = os.path.relpath(path, self.root).split("/")
        folder = self.top
        for part in above:
            below = folder.names[part]
            assert isinstance(below, Folder)
            folder = below
        return folder, name

    def _open(self, fd: int, flags: int, path: str) -> None:
        if os.path.relpath(path, self.root) == ".":
            self._fds[fd] = self.top
            return
        folder, name = self._at(path)
        if name not in folder.names:
            self._set((folder, name, File(changed=True)))
        found = self._fds[fd] = folder.names[name]
        if flags & os.O_TRUNC and isinstance(found, File) and found.live:
            found.do(Size(0))

    def _set(self, *sets: tuple[Folder, str, File | Folder | None]) -> None:
        change = Named(sets)
        _name(change, "names")
        self.changes.append(change)

    def _sync(self, what: File | Folder, *, failed: bool) -> None:
        if failed:
            if isinstance(what, File):
                what.fail_to_sync()
        elif isinstance(what, Folder):
            self._keep(what)
        else:
            if what.changed:
                self._commit()
            what.sync()

    def _keep(self, folder: Folder) -> None:
        if self.model == "ordered":
            self._commit()
            return
        rest = []
        for change in self.changes:
            if any(where is folder for where, _, _ in change.sets):
                _name(change, "kept")
            else:
                rest.append(change)
        self.changes = rest

    def _commit(self) -> None:
        if self.model == "ordered":
            for change in self.changes:
                _name(change, "kept")
            self.changes = []

    # -- what may be left of it

    def now(self) -> dict[str, bytes | None]:
        """path → bytes of a file, None of a folder: as the program sees it."""
        return dict(_walk(self.top, lambda folder: folder.names, lambda file: bytes(file.live)))

    def image(self, chance: random.Random) -> dict[str, bytes | None]:
        """As one power cut may leave it."""
        done: dict[int, dict[str, File | Folder]] = {}
        for where, name, what in self._surviving(chance):
            names = done.setdefault(id(where), dict(where.kept))
            if what is None:
                names.pop(name, None)
            else:
                names[name] = what
        same = chance.choice(_MODES) if chance.random() < 0.5 else None

        def left(file: File) -> bytes:
            return (same or chance.choice(_MODES))(file, chance)

        return dict(_walk(self.top, lambda folder: done.get(id(folder), folder.kept), left))

    def _surviving(self, chance: random.Random) -> Iterator[tuple[Folder, str, File | Folder | None]]:
        if self.model == "ordered":
            there = self.changes[: chance.randint(0, len(self.changes))]
        else:
            often = chance.choice((0.0, 0.1, 0.5, 0.9, 1.0))
            there = [change for change in self.changes if chance.random() < often]
        for change in there:
            yield from change.sets


def _name(change: Named, which: str) -> None:
    for folder, name, what in change.sets:
        names = getattr(folder, which)
        if what is None:
            names.pop(name, None)
        else:
            names[name] = what


def _read(place: Path) -> Folder:
    found = Folder()
    for path in place.iterdir():
        content = path.read_bytes() if path.is_file() else b""
        found.names[path.name] = File(bytearray(content), bytearray(content)) if path.is_file() else _read(path)
    found.kept = dict(found.names)
    return found


def _walk(folder, names, content, above=""):
    for name, what in names(folder).items():
        if isinstance(what, Folder):
            yield above + name, None
            yield from _walk(what, names, content, f"{above}{name}/")
        else:
            yield above + name, content(what)


# -- what may be left of a file


def _none(file: File, chance: random.Random) -> bytes:
    return bytes(file.durable)


def _all(file: File, chance: random.Random) -> bytes:
    content = bytearray(file.durable)
    for change in file.pending:
        apply(content, change)
    return bytes(content)


def _of(file: File, changes: list[Write | Size], chance: random.Random) -> bytes:
    content = bytearray(file.durable)
    for change in changes:
        apply(content, change)
    if len(content) < len(file.live) and chance.random() < 0.3:  # the size came before the bytes
        content.extend(bytes(len(file.live) - len(content)))
    return bytes(content)


def _prefix(file: File, chance: random.Random) -> bytes:
    return _of(file, file.pending[: chance.randint(0, len(file.pending))], chance)


def _torn(file: File, chance: random.Random) -> bytes:
    """The first writes, the last of them to any byte."""
    there = file.pending[: chance.randint(0, len(file.pending))]
    if there and isinstance(there[-1], Write):
        there[-1] = Write(there[-1].offset, there[-1].data[: chance.randint(0, len(there[-1].data))])
    return _of(file, there, chance)


def _some(file: File, chance: random.Random) -> bytes:
    often = chance.choice((0.1, 0.5, 0.9))
    return _of(file, [change for change in file.pending if chance.random() < often], chance)


def _sectors(file: File, chance: random.Random) -> bytes:
    """Any sectors of any of the writes. One may be written twice: then in the order of the writes."""
    often, size = chance.choice((0.1, 0.5, 0.9)), chance.choice(SECTORS)
    there: list[Write | Size] = []
    for change in file.pending:
        if isinstance(change, Size):
            there += [change] if chance.random() < often else []
            continue
        at = 0
        while at < len(change.data):
            to = min(len(change.data), (change.offset + at) // size * size + size - change.offset)
            if chance.random() < often:
                there.append(Write(change.offset + at, change.data[at:to]))
            at = to
    return _of(file, there, chance)


_MODES = (_none, _all, _prefix, _torn, _some, _sectors)


def put(image: dict[str, bytes | None], place: Path) -> None:
    """Files as they are in the image, in a new folder."""
    place.mkdir()
    for path, content in sorted(image.items()):
        if content is None:
            (place / path).mkdir()
        else:
            (place / path).write_bytes(content)
