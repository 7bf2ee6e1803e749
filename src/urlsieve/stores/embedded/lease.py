"""A limit in, leased rows out: reap and wake first, then the groups whose turn it is, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from urlsieve.frontier.health import is_half_open
from urlsieve.frontier.turn import FAIR_TURN, Place, next_class
from urlsieve.model import Klass, Policy, Row, State
from urlsieve.stores.embedded import queue, seen
from urlsieve.stores.embedded.groups import PENDING, SELECT, Arrivals, Group, load, load_one, save
from urlsieve.stores.embedded.ledger import Transaction, scalar
from urlsieve.stores.embedded.queue import Spot
from urlsieve.stores.embedded.sites import site_id

#: Expired leases and due URLs moved per call, so that no call is slow after a long pause.
MOST_MOVED = 1000
#: How long a dead URL keeps its text and reason.
DEAD_KEPT = 7 * 86400.0

_QUEUE = (
    "SELECT p.id, t.fp, t.url, -p.np, t.depth, p.attempt, x.via, x.meta, x.variant, p.excused, p.failed_at, p.seq, p.since, t.priority "
    "FROM pending p CROSS JOIN text t ON t.id = p.id LEFT JOIN extra x ON x.id = p.id WHERE p.grp = ? AND p.class = ? "
    "ORDER BY p.np, p.seq LIMIT ?"
)
#: Groups looked at in one go; one more is fetched, to know what comes after the last.
READY_AT_ONCE = 16
_BEST = SELECT.replace("WHERE id", f"WHERE place = 1 ORDER BY top DESC, since LIMIT {READY_AT_ONCE + 1}")
_LONGEST = SELECT.replace("WHERE id", "WHERE place = 1 ORDER BY since LIMIT 1")


def tidy(tx: Transaction, policy: Policy, now: float) -> int:
    """Due delayed → pending, expired leases → pending or dead, groups whose time has come → ready, old dead → fingerprint only."""
    arrivals = Arrivals()
    _wake_entries(tx, arrivals, now)
    reaped = _reap(tx, arrivals, policy, now)
    arrivals.write(tx, policy, now)
    awake = [row[0] for row in tx.execute("SELECT id FROM grp WHERE place = 2 AND wake <= ? ORDER BY wake LIMIT ?", (now, MOST_MOVED))]
    if awake:
        save(tx, load(tx, awake).values(), policy, now)
    _bury(tx, now)
    return reaped


def _wake_entries(tx: Transaction, arrivals: Arrivals, now: float) -> None:
    """They arrive in the queue now, in the order in which they are due."""
    select = f"SELECT {_SPOT} FROM held WHERE state = 2 AND due <= ? ORDER BY due, seq LIMIT ?"
    due = [Spot._make((row[0], State.DELAYED, *row[1:], None)) for row in tx.execute(select, (now, MOST_MOVED))]
    if not due:
        return
    first = tx.take("entry", len(due))
    queue.let_go(tx, [spot.id for spot in due])
    queue.put_pending(tx, [spot._replace(seq=seq, since=now) for seq, spot in enumerate(due, first)], arrivals)
    tx.count("delayed", -len(due))


_SPOT = "id, grp, class, priority, seq, since, attempt, excused, failed_at"


def _reap(tx: Transaction, arrivals: Arrivals, policy: Policy, now: float) -> int:
    select = f"SELECT {_SPOT}, again FROM held WHERE state = 1 AND deadline <= ? ORDER BY deadline LIMIT ?"
    expired = tx.execute(select, (now, MOST_MOVED)).fetchall()
    if not expired:
        return 0
    back, later, dead = [], [], []
    out: dict[int, int] = {}
    for *row, again in expired:
        spot = Spot._make((row[0], State.LEASED, *row[1:], None))
        out[spot.grp] = out.get(spot.grp, 0) + 1
        if again is not None and again > now:
            later.append((again, int(Klass.REVISIT), spot.id))
        elif again is not None:  # somebody wants it again: a new count of attempts
            back.append(spot._replace(klass=Klass.REVISIT, attempt=0, excused=0, failed_at=None))
        elif spot.attempt >= policy.max_attempts:
            dead.append((now, spot.id))
        else:
            back.append(spot._replace(klass=Klass.RETRY if spot.klass == Klass.NEW else spot.klass))
    queue.let_go(tx, [spot.id for spot in back])
    queue.put_pending(tx, back, arrivals)
    tx.executemany("UPDATE held SET state = 2, due = ?, again = NULL, class = ?, attempt = 0, excused = 0 WHERE id = ?", later)
    tx.executemany("UPDATE held SET state = 4, reason = 'lease expired', settled = ? WHERE id = ?", dead)
    tx.count("leased", -len(expired))
    tx.count("delayed", len(later))
    tx.count("dead", len(dead))
    groups = load(tx, out)
    for group_id, many in out.items():
        groups[group_id].leased -= many
    save(tx, groups.values(), policy, now)
    return len(expired)


def _bury(tx: Transaction, now: float) -> None:
    old = tx.execute("SELECT id FROM held WHERE state = 4 AND settled <= ? LIMIT ?", (now - DEAD_KEPT, MOST_MOVED)).fetchall()
    if old:
        ids = [entry for (entry,) in old]
        seen.assign(tx, [(seen.DEAD_WITHOUT_TEXT, key) for (key,) in tx.rows("SELECT fp FROM text WHERE id IN", ids)])
        for table in ("held", "text", "extra"):
            tx.change(f"DELETE FROM {table} WHERE id IN", ids)


_KLASSES = tuple(Klass)


#: Bits of a lease's number; the epoch stands above them.
COUNTER_BITS = 44


def token_parts(number: int, chance: int) -> tuple[str, str]:
    """What stands before and after the row's id in the tokens of one call: opaque to workers, they are epoch, row, a number that only
    grows, and the chance of the call."""
    return f"{number >> COUNTER_BITS:x}-", f"-{number & ((1 << COUNTER_BITS) - 1):x}-{chance & 0xFFFFFFFFFFFFFFFF:016x}"


class Leasing:
    """One call. What is given collects here; `flush` writes it, before the ledger is asked for an order that it changes."""

    def __init__(self, tx: Transaction, policy: Policy, *, ttl: float, now: float, chance: bytes, epoch: int) -> None:
        self.tx, self.policy, self.now = tx, policy, now
        self.deadline = now + ttl
        self.chance = int.from_bytes(chance[:8], "little", signed=True)
        self.number = (epoch << COUNTER_BITS) + tx.take("token")  # one for the call: the row's id is in the token too
        self.taken: list[tuple[Group, Klass, Any]] = []
        self._written = 0
        self._groups: dict[int, Group] = {}
        self._prefixes: list[tuple[int, int, int, int]] = []  # group, class, last place taken: all up to it were
        self._singles: list[tuple[int, int, int, int]] = []

    def by_turn(self, limit: int) -> None:
        """Groups the store chooses."""
        while len(self.taken) < limit:
            self.flush()
            ready = [Group(row) for row in self.tx.execute(_BEST)]
            if not ready:
                return
            after: list[Group | None] = [*ready[1:], None]
            for group, following in zip(ready[:READY_AT_ONCE], after, strict=False):
                if len(self.taken) >= limit:
                    return
                if following is not None and self.tx.value("turn") % FAIR_TURN == FAIR_TURN - 1 and self._fair_turn(group):
                    break  # the order is another now
                self.serve(group, limit - len(self.taken), None if following is None else following.top())

    def _fair_turn(self, best: Group) -> bool:
        """The group that has waited longest, whatever its priority, gives one URL. False if it is the best one anyway."""
        self.flush()
        longest = Group(self.tx.execute(_LONGEST).fetchone())
        if longest.id == best.id:
            return False
        self.serve(longest, 1, None)
        return True

    def by_name(self, limit: int, ids: Sequence[int]) -> None:
        """Groups the caller names, in its order: concurrency, delay and block hold here too."""
        for group_id in ids:
            group = load_one(self.tx.db, group_id)
            if group is not None and len(self.taken) < limit:
                self.serve(group, limit - len(self.taken), None)

    def serve(self, group: Group, at_most: int, next_top: int | None) -> None:
        """One turn of one group, if it is its turn after all (its settings or its health may have changed)."""
        self._groups[group.id] = group
        spot, _, room = group.placed(self.policy, self.now)
        if spot != Place.READY:
            return
        rows = self._choose(group, at_most if room is None else min(at_most, room), next_top)
        self.taken += [(group, klass, row) for klass, row in rows]
        group.leased += len(rows)
        delay = group.delay_under(self.policy)
        if delay > 0:
            group.next_turn = max(group.next_turn, self.now + delay)
        group.since = self.tx.take("ticket")
        self.tx.count("turn")

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
        save(self.tx, self._groups.values(), self.policy, self.now)
        self._groups.clear()

    def _hold(self, new: list[tuple[Group, Klass, Any]]) -> None:
        """From the order into the leased ones: a group's rows, if they are the first of their class, in one stroke."""
        tx, number, chance, deadline = self.tx, self.number, self.chance, self.deadline
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
        tx.executemany("DELETE FROM pending WHERE grp = ? AND class = ? AND (np, seq) <= (?, ?)", self._prefixes)
        tx.executemany("DELETE FROM pending WHERE grp = ? AND class = ? AND np = ? AND seq = ?", self._singles)
        self._prefixes.clear()
        self._singles.clear()
        tx.change("DELETE FROM moved WHERE id IN", [row[0] for _, klass, row in new if klass or row[11] != row[0] or row[3] != row[13]])

    def _choose(self, group: Group, at_most: int, next_top: int | None) -> list[tuple[Klass, Any]]:
        """By class share, priority, arrival. With the next group waiting at `next_top`, only while this one is not below it."""
        half_open = is_half_open(group.health, self.now)
        want = at_most + (2 if half_open else 1)
        queues = [[] if group.tops[k] is None else self.tx.execute(_QUEUE, (group.id, k, want)).fetchall() for k in Klass]
        offered = _probes(queues, group.health.failed_url) if half_open else queues
        working = [klass for klass in Klass if offered[klass]]
        if len(working) == 1:
            (klass,) = working
            rows = [(klass, row) for row in offered[klass][:at_most]]
            if next_top is not None and rows and rows[-1][1][3] < next_top:
                rows = rows[:1] + [(klass, row) for _, row in rows[1:] if row[3] >= next_top]
        else:
            rows = self._by_share(group, offered, at_most, next_top)
        for klass, its_queue in zip(Klass, queues, strict=True):
            self._leave(group, klass, its_queue, {row[0] for of, row in rows if of is klass})
        return rows

    def _leave(self, group: Group, klass: Klass, rows: list[Any], gone: set[int]) -> None:
        """What is gone leaves the order, and the head is the first that is not."""
        left = next((k for k, row in enumerate(rows) if row[0] not in gone), len(rows))
        group.tops[klass] = rows[left][3] if left < len(rows) else None
        if left:
            self._prefixes.append((group.id, int(klass), -rows[left - 1][3], rows[left - 1][11]))
        self._singles += [(group.id, int(klass), -row[3], row[11]) for row in rows[left:] if row[0] in gone]

    def _by_share(self, group: Group, offered: list[list[Any]], at_most: int, next_top: int | None) -> list[tuple[Klass, Any]]:
        heads = [0] * len(offered)
        rows: list[tuple[Klass, Any]] = []
        while len(rows) < at_most:
            work = [heads[k] < len(queue) for k, queue in enumerate(offered)]
            if not any(work):
                break
            klass, served = next_class(group.served, self.policy.shares, work)
            row = offered[klass][heads[klass]]
            if rows and next_top is not None and row[3] < next_top:
                break
            group.served = served
            heads[klass] += 1
            rows.append((_KLASSES[klass], row))
        return rows


def _probes(queues: list[list[Any]], failed_url: bytes) -> list[list[Any]]:
    """A probe is another URL than the one that failed, where there is one."""
    others = [[row for row in queue if row[1] != failed_url] for queue in queues]
    return others if any(others) else queues


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
