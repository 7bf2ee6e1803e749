"""One SQLite connection: transactions with counters, a fair lock around writes, and SQLite's errors in our words."""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from urlsieve._kernel._core import FingerprintMap, siphash24
from urlsieve.errors import StoreCorrupt, StoreFull, StoreUnavailable, UrlsieveError
from urlsieve.stores.embedded.files import FairLock, NoLock, Replaced

if TYPE_CHECKING:
    from urlsieve.stores.embedded.seen import Seen

#: A batch changes a few bytes each on thousands of pages, and the log writes pages whole: half of SQLite's default measured best.
PAGE_SIZE = 2048
#: Parameters per statement: one text for full chunks, so that SQLite's compiled statement is used again.
CHUNK = 500
#: A shorter wait for one's turn is not worth a correction of the caller's clock, in seconds.
NOTABLE_WAIT = 0.02
#: Different reasons counted by name, of each kind.
MOST_REASONS = 200
#: Bytes of a record of the journal, and of a row of records at most.
RECORD = 24
LONGEST_ROW = RECORD << 18
#: Ids in a row of those that became done, at most.
MOST_FINISHED = 1024
_FULL, _NORMAL = 2, 1
#: What comes of a value of a type or a range that the schema rules out.
_STRANGE = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, struct.error)


def _is_full(error: sqlite3.Error) -> bool:
    return bool(getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL)


