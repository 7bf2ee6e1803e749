"""A ledger in, what is wrong with it out, in words: damage, counts that do not agree, groups that nobody would serve."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from urlsieve.errors import StoreCorrupt
from urlsieve.frontier.turn import Place
from urlsieve.model import Klass, State
from urlsieve.stores.counting import broken_equalities
from urlsieve.stores.embedded import packed, seen
from urlsieve.stores.embedded.ledger import Transaction, scalar
from urlsieve.stores.embedded.queue import DONE, IS_PENDING, UNHELD
from urlsieve.stores.embedded.sites import site_id


def verify(tx: Transaction, *, deep: bool) -> list[str]:
    """Quick: the counts against each other. Deep: the file's structure, every block of every run, and everything by enumeration."""
    try:
        view = tx.seen
    except StoreCorrupt as error:
        return [str(error)]
    db = tx.db
    number: dict[str, int] = dict(db.execute("SELECT name, n FROM counter"))
    problems = list(broken_equalities(number))
    if deep:
        problems += [f"ledger: {row[0]}" for row in db.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
        damage = list(_runs(view))
        problems += damage
        if not damage:
            problems += _enumeration(tx, number)
        problems += _queues(db)
    return problems


def _runs(view: seen.Seen) -> Iterator[str]:
    for named, run in view.runs:
        bad = run.check()
        if bad:
            yield f"run {named.name}: {len(bad)} of {run.blocks} blocks are damaged (the first is {bad[0]})"
        if run.count != named.keys:
            yield f"run {named.name} has {run.count} keys, the ledger says {named.keys}"


_KINDS = (1, seen.DONE_WITHOUT_TEXT, seen.KNOWN, seen.DEAD_WITHOUT_TEXT, seen.PACKED)


class _Marks:
    """The seen set, enumerated once: marks by kind, those whose text is there, and accepted ones of the sites that have a limit."""

    def __init__(self, tx: Transaction, limited: set[int]) -> None:
        self.by_kind = dict.fromkeys(_KINDS, 0)
        self.of_site = dict.fromkeys(limited, 0)
        self.matched = self.twice = 0
        self.packed = packed.Named({})
        for pairs in seen.scan(tx):
            texts = dict(tx.rows("SELECT id, fp FROM text WHERE id IN", [entry for _, entry in pairs if entry > 0]))
            self.twice += self.packed.add(entry for _, entry in pairs)
            for fp, entry in pairs:
                kind = min(entry, 1) if entry > seen.PACKED else seen.PACKED
                self.by_kind[kind] = self.by_kind.get(kind, 0) + 1
                self.matched += entry > 0 and texts.get(entry) == fp
                if limited and entry != seen.KNOWN and (site := site_id(fp)) in limited:
                    self.of_site[site] += 1


def _enumeration(tx: Transaction, number: dict[str, int]) -> Iterator[str]:
    db = tx.db
    limits = db.execute("SELECT id, name, accepted FROM site WHERE lim IS NOT NULL").fetchall()
    counted = db.execute("SELECT site, urls FROM used").fetchall() if number.get("budgets") else []
    marks = _Marks(tx, {row[0] for row in (*limits, *counted)})
    found = {state.name.lower(): 0 for state in State}
    for state, many in db.execute("SELECT state, count(*) FROM held GROUP BY state"):
        found[State(state).name.lower()] += many
    found["pending"] = scalar(db, "SELECT count(*) FROM pending")
    unqueued = scalar(db, f"SELECT count(*) FROM text t WHERE {DONE}")
    found["done"] = marks.by_kind[seen.DONE_WITHOUT_TEXT] + marks.by_kind[seen.PACKED] + unqueued
    found["dead"] += marks.by_kind[seen.DEAD_WITHOUT_TEXT]
    found["known"] = marks.by_kind[seen.KNOWN]
    found["seen"] = sum(marks.by_kind.values())
    strange = sum(many for kind, many in marks.by_kind.items() if kind not in _KINDS)
    if strange:
        yield f"{strange} marks of the seen set mean nothing"
    for klass in Klass:
        found[f"pending.{klass.name.lower()}"] = scalar(db, "SELECT count(*) FROM pending WHERE class = ?", (int(klass),))
    found["sites"] = scalar(db, "SELECT count(*) FROM site")
    found["groups"] = scalar(db, "SELECT count(*) FROM grp")
    found["limits"] = len(limits)
    found["unpacked"] = scalar(db, "SELECT coalesce(sum(length(ids)), 0) FROM finished") // 8
    found["journaled"] = scalar(db, "SELECT coalesce(sum(length(records)), 0) FROM marks") // 24
    for name, many in found.items():
        if number.get(name, 0) != many:
            yield f"count {name} says {number.get(name, 0)}, there are {many}"
    yield from _pairs(db, marks, found["pending"])
    if marks.twice:
        yield f"{marks.twice} slots of kept texts are named by two marks"
    yield from packed.problems(db, marks.packed, number)
    for site, name, accepted in limits:
        if accepted != marks.of_site[site]:
            yield f"site {name}: its limit counts {accepted} accepted URLs, there are {marks.of_site[site]}"
    for site, urls in counted:
        if urls != marks.of_site[site]:
            yield f"site {site}: its budget counts {urls} accepted URLs, there are {marks.of_site[site]}"
    if counted and (lost := scalar(db, "SELECT count(*) FROM site WHERE id NOT IN (SELECT site FROM used)")):
        yield f"{lost} sites are not counted for their budgets"


def _pairs(db: sqlite3.Connection, marks: _Marks, pending: int) -> Iterator[str]:
    """Every mark has its text, every queued URL too, and can be found where it should be."""
    texts = scalar(db, "SELECT count(*) FROM text")
    named = marks.by_kind[1]
    if not marks.matched == texts == named:
        yield f"{texts} texts and {named} marks that name one, but {marks.matched} pairs: a mark without text, or the reverse"
    placed = scalar(db, f"SELECT count(*) FROM text t WHERE {UNHELD} AND {IS_PENDING}")
    if placed != pending:
        yield f"{pending} URLs are pending, but only {placed} where they can be found"
    for table, what in (("held", "held URLs"), ("extra", "extras"), ("moved", "places")):
        lost = scalar(db, f"SELECT count(*) FROM {table} WHERE id NOT IN (SELECT id FROM text)")
        if lost:
            yield f"{lost} {what} have no text: they cannot be given to anybody"
    strays = scalar(db, "SELECT count(*) FROM held WHERE state NOT IN (1, 2, 4) OR (state = 2) <> (due IS NOT NULL)")
    if strays:
        yield f"{strays} held URLs have a state or a due time that cannot be"


def _queues(db: sqlite3.Connection) -> Iterator[str]:
    """Every group with pending URLs is in exactly one place, with its true heads and its true number of leases."""
    heads: dict[int, list[int | None]] = {}
    for group_id, klass, top in db.execute("SELECT grp, class, -min(np) FROM pending GROUP BY grp, class"):
        heads.setdefault(group_id, [None, None, None])[klass] = top
    leased: dict[int, int] = dict(db.execute("SELECT grp, count(*) FROM held WHERE state = 1 GROUP BY grp"))
    rows = db.execute("SELECT id, name, paused, leased, place, wake, top, top0, top1, top2 FROM grp")
    for group_id, name, paused, out, place, wake, top, *tops in rows:
        true_heads = heads.pop(group_id, [None, None, None])
        if tops != true_heads or top != max((t for t in true_heads if t is not None), default=None):
            yield f"group {name}: heads {tops} (top {top}) are {true_heads}"
        if out != leased.pop(group_id, 0):
            yield f"group {name}: its count of leases, {out}, is wrong"
        if place == Place.HELD and not out and not paused:
            yield f"group {name} is held out though it has no lease out and is not paused: it would never be served"
        if (place == Place.IDLE) != (top is None) or (place == Place.WAITING) != (wake is not None):
            yield f"group {name}: place {place} does not fit (top {top}, wake {wake})"
    for group_id in [*heads, *leased]:
        yield f"group {group_id} has URLs but no row: they would never be served"
