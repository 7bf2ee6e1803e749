"""Offers in, verdicts out: mark and enqueue in the caller's transaction."""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from typing import Any

from urlsieve.model import Columns, Klass, Mode, OfferRow, Offers, Policy, State, Verdict
from urlsieve.stores.embedded import seen
from urlsieve.stores.embedded.groups import Arrivals
from urlsieve.stores.embedded.ledger import Transaction
from urlsieve.stores.embedded.sites import Limits, Sites

#: Above the high-water mark priorities up to this are refused at once, larger ones at HEADROOM times the mark.
LOW_PRIORITY, HEADROOM = 0, 1.25

_SEEN, _NEW, _RAISED, _REQUEUED = (int(v) for v in (Verdict.SEEN, Verdict.NEW, Verdict.RAISED, Verdict.REQUEUED))


def offer(tx: Transaction, offers: Offers, mode: Mode, *, policy: Policy, now: float, sites: Sites) -> bytes:
    """One verdict per offer. The first of equals decides."""
    keys = seen.split(offers.fingerprints)
    verdicts = bytearray(len(keys))
    found = seen.find(tx.db, keys)
    fresh: dict[bytes, int] = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))  # the first of equals stays
    if len(fresh) < len(keys) or found:
        fresh = {key: fresh[key] for key in dict.fromkeys(keys) if key not in found}
    else:
        fresh = dict(zip(keys, range(len(keys)), strict=True))
    arrivals = Arrivals()
    if fresh:
        _take(tx, offers, fresh, mode, verdicts, arrivals, policy=policy, now=now, sites=sites)
    if found and mode in (Mode.RAISE, Mode.AGAIN):
        first: dict[bytes, int] = {}
        for i, key in enumerate(keys):
            if key in found:
                first.setdefault(key, i)
        _Known(tx, mode, arrivals, now).handle(list(first.items()), offers.rows(list(first.values())), found, verdicts)
    for reason, many in offers.rejected.items():
        tx.count(f"rejected.{reason}", many)
    arrivals.write(tx, policy, now)
    return bytes(verdicts)


def _take(
    tx: Transaction,
    offers: Offers,
    fresh: dict[bytes, int],
    mode: Mode,
    verdicts: bytearray,
    arrivals: Arrivals,
    *,
    policy: Policy,
    now: float,
    sites: Sites,
) -> None:
    """What was not seen: marked, and queued unless the mode only marks."""
    limits = Limits(tx)
    if mode is not Mode.MARK_KNOWN and (limits or policy.high_water is not None):
        fresh = _allowed(tx, offers, fresh, mode, verdicts, policy, limits)
    keys, at = list(fresh), list(fresh.values())
    for i in at:
        verdicts[i] = _NEW
    if mode is Mode.MARK_KNOWN:
        tx.count("known", len(keys))
    else:
        tx.count("accepted", len(keys))
        if mode is Mode.MARK_DONE:
            tx.count("done", len(keys))
    number = tx.take("entry", len(keys))
    ids = range(number, number + len(keys))
    if mode is Mode.NEW and offers.columns is not None:
        columns = offers.columns(at)
        sites.add(tx, dict(zip([key[:8] for key in keys], columns.site, strict=True)))
        _insert_columns(tx, ids, keys, columns, arrivals, now)
        seen.add(tx, keys, ids)
        return
    rows = offers.rows(at)
    sites.add(tx, {key[:8]: row.site for key, row in zip(keys, rows, strict=True)})
    if mode is Mode.MARK_KNOWN:
        seen.add(tx, keys, [seen.KNOWN] * len(keys))
    elif mode is Mode.MARK_DONE and not policy.keep_urls:
        seen.add(tx, keys, [seen.DONE_WITHOUT_TEXT] * len(keys))
    else:
        state = State.DONE if mode is Mode.MARK_DONE else State.PENDING
        insert(tx, list(zip(ids, keys, rows, strict=True)), state, Klass.NEW, arrivals, now)
        seen.add(tx, keys, ids)