def _log_pages(path: str) -> int:
    """Pages the write-ahead log may have before it is written back. That writes each page once more and syncs twice, so a long log is
    fast; but it is never more than a small part of the free disk."""
    if path == ":memory:":
        return MOST_LOG_PAGES
    space = os.statvfs(os.path.dirname(path) or ".")
    return max(LEAST_LOG_PAGES, min(MOST_LOG_PAGES, space.f_bavail * space.f_frsize // (32 * PAGE_SIZE)))


LEAST_LOG_PAGES, MOST_LOG_PAGES = 128, 32_000


def checksum(records: bytes) -> bytes:
    """Of a row of the journal: SQLite does not notice when the inside of a value is damaged."""
    return siphash24(bytes(16), records).to_bytes(8, "little")


def translate(error: sqlite3.Error, where: str) -> UrlsieveError:
    """A driver error in our words; drivers' errors never leave the store."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(f"no room left for the store {where}: nothing of this step was kept; make room and try again")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(f"the store {where} is damaged ({error}): nothing was written; run verify, restore a backup")
    if code == sqlite3.SQLITE_READONLY:
        return StoreUnavailable(f"the store {where} cannot be written (read-only): check the mount and the permissions")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreUnavailable(f"the store {where} is locked by another program: try again")
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return StoreUnavailable(f"the store {where} is closed")
    return StoreUnavailable(f"the store {where} failed: {error}")


def chunks(values: Sequence[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """(placeholders, values) of at most CHUNK; the last value is repeated up to a few sizes, so that few statements are compiled."""
    for start in range(0, len(values), CHUNK):
        part = list(values[start : start + CHUNK])
        size = next(size for size in (1, 4, 16, 48, 128, 256, CHUNK) if size >= len(part))
        part += [part[-1]] * (size - len(part))
        yield ",".join("?" * size), part


class Transaction:
    """An open transaction. Counts and marks collect here and are written once, at the end of one that writes."""

    def __init__(self, db: sqlite3.Connection, view: Seen, *, writing: bool = False, waited: float = 0.0) -> None:
        self.db = db
        self._view, self._writing, self._caught_up = view, writing, False
        self.marks: list[bytes] = []  # blocks of records for the journal: what became seen, or is no longer
        self._own, self._mapped = FingerprintMap(), 0
        self.journaled = 0  # records in the journal when it ended, if it has added some
        self.finished: list[int] = []  # rows of text that became done
        self.freed = False  # whether slots of blocks are no longer in use
        self.waited = waited  # seconds between the call and its turn to write: the caller's `now` is older by so much
        self.where = view.where
        self.execute = db.execute
        self.executemany = db.executemany
        self.after_commit: list[Callable[[], None]] = []
        self._deltas: dict[str, int] = {}
        self._tallies: dict[tuple[str, str], int] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._read: dict[str, int] | None = None

    @property
    def seen(self) -> Seen:
        """The seen set as this transaction found it. One that only reads asks for it before anything else."""
        if not self._caught_up:
            self._view.catch_up(self.db, writing=self._writing)
            self._caught_up = True
        return self._view

    def own_marks(self) -> FingerprintMap:
        """What this transaction itself has marked so far."""
        for records in self.marks[self._mapped :]:
            self._own.set_many(records)
        self._mapped = len(self.marks)
        return self._own

    def rows(self, head: str, values: Sequence[Any], tail: str = "") -> list[Any]:
        """All rows of `head (?, ?, …) tail` over chunks of `values`; none for no values."""
        found: list[Any] = []
        for marks, part in chunks(values):
            found += self.execute(f"{head} ({marks}) {tail}", part).fetchall()
        return found

    def change(self, head: str, ids: Sequence[int], *first: Any) -> None:
        """`head … IN (ids)` in few statements; `first`: the parameters before."""
        for marks, part in chunks(ids):
            self.execute(f"{head} ({marks})", [*first, *part])

    def value(self, name: str) -> int:
        """A counter as it stands inside this transaction."""
        if self._read is None:
            self._read = dict(self.execute("SELECT name, n FROM counter"))
        return self._read.get(name, 0) + self._deltas.get(name, 0)

    def count(self, name: str, by: int = 1) -> None:
        if by:
            self._deltas[name] = self._deltas.get(name, 0) + by

    def take(self, name: str, many: int = 1) -> int:
        """The first of `many` numbers that nobody else gets."""
        first = self.value(name)
        self.count(name, many)
        return first + 1

    def tally(self, kind: str, reason: str, by: int = 1) -> None:
        """A count by reason. Reasons are the callers' words: beyond MOST_REASONS of a kind the rest is "other"."""
        self._tallies[kind, reason[:80]] = self._tallies.get((kind, reason[:80]), 0) + by

    def tallied(self, kind: str, reason: str) -> str:
        """The name of its count: the first MOST_REASONS of a kind have their own. It is there from then on."""
        key = kind, reason[:80]
        name = self._names.get(key)
        if name is None:
            name = f"{kind}.{key[1]}"
            if not self.execute("SELECT 1 FROM tally WHERE name = ?", (name,)).fetchone():
                many = self.execute("SELECT count(*) FROM tally WHERE name > ? AND name < ?", (f"{kind}.", f"{kind}/")).fetchone()[0]
                name = name if many < MOST_REASONS else f"{kind}.other"
                self.execute("INSERT OR IGNORE INTO tally (name, n) VALUES (?, 0)", (name,))
            self._names[key] = name
        return name

    def _flush_tallies(self) -> None:
        for (kind, reason), by in self._tallies.items():
            self.execute("UPDATE tally SET n = n + ? WHERE name = ?", (by, self.tallied(kind, reason)))

    def _flush_marks(self) -> None:
        """In rows of some megabytes: SQLite refuses a value of a gigabyte, and a reader has memory for a row."""
        records = memoryview(b"".join(self.marks))
        for start in range(0, len(records), LONGEST_ROW):
            part = records[start : start + LONGEST_ROW]
            row = (self.take("journal"), checksum(bytes(part)), part)
            self.execute("INSERT INTO marks (id, checksum, records) VALUES (?, ?, ?)", row)
        self.count("journaled", len(records) // RECORD)
        self.journaled = self.value("journaled")

    def _flush_finished(self) -> None:
        for start in range(0, len(self.finished), MOST_FINISHED):
            ids = self.finished[start : start + MOST_FINISHED]
            self.execute("INSERT INTO finished (ids) VALUES (?)", (struct.pack(f"<{len(ids)}q", *ids),))
        self.count("unpacked", len(self.finished))

    def flush(self) -> None:
        self._flush_tallies()
        if self.finished:
            self._flush_finished()
        if self.marks:
            self._flush_marks()
        changed = [(name, by) for name, by in self._deltas.items() if by]
        if changed:
            self.executemany("INSERT INTO counter (name, n) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET n = n + excluded.n", changed)


class Ledger:
    """The connection, its thread lock and its process lock. Usable by the process that opened it only."""

    seen: Seen  # set by whoever opens the store, once its header is read

    def __init__(self, path: str, *, where: str, lock: FairLock | NoLock, durable: bool, patience: float) -> None:
        self.where = where
        self._lock = lock
        self._thread = threading.RLock()
        self._pid = os.getpid()
        self._durable = durable
        self._patience = patience
        self._synchronous = -1
        self.writes = 0
        self.closed = False
        self._path = path
        self._identity = _identity(path)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=patience, cached_statements=512)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA cache_size = -32768")
            self._db.execute(f"PRAGMA wal_autocheckpoint = {_log_pages(path)}")
            self._db.execute("PRAGMA journal_size_limit = 134217728")
            self._db.execute("PRAGMA temp_store = MEMORY")
            self._db.execute("PRAGMA foreign_keys = OFF")
        except sqlite3.Error as error:
            raise translate(error, where) from error
        try:
            self._still_there()  # it is this file that was opened
        except UrlsieveError:
            self._db.close()
            raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """No transaction: each statement sees the newest commit."""
        self._check()
        self._still_there()
        with self._thread:
            try:
                yield self._db
            except sqlite3.Error as error:
                raise translate(error, self.where) from error
            except _STRANGE as error:
                self._blame_damage(error)
                raise

    @contextmanager
    def look(self) -> Iterator[Transaction]:
        """A transaction that only reads: all of it sees one commit."""
        try:
            with self.read() as db, snapshot(db):
                yield Transaction(db, self.seen)
        except StoreCorrupt:
            self._still_there()  # a run that is missing may be one of a store that was replaced just now
            raise

    @contextmanager
    def write(self, *, durable: bool = True, synced: bool = False) -> Iterator[Transaction]:
        """One atomic step. Durable when it ends, unless `durable` is False or the store was opened so; `synced`: durable anyway."""
        self._check()
        asked = time.monotonic()
        with self._thread:
            self._check()
            try:
                self._lock.acquire(self._patience)
                self._still_there()
                waited = time.monotonic() - asked
                level = _FULL if synced or (durable and self._durable) else _NORMAL
                yield from self._transaction(level, waited if waited > NOTABLE_WAIT else 0.0)
            except sqlite3.Error as error:
                raise translate(error, self.where) from error
            except _STRANGE as error:
                self._blame_damage(error)
                raise
            finally:
                self._lock.release()  # harmless when it was not taken

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else writes meanwhile. No transaction: only the right to one."""
        self._check()
        with self._thread:
            self._check()
            try:
                self._lock.acquire(self._patience)
                self._still_there()
                yield
            except sqlite3.Error as error:
                raise translate(error, self.where) from error
            finally:
                self._lock.release()

    @contextmanager
    def certain(self) -> Iterator[Transaction]:
        """One that finds what will be found after any crash, once it is over: a file that it does not name may be removed then. What
        others committed may not be durable yet, and a commit that failed may still stand in the log, for whoever opens the store after
        a kill: a durable step of our own, which writes, comes after the one and over the other."""
        with self.write(synced=True) as tx:
            yield tx
            tx.count("manifest")

    def _transaction(self, synchronous: int, waited: float) -> Iterator[Transaction]:
        if synchronous != self._synchronous:
            self._db.execute(f"PRAGMA synchronous = {synchronous}")
            self._synchronous = synchronous
        nested = self._db.in_transaction  # a signal handler in the middle of another: refused, and that one stays whole
        try:
            self._db.execute("BEGIN IMMEDIATE")  # inside: an interruption may come right after it
            tx = Transaction(self._db, self.seen, writing=True, waited=waited)
            yield tx
            tx.flush()
            self._db.execute("COMMIT")
            for action in tx.after_commit:
                action()
        except BaseException as error:
            if self._db.in_transaction and not nested:  # a full disk has already rolled back
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error) and _is_full(error):
                self._empty_log()
            raise
        self.writes += 1

    def _blame_damage(self, error: Exception) -> None:
        """A value that cannot be where it was read comes of a damaged page, which SQLite gives as it is: StoreCorrupt then."""
        if isinstance(error, UrlsieveError):
            return
        try:
            found = scalar(self._db, "PRAGMA quick_check(1)")
        except sqlite3.Error as worse:
            raise translate(worse, self.where) from error
        if found != "ok":
            raise StoreCorrupt(f"the store {self.where} is damaged ({found}): nothing was written; run verify, restore a backup") from error

    def _empty_log(self) -> None:
        """The disk is full: what the log holds goes where it belongs, so that the next writer finds room in the log's own file."""
        try:
            self._db.execute("PRAGMA wal_checkpoint(RESTART)")
        except sqlite3.Error as error:
            if not _is_full(error):
                raise

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise StoreUnavailable(f"the store {self.where} was opened by another process (before a fork): open it anew in this one")
        if self.closed:
            raise StoreUnavailable(f"the store {self.where} is closed")

    def _still_there(self) -> None:
        """Whoever removes or replaces the file of an open ledger must not make it answer for the new one, or acknowledge into nothing."""
        if self._identity != _identity(self._path):
            raise Replaced(self.where)

    def changed(self) -> tuple[int, int]:
        with self.read() as db:
            return self.writes, db.execute("PRAGMA data_version").fetchone()[0]

    def close(self) -> bool:
        """Whether there was something to close: once, and not in a child, where the connection and the locks are the parent's."""
        if self.closed:
            return False
        self.closed = True
        if os.getpid() != self._pid:
            return False
        with self._thread:
            try:
                self._db.close()
            except sqlite3.Error as error:
                raise translate(error, self.where) from error
            finally:
                self._lock.close()
        return True


def _identity(path: str) -> tuple[int, int] | None:
    """None: there is no such file."""
    if path == ":memory:":
        return 0, 0
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreUnavailable(f"cannot look at {path}: {error.strerror}") from error
    return found.st_ino, found.st_dev


def scalar(db: sqlite3.Connection, sql: str, parameters: Iterable[Any] = ()) -> Any:
    row = db.execute(sql, tuple(parameters)).fetchone()
    return None if row is None else row[0]


@contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """All statements inside see one commit."""
    nested = db.in_transaction
    try:
        db.execute("BEGIN")
        yield
    finally:
        if db.in_transaction and not nested:
            db.execute("ROLLBACK")
