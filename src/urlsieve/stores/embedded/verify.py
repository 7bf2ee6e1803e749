"""A ledger in, what is wrong with it out, in words: damage, counts that do not agree, groups that nobody would serve."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from urlsieve.frontier.turn import Place
from urlsieve.model import Klass, State
from urlsieve.stores.embedded import seen
from urlsieve.stores.embedded.ledger import scalar
from urlsieve.stores.embedded.queue import PLACE


def verify(db: sqlite3.Connection, *, deep: bool) -> list[str]:
    """Quick: the counts against each other. Deep: the file's structure, and everything by enumeration."""
    number: dict[str, int] = dict(db.execute("SELECT name, n FROM counter"))
    problems = list(_equalities(number))
    if deep:
        problems += [f"ledger: {row[0]}" for row in db.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
        problems += _enumeration(db, number)
        problems += _queues(db)
    return problems


def _equalities(number: dict[str, int]) -> Iterator[str]:
    states = {state.name.lower(): number.get(state.name.lower(), 0) for state in State}
    if number.get("accepted", 0) != sum(states.values()):
        shown = " + ".join(f"{name} {n}" for name, n in states.items())
        yield f"conservation: accepted {number.get('accepted', 0)} is not {shown}"
    if number.get("seen", 0) != number.get("accepted", 0) + number.get("known", 0):
        yield f"seen {number.get('seen', 0)} is not accepted {number.get('accepted', 0)} + known {number.get('known', 0)}"
    yield from (f"count {name} is negative: {n}" for name, n in number.items() if n < 0)


def _enumeration(db: sqlite3.Connection, number: dict[str, int]) -> Iterator[str]:
    found = {state.name.lower(): 0 for state in State}
    for state, many in db.execute("SELECT state, count(*) FROM held GROUP BY state"):
        found[State(state).name.lower()] += many
    marks: dict[int, int] = dict(db.execute("SELECT min(entry, 1), count(*) FROM seen GROUP BY 1"))
    found["pending"] = scalar(db, "SELECT count(*) FROM pending")
    found["done"] = marks.get(seen.DONE_WITHOUT_TEXT, 0) + scalar(db, f"SELECT count(*) FROM text t WHERE {_UNHELD} AND NOT {_PENDING}")
    found["dead"] += marks.get(seen.DEAD_WITHOUT_TEXT, 0)
    found["known"] = marks.get(seen.KNOWN, 0)
    found["seen"] = sum(marks.values())
    for klass in Klass:
        found[f"pending.{klass.name.lower()}"] = scalar(db, "SELECT count(*) FROM pending WHERE class = ?", (int(klass),))
    found["sites"] = scalar(db, "SELECT count(*) FROM site")
    found["groups"] = scalar(db, "SELECT count(*) FROM grp")
    for name, many in found.items():
        if number.get(name, 0) != many:
            yield f"count {name} says {number.get(name, 0)}, there are {many}"
    yield from _pairs(db, marks.get(1, 0), found["pending"])
    limited = scalar(db, "SELECT count(*) FROM site WHERE lim IS NOT NULL")
    if number.get("limits", 0) != limited:
        yield f"count limits says {number.get('limits', 0)}, there are {limited}"
    for site, name, accepted in db.execute("SELECT id, name, accepted FROM site WHERE lim IS NOT NULL").fetchall():
        half = site.to_bytes(8, "little", signed=True)
        many = scalar(db, "SELECT count(*) FROM seen WHERE fp > ? AND fp < ? AND entry <> -1", (half, half + b"\xff" * 9))
        if accepted != many:
            yield f"site {name}: its limit counts {accepted} accepted URLs, there are {many}"


_UNHELD = "NOT EXISTS (SELECT 1 FROM held h WHERE h.id = t.id)"
_PENDING = f"EXISTS (SELECT 1 FROM (SELECT 1) LEFT JOIN moved m ON m.id = t.id JOIN pending p ON {PLACE} AND p.id = t.id)"


def _pairs(db: sqlite3.Connection, marks: int, pending: int) -> Iterator[str]:
    """Every mark has its text, every queued URL too, and can be found where it should be."""
    texts = scalar(db, "SELECT count(*) FROM text")
    matched = scalar(db, "SELECT count(*) FROM seen s JOIN text t ON t.id = s.entry AND t.fp = s.fp WHERE s.entry > 0")
    if not matched == texts == marks:
        yield f"{texts} texts and {marks} marks that name one, but {matched} pairs: a mark without text, or the reverse"
    placed = scalar(db, f"SELECT count(*) FROM text t WHERE {_UNHELD} AND {_PENDING}")
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