def _insert_columns(tx: Transaction, ids: range, keys: list[bytes], c: Columns, arrivals: Arrivals, now: float) -> None:
    """The same as `insert` for rows that are alike, column by column: nothing here is done URL by URL in Python."""
    tx.executemany("INSERT INTO text (id, fp, url) VALUES (?, ?, ?)", zip(ids, map(bytearray, keys), c.url, strict=True))
    later = c.due is not None and c.due > now
    more = {"via": c.via, "meta": c.meta, "due": c.due if later else None}
    more = {name: value for name, value in more.items() if value is not None}
    alike = [repeat(value) for value in (c.priority, now, c.depth, *more.values())]
    sql = _insert(State.DELAYED if later else State.PENDING, Klass.NEW, tuple(more))
    tx.executemany(sql, zip(ids, ids, c.group_id, *alike, strict=False))
    if later:
        tx.count("delayed", len(keys))
        for group_id, group in zip(c.group_id, c.group, strict=True):
            arrivals.name(group_id, group)
    else:
        arrivals.add_many(c.group_id, c.group, Klass.NEW, c.priority)


def insert(
    tx: Transaction, found: list[tuple[int, bytes, OfferRow]], state: State, klass: Klass, arrivals: Arrivals, now: float
) -> None:
    """Text and queue rows of (number, fingerprint, row); the number is id and order of arrival. DONE has text only; PENDING with a due
    time to come is DELAYED."""
    tx.executemany("INSERT INTO text (id, fp, url) VALUES (?, ?, ?)", [(entry, bytearray(key), row[3]) for entry, key, row in found])
    if state is State.DONE:
        for _, _, row in found:
            arrivals.name(row.group_id, row.group)
    else:
        enqueue(tx, [(entry, row) for entry, _, row in found], klass, arrivals, now)


def enqueue(tx: Transaction, found: list[tuple[int, OfferRow]], klass: Klass, arrivals: Arrivals, now: float) -> None:
    """Queue rows, written by the columns they really have: a NULL or bytes parameter costs the driver more than the rest of its row."""
    plain: list[tuple[Any, ...]] = []
    others: dict[str, list[tuple[Any, ...]]] = {}
    for entry, (_, group, group_id, _, priority, depth, via, meta, due, variant) in found:
        values = (entry, entry, group_id, priority, now, depth)
        later = due is not None and due > now
        if later:
            arrivals.name(group_id, group)
            tx.count("delayed")
        else:
            arrivals.add(group_id, klass, priority, group)
        if via is None and meta is None and not later and not variant:
            plain.append(values)
            continue
        more = {"via": via, "meta": meta, "variant": variant or None, "due": due if later else None}
        more = {name: value for name, value in more.items() if value is not None}
        sql = _insert(State.DELAYED if later else State.PENDING, klass, tuple(more))
        others.setdefault(sql, []).append((*values, *more.values()))
    if plain:
        tx.executemany(_insert(State.PENDING, klass, ()), plain)
    for sql, rows in others.items():
        tx.executemany(sql, rows)


@lru_cache(maxsize=256)
def _insert(state: State, klass: Klass, more: tuple[str, ...]) -> str:
    columns = ("id", "seq", "grp", "priority", "added", "depth", *more, "state", "class")
    marks = ",".join("?" * (len(columns) - 2))
    return f"INSERT INTO queue ({', '.join(columns)}) VALUES ({marks},{int(state)},{int(klass)})"


def _allowed(
    tx: Transaction, offers: Offers, fresh: dict[bytes, int], mode: Mode, verdicts: bytearray, policy: Policy, limits: Limits
) -> dict[bytes, int]:
    """Those that the limits of sites and the high-water mark let in."""
    mark = None if mode is Mode.MARK_DONE else policy.high_water
    waiting = tx.value("pending") + tx.value("delayed")
    kept = {}
    for (key, i), row in zip(fresh.items(), offers.rows(list(fresh.values())), strict=True):
        if not limits.allow(key):
            verdicts[i] = int(Verdict.LIMIT)
            tx.count("rejected.limit")
        elif mark is not None and waiting >= (mark if row.priority <= LOW_PRIORITY else mark * HEADROOM):
            verdicts[i] = int(Verdict.FULL)
            tx.count("rejected.full")
        else:
            waiting += 1
            limits.taken(key)
            kept[key] = i
    limits.write()
    return kept


