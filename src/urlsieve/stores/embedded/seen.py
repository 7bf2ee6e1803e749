"""The seen set: fingerprints in, what the ledger knows of each out.

A log-structured set. What a transaction marks goes into the ledger's journal with it, in one piece at the end of a table: a random
B-tree would write a page for every new URL. Each process keeps what the journal says in a native map and reads what others added at
the start of its next transaction. When the journal is long it becomes a run: an immutable sorted file (runs.py), named in the ledger by
the same transaction that empties the journal. Runs are merged in the background (merging.py). Newest first, the first that knows a
fingerprint is right: a forgotten one has a tombstone.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from urlsieve._kernel._core import ABSENT, TOMBSTONE, FingerprintMap, Run, count_absent, merge_records
from urlsieve.errors import StoreCorrupt
from urlsieve.stores.embedded.asking import Asking
from urlsieve.stores.embedded.ledger import checksum
from urlsieve.stores.embedded.runs import FIRST, Shelf, damaged

if TYPE_CHECKING:
    from urlsieve.stores.embedded.ledger import Transaction

#: Entries that are not the id of a row of text: done without text, known (imported, never accepted), dead without text.
DONE_WITHOUT_TEXT, KNOWN, DEAD_WITHOUT_TEXT = 0, -1, -2
#: From here down: done, and its text is in a block (packed.py). Small numbers on either side of 0, for a run writes their differences.
PACKED = -16
#: Everything below is none: absent, or forgotten.
LEAST = -(2**62)
#: Records per step of a listing; of a site's first step, for most sites have a few.
SLICE, FIRST_SLICE = 4096, 16
record = struct.Struct("<16sq").pack
_unpack = struct.Struct("<16sq").iter_unpack
_LONGEST_MISS = 5
_JOURNAL = "SELECT id, checksum, records FROM marks WHERE id > ? ORDER BY id"


class Named(NamedTuple):
    """A run as the ledger names it."""

    seq: int
    name: str
    keys: int
    size: int


def manifest(db: sqlite3.Connection) -> list[Named]:
    """Newest first."""
    return [Named._make(row) for row in db.execute("SELECT seq, name, keys, size FROM run ORDER BY seq DESC")]


class Seen:
    """This process's view of the set. The ledger's thread lock guards it."""

    def __init__(self, shelf: Shelf, where: str) -> None:
        self.shelf, self.where = shelf, where
        self.table, self.below = Asking(), Asking()  # of the map, and of the runs
        self._recent = FingerprintMap()
        self._sorted: bytes | None = b""
        self._read_to = 0
        self._manifest = -1
        self.runs: list[tuple[Named, Run]] = []  # newest first

    def close(self) -> None:
        """Gives memory, files and their place on the disk back."""
        self._recent.clear()
        self.runs, self._manifest = [], -1

    def catch_up(self, db: sqlite3.Connection, *, writing: bool) -> None:
        """Sees what the transaction sees. Must be the first that it reads, unless it is writing: a run that was merged away since the
        transaction began makes it begin again."""
        for attempt in range(_LONGEST_MISS):
            try:
                self._catch_up(db)
                return
            except (FileNotFoundError, NotADirectoryError) as error:
                if writing or attempt == _LONGEST_MISS - 1:
                    raise StoreCorrupt(f"the run {error.filename} of the store {self.where} is missing: restore a backup") from error
                db.execute("ROLLBACK")
                db.execute("BEGIN")

    def _catch_up(self, db: sqlite3.Connection) -> None:
        number, last = db.execute(
            "SELECT coalesce((SELECT n FROM counter WHERE name = 'manifest'), 0), coalesce((SELECT max(id) FROM marks), 0)"
        ).fetchone()
        if number != self._manifest:
            had = {named.name: run for named, run in self.runs}
            runs = [(named, had.get(named.name) or self.shelf.open(named.name)) for named in manifest(db)]
            self._recent.clear()
            self._read_to, self._sorted = 0, None
            self.runs, self._manifest = runs, number
        if last > self._read_to:
            for number, mark, records in db.execute(_JOURNAL, (self._read_to,)):
                if mark != checksum(records):
                    raise StoreCorrupt(f"row {number} of the journal of {self.where} is damaged: run verify, restore a backup")
                self._recent.set_many(records)
                self._read_to, self._sorted = number, None

    def recent(self) -> bytes:
        """What is not in a run yet: sorted records."""
        if self._sorted is None:
            self._sorted = self._recent.sorted_records()
        return self._sorted

    def entries(self, fingerprints: bytes) -> Sequence[int]:
        """One per fingerprint; below LEAST: not seen."""
        begun, keys = self.table.begin(), len(fingerprints) // 16
        values = self._recent.get_many(fingerprints)
        left = count_absent(values)
        self.table.end(begun, keys, keys - left)
        if self.runs and left:
            begun, found = self.below.begin(), 0
            for named, run in self.runs:
                with self._reading(named):
                    found += run.get_many(fingerprints, values)
            self.below.end(begun, left, found)
        return memoryview(values).cast("q")

    def level(self, fingerprint: bytes) -> str | None:
        """What answers for it: the table of what is in no run yet, the runs, or nothing."""
        if memoryview(self._recent.get_many(fingerprint)).cast("q")[0] != ABSENT:
            return "table"
        return None if self.entries(fingerprint)[0] == ABSENT else "runs"

    def slice(self, start: bytes, limit: int) -> tuple[bytes, bytes | None]:
        """Records from `start` on, at most `limit`, and where to go on."""
        try:
            return merge_records([self.recent(), *(run for _, run in self.runs)], start, limit, tombstones=False)
        except ValueError as error:
            raise damaged(self.where, error) from error

    @contextmanager
    def _reading(self, named: Named) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise damaged(named.name, error) from error


# -- what transactions do with it


def entries(tx: Transaction, fingerprints: bytes) -> Sequence[int]:
    """One per fingerprint of the block; below LEAST: not seen."""
    values = tx.seen.entries(fingerprints)
    if not tx.marks:
        return values
    ours = memoryview(tx.own_marks().get_many(fingerprints)).cast("q")
    return [value if own == ABSENT else own for own, value in zip(ours, values, strict=True)]


def pairs(records: bytes) -> list[tuple[bytes, int]]:
    """(fingerprint, entry) of a block of records."""
    return list(_unpack(records))


def split(fingerprints: bytes) -> list[bytes]:
    """One block of 16 bytes each, as a list."""
    return [fingerprints[at : at + 16] for at in range(0, len(fingerprints), 16)]


def find(tx: Transaction, keys: Sequence[bytes]) -> dict[bytes, int]:
    """fingerprint → entry, for those that are seen."""
    return {key: entry for key, entry in zip(keys, entries(tx, b"".join(keys)), strict=True) if entry >= LEAST}


def add(tx: Transaction, keys: Sequence[bytes], entries: Sequence[int]) -> None:
    """Fingerprints that are not seen."""
    _mark(tx, keys, entries)
    tx.count("seen", len(keys))


def assign(tx: Transaction, pairs: Sequence[tuple[int, bytes]]) -> None:
    """(entry, fingerprint) of fingerprints that are seen."""
    _mark(tx, [key for _, key in pairs], [entry for entry, _ in pairs])


def remove(tx: Transaction, keys: Sequence[bytes]) -> None:
    """Fingerprints that are seen."""
    _mark(tx, keys, [TOMBSTONE] * len(keys))
    tx.count("seen", -len(keys))


def _mark(tx: Transaction, keys: Sequence[bytes], entries: Sequence[int]) -> None:
    if keys:
        tx.marks.append(b"".join(map(record, keys, entries)))


def of_site(tx: Transaction, site_id: int) -> Iterator[list[tuple[bytes, int]]]:
    """All (fingerprint, entry) of one site as they were when the transaction began, in order, slice by slice."""
    return of_sites(tx, site_id, site_id)


def of_sites(tx: Transaction, first: int, last: int) -> Iterator[list[tuple[bytes, int]]]:
    """The same of all sites from one to another in the order of the set: see `SITES_IN_ORDER`."""
    at: bytes | None = _half(first) + bytes(8)
    end, many = last % 2**64, FIRST_SLICE
    while at is not None and _number(at) <= end:
        pairs, at = part(tx, at, many)
        many = min(4 * many, SLICE)
        if pairs and _number(pairs[-1][0]) > end:
            pairs = list(takewhile(lambda pair: _number(pair[0]) <= end, pairs))
        if pairs:
            yield pairs


#: Ids of sites, which are signed, as (first, last) of stretches in the order in which the set has their URLs.
SITES_IN_ORDER = ((0, 2**63 - 1), (-(2**63), -1))


def _half(site_id: int) -> bytes:
    return site_id.to_bytes(8, "little", signed=True)


def _number(key: bytes) -> int:
    return int.from_bytes(key[:8], "little")


def count_of_site(tx: Transaction, site_id: int) -> int:
    """Those that were accepted."""
    return sum(entry != KNOWN for pairs in of_site(tx, site_id) for _, entry in pairs)


def part(tx: Transaction, start: bytes, limit: int = SLICE) -> tuple[list[tuple[bytes, int]], bytes | None]:
    """(fingerprint, entry) from `start` on, and where to go on. Between two transactions the set may change: that is no snapshot."""
    records, at = tx.seen.slice(start, limit)
    return list(_unpack(records)), at


def scan(tx: Transaction) -> Iterator[list[tuple[bytes, int]]]:
    """All (fingerprint, entry) as one transaction has them, in order, slice by slice."""
    at: bytes | None = FIRST
    while at is not None:
        pairs, at = part(tx, at)
        if pairs:
            yield pairs
