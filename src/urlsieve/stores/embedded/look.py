"""Questions to the ledger: counts, sites, groups, one URL. Nothing here writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from urlsieve.model import Counts, EntryInfo, GroupRow, Klass, SiteRow, State
from urlsieve.stores.embedded import seen
from urlsieve.stores.embedded.groups import SELECT, Group
from urlsieve.stores.embedded.ledger import Ledger, scalar

SLICE = 200
_WITHOUT_ROW = {seen.KNOWN: "known", seen.DONE_WITHOUT_TEXT: "done", seen.DEAD_WITHOUT_TEXT: "dead"}


def counts(db: sqlite3.Connection, size: int) -> Counts:
    number: dict[str, int] = dict(db.execute("SELECT name, n FROM counter"))

    def by(prefix: str) -> dict[str, int]:
        return {name[len(prefix) :]: n for name, n in sorted(number.items()) if name.startswith(prefix) and n}

    return Counts(
        accepted=number.get("accepted", 0),
        known=number.get("known", 0),
        seen=number.get("seen", 0),
        states={state: number.get(state.name.lower(), 0) for state in State},
        classes={klass: number.get(f"pending.{klass.name.lower()}", 0) for klass in Klass},
        rejected=by("rejected."),
        skipped=by("skipped."),
        sites=number.get("sites", 0),
        groups=number.get("groups", 0),
        oldest_pending=_oldest(db),
        bytes={"seen": None, "queue": None, "text": None, "history": None, "total": size},
        epoch=number.get("epoch", 0),
        generation=number.get("generation", 0),
        rules_generation=number.get("rules_generation", 0),
    )


def _oldest(db: sqlite3.Connection) -> float | None:
    """When the URL that waits longest began to. Exact for the OLDEST_AMONG groups of each place that have waited longest; others are
    not looked at."""
    oldest: float | None = None
    for where in ("place = 1 ORDER BY since", "place = 2 ORDER BY wake", "place = 3 ORDER BY since"):
        for (group_id,) in db.execute(f"SELECT id FROM grp WHERE {where} LIMIT {OLDEST_AMONG}").fetchall():
            for klass in Klass:
                priority: int | None = scalar(db, f"{_LOWEST} > ? ORDER BY priority LIMIT 1", (group_id, klass, -(2**62)))
                while priority is not None:
                    added = scalar(db, _FIRST, (group_id, klass, priority))
                    oldest = added if oldest is None else min(oldest, added)
                    priority = scalar(db, f"{_LOWEST} > ? ORDER BY priority LIMIT 1", (group_id, klass, priority))
    return oldest


OLDEST_AMONG = 500
_LOWEST = "SELECT priority FROM queue WHERE state = 0 AND grp = ? AND class = ? AND priority"
_FIRST = "SELECT added FROM queue WHERE state = 0 AND grp = ? AND class = ? AND priority = ? ORDER BY seq LIMIT 1"


def ready(db: sqlite3.Connection, now: float) -> tuple[bool, float | None]:
    """May something be popped now, and if not, when."""
    if scalar(db, "SELECT 1 FROM grp WHERE place = 1 LIMIT 1"):
        return True, now
    times = [
        scalar(db, "SELECT min(wake) FROM grp WHERE place = 2"),
        scalar(db, "SELECT min(due) FROM queue WHERE state = 2"),
        scalar(db, "SELECT min(deadline) FROM queue WHERE state = 1"),
    ]
    later = min((t for t in times if t is not None), default=None)
    return later is not None and later <= now, later


def sites(ledger: Ledger, name: str | None) -> Iterator[SiteRow]:
    """In slices: no read is open between two rows."""
    last = -(2**63)
    while True:
        with ledger.read() as db:
            if name is None:
                found = db.execute("SELECT id, name, lim FROM site WHERE id > ? ORDER BY id LIMIT ?", (last, SLICE)).fetchall()
            else:
                found = db.execute("SELECT id, name, lim FROM site WHERE name = ? AND id > ?", (name, last)).fetchall()
            rows = [_site(db, *row) for row in found]
        yield from rows
        if len(found) < SLICE:
            return
        last = found[-1][0]


def _site(db: sqlite3.Connection, site_id: int, name: str, limit: int | None) -> SiteRow:
    prefix = site_id.to_bytes(8, "little", signed=True)
    have: dict[str, int] = {}
    for state, entry, many in db.execute(
        "SELECT q.state, min(s.entry, 0), count(*) FROM seen s LEFT JOIN queue q ON s.entry > 0 AND q.id = s.entry "
        "WHERE s.fp > ? AND s.fp < ? GROUP BY 1, 2",
        (prefix, prefix + b"\xff" * 9),
    ):
        word = State(state).name.lower() if state is not None else _WITHOUT_ROW[entry]
        have[word] = have.get(word, 0) + many
    return SiteRow(
        name,
        sum(have.values()),
        have.get("pending", 0),
        have.get("leased", 0),
        have.get("delayed", 0),
        have.get("done", 0),
        have.get("dead", 0),
        limit,
    )


def groups(ledger: Ledger, name: str | None) -> Iterator[GroupRow]:
    last = -(2**63)
    while True:
        with ledger.read() as db:
            if name is None:
                found = db.execute(f"{SELECT} > ? ORDER BY id LIMIT ?", (last, SLICE)).fetchall()
            else:
                found = db.execute(f"{SELECT.replace('WHERE id', 'WHERE name = ? AND id >')} ?", (name, last)).fetchall()
            rows = [_group(db, row) for row in found]
        yield from rows
        if len(found) < SLICE:
            return
        last = found[-1][0]


def _group(db: sqlite3.Connection, row: tuple[Any, ...]) -> GroupRow:
    pending = scalar(db, "SELECT count(*) FROM queue WHERE state = 0 AND grp = ?", (row[0],))
    return Group(row).value(pending)


def info(db: sqlite3.Connection, fingerprint: bytes) -> EntryInfo:
    entry = scalar(db, "SELECT entry FROM seen WHERE fp = ?", (fingerprint,))
    if entry is None:
        return EntryInfo("unseen")
    if entry <= 0:
        return EntryInfo(_WITHOUT_ROW[entry])
    url = scalar(db, "SELECT url FROM text WHERE id = ?", (entry,))
    row = db.execute(
        "SELECT q.state, g.name, q.class, q.priority, q.attempt, q.due, q.deadline, q.depth, q.via, q.reason, q.grp, q.seq "
        "FROM queue q JOIN grp g ON g.id = q.grp WHERE q.id = ?",
        (entry,),
    ).fetchone()
    if row is None:
        return EntryInfo("done", url=url)
    state, group, klass, priority, attempt, due, deadline, depth, via, reason, group_id, seq = row
    ahead = None
    if state == State.PENDING:
        ahead = scalar(
            db,
            "SELECT count(*) FROM (SELECT 1 FROM queue WHERE state = 0 AND grp = ? AND class = ? AND (priority > ? OR (priority = ? AND "
            "seq < ?)) LIMIT 1000)",
            (group_id, klass, priority, priority, seq),
        )
    return EntryInfo(
        State(state).name.lower(),
        group,
        Klass(klass).name.lower(),
        priority,
        attempt,
        due if state == State.DELAYED else None,
        deadline if state == State.LEASED else None,
        depth,
        via,
        url,
        reason,
        ahead,
    )
