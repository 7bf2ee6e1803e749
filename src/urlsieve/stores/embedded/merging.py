"""A long journal becomes a run, and many runs become one. None of it changes what is seen: it may be late, stopped, or fail, and then
it is tried again; `trouble` says why.

Runs are merged like the digits of a number to the base FAN_OUT: when there are so many of a size, they and all newer ones become one of
the next. So a URL is written anew once per size, and a look-up asks fewer than FAN_OUT runs of each.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from urlsieve._kernel._core import RUN_VERSION, Run
from urlsieve.errors import UrlsieveError
from urlsieve.stores.embedded.ledger import Ledger
from urlsieve.stores.embedded.runs import Made, Shelf, damaged, merged
from urlsieve.stores.embedded.seen import Named, manifest

#: Records of the journal from which it becomes a run: 1.5 MiB to read when a store is opened.
LONGEST_JOURNAL = 1 << 16
FAN_OUT = 4
#: With so many runs to be merged a process that ends does it before it goes: otherwise short-lived ones would pile them up.
MOST_LEFT = 2 * FAN_OUT


#: What a step may fail with and be tried again; RuntimeError: no thread can be started.
_FAILURES = (UrlsieveError, OSError, MemoryError, RuntimeError)


class Stopped(Exception):
    """The store is being closed."""


class Merging:
    """Of one opener. `trouble`: what the last attempt failed with."""

    def __init__(self, ledger: Ledger, shelf: Shelf) -> None:
        self._ledger, self._shelf = ledger, shelf
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._next_try = LONGEST_JOURNAL
        self._pid = os.getpid()
        self.trouble: str | None = None

    # -- the journal

    def after(self, journaled: int) -> None:
        """After a transaction that left the journal so long. What it did is committed: nothing is raised."""
        if journaled < LONGEST_JOURNAL:
            self._next_try = LONGEST_JOURNAL
        elif journaled >= self._next_try:
            try:
                self._rotate()
                self.trouble = None
            except _FAILURES as error:
                self.trouble = f"the journal could not become a run: {error}"
                self._next_try = journaled + LONGEST_JOURNAL
                return
            self.wake()

    def _rotate(self, least: int | None = None) -> None:
        """A journal of so many records at least (None: of its longest) becomes a run."""
        made: Made | None = None
        try:
            with self._ledger.write() as tx:
                if tx.value("journaled") < (LONGEST_JOURNAL if least is None else least):
                    return  # another process was faster
                older = bool(tx.seen.runs)  # a tombstone is for those only
                made = self._shelf.write(merged([tx.seen.recent()], tombstones=older))
                if made.keys:
                    tx.execute("INSERT INTO run (seq, name, keys, size) VALUES (?, ?, ?, ?)", (tx.take("run"), *made))
                tx.execute("DELETE FROM marks")
                tx.count("journaled", -tx.value("journaled"))
                tx.count("manifest")
        except BaseException:
            if made is not None:
                self._discard(made)
            raise
        if not made.keys:
            self._shelf.remove([made.name])

    def _discard(self, made: Made) -> None:
        """Of a step that failed. It may have been interrupted after its commit, and one whose commit failed may be found committed after
        a kill: what the ledger names is never removed, and where the ledger cannot say for certain, the next opening cleans up."""
        with suppress(UrlsieveError):
            with self._ledger.certain() as tx:
                named = {named.name for named in manifest(tx.db)}
            if made.name not in named:
                self._shelf.remove([made.name])

    # -- runs

    def wake(self) -> None:
        """Merges in a thread of its own, if there is something to merge."""
        if self._thread is not None and self._thread.is_alive():
            return
        try:
            with self._ledger.read() as db:
                if choose(manifest(db)) is None:
                    return
            thread = threading.Thread(target=self._run, name="urlsieve merge", daemon=True)
            thread.start()
            self._thread = thread
        except _FAILURES as error:
            self.trouble = f"runs could not be merged: {error}"

    def _run(self) -> None:
        try:
            self.merge()
        except Stopped:
            return
        except _FAILURES as error:
            self.trouble = f"runs could not be merged: {error}"

    def merge(self, *, everything: bool = False) -> bool:
        """Until nothing is left to merge (`everything`: until there is one run, in the newest format). False: another opener is at it."""
        with self._alone() as alone:
            while alone:
                with self._ledger.read() as db:
                    named = manifest(db)
                chosen = named if everything and not self._is_compact(named) else choose(named)
                if chosen is None:
                    break
                self._merge(chosen, older=len(chosen) < len(named))
        return alone

    def _is_compact(self, named: Sequence[Named]) -> bool:
        return not named or (len(named) == 1 and self._shelf.open(named[0].name).version == RUN_VERSION)

    def compact(self) -> bool:
        """What was in the journal and in runs becomes one run, without tombstones, in the newest format; others may go on marking. First as
        ever, one size after another, and then the rest: a stop loses the last step only. False: another opener is merging."""
        if self._thread is not None and self._pid == os.getpid():
            self._thread.join()
        self._rotate(1)
        return self.merge() and self.merge(everything=True)

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether nobody else merges; and then nobody does meanwhile."""
        lock = self._shelf.alone()
        try:
            yield lock is not None
        finally:
            if lock is not None:
                lock.close()

    def _merge(self, chosen: Sequence[Named], *, older: bool) -> None:
        made = self._shelf.write(self._merged(chosen, older))
        try:
            with self._ledger.write(synced=True) as tx:  # before the old ones go: a power cut must not bring their names back
                tx.executemany("DELETE FROM run WHERE seq = ?", [(named.seq,) for named in chosen])
                if made.keys:  # in the place of the newest of them
                    tx.execute("INSERT INTO run (seq, name, keys, size) VALUES (?, ?, ?, ?)", (chosen[0].seq, *made))
                tx.count("manifest")
        except BaseException:
            self._discard(made)
            raise
        self._shelf.remove([named.name for named in chosen] + ([] if made.keys else [made.name]))

    def _merged(self, chosen: Sequence[Named], older: bool) -> Iterator[bytes]:
        sources: list[Run | bytes] = [self._shelf.open(named.name) for named in chosen]
        try:
            for records in merged(sources, tombstones=older):
                if self._stop.is_set():
                    raise Stopped
                yield records
        except ValueError as error:
            raise damaged(", ".join(named.name for named in chosen), error) from error

    # -- begin and end

    def clean(self) -> None:
        """Removes what a crash left behind. Only where something lies that the ledger does not name is anything locked. A store whose
        strays cannot be removed (its disk is full, or read-only) opens all the same."""
        with self._ledger.read() as db:
            names = {named.name for named in manifest(db)}
        try:
            if self._shelf.strays(names):
                self._clean()
        except (UrlsieveError, OSError) as error:
            self.trouble = f"what a crash left behind could not be removed: {error}"

    def _clean(self) -> None:
        lock = self._shelf.alone()
        if lock is None:
            return  # they are of a merge that goes on
        try:
            with self._ledger.certain() as tx:  # nobody makes a run of the journal now
                strays = self._shelf.strays({named.name for named in manifest(tx.db)})
            self._shelf.remove(strays)
        finally:
            lock.close()

    def close(self) -> None:
        """Stops the thread; its half-written run is removed. Too many runs are merged first."""
        if self._thread is None or self._pid != os.getpid():  # a fork has no threads
            return
        if not self._are_too_many():
            self._stop.set()
        self._thread.join()

    def _are_too_many(self) -> bool:
        try:
            with self._ledger.read() as db:
                return len(choose(manifest(db)) or ()) >= MOST_LEFT
        except UrlsieveError:
            return False  # removed, replaced or damaged: nothing to be merged in it


def tier(keys: int) -> int:
    """0 up to FAN_OUT journals, 1 up to FAN_OUT times as many, and so on."""
    size, level = keys // (LONGEST_JOURNAL * FAN_OUT), 0
    while size:
        size, level = size // FAN_OUT, level + 1
    return level


def choose(named: Sequence[Named]) -> Sequence[Named] | None:
    """Of runs, newest first: those to be merged now, always the newest ones, so that the order stays."""
    for level in range(max((tier(run.keys) for run in named), default=-1) + 1):
        newest = []
        for run in named:
            if tier(run.keys) > level:
                break
            newest.append(run)
        if sum(tier(run.keys) == level for run in newest) >= FAN_OUT:
            return newest
    return None
