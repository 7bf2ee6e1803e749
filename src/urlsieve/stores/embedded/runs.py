"""Sorted fingerprint runs: records in, an immutable file out, and readers of such files. Where they lie, and nothing of what they mean.

A run is written aside, synced, renamed, and its folder synced, before anything names it: a crash leaves at most a stray, which
`strays` finds. Runs are never changed; who still reads a removed one keeps it mapped.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from urlsieve._kernel._core import Run, RunWriter, merge_records
from urlsieve.errors import StoreCorrupt, StoreUnavailable
from urlsieve.stores.embedded import disk
from urlsieve.stores.embedded.files import FileLock

FIRST = bytes(16)
#: How the names of files end: of the seen set's runs, and of imported levels, which are runs too and lie in the same folder.
RUN, LEVEL = ".run", ".level"
#: Records per step of a merge: 1.5 MiB of memory, and the interval at which it can be stopped.
STEP = 1 << 16


class Made(NamedTuple):
    name: str
    keys: int
    size: int  # bytes


class Shelf(Protocol):
    """Where runs lie."""

    def open(self, name: str) -> Run:
        """FileNotFoundError or NotADirectoryError if it is not there, StoreCorrupt if it cannot be one of ours."""

    def write(self, blocks: Iterable[bytes]) -> Made:
        """Durable when it returns; nothing is left when it fails. `blocks`: sorted records without equals."""

    def remove(self, names: Iterable[str]) -> None: ...

    def strays(self, named: Collection[str]) -> list[str]:
        """What lies there but is not among these."""

    def alone(self, what: str = "merge") -> FileLock | ThreadLock | None:
        """The right to merge and to clean up, to pack, or to merge imported levels, of one opener at a time; None: somebody else has it."""


def merged(sources: Sequence[Run | bytes], *, tombstones: bool, start: bytes = FIRST) -> Iterator[bytes]:
    """All records in order, step by step; of equals the newest. `sources`: newest first."""
    at: bytes | None = start
    while at is not None:
        records, at = merge_records(list(sources), at, STEP, tombstones=tombstones)
        if records:
            yield records


def fresh_name(suffix: str = RUN) -> str:
    """That no other run has, of any store."""
    return f"{secrets.token_hex(8)}{suffix}"


def _bytes_of(writer: RunWriter, blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        yield writer.add(block)
    yield writer.finish()


class Folder:
    """Runs as files."""

    def __init__(self, place: Path, owner: int, suffix: str = RUN) -> None:
        self._place, self._owner, self._suffix = place, owner, suffix

    def open(self, name: str) -> Run:
        try:
            return Run(disk.mapped(self._place / name), owner=self._owner)
        except ValueError as error:
            raise damaged(self._place / name, error) from error
        except (FileNotFoundError, NotADirectoryError):
            raise
        except OSError as error:
            raise StoreUnavailable(f"cannot read the run {self._place / name}: {error.strerror}") from error

    def write(self, blocks: Iterable[bytes]) -> Made:
        disk.make_folder(self._place)
        name = fresh_name(self._suffix)
        new = self._place / f"new-{name}"
        writer = RunWriter(owner=self._owner)
        try:
            size = disk.write_new(new, _bytes_of(writer, blocks))
            disk.move(new, self._place / name)
            disk.sync(self._place)
            disk.sync(self._place.parent)  # who made the folder may have been killed before that
        except BaseException:
            self.remove([new.name, name])
            raise
        return Made(name, writer.count, size)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            disk.remove(self._place / name)

    def strays(self, named: Collection[str]) -> list[str]:
        if not self._place.is_dir():
            return []
        return sorted(entry.name for entry in self._place.iterdir() if entry.name.endswith(self._suffix) and entry.name not in named)

    def alone(self, what: str = "merge") -> FileLock | None:
        disk.make_folder(self._place)
        return FileLock.taken(self._place / f"{what}.lock")


class ThreadLock:
    """What FileLock is for files."""

    def __init__(self, taken: threading.Lock) -> None:
        self._taken = taken

    def close(self) -> None:
        self._taken.release()


class Memory:
    """Runs of a store without files."""

    def __init__(self, owner: int) -> None:
        self._owner = owner
        self._runs: dict[str, Run] = {}
        self._locks = {what: threading.Lock() for what in ("merge", "pack", "level")}

    def open(self, name: str) -> Run:
        return self._runs[name]

    def write(self, blocks: Iterable[bytes]) -> Made:
        writer = RunWriter(owner=self._owner)
        whole = b"".join([writer.add(block) for block in blocks] + [writer.finish()])
        name = secrets.token_hex(8)
        self._runs[name] = Run(whole, owner=self._owner)
        return Made(name, writer.count, len(whole))

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._runs.pop(name, None)

    def strays(self, named: Collection[str]) -> list[str]:
        return [name for name in self._runs if name not in named]

    def alone(self, what: str = "merge") -> ThreadLock | None:
        return ThreadLock(self._locks[what]) if self._locks[what].acquire(blocking=False) else None


def damaged(where: Path | str, error: ValueError) -> StoreCorrupt:
    return StoreCorrupt(f"the run {where} is damaged ({error}): nothing was answered from it; run verify, restore a backup")
