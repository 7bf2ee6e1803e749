"""Entries of sites that a change of rules touches go in; what becomes of each comes out, and into the ledger.

Entries are judged by their texts, which never change, perhaps long before a slice of them is applied: what is at a fingerprint then is
looked at again. A slice takes in what stands where its movers want to go and will move itself, and so on, so that chains and circles move
together. An entry that went where it belongs is at home when it is met again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from urlsieve.model import Policy, State
from urlsieve.stores.embedded import drop, later, packed, queue, seen
from urlsieve.stores.embedded.ledger import Transaction
from urlsieve.stores.embedded.sites import Limits, Sites, lower, site_id
from urlsieve.stores.protocol import Kept, Sweep, Swept
from urlsieve.stores.sweeping import Fate, Move, fates, outranks

Pairs = list[tuple[bytes, int]]
Texts = Mapping[int, tuple[str | bytes, bytes]]
#: Where entries came to by a sweep that is not finished, and whether their sites are ones that it takes back.
_TABLE = "arrived"
_TEXTS = "SELECT t.id, t.url, e.variant FROM text t LEFT JOIN extra e ON e.id = t.id WHERE t.id IN"


class Touched(NamedTuple):
    """The sites that are looked at, in the order of the set and as what their fingerprints begin with, and whether those are taken back."""

    sites: list[int]
    order: list[int]
    forgets: Mapping[int, bool]

    @classmethod
    def of(cls, tx: Transaction, sweep: Sweep) -> Touched:
        rows = ((number, name, sweep.forgets(name)) for number, name in tx.execute("SELECT id, name FROM site"))
        found = {number: forgets for number, name, forgets in rows if forgets or sweep.covers(name)}
        sites = sorted(found, key=lambda number: number % 2**64)
        return cls(sites, [number % 2**64 for number in sites], found)


class Item(NamedTuple):
    """An entry that is not where it belongs: it goes to its own fingerprint and site, or (None) no text speaks for it."""

    key: bytes
    entry: int
    own: tuple[bytes, str] | None


class Plan(NamedTuple):
    gone: Pairs
    moves: list[Move]  # no two to one fingerprint, none to one that stays
    merged: Pairs  # there is an entry where these would go
    replaced: Pairs  # came by an earlier slice, and a better one comes
    left: int

    def told(self) -> Swept:
        moved = len(self.moves) - len(self.replaced)
        return Swept(0, len(self.gone), moved, len(self.merged) + len(self.replaced), self.left)


def texts(tx: Transaction, pairs: Pairs) -> Texts:
    """entry → URL and variant, of those whose text is kept."""
    found = {number: (url, variant or b"") for number, url, variant in tx.rows(_TEXTS, [entry for _, entry in pairs if entry > 0])}
    return found | {entry: (text.url, text.variant) for entry, text in packed.read(tx, [entry for _, entry in pairs]).items()}


def judged(sweep: Sweep, pairs: Pairs, texts: Texts) -> list[Item | None]:
    """One per entry. None: it is at home. Looks at nothing else, and may take its time."""
    kept = [(key, entry) for key, entry in pairs if entry in texts]
    owns = dict(zip((key for key, _ in kept), sweep.moved([Kept(key, *texts[entry]) for key, entry in kept]), strict=True))
    items: list[Item | None] = []
    for key, entry in pairs:
        own = owns.get(key)
        items.append(None if own is not None and own[0] == key else Item(key, entry, own))
    return items


def whole(tx: Transaction, sweep: Sweep, touched: Touched) -> Plan:
    """All of it at once."""
    items: list[Item] = []
    at_home: set[bytes] = set()
    for number in touched.sites:
        for pairs in _long(seen.of_site(tx, number)):
            for (key, _), item in zip(pairs, judged(sweep, pairs, texts(tx, pairs)), strict=True):
                if item is None:
                    at_home.add(key)
                else:
                    items.append(item)
    return plan(tx, sweep, touched, items, at_home)


def _long(parts: Iterator[Pairs], many: int = 1 << 16) -> Iterator[Pairs]:
    """The URLs of one site lie in many blocks of texts, and each is read once per slice."""
    pairs: Pairs = []
    for part in parts:
        pairs += part
        if len(pairs) >= many:
            yield pairs
            pairs = []
    yield pairs


def plan(tx: Transaction, sweep: Sweep, touched: Touched, items: Sequence[Item], at_home: Collection[bytes] = ()) -> Plan:
    """Of these, and of what stands in their way. at_home: some that are known to be."""
    gone: Pairs = []
    moves: list[Move] = []
    left = 0
    met = {item.key for item in items}
    there: dict[bytes, int] = {}
    work, first = _as_they_are(tx, sweep, items), True
    while work:
        wanted, unspoken = _sorted_out(tx, touched, work)
        moves += wanted
        gone += [pair for pair in unspoken if touched.forgets[site_id(pair[0])]]
        left += sum(not touched.forgets[site_id(key)] for key, _ in unspoken) if first else 0  # others are counted when they are met
        found = seen.find(tx, list({move.new: None for move in wanted if move.new not in there}))
        there |= found
        pairs = [(key, entry) for key, entry in found.items() if key not in met and key not in at_home and site_id(key) in touched.forgets]
        met.update(key for key, _ in pairs)
        work, first = _not_at_home(tx, sweep, pairs), False
    stay = {key for key, entry in there.items() if entry != seen.KNOWN} - {key for key, _ in gone}
    replaced = _outranked(tx, moves, there, stay)
    stay.difference_update(key for key, _ in replaced)
    ends: dict[Fate, list[Move]] = {fate: [] for fate in Fate}
    for move, fate in fates(moves, stay):
        ends[fate].append(move)
    merged = [(move.old, move.entry) for move in ends[Fate.MERGED]]
    own = {item.key for item in items}
    return Plan(gone, ends[Fate.MOVED], merged, replaced, left + sum(move.old in own for move in ends[Fate.LEFT]))


def _as_they_are(tx: Transaction, sweep: Sweep, items: Sequence[Item]) -> list[Item]:
    """What has another entry since it was judged is judged again, for it was packed, or lost its text, or something else came there."""
    now = seen.find(tx, [item.key for item in items])
    same = [item for item in items if now.get(item.key) == item.entry]
    same += _not_at_home(tx, sweep, [(item.key, now[item.key]) for item in items if now.get(item.key, item.entry) != item.entry])
    arrived = _arrived(tx, [item.key for item in same if item.own is None])
    return [item for item in same if item.key not in arrived]


def _not_at_home(tx: Transaction, sweep: Sweep, pairs: Pairs) -> list[Item]:
    """What came by this sweep is, also when it has lost its text since."""
    arrived = _arrived(tx, [key for key, _ in pairs])
    pairs = [pair for pair in pairs if pair[0] not in arrived]
    return [item for item in judged(sweep, pairs, texts(tx, pairs)) if item is not None] if pairs else []


def _sorted_out(tx: Transaction, touched: Touched, items: Sequence[Item]) -> tuple[list[Move], Pairs]:
    """(to move, those that no text speaks for)."""
    spots = queue.locate(tx, [item.entry for item in items if item.entry > 0])
    moves: list[Move] = []
    unspoken: Pairs = []
    for key, entry, own in items:
        state = spots[entry].state if entry in spots else State.DONE
        if own is not None:
            moves.append(Move(key, entry, *own, state, touched.forgets[site_id(key)]))
        elif state in (State.DONE, State.DEAD):
            unspoken.append((key, entry))
    return moves, unspoken


def _arrived(tx: Transaction, keys: Sequence[bytes]) -> dict[bytes, bool]:
    if not tx.value(_TABLE):
        return {}
    return {key: bool(forgets) for key, forgets in tx.rows(f"SELECT fp, forgets FROM {_TABLE} WHERE fp IN", keys)}


def _outranked(tx: Transaction, moves: Sequence[Move], there: Mapping[bytes, int], stay: Collection[bytes]) -> Pairs:
    """What came where it is by an earlier slice, and would not have if it had been looked at together with one that comes now."""
    leaving = {move.old for move in moves}
    arrived = _arrived(tx, [key for key in stay if key not in leaving])
    if not arrived:
        return []
    spots = queue.locate(tx, [there[key] for key in arrived if there[key] > 0])
    best: dict[bytes, Move] = {}
    for move in moves:
        if move.new in arrived and (move.new not in best or move.rank < best[move.new].rank):
            best[move.new] = move
    found: Pairs = []
    for key, move in best.items():
        entry = there[key]
        without = State.DEAD if entry == seen.DEAD_WITHOUT_TEXT else State.DONE
        if outranks(move, spots[entry].state if entry in spots else without, arrived[key]):
            found.append((key, entry))
    return found


# -- into the ledger


def apply(tx: Transaction, plan: Plan, policy: Policy, now: float, sites: Sites) -> None:
    for pairs in (plan.gone, plan.merged, plan.replaced):
        drop.drop(tx, pairs, policy, now)
    _move(tx, plan.moves, policy, now, sites)


def note(tx: Transaction, plan: Plan) -> None:
    """Where its movers came, for slices that come later."""
    if plan.moves:
        later.take(tx, _TABLE, len(plan.moves))
        rows = [(bytearray(move.new), move.forgets) for move in plan.moves]
        tx.executemany(f"INSERT OR REPLACE INTO {_TABLE} (fp, forgets) VALUES (?, ?)", rows)


def forget_notes(tx: Transaction) -> None:
    if tx.value(_TABLE):
        tx.execute(f"DROP TABLE {_TABLE}")
        tx.count(_TABLE, -tx.value(_TABLE))


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
