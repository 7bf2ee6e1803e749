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
#: Where others write, it rests before each step for so many times as long as the last one took: they lose a few percent of their time.
REST = 40.0
#: Seconds that the first step is thought to take: it comes after a rest too.
USUAL = 0.1
_AGAIN = 1024
_FAILURES = (UrlsieveError, OSError, MemoryError, RuntimeError)


#: id, fingerprint, URL, group, priority, depth, variant of a row of text that is done.
_Row = tuple[int, bytes, str | bytes, int, int, int, bytes | None]


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

    def pack(self) -> bool:
        """All of them, at once. False: another opener is at it."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._stop.clear()
        return self._steps(0, 0.0)

    def _steps(self, kept: int, rest: float) -> bool:
        """One opener at a time: two would do the same, and one of them for nothing."""
        lock = self._shelf.alone("pack")
        if lock is None:
            return False
        with closing(lock):
            least = BATCH if kept else 1
            took = USUAL
            while not self._stop.is_set():
                if rest and not self._rest(took, rest):
                    break
                began = time.monotonic()
                if not (self._waiting() >= kept + least and self._step()) and not self._mend():
                    break
                took = time.monotonic() - began
        return True

    def _rest(self, took: float, times: float) -> bool:
        """As long as the last step took, and where others wrote meanwhile so many times as long. False: the store is being closed."""
        before = self._ledger.changed()
        if not self._stop.wait(took) and self._ledger.changed() != before:
            self._stop.wait((times - 1.0) * took)
        return not self._stop.is_set()

    # -- one batch

    def _step(self) -> bool:
        """False: somebody else was at it."""
        hints = self._oldest()
        if not hints.rows:
            return False
        rows = self._read(hints.ids())
        rows.sort(key=lambda row: (row[1][:8], _bytes(row[2])))
        blocks = [(part, _made(part)) for part in parts(rows)]
        with self._writing() as tx:
            first, last = hints.rows[0][0], hints.rows[-1][0]
            if tx.execute(_HINTS_BETWEEN, (first, last)).fetchall() != hints.rows:
                return False
            there = set(_done(tx, sorted(row[0] for row in rows)))
            gone = []
            for part, made in blocks:
                same = [row for row in part if row in there]
                if same:
                    entries = packed.add(tx, made if len(same) == len(part) else _made(same))
                    seen.assign(tx, [(entry, row[1]) for entry, row in zip(entries, same, strict=True)])
                    gone += [row[0] for row in same]
            gone.sort()  # neighbours lie on one page
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


_DONE = (
    "SELECT t.id, t.fp, t.url, t.grp, t.priority, t.depth, (SELECT x.variant FROM extra x WHERE x.id = t.id) FROM text t "
    f"WHERE {queue.DONE} AND t.id IN"
)


def _done(tx: Transaction, ids: Sequence[int]) -> list[_Row]:
    """Those that are there and done, as they are now."""
    return list(dict.fromkeys(tx.rows(_DONE, ids)))  # once each, where `rows` fills up a chunk


def _made(rows: Sequence[_Row]) -> packed.Made:
    return packed.Made.of([Text(row[2], row[3], row[4], row[5], row[6] or b"") for row in rows])


def _bytes(url: str | bytes) -> bytes:
    return url.encode() if isinstance(url, str) else url


def parts(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    """At most SLOTS each, as even as can be."""
    many = -(-len(rows) // SLOTS)
    rest = iter(rows)
    for part in range(many):
        yield list(islice(rest, (len(rows) + part) // many))
