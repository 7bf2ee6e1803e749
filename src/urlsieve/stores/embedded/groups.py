"""Politeness groups in the ledger: their queue heads, and the one place that says whose turn it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from urlsieve.frontier.health import is_half_open
from urlsieve.frontier.turn import Place, Placed, place
from urlsieve.model import GroupRow, Health, Klass, Policy
from urlsieve.stores.embedded.ledger import Transaction

COLUMNS = (
    "id, name, delay, concurrency, paused, next_turn, leased, top0, top1, top2, since, served, place, "
    "version, failures, failed_url, several, blocks, blocked_until, ok_at"
)
SELECT = f"SELECT {COLUMNS} FROM grp WHERE id"


class Group:
    """A row of grp while a transaction works on it. Changed here, written back by `save`."""

    __slots__ = (
        "concurrency",
        "delay",
        "health",
        "id",
        "leased",
        "name",
        "next_turn",
        "paused",
        "place",
        "served",
        "since",
        "tops",
    )

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.id, self.name, self.delay, self.concurrency, paused, self.next_turn, self.leased = row[:7]
        self.paused = bool(paused)
        self.tops: list[int | None] = list(row[7:10])
        self.since, self.served, self.place = row[10:13]
        self.health = Health(row[13], row[14], row[15], bool(row[16]), row[17], row[18], row[19])

    def delay_under(self, policy: Policy) -> float:
        return policy.delay if self.delay is None else self.delay

    def top(self) -> int | None:
        return max((top for top in self.tops if top is not None), default=None)

    def placed(self, policy: Policy, now: float) -> Placed:
        return place(
            waiting=any(top is not None for top in self.tops),
            paused=self.paused,
            next_turn=self.next_turn,
            blocked_until=self.health.blocked_until,
            half_open=is_half_open(self.health, now),
            leased=self.leased,
            concurrency=policy.concurrency if self.concurrency is None else self.concurrency,
            delay=self.delay_under(policy),
            now=now,
        )

    def value(self, pending: int | None = None) -> GroupRow:
        """As the decisions see it."""
        return GroupRow(
            self.name,
            self.id,
            self.delay,
            self.concurrency,
            self.paused,
            self.next_turn,
            self.leased,
            pending,
            (self.tops[0], self.tops[1], self.tops[2]),
            self.health,
        )


def load(tx: Transaction, ids: Iterable[int]) -> dict[int, Group]:
    return {row[0]: Group(row) for row in tx.rows(f"{SELECT} IN", list(ids))} if ids else {}


def load_one(db: sqlite3.Connection, group_id: int) -> Group | None:
    row = db.execute(f"{SELECT} = ?", (group_id,)).fetchone()
    return None if row is None else Group(row)


def save(tx: Transaction, groups: Iterable[Group], policy: Policy, now: float, *, same_heads: bool = False) -> None:
    """Writes them back, each to the place where it belongs now. The position in the line (`since`) is kept, or drawn on entering it.
    `same_heads`: nothing entered or left their queues, so that most keep their place, and no index is touched."""
    rows: list[tuple[object, ...]] = []
    light: list[tuple[object, ...]] = []
    for group in groups:
        spot, wake, _ = group.placed(policy, now)
        if same_heads and spot == group.place and spot != Place.WAITING:
            light.append((group.next_turn, group.leased, group.id))
            continue
        if group.place == Place.IDLE and spot != Place.IDLE:
            group.since = tx.take("ticket")
        group.place = spot
        rows.append((group.next_turn, group.leased, *group.tops, group.top(), group.since, group.served, int(spot), wake, group.id))
    if light:
        tx.executemany("UPDATE grp SET next_turn = ?, leased = ? WHERE id = ?", light)
    if rows:
        tx.executemany(
            "UPDATE grp SET next_turn = ?, leased = ?, top0 = ?, top1 = ?, top2 = ?, top = ?, since = ?, served = ?, place = ?, "
            "wake = ? WHERE id = ?",
            rows,
        )


def save_settings(tx: Transaction, group: Group) -> None:
    h = group.health
    tx.execute(
        "UPDATE grp SET delay = ?, concurrency = ?, paused = ?, version = ?, failures = ?, failed_url = ?, several = ?, blocks = ?, "
        "blocked_until = ?, ok_at = ? WHERE id = ?",
        (
            group.delay,
            group.concurrency,
            int(group.paused),
            h.version,
            h.failures,
            h.failed_url,
            int(h.several),
            h.blocks,
            h.blocked_until,
            h.ok_at,
            group.id,
        ),
    )


def ensure(tx: Transaction, names: dict[int, str]) -> None:
    """Rows for groups met for the first time. The caller knows that they are not there."""
    if names:
        tx.executemany("INSERT INTO grp (id, name) VALUES (?, ?)", list(names.items()))
    tx.count("groups", len(names))


class Arrivals:
    """Entries that become pending in one transaction: counted, and the highest priority per group and class, for one write per group."""

    def __init__(self) -> None:
        self._tops: tuple[dict[int, int], ...] = ({}, {}, {})  # per class: group → highest priority
        self._names: dict[int, str | None] = {}  # in order of arrival
        self._added = [0, 0, 0]

    def add(self, group_id: int, klass: int, priority: int, name: str | None = None) -> None:
        """One more is pending. `name`: given where the group may be new."""
        self._added[klass] += 1
        tops = self._tops[klass]
        top = tops.get(group_id)
        if top is None:
            tops[group_id] = priority
            self.name(group_id, name)
        elif priority > top:
            tops[group_id] = priority

    def add_many(self, group_ids: Sequence[int], names: Sequence[str], klass: int, priority: int) -> None:
        """One more in each of these, in a batch that has added nothing else."""
        self._added[klass] += len(group_ids)
        self._tops[klass].update(dict.fromkeys(group_ids, priority))
        self._names.update(zip(group_ids, names, strict=True))

    def discount(self, klass: int) -> None:
        """One of those added was pending already: it has only moved."""
        self._added[klass] -= 1

    def name(self, group_id: int, name: str | None) -> None:
        """A group whose entry does not queue now (delayed, done) must have its row too."""
        if self._names.get(group_id) is None:
            self._names[group_id] = name

    def write(self, tx: Transaction, policy: Policy, now: float) -> None:
        """New rows in order of arrival; of the others only those whose head changes."""
        for klass, many in enumerate(self._added):
            tx.count(PENDING[klass], many)
        tx.count("pending", sum(self._added))
        if not self._names:
            return
        heads = {row[0]: row[1:] for row in tx.rows("SELECT id, top0, top1, top2 FROM grp WHERE id IN", list(self._names))}
        if len(heads) < len(self._names):
            self._make(tx, [gid for gid in self._names if gid not in heads])
        higher = self._higher(heads)
        if higher:
            have = load(tx, higher)
            for gid, klass_tops in higher.items():
                for klass, top in klass_tops:
                    have[gid].tops[klass] = top
            save(tx, [have[gid] for gid in higher], policy, now)

    def _make(self, tx: Transaction, ids: list[int]) -> None:
        """Groups met for the first time: nothing holds them, so with URLs they are ready at once, in order of arrival."""
        waiting: dict[tuple[int, ...], list[tuple[object, ...]]] = {}
        idle: dict[int, str] = {}
        ticket = tx.take("ticket", len(ids))
        for since, gid in enumerate(ids, ticket):
            name = self._names[gid] or ""
            classes = tuple(klass for klass, tops in enumerate(self._tops) if gid in tops)
            if not classes:
                idle[gid] = name
                continue
            tops = [self._tops[klass][gid] for klass in classes]
            waiting.setdefault(classes, []).append((gid, name, since, max(tops), *tops))
        ensure(tx, idle)
        for classes, rows in waiting.items():
            columns = ", ".join(f"top{klass}" for klass in classes)
            marks = ",".join("?" * (4 + len(classes)))
            tx.executemany(f"INSERT INTO grp (id, name, since, top, {columns}, place) VALUES ({marks}, {int(Place.READY)})", rows)
            tx.count("groups", len(rows))

    def _higher(self, heads: dict[int, tuple[int | None, ...]]) -> dict[int, list[tuple[int, int]]]:
        """group → (class, new head), in order of arrival, for groups that were there and whose head changes."""
        changed: dict[int, list[tuple[int, int]]] = {}
        for klass, tops in enumerate(self._tops):
            for gid, top in tops.items():
                if gid in heads and ((held := heads[gid][klass]) is None or top > held):
                    changed.setdefault(gid, []).append((klass, top))
        return {gid: changed[gid] for gid in self._names if gid in changed} if changed else changed


PENDING = tuple(f"pending.{klass.name.lower()}" for klass in Klass)


def refresh(tx: Transaction, ids: Iterable[int], policy: Policy, now: float) -> None:
    """After entries left a queue otherwise than by their turn: heads from the index, then the place."""
    groups = load(tx, set(ids))
    for group in groups.values():
        for klass in range(3):
            row = tx.execute("SELECT -np FROM pending WHERE grp = ? AND class = ? ORDER BY np LIMIT 1", (group.id, klass)).fetchone()
            group.tops[klass] = None if row is None else row[0]
    save(tx, groups.values(), policy, now)
