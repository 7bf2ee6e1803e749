"""A store whose entries are all done, and the ledger that they come from, in; the queue, settings and counts of that one in it, out.

Nobody writes meanwhile. What is in the queue goes over as rows, by SQLite alone: the time it takes goes by what waits, not by what is seen.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from urlsieve.model import Klass, Policy, State
from urlsieve.stores.counting import STATE_NAMES
from urlsieve.stores.embedded import budgets, drop, queue, seen
from urlsieve.stores.embedded.aside import Aside, Row
from urlsieve.stores.embedded.groups import PENDING
from urlsieve.stores.embedded.ledger import Transaction, scalar
from urlsieve.stores.protocol import Rekeyed

#: Twins looked at together.
STEP = 2_000
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
        "pending",
        "held",
        "grp",
        "extra",
        "level",
        "level_run",
        "witness",
        "used",
    ]
)


def adopt(
    aside: Aside, old: Path, entries_of: Callable[[Sequence[bytes]], Sequence[int]], rows_of: Callable[[Sequence[int]], list[Row]]
) -> Rekeyed:
    """entries_of(fingerprints): what the old store has of each; rows_of(ids): rows of its text."""
    with aside.ledger.read() as db:
        db.execute("ATTACH ? AS old", (str(old),))
        db.create_function("named", 1, aside.plan.name_hash, deterministic=True)
        missing = [row[0] for row in db.execute(_MISSING)]
    aside.rows(rows_of(missing), lambda ids: ids)
    with aside.ledger.write() as tx:
        _take_over(tx.db)
        tx.execute("DELETE FROM main.blob WHERE name = ?", (aside.plan.estimates,))
    with aside.writing() as tx:
        _queue(tx, aside, entries_of)
    with aside.writing() as tx:
        report = _settle(tx, aside)
    with aside.writing() as tx:
        _budgets(tx, aside)
    with aside.ledger.read() as db:
        db.execute("DETACH old")
    return report


#: Of what waits, texts that were left out because they do not account for their fingerprints, when they were done.
_MISSING = "SELECT id FROM (SELECT id FROM old.pending UNION ALL SELECT id FROM old.held) WHERE id NOT IN (SELECT id FROM main.text)"


def _take_over(db: sqlite3.Connection) -> None:
    marks = ",".join("?" * len(_OWN))
    db.execute(f"INSERT OR REPLACE INTO main.counter SELECT name, n FROM old.counter WHERE name NOT IN ({marks})", sorted(_OWN))
    for name in ("generation", "rules_generation"):
        db.execute("INSERT OR REPLACE INTO main.counter SELECT name, n + 1 FROM old.counter WHERE name = ?", (name,))
    db.execute("INSERT OR REPLACE INTO main.meta SELECT name, value FROM old.meta WHERE name <> 'header'")
    for name, sql in db.execute("SELECT name, sql FROM old.sqlite_master WHERE type = 'table'").fetchall():
        if name not in _MADE and not name.startswith("sqlite_"):
            if not scalar(db, "SELECT 1 FROM main.sqlite_master WHERE name = ?", (name,)):
                db.execute(sql)
                for (index,) in db.execute(_INDEXES, (name,)).fetchall():
                    db.execute(index)
            if name == _ASLEEP:
                continue
            db.execute(f'DELETE FROM main."{name}"')
            db.execute(f'INSERT INTO main."{name}" SELECT * FROM old."{name}"')


_INDEXES = "SELECT sql FROM old.sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
#: Goes by group, so its rows come with the groups.
_ASLEEP = "asleep"


def _queue(tx: Transaction, aside: Aside, entries_of: Callable[[Sequence[bytes]], Sequence[int]]) -> None:
    db = tx.db
    db.execute("CREATE TEMP TABLE same (o INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
    db.execute("INSERT INTO same SELECT id, named(name) FROM old.grp")
    sleepers = scalar(db, "SELECT 1 FROM main.sqlite_master WHERE name = ?", (_ASLEEP,))
    for table, column in (("grp", "id"), ("pending", "grp"), ("held", "grp"), *([(_ASLEEP, "grp")] if sleepers else [])):
        names = [row[1] for row in db.execute(f"PRAGMA main.table_info({table})")]
        values = ", ".join("same.n" if name == column else f"t.{name}" for name in names)
        order = "ORDER BY 1, 2, 3, 4" if table == "pending" else "ORDER BY 1"
        db.execute(
            f"INSERT INTO main.{table} ({', '.join(names)}) SELECT {values} FROM old.{table} t JOIN same ON same.o = t.{column} {order}"
        )
    db.execute("DROP TABLE same")
    db.execute("DELETE FROM main.extra")
    db.execute("INSERT INTO main.extra SELECT * FROM old.extra WHERE id IN (SELECT id FROM main.text)")
    db.execute(_DEPTHS)
    _failed_urls(tx, aside, entries_of)
    tx.count("groups", scalar(db, "SELECT count(*) FROM main.grp"))
    for klass in Klass:
        many = scalar(db, "SELECT count(*) FROM main.pending WHERE class = ?", (int(klass),))
        for name, by in ((PENDING[klass], many), ("pending", many), ("done", -many)):
            tx.count(name, by)
    for state, many in db.execute("SELECT state, count(*) FROM main.held GROUP BY state").fetchall():
        tx.count(State(state).name.lower(), many)
        tx.count("done", -many)


#: A URL that comes back is given the depth at which it was found again.
_DEPTHS = (
    "UPDATE main.text SET depth = (SELECT o.depth FROM old.text o WHERE o.id = main.text.id) "
    "WHERE id IN (SELECT id FROM old.moved UNION SELECT id FROM old.held) AND id IN (SELECT id FROM old.text)"
)


def _failed_urls(tx: Transaction, aside: Aside, entries_of: Callable[[Sequence[bytes]], Sequence[int]]) -> None:
    """The probe of a blocked group must be another URL than the one that failed."""
    failed = tx.execute("SELECT id, failed_url FROM main.grp WHERE length(failed_url) = 16").fetchall()
    entries = dict(zip(failed, entries_of([bytes(fp) for _, fp in failed]), strict=True)) if failed else {}
    rows = dict(tx.rows("SELECT id, fp FROM main.text WHERE id IN", [entry for entry in entries.values() if entry > 0]))
    tx.executemany(
        "UPDATE main.grp SET failed_url = ? WHERE id = ?", [(rows.get(entry, b""), group) for (group, _), entry in entries.items()]
    )


def _settle(tx: Transaction, aside: Aside) -> Rekeyed:
    """Of those that became one, one stays; those that are no URLs any more go; limits count what is there."""
    now = time.time()
    policy = _policy(tx)
    merged = aside.merged
    several = ((fp, entries) for fp, entries in aside.twins.items() if len(entries) > 1)
    while part := list(islice(several, STEP)):
        merged += _one_of_each(tx, part, policy, now)
    refused: dict[str, int] = dict(aside.refused_packed)
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
