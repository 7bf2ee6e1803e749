"""A limit in, leased rows out: the groups whose turn it is, in order, each with the URLs that its turn gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from urlsieve.frontier.health import is_half_open
from urlsieve.frontier.turn import FAIR_TURN, Place
from urlsieve.model import Klass, Policy, Row
from urlsieve.stores.embedded.groups import PENDING, SELECT, Group, load, save
from urlsieve.stores.embedded.ledger import Transaction, scalar
from urlsieve.stores.embedded.line import Waiting
from urlsieve.stores.embedded.sites import site_id

#: Groups looked at in one go; one more is fetched, to know what comes after the last.
LEAST_AT_ONCE, MOST_AT_ONCE = 16, 128
_BEST = SELECT.replace("WHERE id", "WHERE place = 1 ORDER BY top DESC, since LIMIT ?")
_LONGEST = SELECT.replace("WHERE id", "WHERE place = 1 ORDER BY since LIMIT 1")

#: Bits of a lease's number; the epoch stands above them.
COUNTER_BITS = 44

Key = tuple[int, int]


def token_parts(number: int, chance: int) -> tuple[str, str]:
    """What stands before and after the row's id in the tokens of one call: opaque to workers, they are epoch, row, a number that only
    grows, and the chance of the call."""
    return f"{number >> COUNTER_BITS:x}-", f"-{number & ((1 << COUNTER_BITS) - 1):x}-{chance & 0xFFFFFFFFFFFFFFFF:016x}"


class Leasing:
    """One call. The best groups stand in a heap by (highest waiting priority, waiting since); a group that has had its turn goes back
    into it with its new place. What is given collects here; `flush` writes it, before the ledger is asked for an order that it changes.
    """

    def __init__(self, tx: Transaction, policy: Policy, *, ttl: float, now: float, chance: bytes, epoch: int) -> None:
        self.tx, self.policy, self.now = tx, policy, now
        self.deadline = now + ttl
        self.chance = int.from_bytes(chance[:8], "little", signed=True)
        self._epoch = epoch
        self.number = 0  # one for the call, drawn when something is given: a call that gives nothing writes nothing
        self.taken: list[tuple[Group, Klass, Any]] = []
        self._written = 0
        self._heap: list[tuple[Key, Waiting]] = []
        self._bound: Key | None = None  # the best group that is not in the heap
        self._touched: dict[int, Waiting] = {}

    def by_turn(self, limit: int) -> None:
        """Groups the store chooses."""
        at_once = LEAST_AT_ONCE

        def load() -> None:
            nonlocal at_once
            self._load_best(at_once)
            at_once = min(2 * at_once, MOST_AT_ONCE)

        load()
        self._serve_all(limit, load, self._longest_of_all)

    def by_name(self, limit: int, ids: Sequence[int]) -> None:
        """Only these groups; order, concurrency, delay and block hold here too."""
        groups = (Waiting(self.tx, group) for group in load(self.tx, ids).values())
        self._heap = [(waiting.key(), waiting) for waiting in groups if waiting.group.top() is not None]
        heapify(self._heap)
        self._serve_all(limit, lambda: None, lambda: min((entry[1] for entry in self._heap), key=lambda waiting: waiting.group.since))

    def _serve_all(self, limit: int, reload: Callable[[], None], longest: Callable[[], Waiting]) -> None:
        while len(self.taken) < limit:
            if not self._heap or (self._bound is not None and self._heap[0][0] > self._bound):
                if self._bound is None:
                    return
                self.flush()
                reload()
                continue
            alone = len(self._heap) == 1 and self._bound is None
            if not alone and self.tx.value("turn") % FAIR_TURN == FAIR_TURN - 1:
                waiting = longest()
                if waiting is not self._heap[0][1]:
                    self._serve(waiting, 1, None)
                    self._heap = [(other.key(), other) for _, other in self._heap if other.may_follow(self.policy, self.now)]
                    heapify(self._heap)
                    continue
            _, waiting = heappop(self._heap)
            if self._serve(waiting, limit - len(self.taken), self._next_top()):
                heappush(self._heap, (waiting.key(), waiting))

    def _load_best(self, many: int) -> None:
        ready = [Waiting(self.tx, Group(row)) for row in self.tx.execute(_BEST, (many + 1,))]
        self._heap = [(waiting.key(), waiting) for waiting in ready[:many]]
        self._bound = ready[many].key() if len(ready) > many else None

    def _longest_of_all(self) -> Waiting:
        """The group that has waited longest, whatever its priority."""
        self.flush()
        group = Group(self.tx.execute(_LONGEST).fetchone())
        return next((waiting for _, waiting in self._heap if waiting.group.id == group.id), None) or Waiting(self.tx, group)

    def _next_top(self) -> int | None:
        """The priority of whoever comes next: this turn ends before it."""
        keys = [key for key in (self._heap[0][0] if self._heap else None, self._bound) if key is not None]
        return -min(keys)[0] if keys else None

    def _serve(self, waiting: Waiting, at_most: int, next_top: int | None) -> bool:
        """One turn of one group, if it is its turn after all (its settings or its health may have changed). Whether it may have
        another in this call."""
        group = waiting.group
        self._touched[group.id] = waiting
        spot, _, room = group.placed(self.policy, self.now)
        if spot != Place.READY:
            return False
        at_most = at_most if room is None else min(at_most, room)
        if is_half_open(group.health, self.now):
            rows = waiting.probe(self.policy.shares)
        else:
            rows = waiting.take(at_most, next_top, self.policy.shares)
        self.taken += [(group, klass, row) for klass, row in rows]
        group.leased += len(rows)
        delay = group.delay_under(self.policy)
        if delay > 0:
            group.next_turn = max(group.next_turn, self.now + delay)
        group.since = self.tx.take("ticket")
        self.tx.count("turn")
        return group.top() is not None and (room is None or room > len(rows)) and delay <= 0

    def flush(self) -> None:
        """Rows and groups so far are in the ledger."""
        new = self.taken[self._written :]
        if new:
            self._hold(new)
            for klass in Klass:
                self.tx.count(PENDING[klass], -sum(1 for _, of, _ in new if of is klass))
            self.tx.count("pending", -len(new))
            self.tx.count("leased", len(new))
            self._written = len(self.taken)
        save(self.tx, [waiting.group for waiting in self._touched.values()], self.policy, self.now)
        self._touched.clear()

    def _hold(self, new: list[tuple[Group, Klass, Any]]) -> None:
        """From the order into the leased ones: a group's rows, if they are the first of their class, in one stroke."""
        tx = self.tx
        if not self.number:
            self.number = (self._epoch << COUNTER_BITS) + tx.take("token")
        number, chance, deadline = self.number, self.chance, self.deadline
        tx.executemany(
            "INSERT INTO held (id, grp, class, priority, seq, since, attempt, excused, counter, chance, deadline, state) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
            [
                (row[0], group.id, int(klass), row[3], row[11], row[12], row[5] + 1, row[9], number, chance, deadline)
                for group, klass, row in new
            ],
        )
        failed = [(row[10], row[0]) for _, _, row in new if row[10] is not None]
        tx.executemany("UPDATE held SET failed_at = ? WHERE id = ?", failed)
        prefixes = [prefix for waiting in self._touched.values() for prefix in waiting.prefixes()]
        singles = [single for waiting in self._touched.values() for single in waiting.singles()]
        tx.executemany("DELETE FROM pending WHERE grp = ? AND class = ? AND (np, seq) <= (?, ?)", prefixes)
        tx.executemany("DELETE FROM pending WHERE grp = ? AND class = ? AND np = ? AND seq = ?", singles)
        tx.change("DELETE FROM moved WHERE id IN", [row[0] for _, klass, row in new if klass or row[11] != row[0] or row[3] != row[13]])


