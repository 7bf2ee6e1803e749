"""A limit in, leased rows out: reap and wake first, then the groups whose turn it is, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from urlsieve.frontier.health import is_half_open
from urlsieve.frontier.turn import FAIR_TURN, Place, next_class
from urlsieve.model import Klass, Policy, Row
from urlsieve.stores.embedded import seen
from urlsieve.stores.embedded.groups import PENDING, SELECT, Arrivals, Group, load, load_one, save
from urlsieve.stores.embedded.ledger import Transaction, scalar

#: Expired leases and due URLs moved per call, so that no call is slow after a long pause.
MOST_MOVED = 1000
#: How long a dead URL keeps its text and reason.
DEAD_KEPT = 7 * 86400.0

_QUEUE = (
    "SELECT q.id, t.fp, t.url, q.priority, q.depth, q.attempt, q.via, q.meta, q.variant, q.excused, q.failed_at "
    "FROM queue q CROSS JOIN text t ON t.id = q.id WHERE q.state = 0 AND q.grp = ? AND q.class = ? "
    "ORDER BY q.priority DESC, q.seq LIMIT ?"
)
_BEST = SELECT.replace("WHERE id", "WHERE place = 1 ORDER BY top DESC, since LIMIT 2")
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
    due = tx.execute(
        "SELECT id, grp, class, priority FROM queue WHERE state = 2 AND due <= ? ORDER BY due, seq LIMIT ?", (now, MOST_MOVED)
    ).fetchall()
    if not due:
        return
    first = tx.take("entry", len(due))
    tx.executemany("UPDATE queue SET state = 0, due = NULL, seq = ? WHERE id = ?", [(first + i, row[0]) for i, row in enumerate(due)])
    for _, group_id, klass, priority in due:
        arrivals.add(group_id, klass, priority)
    tx.count("delayed", -len(due))


def _reap(tx: Transaction, arrivals: Arrivals, policy: Policy, now: float) -> int:
    expired = tx.execute(
        "SELECT id, grp, class, priority, attempt, again FROM queue WHERE state = 1 AND deadline <= ? ORDER BY deadline LIMIT ?",
        (now, MOST_MOVED),
    ).fetchall()
    if not expired:
        return 0
    back, dead = [], []
    for entry, group_id, klass, priority, attempt, again in expired:
        if again is not None:  # somebody wants it again: a new count of attempts
            back.append((entry, group_id, int(Klass.REVISIT), priority, 0, again if again > now else None))
        elif attempt >= policy.max_attempts:
            dead.append((now, entry))
        else:
            back.append((entry, group_id, int(Klass.RETRY) if klass == Klass.NEW else klass, priority, attempt, None))
    tx.executemany(
        "UPDATE queue SET state = ?, due = ?, again = NULL, class = ?, attempt = ? WHERE id = ?",
        [(0 if due is None else 2, due, klass, attempt, entry) for entry, _, klass, _, attempt, due in back],
    )
    tx.executemany("UPDATE queue SET state = 4, reason = 'lease expired', settled = ? WHERE id = ?", dead)
    for _, group_id, klass, priority, _, due in back:
        if due is None:
            arrivals.add(group_id, klass, priority)
        else:
            tx.count("delayed")
    tx.count("leased", -len(expired))
    tx.count("dead", len(dead))
    out: dict[int, int] = {}
    for row in expired:
        out[row[1]] = out.get(row[1], 0) + 1
    groups = load(tx, out)
    for group_id, many in out.items():
        groups[group_id].leased -= many
    save(tx, groups.values(), policy, now)
    return len(expired)


def _bury(tx: Transaction, now: float) -> None:
    old = tx.execute("SELECT id FROM queue WHERE state = 4 AND settled <= ? LIMIT ?", (now - DEAD_KEPT, MOST_MOVED)).fetchall()
    if old:
        keys = tx.rows("SELECT fp FROM text WHERE id IN", [entry for (entry,) in old])
        seen.assign(tx, [(seen.DEAD_WITHOUT_TEXT, key) for (key,) in keys])
        tx.executemany("DELETE FROM queue WHERE id = ?", old)
        tx.executemany("DELETE FROM text WHERE id = ?", old)


_KLASSES = tuple(Klass)


#: Bits of a lease's number; the epoch stands above them.
COUNTER_BITS = 44


def token_of(entry: int, number: int, chance: int) -> str:
    """Opaque to workers: epoch, row, a number that only grows, and the chance of the call."""
    return f"{number >> COUNTER_BITS:x}-{entry:x}-{number & ((1 << COUNTER_BITS) - 1):x}-{chance & 0xFFFFFFFFFFFFFFFF:016x}"


class Leasing:
    """One call. Rows collect here; a group is written back as soon as its turn is over, so that the next turn sees the new order."""

    def __init__(self, tx: Transaction, policy: Policy, *, ttl: float, now: float, chance: bytes, epoch: int) -> None:
        self.tx, self.policy, self.now = tx, policy, now
        self.deadline = now + ttl
        self.chance, self.epoch = int.from_bytes(chance[:8], "little", signed=True), epoch << COUNTER_BITS
        self.taken: list[tuple[Group, Klass, Any, str]] = []

    def by_turn(self, limit: int) -> None:
        """Groups the store chooses."""
        while len(self.taken) < limit:
            best = self.tx.execute(_BEST).fetchall()
            if not best:
                return
            group, following = Group(best[0]), best[1] if len(best) > 1 else None
            at_most = limit - len(self.taken)
            if following is not None and self.tx.value("turn") % FAIR_TURN == FAIR_TURN - 1:
                longest = Group(self.tx.execute(_LONGEST).fetchone())
                if longest.id != group.id:
                    group, following, at_most = longest, None, 1
            if self.serve(group, at_most, _top(following)):
                self.tx.count("turn")

    def by_name(self, limit: int, ids: Sequence[int]) -> None:
        """Groups the caller names, in its order: concurrency, delay and block hold here too."""
        for group_id in ids:
            group = load_one(self.tx.db, group_id)
            if group is not None and len(self.taken) < limit and self.serve(group, limit - len(self.taken), None):
                self.tx.count("turn")

    def serve(self, group: Group, at_most: int, next_top: int | None) -> bool:
        """One turn of one group; False if it was not its turn after all (its settings or its health had changed)."""
        spot, _, room = group.placed(self.policy, self.now)
        if spot != Place.READY:
            save(self.tx, [group], self.policy, self.now)
            return False
        at_most = at_most if room is None else min(at_most, room)
        rows = self._choose(group, at_most, next_top)
        first = self.epoch + self.tx.take("token", len(rows))
        chance, deadline = self.chance, self.deadline
        self.tx.executemany(
            "UPDATE queue SET state = 1, attempt = attempt + 1, counter = ?, chance = ?, deadline = ? WHERE id = ?",
            [(number, chance, deadline, row[0]) for number, (_, row) in enumerate(rows, first)],
        )
        self.taken += [(group, klass, row, token_of(row[0], number, chance)) for number, (klass, row) in enumerate(rows, first)]
        for klass in Klass:
            self.tx.count(PENDING[klass], -sum(1 for of, _ in rows if of is klass))
        self.tx.count("pending", -len(rows))
        self.tx.count("leased", len(rows))
        group.leased += len(rows)
        delay = group.delay_under(self.policy)
        if delay > 0:
            group.next_turn = max(group.next_turn, self.now + delay)
        group.since = self.tx.take("ticket")
        save(self.tx, [group], self.policy, self.now)
        return True

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
        gone = {row[0] for _, row in rows}
        for k, queue in enumerate(queues):
            group.tops[k] = next((row[3] for row in queue if row[0] not in gone), None)
        return rows

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


def _top(row: tuple[Any, ...] | None) -> int | None:
    return None if row is None else max(top for top in row[7:10] if top is not None)


def _probes(queues: list[list[Any]], failed_url: bytes) -> list[list[Any]]:
    """A probe is another URL than the one that failed, where there is one."""
    others = [[row for row in queue if row[1] != failed_url] for queue in queues]
    return others if any(others) else queues


def finish(leasing: Leasing) -> list[Row]:
    """The rows as workers get them."""
    names = _site_names(leasing)
    rows = []
    for group, klass, row, token in leasing.taken:
        entry, fp, url, priority, depth, attempt, via, meta, variant, excused, failed_at = row
        del entry
        rows.append(
            Row(
                token,
                fp,
                url,
                names[int.from_bytes(fp[:8], "little", signed=True)],
                group.name,
                group.id,
                priority,
                depth,
                attempt + 1,
                klass,
                leasing.deadline,
                via,
                meta,
                variant or b"",
                excused,
                failed_at,
                None,
            )
        )
    return rows


def _site_names(leasing: Leasing) -> dict[int, str]:
    ids = {int.from_bytes(row[1][:8], "little", signed=True) for _, _, row, _ in leasing.taken}
    return dict(leasing.tx.rows("SELECT id, name FROM site WHERE id IN", list(ids))) if ids else {}


def next_at(tx: Transaction, now: float, ids: Sequence[int] = ()) -> float | None:
    """When something may be given that may not be given now; None: only a push, a settle or a hand can change that."""
    if ids:
        wakes = [row[0] for row in tx.rows("SELECT wake FROM grp WHERE place = 2 AND id IN", list(ids))]
    else:
        wakes = [scalar(tx.db, "SELECT min(wake) FROM grp WHERE place = 2")]
    wakes.append(scalar(tx.db, "SELECT min(due) FROM queue WHERE state = 2"))
    wakes.append(scalar(tx.db, "SELECT min(deadline) FROM queue WHERE state = 1"))
    times = [wake for wake in wakes if wake is not None]
    return max(now, min(times)) if times else None
