"""A store whose entries are all done, and the ledger that they come from, in; the queue, settings and counts of that one in it, out.

The queue is copied while others use it (queueing.py). Then nobody writes, and what differs is put right: that takes time by what waits, not
by what is seen, and much less than the copy did.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from urlsieve.model import Klass, Policy, State
from urlsieve.stores.counting import STATE_NAMES
from urlsieve.stores.embedded import budgets, drop, halfway, queue, queueing, seen
from urlsieve.stores.embedded.aside import Aside, Row
from urlsieve.stores.embedded.groups import PENDING
from urlsieve.stores.embedded.ledger import Transaction, scalar
from urlsieve.stores.protocol import Rekeyed

#: Twins looked at together.
STEP = 2_000
#: KiB of each ledger that are kept in memory while the queue is copied and compared: groups lie in another order in each.
CACHE = 1 << 16
#: Counters that say what lies in this ledger, and are counted here; all others are taken over.
_OWN = frozenset(
    ["accepted", "known", "seen", *STATE_NAMES, *PENDING, "sites", "groups", "limits", "journal", "journaled", "run", "manifest"]
    + ["packed", "packed_bytes", "levels", "level_run", "rules_generation", "generation", "witnessed", "budgets", "used"]
)
#: Tables that are made here, row by row; all others are taken over as they are. What is witnessed of pages is keyed with the secret: it
#: goes.
_MADE = frozenset(
    [
        "meta",
        "counter",
        "marks",
        "run",
        "text",
        "packed",
        "slots",
        "site",
        "level",
        "level_run",
        "witness",
        "used",
    ]
)


@contextmanager
def attached(aside: Aside, old: Path) -> Iterator[sqlite3.Connection]:
    """The old ledger beside the new one, as `old`."""
    with aside.ledger.read() as db:
        db.execute("ATTACH ? AS old", (str(old),))
        for name in ("main", "old"):
            db.execute(f"PRAGMA {name}.cache_size = -{CACHE}")
        db.create_function("named", 1, aside.plan.name_hash, deterministic=True)
    try:
        with aside.ledger.read() as db:
            yield db
    finally:
        with aside.ledger.read() as db:
            db.execute("DETACH old")


def copy_queue(aside: Aside, old: Path) -> None:
    """While others change it: see queueing.py."""
    with attached(aside, old) as db:
        for table in queueing.tables(db):
            after = aside.at.queue.get(table.name, [])
            while after is not None:
                after = _copy_part(db, aside, table, after or None)


def _copy_part(db: sqlite3.Connection, aside: Aside, table: queueing.Table, after: list[int | str] | None) -> list[int | str] | None:
    db.execute("BEGIN")  # not immediate: that would be the old ledger's turn to write too
    try:
        queueing.learn_groups(db)
        aside.at.queue[table.name] = queueing.copy_part(db, table, after)
        halfway.save(db, aside.at)
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    return aside.at.queue[table.name]


def adopt(aside: Aside, old: Path, entries_of: Callable[[bytes], Sequence[int]], rows_of: Callable[[Sequence[int]], list[Row]]) -> Rekeyed:
    """Nobody writes. entries_of(fingerprints): what the old store has of each; rows_of(ids): rows of its text that are not done."""
    with aside.ledger.read() as db:
        left_out = [row[0] for row in db.execute("SELECT id FROM making_left")]
    aside.rows(rows_of(left_out), lambda ids: ids)
    with attached(aside, old):
        with aside.writing() as tx:
            aside.at.closing = True  # from here on what was merged is gone: nothing more can be followed
            halfway.save(tx.db, aside.at)
            _take_over(tx.db)
            tx.execute("DELETE FROM main.blob WHERE name = ?", (aside.plan.estimates,))
            _queue(tx, aside, entries_of)
            report = _settle(tx, aside)
        with aside.writing() as tx:
            _budgets(tx, aside)
            halfway.end(tx.db)
    return report


def _take_over(db: sqlite3.Connection) -> None:
    marks = ",".join("?" * len(_OWN))
    db.execute(f"INSERT OR REPLACE INTO main.counter SELECT name, n FROM old.counter WHERE name NOT IN ({marks})", sorted(_OWN))
    for name in ("generation", "rules_generation"):
        db.execute("INSERT OR REPLACE INTO main.counter SELECT name, n + 1 FROM old.counter WHERE name = ?", (name,))
    db.execute("INSERT OR REPLACE INTO main.meta SELECT name, value FROM old.meta WHERE name NOT IN ('header', ?)", (halfway.MARK,))
    queueing.learn_groups(db)
    queue = queueing.tables(db)
    for table in queue:
        queueing.make_same(db, table)
    for (name,) in db.execute("SELECT name FROM old.sqlite_master WHERE type = 'table'").fetchall():
        if name not in _MADE and not name.startswith("sqlite_") and all(name != table.name for table in queue):
            queueing.make_table(db, name)
            db.execute(f'DELETE FROM main."{name}"')
            db.execute(f'INSERT INTO main."{name}" SELECT * FROM old."{name}"')


def _queue(tx: Transaction, aside: Aside, entries_of: Callable[[bytes], Sequence[int]]) -> None:
    db = tx.db
    db.execute("DELETE FROM main.extra WHERE id IN (SELECT id FROM making_left)")
    db.execute(_DEPTHS)
    _failed_urls(tx, aside, entries_of)
    tx.count("groups", scalar(db, "SELECT count(*) FROM main.grp"))
    by_class = ", ".join(f"coalesce(sum(class = {int(klass)}), 0)" for klass in Klass)
    for klass, many in zip(Klass, db.execute(f"SELECT {by_class} FROM main.pending").fetchone(), strict=True):
        for name, by in ((PENDING[klass], many), ("pending", many), ("done", -many)):
            tx.count(name, by)
    for state, many in db.execute("SELECT state, count(*) FROM main.held GROUP BY state").fetchall():
        tx.count(State(state).name.lower(), many)
        tx.count("done", -many)


#: A URL that comes back is given the depth at which it was found again.
_DEPTHS = (
    "UPDATE main.text SET depth = (SELECT o.depth FROM old.text o WHERE o.id = main.text.id) WHERE id IN (SELECT t.id FROM "
    "(SELECT id FROM old.moved UNION ALL SELECT id FROM old.held) w JOIN old.text o ON o.id = w.id JOIN main.text t ON t.id = w.id "
    "WHERE t.depth <> o.depth)"
)


def _failed_urls(tx: Transaction, aside: Aside, entries_of: Callable[[bytes], Sequence[int]]) -> None:
    """The probe of a blocked group must be another URL than the one that failed."""
    failed = tx.execute("SELECT id, failed_url FROM main.grp WHERE length(failed_url) = 16").fetchall()
    entries = dict(zip(failed, entries_of(b"".join(bytes(fp) for _, fp in failed)), strict=True)) if failed else {}
    rows = dict(tx.rows("SELECT id, fp FROM main.text WHERE id IN", [entry for entry in entries.values() if entry > 0]))
    tx.executemany(
        "UPDATE main.grp SET failed_url = ? WHERE id = ?", [(rows.get(entry, b""), group) for (group, _), entry in entries.items()]
    )


def _settle(tx: Transaction, aside: Aside) -> Rekeyed:
    """Of those that became one, one stays; those that are no URLs any more go; limits count what is there."""
    now = time.time()
    policy = _policy(tx)
    merged = aside.at.merged
    several = ((fp, entries) for fp, entries in aside.twins.items() if len(entries) > 1)
    while part := list(islice(several, STEP)):
        merged += _one_of_each(tx, part, policy, now)
    refused: dict[str, int] = dict(aside.at.refused)
    fps = dict(tx.rows("SELECT id, fp FROM text WHERE id IN", list(aside.refused)))
    drop.drop(tx, [(bytes(fp), number) for number, fp in fps.items()], policy, now)
    for number in fps:
        refused[aside.refused[number]] = refused.get(aside.refused[number], 0) + 1
    for word, many in refused.items():
        tx.tally("rejected", word, many)
    _limits(tx, aside)
    level = aside.imported.count(tx.db, aside.plan.level.name)
    return Rekeyed(tx.value("accepted"), merged, refused, level, aside.plan.level.name if level else "")


def _one_of_each(tx: Transaction, twins: Sequence[tuple[bytes, set[int]]], policy: Policy, now: float) -> int:
    """How many went."""
    spots = queue.locate(tx, [entry for _, entries in twins for entry in entries if entry > 0])
    stay, go = [], []
    for fp, entries in twins:
        first, *others = sorted(entries, key=lambda entry: (_rank(spots.get(entry), entry), abs(entry)))
        stay.append((first, fp))
        go += [(fp, other) for other in others]
    drop.drop(tx, go, policy, now)
    seen.assign(tx, stay)
    return len(go)


def _rank(spot: queue.Spot | None, entry: int) -> int:
    """The leased one stays, else one that is done, else one that waits, before one that is dead."""
    if spot is None:
        return 4 if entry == seen.DEAD_WITHOUT_TEXT else 1
    return {State.LEASED: 0, State.PENDING: 2, State.DELAYED: 3}.get(spot.state, 4)


def _limits(tx: Transaction, aside: Aside) -> None:
    limits: Iterable[tuple[Any, ...]] = tx.execute("SELECT name, lim FROM old.site WHERE lim IS NOT NULL").fetchall()
    for name, limit in limits:
        number = aside.plan.name_hash(name)
        aside.sites.add(tx, {number.to_bytes(8, "little", signed=True): name})
        tx.execute("UPDATE main.site SET lim = ?, accepted = ? WHERE id = ?", (limit, _accepted(tx, number), number))
        tx.count("limits")


def _budgets(tx: Transaction, aside: Aside) -> None:
    """Where the rules have limits: pages and bytes of each site as they were; URLs by what is there now."""
    if not scalar(tx.db, "SELECT n FROM old.counter WHERE name = 'budgets'"):
        return
    used = tx.execute("SELECT s.name, sum(u.pages), sum(u.bytes) FROM old.used u JOIN old.site s ON s.id = u.site GROUP BY 1").fetchall()
    for name, _, _ in used:
        number = aside.plan.name_hash(name)
        aside.sites.add(tx, {number.to_bytes(8, "little", signed=True): name})
    budgets.begin(tx, aside.sites.domain_of)
    rows = [(pages, size, aside.plan.name_hash(name)) for name, pages, size in used]
    tx.executemany("UPDATE main.used SET pages = ?, bytes = ? WHERE site = ?", rows)


def _accepted(tx: Transaction, site: int) -> int:
    """As the transaction that settles leaves it."""
    every = {fp: entry for pairs in seen.of_site(tx, site) for fp, entry in pairs}
    return len(seen.find(tx, list(every)))


def _policy(tx: Transaction) -> Policy:
    import json

    fields = json.loads(scalar(tx.db, "SELECT value FROM main.meta WHERE name = 'policy'"))
    return Policy(**{**fields, "shares": tuple(fields["shares"])})
