"""Texts of done URLs go from rows into compressed blocks, and blocks that are mostly unused are written anew. None of it changes what a
store answers: it may be late, stopped, or fail, and then it is tried again; `trouble` says why.

The ledger keeps a list of what became done (`finished`), oldest first. When it is long its older part is packed, so that a URL that is
asked for again soon is still a row. A batch is sorted by site before it is cut into blocks, since URLs of one site share the most. It is
read and compressed outside of the transaction that writes; that one looks again, and leaves out what has changed in between. It puts in
the blocks and the marks of the seen set that name their slots, and takes the rows away: one step, not synced, for nothing in it is news.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from typing import NamedTuple

from urlsieve.errors import UrlsieveError
from urlsieve.stores.embedded import packed, queue, seen
from urlsieve.stores.embedded.framing import SLOTS, Text
from urlsieve.stores.embedded.ledger import Ledger, Transaction, scalar
from urlsieve.stores.embedded.merging import Merging
from urlsieve.stores.embedded.runs import Shelf

#: URLs of a batch at most, in blocks as even as can be: more would be smaller, but others wait for the step that writes them.
BATCH = 4 * SLOTS
#: So many of the newest stay rows.
KEPT = 4096
#: A process that ends packs a batch before it goes if so many wait: otherwise short-lived ones would pile them up.
MOST_LEFT = 16 * BATCH
#: Between two steps it rests for so many times as long as the step took, so that writers lose a few percent of their time at most.
REST = 20.0
_AGAIN = 1024
_FAILURES = (UrlsieveError, OSError, MemoryError, RuntimeError)


class _Row(NamedTuple):
    """A row of text that is done."""

    id: int
    fp: bytes
    text: Text


class _Hints(NamedTuple):
    """Rows of `finished`, oldest first, and the ids that they name."""

    rows: list[tuple[int, bytes]]

    def ids(self) -> list[int]:
        raw = b"".join(ids for _, ids in self.rows)
        return sorted(set(struct.unpack(f"<{len(raw) // 8}q", raw)))


class Packing:
    """Of one opener. `trouble`: what the last attempt failed with."""

    def __init__(self, ledger: Ledger, shelf: Shelf, merging: Merging) -> None:
        self._ledger, self._shelf, self._merging = ledger, shelf, merging
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._pid = os.getpid()
        self._new = _AGAIN  # finished by this opener since it last looked how many wait: at first it looks at once
        self.trouble: str | None = None

    def after(self, finished: int, freed: bool) -> None:
        """After a transaction that did so. What it did is committed: nothing is raised."""
        self._new += finished
        if not freed and self._new < _AGAIN:
            return
        self._new = 0
        if self._thread is not None and self._thread.is_alive():
            return
        try:
            if self._waiting() < KEPT + BATCH and not (freed and self._is_sparse()):
                return
            thread = threading.Thread(target=self._run, name="urlsieve pack", daemon=True)
            thread.start()
            self._thread = thread
        except _FAILURES as error:
            self.trouble = f"texts could not be packed: {error}"

    def _waiting(self) -> int:
        with self._ledger.read() as db:
            return int(scalar(db, "SELECT n FROM counter WHERE name = 'unpacked'") or 0)

    def _is_sparse(self) -> bool:
        with self._ledger.read() as db:
            return packed.sparse(db) is not None

    def _run(self) -> None:
        try:
            self._steps(KEPT, REST)
            self.trouble = None
        except _FAILURES as error:
            self.trouble = f"texts could not be packed: {error}"

    def pack(self, *, kept: int = 0) -> None:
        """At once, all but about so many of the newest; nothing if another opener is at it."""
        self._steps(kept, 0.0)

    def _steps(self, kept: int, rest: float) -> None:
        """One opener at a time: two would do the same, and one of them for nothing."""
        lock = self._shelf.alone("pack")
        if lock is None:
            return
        with closing(lock):
            least = BATCH if kept else 1
            while not self._stop.is_set():
                began = time.monotonic()
                if not (self._waiting() >= kept + least and self._step()) and not self._mend():
                    return
                self._stop.wait(rest * (time.monotonic() - began))

    # -- one batch

    def _step(self) -> bool:
        """False: somebody else was at it."""
        hints = self._oldest()
        if not hints.rows:
            return False
        rows = self._read(hints.ids())
        rows.sort(key=lambda row: (row.fp[:8], _bytes(row.text.url)))
        blocks = [packed.Made.of([row.text for row in part]) for part in parts(rows)]
        with self._writing() as tx:
            first, last = hints.rows[0][0], hints.rows[-1][0]
            if tx.execute(_HINTS_BETWEEN, (first, last)).fetchall() != hints.rows:
                return False
            there = {row.id: row for row in _done(tx, [row.id for row in rows])}
            for part, made in zip(parts(rows), blocks, strict=True):
                same = [row for row in part if there.get(row.id) == row]
                self._put(tx, same, made if len(same) == len(part) else packed.Made.of([row.text for row in same]))
            gone = sorted(row.id for row in rows if there.get(row.id) == row)
            for table in ("text", "extra"):
                tx.change(f"DELETE FROM {table} WHERE id IN", gone)
            tx.execute("DELETE FROM finished WHERE id BETWEEN ? AND ?", (first, last))
            tx.count("unpacked", -sum(len(ids) // 8 for _, ids in hints.rows))
        return True

    def _oldest(self) -> _Hints:
        found: list[tuple[int, bytes]] = []
        many = 0
        with self._ledger.read() as db:
            for row in db.execute(_HINTS, (BATCH,)).fetchall():
                many += len(row[1]) // 8
                if found and many > BATCH:
                    break
                found.append(row)
        return _Hints(found)

    def _read(self, ids: Sequence[int]) -> list[_Row]:
        """In slices, between which others get their turn."""
        rows: list[_Row] = []
        for start in range(0, len(ids), SLOTS):
            with self._ledger.look() as tx:
                rows += _done(tx, ids[start : start + SLOTS])
        return rows

    def _put(self, tx: Transaction, rows: Sequence[_Row], made: packed.Made) -> None:
        if rows:
            seen.assign(tx, list(zip(packed.add(tx, made), [row.fp for row in rows], strict=True)))

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        with self._ledger.write(durable=False) as tx:
            yield tx
        if tx.journaled:
            self._merging.after(tx.journaled)

    # -- one block

    def _mend(self) -> bool:
        """One of those of which half or more is unused. False: there is none."""
        if not self._is_sparse():
            return False
        with self._writing() as tx:
            number = packed.sparse(tx.db)
            if number is not None:
                packed.rewrite(tx, number)
        return True

    def close(self) -> None:
        """Stops the thread: what it was at is done or undone as a whole."""
        if self._pid != os.getpid():  # a fork has no threads
            return
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        try:
            if self._waiting() >= MOST_LEFT:
                self._last_step()
        except _FAILURES as error:
            self.trouble = f"texts could not be packed: {error}"

    def _last_step(self) -> None:
        lock = self._shelf.alone("pack")
        if lock is not None:
            with closing(lock):
                self._step()


_HINTS = "SELECT id, ids FROM finished ORDER BY id LIMIT ?"
_HINTS_BETWEEN = "SELECT id, ids FROM finished WHERE id BETWEEN ? AND ? ORDER BY id"


def _done(tx: Transaction, ids: Sequence[int]) -> list[_Row]:
    """Those that are there and done, as they are now."""
    undone = queue.locate(tx, ids)
    variants = dict(tx.rows("SELECT id, variant FROM extra WHERE id IN", ids))
    rows = tx.rows("SELECT id, fp, url, grp, priority, depth FROM text WHERE id IN", [number for number in ids if number not in undone])
    found = {row[0]: _Row(row[0], row[1], Text(row[2], row[3], row[4], row[5], variants.get(row[0]) or b"")) for row in rows}
    return list(found.values())


def _bytes(url: str | bytes) -> bytes:
    return url.encode() if isinstance(url, str) else url


def parts(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    """At most SLOTS each, as even as can be."""
    many = -(-len(rows) // SLOTS)
    rest = iter(rows)
    for part in range(many):
        yield list(islice(rest, (len(rows) + part) // many))
