"""Rules that have changed go in; entries move to the fingerprints they have now, and what no text speaks for is forgotten, in one step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from urlsieve.model import Policy, State
from urlsieve.stores.embedded import drop, packed, queue, seen
from urlsieve.stores.embedded.ledger import Transaction
from urlsieve.stores.embedded.sites import Limits, Sites, lower, site_id
from urlsieve.stores.protocol import Kept, Sweep, Swept
from urlsieve.stores.sweeping import Fate, Move, fates

_Pairs = list[tuple[bytes, int]]
_TEXTS = "SELECT t.id, t.url, e.variant FROM text t LEFT JOIN extra e ON e.id = t.id WHERE t.id IN"


_LONG_SLICE = 1 << 16


class _Plan(NamedTuple):
    sites: int
    gone: _Pairs
    moves: list[Move]  # no two to one fingerprint, none to one that stays
    merged: _Pairs  # there is an entry where these would go
    left: int

    def told(self) -> Swept:
        return Swept(self.sites, len(self.gone), len(self.moves), len(self.merged), self.left)


def size(tx: Transaction, sweep: Sweep) -> Swept:
    """What it would do."""
    return _plan(tx, sweep).told()


def run(tx: Transaction, sweep: Sweep, policy: Policy, now: float, sites: Sites) -> Swept:
    plan = _plan(tx, sweep)
    drop.drop(tx, plan.gone, policy, now)
    drop.drop(tx, plan.merged, policy, now)
    _move(tx, plan.moves, policy, now, sites)
    return plan.told()


def _move(tx: Transaction, moves: list[Move], policy: Policy, now: float, sites: Sites) -> None:
    seen.remove(tx, [move.old for move in moves])
    known = seen.find(tx, [move.new for move in moves])  # nothing else is there: none of them goes to one that stays
    drop.drop(tx, [(key, seen.KNOWN) for key in known], policy, now)
    seen.add(tx, [move.new for move in moves], [move.entry for move in moves])
    sites.add(tx, {move.new[:8]: move.site for move in moves})
    tx.executemany("UPDATE text SET fp = ? WHERE id = ?", [(bytearray(move.new), move.entry) for move in moves])
    lower(tx, Counter(site_id(move.old) for move in moves))
    limits = Limits(tx, [move.new for move in moves])
    for move in moves:
        limits.taken(move.new)
    limits.write(None)


def _plan(tx: Transaction, sweep: Sweep) -> _Plan:
    names = {
        number: name for number, name in tx.execute("SELECT id, name FROM site").fetchall() if sweep.covers(name) or sweep.forgets(name)
    }
    gone: _Pairs = []
    wanted: list[Move] = []
    left = 0
    for number, name in names.items():
        forgets = sweep.forgets(name)
        for pairs in _of_site(tx, number):
            moves, unspoken = _judged(tx, sweep, pairs, forgets)
            wanted += moves
            if forgets:
                gone += unspoken
            else:
                left += len(unspoken)
    there = seen.find(tx, list({move.new: None for move in wanted}))
    stay = {key for key, entry in there.items() if entry != seen.KNOWN} - {key for key, _ in gone}
    ends: dict[Fate, list[Move]] = {fate: [] for fate in Fate}
    for move, fate in fates(wanted, stay):
        ends[fate].append(move)
    merged = [(move.old, move.entry) for move in ends[Fate.MERGED]]
    return _Plan(len(names), gone, ends[Fate.MOVED], merged, left + len(ends[Fate.LEFT]))


def _of_site(tx: Transaction, number: int) -> Iterator[_Pairs]:
    """In long slices: the URLs of one site lie in many blocks, and each is read once per slice."""
    pairs: _Pairs = []
    for part in seen.of_site(tx, number):
        pairs += part
        if len(pairs) >= _LONG_SLICE:
            yield pairs
            pairs = []
    yield pairs


def _judged(tx: Transaction, sweep: Sweep, pairs: _Pairs, forgets: bool) -> tuple[list[Move], _Pairs]:
    """(to move, those that no text speaks for)."""
    texts = {number: (url, variant or b"") for number, url, variant in tx.rows(_TEXTS, [entry for _, entry in pairs if entry > 0])}
    texts |= {entry: (text.url, text.variant) for entry, text in packed.read(tx, [entry for _, entry in pairs]).items()}
    kept = [(key, entry) for key, entry in pairs if entry in texts]
    owns = sweep.moved([Kept(key, *texts[entry]) for key, entry in kept])
    changed = [(*pair, own) for pair, own in zip(kept, owns, strict=True) if own is None or own[0] != pair[0]]
    spots = queue.locate(tx, [entry for _, entry, _ in changed])
    unspoken = [(key, entry) for key, entry in pairs if entry not in texts]
    moves = []
    for key, entry, own in changed:
        state = spots[entry].state if entry in spots else State.DONE
        if own is not None:
            moves.append(Move(key, entry, *own, state, forgets))
        elif state in (State.DONE, State.DEAD):
            unspoken.append((key, entry))
    return moves, unspoken