class _Known:
    """RAISE and AGAIN on what is seen already."""

    def __init__(self, tx: Transaction, mode: Mode, arrivals: Arrivals, now: float) -> None:
        self.tx, self.mode, self.arrivals, self.now = tx, mode, arrivals, now

    def handle(self, old: list[tuple[bytes, int]], rows: list[OfferRow], found: dict[bytes, int], verdicts: bytearray) -> None:
        ids = [found[key] for key, _ in old if found[key] > 0]
        select = "SELECT id, state, class, priority, due, grp FROM queue WHERE id IN"
        states = {row[0]: row[1:] for row in self.tx.rows(select, ids)}
        for (key, i), row in zip(old, rows, strict=True):
            entry = found[key]
            if entry in states:
                verdicts[i] = self._lift_or_requeue(row, entry, *states[entry])
            elif self.mode is Mode.AGAIN:
                verdicts[i] = self._revive(row, key, entry)

    def _lift_or_requeue(self, row: OfferRow, entry: int, state: int, klass: int, priority: int, due: float | None, group: int) -> int:
        if state in (State.PENDING, State.DELAYED):
            return self._lift(row, entry, state, klass, priority, due, group)
        if self.mode is not Mode.AGAIN:
            return _SEEN
        if state == State.LEASED:
            wanted = row.due if row.due is not None and row.due > self.now else 0.0
            sql = "UPDATE queue SET again = min(coalesce(again, ?1), ?1), priority = max(priority, ?2) WHERE id = ?3"
            self.tx.execute(sql, (wanted, row.priority, entry))
        else:  # dead: its text stays as first found, its attempts start anew
            self.tx.execute("DELETE FROM queue WHERE id = ?", (entry,))
            self.tx.count("dead", -1)
            enqueue(self.tx, [(entry, row)], Klass.RETRY, self.arrivals, self.now)
            self._to_the_end(entry)
        return _REQUEUED

    def _to_the_end(self, entry: int) -> None:
        self.tx.execute("UPDATE queue SET seq = ? WHERE id = ?", (self.tx.take("entry"), entry))

    def _lift(self, row: OfferRow, entry: int, state: int, klass: int, priority: int, due: float | None, group: int) -> int:
        """Priority only upwards, due only earlier; with nothing due the URL is wanted now."""
        wanted = row.due if row.due is not None and row.due > self.now else None
        sooner = state == State.DELAYED and (wanted is None or (due is not None and wanted < due))
        if row.priority <= priority and not sooner:
            return _SEEN
        priority = max(priority, row.priority)
        if state == State.DELAYED and (wanted is not None or not sooner):
            self.tx.execute("UPDATE queue SET priority = ?, due = ? WHERE id = ?", (priority, wanted if sooner else due, entry))
            return _RAISED
        if state == State.DELAYED:
            values = (priority, self.tx.take("entry"), entry)
            self.tx.execute("UPDATE queue SET state = 0, due = NULL, priority = ?, seq = ? WHERE id = ?", values)
            self.tx.count("delayed", -1)
            self.arrivals.add(group, klass, priority)
        else:
            self.tx.execute("UPDATE queue SET priority = ? WHERE id = ?", (priority, entry))
            self.arrivals.raised(group, klass, priority)
        return _RAISED

    def _revive(self, row: OfferRow, key: bytes, entry: int) -> int:
        """Seen, but not in the queue: done, known, or dead long ago. Where its text is kept it stays as first found."""
        klass = Klass.REVISIT
        if entry == seen.KNOWN:
            self.tx.count("known", -1)
            self.tx.count("accepted")
            limits = Limits(self.tx)
            limits.taken(key)
            limits.write()
        elif entry == seen.DEAD_WITHOUT_TEXT:
            klass = Klass.RETRY
            self.tx.count("dead", -1)
        else:
            self.tx.count("done", -1)
        if entry > 0:
            enqueue(self.tx, [(entry, row)], klass, self.arrivals, self.now)
            self._to_the_end(entry)
        else:
            number = self.tx.take("entry")
            insert(self.tx, [(number, key, row)], State.PENDING, klass, self.arrivals, self.now)
            seen.assign(self.tx, [(number, key)])
        return _REQUEUED