def finish(leasing: Leasing) -> list[Row]:
    """The rows as workers get them."""
    leasing.flush()
    names = _site_names(leasing)
    before, after = token_parts(leasing.number, leasing.chance)
    deadline = leasing.deadline
    rows = []
    for group, klass, (entry, fp, url, priority, depth, attempt, via, meta, variant, excused, failed_at, *_) in leasing.taken:
        site = names[fp[:8]]
        who = (f"{before}{entry:x}{after}", fp, url, site, group.name, group.id)
        values = (*who, priority, depth, attempt + 1, klass, deadline, via, meta)
        rows.append(Row._make((*values, variant or b"", excused, failed_at, None)))
    return rows


def _site_names(leasing: Leasing) -> dict[bytes, str]:
    halves = {site_id(half): half for half in {row[1][:8] for _, _, row in leasing.taken}}
    return {halves[number]: name for number, name in leasing.tx.rows("SELECT id, name FROM site WHERE id IN", list(halves))}


def next_at(tx: Transaction, now: float, ids: Sequence[int] = ()) -> float | None:
    """When something may be given that may not be given now; None: only a push, a settle or a hand can change that."""
    if ids:
        wakes = [row[0] for row in tx.rows("SELECT wake FROM grp WHERE place = 2 AND id IN", list(ids))]
    else:
        wakes = [scalar(tx.db, "SELECT min(wake) FROM grp WHERE place = 2")]
    wakes.append(scalar(tx.db, "SELECT min(due) FROM held WHERE state = 2"))
    wakes.append(scalar(tx.db, "SELECT min(deadline) FROM held WHERE state = 1"))
    times = [wake for wake in wakes if wake is not None]
    return max(now, min(times)) if times else None
