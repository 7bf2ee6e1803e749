"""Questions to the ledger: counts, sites, groups, one URL. Nothing here writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from urlsieve.frontier.turn import Place
from urlsieve.model import Counts, EntryInfo, GroupRow, Klass, SiteRow, State
from urlsieve.stores.counting import STATE_NAMES, counts_of
from urlsieve.stores.embedded import packed, queue, seen
from urlsieve.stores.embedded.groups import SELECT, Group, load_one
from urlsieve.stores.embedded.imported import levels
from urlsieve.stores.embedded.ledger import Ledger, Transaction, scalar, snapshot
from urlsieve.stores.embedded.sites import site_id as site_id_of

SLICE = 200
_WITHOUT_ROW = {seen.KNOWN: "known", seen.DONE_WITHOUT_TEXT: "done", seen.DEAD_WITHOUT_TEXT: "dead"}


def without_row(entry: int) -> str | None:
    """The state of one that has no row of text. None: the mark means nothing, which is for verify to say."""
    return "done" if entry <= seen.PACKED else _WITHOUT_ROW.get(entry)


def counts(db: sqlite3.Connection, size: int) -> Counts:
    number: dict[str, int] = dict(db.execute("SELECT name, n FROM counter"))
    tally: dict[str, int] = dict(db.execute("SELECT name, n FROM tally"))

    oldest, sampled = _oldest(db)
    found = levels(db)
    more = {"imported": sum(level.bytes or 0 for level in found)} if found else {}
    return counts_of(
        number,
        tally,
        oldest=oldest,
        sampled=sampled,
        size={"seen": seen_bytes(db), "text": packed.size(db, number), "total": size, **more},
        epoch=number.get("epoch", 0),
        rules_generation=number.get("rules_generation", 0),
    )


def seen_bytes(db: sqlite3.Connection) -> int:
    """What the seen set takes: its runs, and 24 bytes a record of the journal."""
    sql = "SELECT (SELECT coalesce(sum(size), 0) FROM run) + 24 * coalesce((SELECT n FROM counter WHERE name = 'journaled'), 0)"
    return int(scalar(db, sql))


def _oldest(db: sqlite3.Connection) -> tuple[float | None, bool]:
    """About when the URL that waits longest began to (one that was given back counts from when it came first), and whether not all
    were looked at: at most OLDEST_AMONG groups of each place, those that have waited longest, and MOST_STEPS lines in all."""
    oldest: float | None = None
    steps, sampled = 0, False
    for where in ("place = 1 ORDER BY since", "place = 2 ORDER BY wake", "place = 3 ORDER BY since"):
        groups = db.execute(f"SELECT id FROM grp WHERE {where} LIMIT {OLDEST_AMONG}").fetchall()
        sampled = sampled or len(groups) == OLDEST_AMONG
        for (group_id,) in groups:
            for klass in Klass:
                np: int | None = -(2**62)
                while steps < MOST_STEPS and (np := scalar(db, _NEXT_PRIORITY, (group_id, klass, np))) is not None:
                    steps += 1
                    since = scalar(db, _FIRST, (group_id, klass, np))
                    oldest = since if oldest is None else min(oldest, since)
    return oldest, sampled or steps == MOST_STEPS


OLDEST_AMONG, MOST_STEPS = 500, 5000
_NEXT_PRIORITY = "SELECT np FROM pending WHERE grp = ? AND class = ? AND np > ? ORDER BY np LIMIT 1"
_FIRST = "SELECT since FROM pending WHERE grp = ? AND class = ? AND np = ? ORDER BY seq LIMIT 1"


def ready(tx: Transaction, now: float, group_ids: Sequence[int] | None) -> tuple[bool, float | None]:
    """May something be popped now (of these groups), and if not, when."""
    if group_ids is None:
        waiting = scalar(tx.db, "SELECT 1 FROM grp WHERE place = 1 LIMIT 1")
        wakes = [scalar(tx.db, "SELECT min(wake) FROM grp WHERE place = 2")]
    else:
        places = tx.rows("SELECT place, wake FROM grp WHERE id IN", list(group_ids))
        waiting = any(place == Place.READY for place, _ in places)
        wakes = [wake for _, wake in places]
    if waiting:
        return True, now
    wakes.append(scalar(tx.db, "SELECT min(due) FROM held WHERE state = 2"))
    wakes.append(scalar(tx.db, "SELECT min(deadline) FROM held WHERE state = 1"))
    later = min((wake for wake in wakes if wake is not None), default=None)
    return later is not None and later <= now, later


def sites(ledger: Ledger) -> Iterator[SiteRow]:
    """In the order of the seen set and in slices: no read is open between two of them."""
    for first, last in seen.SITES_IN_ORDER:
        rows: list[Any] = [None]
        while rows and first <= last:
            with ledger.look() as tx:
                _ = tx.seen  # before anything else is read
                rows = tx.execute(f"{_SITE} BETWEEN ? AND ? ORDER BY id LIMIT ?", (first, last, SLICE)).fetchall()
                found = _counted(tx, rows)
            yield from found
            first = rows[-1][0] + 1 if rows else first


def site_names(tx: Transaction, keys: Sequence[bytes]) -> dict[int, str]:
    return dict(tx.rows("SELECT id, name FROM site WHERE id IN", list({site_id_of(key) for key in keys})))


def site(tx: Transaction, site_id: int) -> SiteRow | None:
    _ = tx.seen  # before anything else is read
    rows = tx.execute(f"{_SITE} = ?", (site_id,)).fetchall()
    return next(iter(_counted(tx, rows)), None)


_SITE = "SELECT id, name, lim FROM site WHERE id"


#: Texts by state; done is what is neither held nor pending.
_STATES = (
    "SELECT t.id, coalesce(h.state, CASE WHEN p.id IS NULL THEN 3 ELSE 0 END) FROM text t LEFT JOIN held h ON h.id = t.id "
    f"LEFT JOIN moved m ON m.id = t.id LEFT JOIN pending p ON {queue.PLACE} WHERE t.id IN"
)


def _counted(tx: Transaction, rows: Sequence[tuple[int, str, int | None]]) -> list[SiteRow]:
    """Sites that follow one another, by (id, name, limit), in one walk through their URLs."""
    have: dict[int, dict[str, int]] = {row[0]: {} for row in rows}
    for pairs in seen.of_sites(tx, rows[0][0], rows[-1][0]) if rows else ():
        states = {number: STATE_NAMES[state] for number, state in tx.rows(_STATES, [entry for _, entry in pairs if entry > 0])}
        for key, entry in pairs:
            word = states.get(entry) if entry > 0 else without_row(entry)
            of = have.get(site_id_of(key))
            if word is not None and of is not None:  # else the store is damaged, which is for verify to say
                of[word] = of.get(word, 0) + 1
    return [_site_row(name, have[number], limit) for number, name, limit in rows]


def _site_row(name: str, have: dict[str, int], limit: int | None) -> SiteRow:
    pending, leased, delayed, done, dead = (have.get(word, 0) for word in STATE_NAMES)
    return SiteRow(name, sum(have.values()), pending, leased, delayed, done, dead, limit)


def groups(ledger: Ledger) -> Iterator[GroupRow]:
    last = -(2**63)
    rows: list[Any] = [None]
    while rows:
        with ledger.read() as db, snapshot(db):
            rows = db.execute(f"{SELECT} > ? ORDER BY id LIMIT ?", (last, SLICE)).fetchall()
            found = [Group(row).value(_pending(db, row[0])) for row in rows]
        yield from found
        last = rows[-1][0] if rows else last


def group(db: sqlite3.Connection, group_id: int, *, counted: bool) -> GroupRow | None:
    found = load_one(db, group_id)
    return None if found is None else found.value(_pending(db, group_id) if counted else None)


def _pending(db: sqlite3.Connection, group_id: int) -> int:
    return int(scalar(db, "SELECT count(*) FROM pending WHERE grp = ?", (group_id,)))


def info(tx: Transaction, fingerprint: bytes) -> EntryInfo:
    entry = seen.find(tx, [fingerprint]).get(fingerprint)
    if entry is None:
        return EntryInfo("unseen")
    return replace(_info(tx, entry), level=tx.seen.level(fingerprint))


def _info(tx: Transaction, entry: int) -> EntryInfo:
    if entry <= seen.PACKED:
        text = packed.read(tx, [entry])[entry]
        return EntryInfo("done", url=text.url, depth=text.depth)
    if entry <= 0:
        return EntryInfo(_WITHOUT_ROW[entry])
    url, depth, via = tx.execute(
        "SELECT t.url, t.depth, x.via FROM text t LEFT JOIN extra x ON x.id = t.id WHERE t.id = ?", (entry,)
    ).fetchone()
    spot = queue.locate(tx, [entry]).get(entry)
    if spot is None:
        return EntryInfo("done", url=url, depth=depth)
    group = scalar(tx.db, "SELECT name FROM grp WHERE id = ?", (spot.grp,))
    deadline, reason = tx.execute("SELECT max(deadline), max(reason) FROM held WHERE id = ?", (entry,)).fetchone()
    return EntryInfo(
        spot.state.name.lower(),
        group,
        Klass(spot.klass).name.lower(),
        spot.priority,
        spot.attempt,
        spot.due if spot.state is State.DELAYED else None,
        deadline if spot.state is State.LEASED else None,
        depth,
        via,
        url,
        reason,
        _ahead(tx.db, spot) if spot.state is State.PENDING else None,
    )


def _ahead(db: sqlite3.Connection, spot: queue.Spot) -> int:
    sql = "SELECT count(*) FROM (SELECT 1 FROM pending WHERE grp = ? AND class = ? AND (np, seq) < (?, ?) LIMIT 1000)"
    return int(scalar(db, sql, (spot.grp, spot.klass, -spot.priority, spot.seq)))
