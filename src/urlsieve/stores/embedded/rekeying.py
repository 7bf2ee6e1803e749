"""A store and another header in; the store with that header out, in its place, in one step.

The new one is made beside it (aside.py) from the seen set as it is when the work begins, while everybody goes on with the old one. What
they change meanwhile stands in the journal, and in runs that are made of it: it is taken in afterwards, again and again until little is
left. Then, for a moment, nobody may write: the rest is taken in, the queue is taken over (adopting.py), and the new store is put in the old
one's place as a restored backup would be. Whoever had the old one open is told at the next operation to open it anew.

Killed before that, the old store is untouched; what lies beside it is removed by the next rekey, which begins anew. Killed after it, the
new one is complete.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from urlsieve._kernel._core import ABSENT, TOMBSTONE, FingerprintMap, Run, merge_records
from urlsieve.errors import StoreFull, StoreUnavailable
from urlsieve.model import Level, Policy
from urlsieve.stores.embedded import adopting, copies, disk, files, imported, packed, queue, seen
from urlsieve.stores.embedded.aside import Aside, Row
from urlsieve.stores.embedded.framing import SLOTS
from urlsieve.stores.embedded.imported import Imported
from urlsieve.stores.embedded.ledger import Ledger, scalar
from urlsieve.stores.embedded.runs import FIRST, Shelf, merged
from urlsieve.stores.protocol import Rekeyed, Rekeying

#: The folder beside the ledger where the new store is made.
PLACE = "rekey"
STEP = 5_000
#: Changes that are few enough to be taken in while nobody may write, and rounds before that at most.
FEW, MOST_ROUNDS = 2_000, 8
PATIENCE = 60.0


class _Start:
    """The seen set as it was when the work began, and what has been taken in since."""

    def __init__(self, ledger: Ledger) -> None:
        with ledger.look() as tx:
            view = tx.seen
            recent = view.recent()
            self.sources: list[Run | bytes] = [recent, *(run for _, run in view.runs)]
            self.runs = [run for _, run in view.runs]
            self.last_run = max((named.seq for named, _ in view.runs), default=0)
            self.rules_generation = tx.value("rules_generation")
            self.last_text = scalar(tx.db, "SELECT max(id) FROM text") or 0
        self._since = FingerprintMap()
        self._recent = FingerprintMap()
        self._recent.set_many(recent)

    def entries(self, fingerprints: bytes) -> Sequence[int]:
        """What has been taken in of each: below seen.LEAST nothing."""
        values = self._since.get_many(fingerprints)
        earlier = self._recent.get_many(fingerprints)
        for run in self.runs:
            run.get_many(fingerprints, earlier)
        pairs = zip(memoryview(values).cast("q"), memoryview(earlier).cast("q"), strict=True)
        return [before if since == ABSENT else since for since, before in pairs]

    def changes(self, ledger: Ledger) -> list[tuple[bytes, int, int]]:
        """(fingerprint, what was taken in, what it is now), once each."""
        newest = FingerprintMap()
        with ledger.look() as tx:
            view = tx.seen
            for named, run in reversed(view.runs):
                if named.seq > self.last_run:
                    for records in merged([run], tombstones=True):
                        newest.set_many(records)
            newest.set_many(view.recent())
        records = newest.sorted_records()
        pairs = seen.pairs(records)
        had = self.entries(b"".join(fp for fp, _ in pairs))
        found = [(fp, before, now) for (fp, now), before in zip(pairs, had, strict=True) if before != now]
        self._since.set_many(b"".join(seen.record(fp, now) for fp, _, now in found))
        return [(fp, before, now) for fp, before, now in found if not (before == ABSENT and now == TOMBSTONE)]

    def bare(self) -> Iterator[bytes]:
        """Fingerprints without text, in blocks."""
        at: bytes | None = FIRST
        while at is not None:
            records, at = merge_records(self.sources, at, 1 << 18, tombstones=False)
            block = b"".join(fp for fp, entry in seen.pairs(records) if seen.PACKED < entry <= 0)
            if block:
                yield block


def rekey(
    ledger: Ledger,
    directory: Path,
    shelf: Shelf,
    levels: Imported,
    policy: Policy,
    domain_of: Callable[[str], str],
    plan: Rekeying,
    progress: Callable[[int], object],
) -> Rekeyed:
    with ExitStack() as held, copies.in_words(directory, directory / PLACE):
        for what in ("rekey", "merge", "pack", "level"):  # nothing is moved meanwhile but by those who push, pop and settle
            held.enter_context(closing(_right(shelf, what, directory)))
        place = directory / PLACE
        disk.remove_tree(place, anyway=True)
        _need_room(directory)
        held.callback(disk.remove_tree, place, anyway=True)
        start = _Start(ledger)
        groups = _Groups(ledger, plan)
        aside = Aside(place, plan, policy, groups.of, domain_of)
        held.callback(aside.close)
        _fill(ledger, start, aside, progress)
        there = _copy_levels(ledger, levels, aside, set())
        for _ in range(MOST_ROUNDS):
            if _catch_up(ledger, start, aside) <= FEW:
                break
        with ledger.alone():
            _catch_up(ledger, start, aside)
            _copy_levels(ledger, levels, aside, there)
            with ledger.look() as tx:
                if tx.value("rules_generation") != start.rules_generation:
                    raise StoreUnavailable(f"the rules or imported levels of {directory} have changed meanwhile: run rekey again")
            report = adopting.adopt(aside, directory / files.LEDGER, lambda fps: start.entries(b"".join(fps)), _rows_of(ledger))
            aside.close()
            _switch(place, directory)
        return report


def _right(shelf: Shelf, what: str, directory: Path) -> files.FileLock:
    give_up = time.monotonic() + PATIENCE
    while (lock := shelf.alone(what)) is None:
        if what == "rekey" or time.monotonic() > give_up:
            raise StoreUnavailable(f"another is at it: the store {directory} is being rekeyed, merged or copied; try again later")
        time.sleep(0.05)
    assert isinstance(lock, files.FileLock)
    return lock


def _need_room(directory: Path) -> None:
    """The new store stands beside the old one for a while."""
    space = os.statvfs(directory)
    needs, free = files.size_of(directory), space.f_bavail * space.f_frsize
    if free < needs:
        raise StoreFull(f"a rekey of {directory} needs about {needs >> 20} MiB beside it, and {free >> 20} MiB are free: make room")


class _Groups:
    """The id of a group, which is a hash of its name, under the new header."""

    def __init__(self, ledger: Ledger, plan: Rekeying) -> None:
        self._ledger, self._plan = ledger, plan
        self._known: dict[int, int] = {}

    def of(self, group: int) -> int:
        found = self._known.get(group)
        if found is None:
            with self._ledger.read() as db:
                name = scalar(db, "SELECT name FROM grp WHERE id = ?", (group,))
            found = group if name is None else self._plan.name_hash(name)
            if len(self._known) > 1 << 20:
                self._known.clear()
            self._known[group] = found
        return found


# -- the seen set


def _fill(ledger: Ledger, start: _Start, aside: Aside, progress: Callable[[int], object]) -> None:
    done = last = 0
    for block in start.bare():
        aside.imported.add(aside.plan.level, block)
    while rows := _rows_after(ledger, last, start.last_text):
        aside.rows(rows, lambda ids: _waiting(ledger, ids))
        last = rows[-1].id
        done += len(rows)
        progress(done)
    number = 0
    while True:
        with ledger.read() as db:
            found = db.execute(
                "SELECT p.block, p.checksum, p.data, s.gone FROM packed p JOIN slots s ON s.block = p.block WHERE p.block > ? "
                "ORDER BY 1 LIMIT 1",
                (number,),
            ).fetchone()
        if found is None:
            return
        number, mark, data, gone = found
        texts_of, bits = packed.opened(number, mark, data), int.from_bytes(gone, "little")
        texts = {slot: text for slot in range(len(texts_of)) if not bits >> slot & 1 and (text := texts_of.text(slot)) is not None}
        aside.block(number, texts, min(len(texts_of), SLOTS), start.entries)
        done += len(texts)
        progress(done)


_ROWS = (
    "SELECT t.id, t.fp, t.url, t.grp, t.priority, t.depth, coalesce(e.variant, x'') FROM text t LEFT JOIN extra e ON e.id = t.id WHERE t.id"
)


def _rows_after(ledger: Ledger, last: int, end: int) -> list[Row]:
    with ledger.read() as db:
        return [Row._make(row) for row in db.execute(f"{_ROWS} > ? AND t.id <= ? ORDER BY t.id LIMIT ?", (last, end, STEP))]


def _rows_of(ledger: Ledger) -> Callable[[Sequence[int]], list[Row]]:
    def rows(ids: Sequence[int]) -> list[Row]:
        with ledger.look() as tx:
            return [Row._make(row) for row in tx.rows(f"{_ROWS} IN", ids)] if ids else []

    return rows


def _waiting(ledger: Ledger, ids: Sequence[int]) -> list[int]:
    with ledger.look() as tx:
        return list(queue.locate(tx, ids))


def _copy_levels(ledger: Ledger, levels: Imported, aside: Aside, had: set[str]) -> set[str]:
    """Those that are not there yet, or have changed since: their files have other names then. The names of the files they have now."""
    with ledger.look() as tx:
        every: list[Level] = imported.levels(tx.db)
        names = {filed.run.name for filed in imported.manifest(tx.db)}
    if names != had or not had:
        for level in every:
            aside.imported.drop(level.name)
            aside.imported.add(level._replace(digests=0, bytes=None), b"")
            for block in levels.digests(level.name):
                aside.imported.add(level._replace(digests=0, bytes=None), block)
    return names


def _catch_up(ledger: Ledger, start: _Start, aside: Aside) -> int:
    """What others have changed since the last time. How much it was."""
    changes = start.changes(ledger)
    gone = [before for _, before, now in changes if _has_text(before) and now != before and not _is_bare(now)]
    bare = [(fp, before, now) for fp, before, now in changes if _has_text(before) and _is_bare(now)]
    new = [now for _, _, now in changes if now > 0]
    rows = _rows_of(ledger)
    for at in range(0, len(new), STEP):
        aside.rows(rows(new[at : at + STEP]), lambda ids: _waiting(ledger, ids))
    aside.remove(gone)
    aside.without_text(bare)
    aside.bare([fp for fp, before, now in changes if _is_bare(now) and not _has_text(before)])
    forgotten = [fp for fp, before, now in changes if now == TOMBSTONE and _is_bare(before)]
    if forgotten:
        aside.imported.forget(aside.plan.level.name, b"".join(forgotten))
    return len(changes)


def _has_text(entry: int) -> bool:
    return entry > 0 or seen.LEAST <= entry <= seen.PACKED


def _is_bare(entry: int) -> bool:
    return seen.PACKED < entry <= 0


# -- the switch


def _switch(place: Path, directory: Path) -> None:
    copies.empty_log(directory / files.LEDGER)
    for lock in (place / files.RUNS).glob("*.lock"):
        disk.remove(lock)
    for path in (*sorted((place / files.RUNS).iterdir()), place / files.RUNS, place / files.LEDGER, place):
        disk.sync(path)
    copies.put(place, directory, there=True)
