"""Digests of other programs in, which of them are there out: the imported levels of a store.

A level is a list of sorted runs (runs.py) of 16-byte digests, beside those of the seen set and named in the ledger like them. Each batch
that is added becomes one; when there are many of a size they become one of the next. What is taken out has a tombstone in a newer run.
Most stores have no level: then one counter says so and nothing else is asked.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import repeat
from typing import NamedTuple, TypeVar

from urlsieve._kernel._core import ABSENT, TOMBSTONE, FingerprintMap, Run, merge_records
from urlsieve.errors import ConfigError, StoreCorrupt, StoreFull, StoreUnavailable, UrlsieveError
from urlsieve.model import Level
from urlsieve.stores.embedded.asking import Asking
from urlsieve.stores.embedded.files import FULL
from urlsieve.stores.embedded.ledger import Ledger, Transaction, scalar
from urlsieve.stores.embedded.merging import choose
from urlsieve.stores.embedded.runs import FIRST, STEP, Shelf, damaged, merged
from urlsieve.stores.embedded.seen import Named

T = TypeVar("T")

#: Digests of one step at most: a file of this size is written while others wait.
MOST_AT_ONCE = 1 << 18
_THERE = 0
_TRIES = 5
_record = struct.Struct("<16sq").pack
#: A ledger that was made before there were levels gets its tables with the first one.
_TABLES = (
    "CREATE TABLE IF NOT EXISTS level "
    "(name TEXT PRIMARY KEY, kind TEXT NOT NULL, about TEXT NOT NULL, keys INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS level_run "
    "(seq INTEGER PRIMARY KEY, level TEXT NOT NULL, name TEXT NOT NULL, keys INTEGER NOT NULL, size INTEGER NOT NULL)",
)


class Filed(NamedTuple):
    """A run of a level, as the ledger names it."""

    level: str
    run: Named


def has_any(db: sqlite3.Connection) -> bool:
    return bool(scalar(db, "SELECT n FROM counter WHERE name = 'levels'"))


def manifest(db: sqlite3.Connection) -> list[Filed]:
    """Newest first."""
    if not has_any(db):
        return []
    rows = db.execute("SELECT level, seq, name, keys, size FROM level_run ORDER BY seq DESC")
    return [Filed(level, Named._make(named)) for level, *named in rows]


def levels(db: sqlite3.Connection) -> list[Level]:
    if not has_any(db):
        return []
    room = dict(db.execute("SELECT level, sum(size) FROM level_run GROUP BY level"))
    rows = db.execute("SELECT name, kind, about, keys FROM level ORDER BY name")
    return [Level(name, kind, about, keys, room.get(name, 0)) for name, kind, about, keys in rows]


class Imported:
    """Of one opener."""

    def __init__(self, ledger: Ledger, shelf: Shelf) -> None:
        self._ledger, self._shelf = ledger, shelf
        self._open: dict[str, Run] = {}
        self.asking: dict[str, Asking] = {}  # of each level that was asked
        self.trouble: str | None = None

    # -- in and out

    def add(self, level: Level, digests: bytes) -> int:
        total = 0
        for start in range(0, max(len(digests), 1), 16 * MOST_AT_ONCE):
            total += self._add(level, digests[start : start + 16 * MOST_AT_ONCE])
        return total

    def _add(self, level: Level, digests: bytes) -> int:
        with self._writing() as tx:
            self._make(tx, level)
            fresh = FingerprintMap()
            held = self._values(tx.db, level.name, digests)
            keys = [digests[16 * i : 16 * i + 16] for i, value in enumerate(held) if value in (ABSENT, TOMBSTONE)]
            fresh.set_many(b"".join(map(_record, keys, repeat(_THERE))))
            self._write(tx, level.name, fresh, len(fresh))
        self.merge(level.name)
        return len(fresh)

    def forget(self, name: str, digests: bytes) -> int:
        with self._writing() as tx:
            gone = FingerprintMap()
            held = self._values(tx.db, name, digests)
            keys = [digests[16 * i : 16 * i + 16] for i, value in enumerate(held) if value == _THERE]
            gone.set_many(b"".join(map(_record, keys, repeat(TOMBSTONE))))
            self._write(tx, name, gone, -len(gone))
        return len(gone)

    def drop(self, name: str) -> bool:
        """Its files go after the ledger has let go of them; what a kill leaves of them the next opening removes."""
        with self._ledger.write(synced=True) as tx:  # before the files go: a power cut must not bring their names back
            files = [filed.run.name for filed in manifest(tx.db) if filed.level == name]
            if not has_any(tx.db) or not tx.execute("DELETE FROM level WHERE name = ?", (name,)).rowcount:
                return False
            tx.execute("DELETE FROM level_run WHERE level = ?", (name,))
            tx.count("levels", -1)
            tx.count("rules_generation")
        self._remove(files)
        return True

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """Nobody merges meanwhile, so a file that is not there is missing; an OSError is of a file that could not be written."""
        try:
            with self._ledger.write() as tx:
                yield tx
        except (FileNotFoundError, NotADirectoryError) as error:
            raise _missing(error) from error
        except OSError as error:
            if error.errno in FULL:
                raise StoreFull(f"no room for an imported level of {self._ledger.where}: make room and import again, it goes on") from error
            raise StoreUnavailable(f"cannot write an imported level of {self._ledger.where}: {error.strerror}") from error

    def _make(self, tx: Transaction, level: Level) -> None:
        for statement in _TABLES:
            tx.execute(statement)
        had = tx.execute("SELECT kind, about FROM level WHERE name = ?", (level.name,)).fetchone()
        if had is None:
            tx.execute("INSERT INTO level (name, kind, about, keys) VALUES (?, ?, ?, 0)", (level.name, level.kind, level.about))
            tx.count("levels")
            tx.count("rules_generation")
        elif had != (level.kind, level.about):
            raise ConfigError(f"the imported level {level.name!r} is there, of kind {had[0]}, about something else: name another")

    def _write(self, tx: Transaction, name: str, records: FingerprintMap, more: int) -> None:
        """Nothing is written for nothing. A file whose step fails stays behind, for the next opening to remove."""
        if len(records):
            made = self._shelf.write([records.sorted_records()])
            tx.execute("INSERT INTO level_run (seq, level, name, keys, size) VALUES (?, ?, ?, ?, ?)", (tx.take("level_run"), name, *made))
            tx.execute("UPDATE level SET keys = keys + ? WHERE name = ?", (more, name))

    # -- asked

    def ask(self, name: str, digests: bytes) -> bytes:
        return self._reading(lambda db: self._flags(db, name, digests))

    def _flags(self, db: sqlite3.Connection, name: str, digests: bytes) -> bytes:
        asking = self.asking.setdefault(name, Asking())
        begun = asking.begin()
        flags = bytes(value == _THERE for value in self._values(db, name, digests))
        asking.end(begun, len(flags), sum(flags))
        return flags

    def digests(self, name: str, start: bytes = FIRST) -> Iterator[bytes]:
        at: bytes | None = start
        while at is not None:
            records, at = self._reading(lambda db, start=at: self._slice(db, name, start))  # type: ignore[misc]
            if records:
                yield b"".join(records[i : i + 16] for i in range(0, len(records), 24))

    def _slice(self, db: sqlite3.Connection, name: str, start: bytes) -> tuple[bytes, bytes | None]:
        runs = self._runs(db, name)
        try:
            return merge_records([run for _, run in runs], start, STEP, tombstones=False)
        except ValueError as error:
            raise damaged(f"of the imported level {name}", error) from error

    def _reading(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """A file that the ledger named a moment ago may have been merged into another meanwhile."""
        attempt = 1
        while True:
            try:
                with self._ledger.look() as tx:
                    return ask(tx.db)
            except (FileNotFoundError, NotADirectoryError) as error:
                if attempt == _TRIES:
                    raise _missing(error) from error
                attempt += 1

    def _values(self, db: sqlite3.Connection, name: str, digests: bytes) -> Sequence[int]:
        """Of each: there, a tombstone, or absent."""
        values = FingerprintMap().get_many(digests)
        for named, run in self._runs(db, name):
            try:
                run.get_many(digests, values)
            except ValueError as error:
                raise damaged(f"{named.name} of the imported level {name}", error) from error
        return memoryview(values).cast("q")

    def _runs(self, db: sqlite3.Connection, name: str) -> list[tuple[Named, Run]]:
        every = manifest(db)
        if len(self._open) > len(every):  # of others, merged away meanwhile
            self._open = {filed.run.name: self._open[filed.run.name] for filed in every if filed.run.name in self._open}
        wanted = [filed for filed in every if filed.level == name]
        runs = [(filed.run, self._open.get(filed.run.name) or self._shelf.open(filed.run.name)) for filed in wanted]
        self._open.update((named.name, run) for named, run in runs)
        return runs

    def count(self, db: sqlite3.Connection, name: str) -> int:
        """Digests of a level; 0 where there is none."""
        return next((level.digests for level in levels(db) if level.name == name), 0)

    # -- looked after

    def merge(self, name: str) -> None:
        """Many files become one. It may fail and is tried again with the next batch; nothing is raised."""
        try:
            while self._merge(name):
                pass
        except (UrlsieveError, OSError, MemoryError, ValueError) as error:
            self.trouble = f"the files of the imported level {name} could not be merged: {error}"

    def _merge(self, name: str) -> bool:
        lock = self._shelf.alone("level")
        if lock is None:
            return False
        try:
            with self._ledger.read() as db:
                named = [filed.run for filed in manifest(db) if filed.level == name]
            chosen = choose(named)
            if chosen is None:
                return False
            made = self._shelf.write(merged([self._shelf.open(one.name) for one in chosen], tombstones=len(chosen) < len(named)))
            with self._ledger.write(synced=True) as tx:
                marks = [(one.seq, one.name) for one in chosen]
                gone = sum(tx.execute("DELETE FROM level_run WHERE seq = ? AND name = ?", mark).rowcount for mark in marks)
                if gone != len(chosen):
                    raise UrlsieveError("the level was dropped meanwhile")
                tx.execute("INSERT INTO level_run (seq, level, name, keys, size) VALUES (?, ?, ?, ?, ?)", (chosen[0].seq, name, *made))
            self._remove([one.name for one in chosen])
            return True
        finally:
            lock.close()

    def clean(self) -> None:
        """Removes what a crash left behind; see `Merging.clean`."""
        with self._ledger.read() as db:
            names = {filed.run.name for filed in manifest(db)}
        try:
            if self._shelf.strays(names):
                self._clean()
        except (UrlsieveError, OSError) as error:
            self.trouble = f"what a crash left behind of imported levels could not be removed: {error}"

    def _clean(self) -> None:
        lock = self._shelf.alone("level")
        if lock is None:
            return
        try:
            with self._ledger.certain() as tx:
                strays = self._shelf.strays({filed.run.name for filed in manifest(tx.db)})
            self._shelf.remove(strays)
        finally:
            lock.close()

    def _remove(self, names: Sequence[str]) -> None:
        self._open = {name: run for name, run in self._open.items() if name not in names}
        with suppress(OSError):  # the next opening does it
            self._shelf.remove(names)

    def close(self) -> None:
        self._open = {}

    # -- verified

    def problems(self, db: sqlite3.Connection, *, deep: bool) -> Iterator[str]:
        """Every file is there and whole, and the counts of the levels are true."""
        true: dict[str, int] = {}
        for level in levels(db):
            try:
                runs = self._runs(db, level.name)
            except (FileNotFoundError, NotADirectoryError) as error:
                yield str(_missing(error))
                continue
            except StoreCorrupt as error:
                yield str(error)
                continue
            for named, run in runs:
                bad = run.check() if deep else []
                if bad:
                    yield f"file {named.name} of the imported level {level.name}: {len(bad)} of {run.blocks} blocks are damaged"
                if run.count != named.keys:
                    yield f"file {named.name} of the imported level {level.name} has {run.count} digests, the ledger says {named.keys}"
                true[level.name] = -1 if bad or true.get(level.name) == -1 else 0
            if deep and true.get(level.name, 0) == 0:
                there = sum(len(part) // 24 for part in merged([run for _, run in runs], tombstones=False))
                if there != level.digests:
                    yield f"the imported level {level.name} has {there} digests, the ledger says {level.digests}"


def _missing(error: OSError) -> StoreCorrupt:
    advice = "drop the level and import it again, or restore a backup"
    return StoreCorrupt(f"the file {error.filename} of an imported level is missing: {advice}")
