"""The queue's tables: URLs become pending or delayed, are found again by their id, and leave.

A URL with an id in `text` is in `held` (leased, delayed, dead), or in `pending`, or else done. Pending rows are found by their place in
the order; the place of a URL that was never moved follows from its text row, so that the usual URL needs no index of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple

from urlsieve.model import Columns, Klass, OfferRow, State
from urlsieve.stores.counting import STATE_NAMES
from urlsieve.stores.embedded.groups import PENDING, Arrivals
from urlsieve.stores.embedded.ledger import Transaction

#: Where a URL of `text t`, with `moved m` if it has such a row, stands in `pending p`.
PLACE = "p.grp = t.grp AND p.class = coalesce(m.class, 0) AND p.np = coalesce(m.np, -t.priority) AND p.seq = coalesce(m.seq, t.id)"
#: Of `text t` …
UNHELD = "NOT EXISTS (SELECT 1 FROM held h WHERE h.id = t.id)"
IS_PENDING = f"EXISTS (SELECT 1 FROM (SELECT 1) LEFT JOIN moved m ON m.id = t.id JOIN pending p ON {PLACE} AND p.id = t.id)"
DONE = f"{UNHELD} AND NOT {IS_PENDING}"
_INSERT_TEXT = "INSERT INTO text (id, fp, url, grp, priority, depth) VALUES (?, ?, ?, ?, ?, ?)"
_INSERT_PENDING = "INSERT INTO pending (grp, class, np, seq, id, since) VALUES (?, ?, ?, ?, ?, ?)"


class Spot(NamedTuple):
    """Where an undone URL is. seq and np are its place in the order, also while it is held."""

    id: int
    state: State
    grp: int
    klass: int
    priority: int
    seq: int
    since: float
    attempt: int = 0
    excused: int = 0
    failed_at: float | None = None
    due: float | None = None


# -- in


def insert_columns(tx: Transaction, ids: range, keys: Sequence[bytes], c: Columns, arrivals: Arrivals, now: float) -> None:
    """Text and queue rows of new URLs that are alike, column by column: nothing here is done URL by URL in Python."""
    texts = zip(ids, map(bytearray, keys), c.url, c.group_id, repeat(c.priority), repeat(c.depth), strict=False)
    tx.executemany(_INSERT_TEXT, texts)
    if c.via is not None or c.meta is not None:
        tx.executemany("INSERT INTO extra (id, via, meta) VALUES (?, ?, ?)", zip(ids, repeat(c.via), repeat(c.meta), strict=False))
    if c.due is not None and c.due > now:
        rows = zip(ids, c.group_id, repeat(c.priority), ids, repeat(now), repeat(c.due), strict=False)
        tx.executemany(_insert_delayed(Klass.NEW), rows)
        tx.count("delayed", len(keys))
        for group_id, group in zip(c.group_id, c.group, strict=True):
            arrivals.name(group_id, group)
    else:
        tx.executemany(_INSERT_PENDING, zip(c.group_id, repeat(0), repeat(-c.priority), ids, ids, repeat(now), strict=False))
        arrivals.add_many(c.group_id, c.group, Klass.NEW, c.priority)


def insert_text(tx: Transaction, found: Iterable[tuple[int, bytes, OfferRow]]) -> None:
    rows = ((entry, bytearray(key), row.url, row.group_id, row.priority, row.depth) for entry, key, row in found)
    tx.executemany(_INSERT_TEXT, rows)


def keep_variants(tx: Transaction, found: Iterable[tuple[int, OfferRow]]) -> None:
    """Of those that are done at once: without it nobody could tell their fingerprint from their text."""
    tx.executemany("INSERT INTO extra (id, variant) VALUES (?, ?)", [(entry, row.variant) for entry, row in found if row.variant])


def enqueue(tx: Transaction, found: Sequence[tuple[int, OfferRow]], klass: Klass, arrivals: Arrivals, now: float, *, at_end: bool) -> None:
    """Pending, or delayed until due, with a new count of attempts. Their text is there. `at_end`: they come back, so they arrive now."""
    extras, later, pending, moved = [], [], [], []
    had: dict[int, tuple[Any, ...]] = {}
    if at_end:  # a dead URL still has what it was pushed with
        had = {row[0]: row[1:] for row in tx.rows("SELECT id, via, meta, variant FROM extra WHERE id IN", [entry for entry, _ in found])}
    for entry, row in found:
        if entry in had:
            via, meta, variant = had[entry]
            row = row._replace(via=row.via or via, meta=row.meta or meta, variant=row.variant or variant or b"")
        seq = tx.take("entry") if at_end else entry
        if row.via is not None or row.meta is not None or row.variant:
            extras.append((entry, row.via, row.meta, row.variant or None))
        if row.due is not None and row.due > now:
            later.append((entry, row.group_id, row.priority, seq, now, row.due))
            arrivals.name(row.group_id, row.group)
            continue
        pending.append((row.group_id, int(klass), -row.priority, seq, entry, now))
        arrivals.add(row.group_id, klass, row.priority, row.group)
        if at_end:
            moved.append((entry, int(klass), -row.priority, seq))
    if at_end:
        tx.change("DELETE FROM extra WHERE id IN", [entry for entry, _ in found])
        tx.executemany("UPDATE text SET depth = ? WHERE id = ?", [(row.depth, entry) for entry, row in found])
    tx.executemany("INSERT INTO extra (id, via, meta, variant) VALUES (?, ?, ?, ?)", extras)
    tx.executemany(_insert_delayed(klass), later)
    tx.executemany(_INSERT_PENDING, pending)
    tx.executemany("INSERT INTO moved (id, class, np, seq) VALUES (?, ?, ?, ?)", moved)
    tx.count("delayed", len(later))


@lru_cache
def _insert_delayed(klass: Klass) -> str:
    state = int(State.DELAYED)
    return f"INSERT INTO held (id, grp, priority, seq, since, due, state, class) VALUES (?, ?, ?, ?, ?, ?, {state}, {int(klass)})"


# -- found again


def locate(tx: Transaction, ids: Sequence[int]) -> dict[int, Spot]:
    """Those that are not done."""
    found = {}
    select = "SELECT id, state, grp, class, priority, seq, since, attempt, excused, failed_at, due FROM held WHERE id IN"
    for row in tx.rows(select, ids):
        found[row[0]] = Spot(row[0], State(row[1]), *row[2:])
    rest = [entry for entry in ids if entry not in found]
    pending = (
        "SELECT t.id, p.grp, p.class, -p.np, p.seq, p.since, p.attempt, p.excused, p.failed_at FROM text t "
        f"LEFT JOIN moved m ON m.id = t.id JOIN pending p ON {PLACE} WHERE t.id IN"
    )
    for row in tx.rows(pending, rest):
        found[row[0]] = Spot(row[0], State.PENDING, *row[1:])
    return found


# -- moved


def take_pending(tx: Transaction, spots: Sequence[Spot]) -> None:
    """Out of the order. The caller counts, and puts their groups right."""
    keys = [(spot.grp, spot.klass, -spot.priority, spot.seq) for spot in spots]
    tx.executemany("DELETE FROM pending WHERE grp = ? AND class = ? AND np = ? AND seq = ?", keys)
    tx.change("DELETE FROM moved WHERE id IN", [spot.id for spot in spots])


def put_pending(tx: Transaction, spots: Sequence[Spot], arrivals: Arrivals) -> None:
    """Into the order, at the place that the spot says; counted. `since` and attempts are the spot's."""
    if not spots:
        return
    first = dict(tx.rows("SELECT id, priority FROM text WHERE id IN", [spot.id for spot in spots]))
    rows, moved = [], []
    for spot in spots:
        rows.append((spot.grp, spot.klass, -spot.priority, spot.seq, spot.id, spot.since, spot.attempt, spot.excused, spot.failed_at))
        arrivals.add(spot.grp, spot.klass, spot.priority)
        if (spot.klass, spot.priority, spot.seq) != (Klass.NEW, first[spot.id], spot.id):
            moved.append((spot.id, spot.klass, -spot.priority, spot.seq))
    columns = "grp, class, np, seq, id, since, attempt, excused, failed_at"
    tx.executemany(f"INSERT INTO pending ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    tx.executemany("INSERT INTO moved (id, class, np, seq) VALUES (?, ?, ?, ?)", moved)


def let_go(tx: Transaction, ids: Sequence[int]) -> None:
    """No longer held; where they go the caller knows."""
    tx.change("DELETE FROM held WHERE id IN", ids)


# -- out


def uncount(tx: Transaction, spots: Iterable[Spot]) -> None:
    for spot in spots:
        tx.count(STATE_NAMES[spot.state], -1)
        if spot.state is State.PENDING:
            tx.count(PENDING[spot.klass], -1)


def remove(tx: Transaction, spots: Iterable[Spot]) -> tuple[set[int], dict[int, int]]:
    """Out of the queue, uncounted: (groups whose order changed, leases that ended by group). Texts and extras stay."""
    spots = list(spots)
    uncount(tx, spots)
    pending = [spot for spot in spots if spot.state is State.PENDING]
    take_pending(tx, pending)
    let_go(tx, [spot.id for spot in spots if spot.state is not State.PENDING])
    leases: dict[int, int] = {}
    for spot in spots:
        if spot.state is State.LEASED:
            leases[spot.grp] = leases.get(spot.grp, 0) + 1
    return {spot.grp for spot in pending}, leases
