"""A clock in; what time alone changes is done: URLs that are due, leases that expired, groups whose turn has come, old dead ones."""

from __future__ import annotations

from urlsieve.frontier.admit import DEAD_KEPT, expire
from urlsieve.model import Klass, Policy, State
from urlsieve.stores.embedded import queue, seen
from urlsieve.stores.embedded.groups import Arrivals, load, save
from urlsieve.stores.embedded.ledger import Transaction
from urlsieve.stores.embedded.queue import Spot

#: Moved per call at most of each kind, so that no call is slow after a long pause.
MOST_MOVED = 1000


def tidy(tx: Transaction, policy: Policy, now: float) -> int:
    """Due delayed → pending, expired leases → pending or dead, groups whose time has come → ready, old dead → fingerprint only."""
    arrivals = Arrivals()
    _wake_entries(tx, arrivals, now)
    reaped = _reap(tx, arrivals, policy, now)
    arrivals.write(tx, policy, now)
    # all of them, or the order would not be by priority; whether it really is their turn is looked at when they are served
    tx.execute("UPDATE grp SET place = 1, wake = NULL WHERE place = 2 AND wake <= ?", (now,))
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
        left = expire(Klass(spot.klass), spot.attempt, again, policy, now)
        if left.state is State.DEAD:
            dead.append((now, spot.id))
        elif left.due is not None:
            later.append((left.due, int(left.klass), left.attempt, spot.id))
        else:
            if not left.attempt:
                spot = spot._replace(excused=0, failed_at=None)
            back.append(spot._replace(klass=left.klass, attempt=left.attempt))
    queue.let_go(tx, [spot.id for spot in back])
    queue.put_pending(tx, back, arrivals)
    tx.executemany(
        "UPDATE held SET state = 2, due = ?, again = NULL, class = ?, attempt = ?, excused = 0, failed_at = NULL WHERE id = ?", later
    )
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
