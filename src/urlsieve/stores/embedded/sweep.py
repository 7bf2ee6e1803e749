"""Rules that have changed go in; entries move to the fingerprints they have now, and what no text speaks for is forgotten, slice by slice.

A change that touches few entries is one step. Else its first step writes the rules and a mark: from then on nothing is taken under older
rules, and under the new ones nobody offers before the mark is gone. Slices follow, each a short transaction that also moves the mark on:
others push, lease and settle between them, and whoever finds the mark goes on from there, after a kill or at the same time. Texts are read
and judged before, while others write.
"""

from __future__ import annotations

import json
import sqlite3
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from itertools import takewhile
from typing import NamedTuple, Protocol

from urlsieve.model import Policy
from urlsieve.stores.embedded import seen, sweepslice
from urlsieve.stores.embedded.ledger import Ledger, Transaction, scalar
from urlsieve.stores.embedded.runs import FIRST
from urlsieve.stores.embedded.sites import Sites, site_id
from urlsieve.stores.embedded.sweepslice import Item, Pairs, Touched
from urlsieve.stores.protocol import Sweep, Swept

#: Entries that are looked at, and change, in one transaction: a quarter of a second on a busy machine.
SLICE = 2_000
#: Entries that are read and judged together: a block of texts is read once for all of them.
LOOK = 1 << 14
#: In a store of more sites than these their names are not gone through while others wait.
FEW_SITES = 10_000
#: Seconds between two slices: a thread of this process that waits for its turn gets it.
PAUSE = 0.001
#: Where a sweep goes on when it has looked at everything.
END = b""


class Marking(Protocol):
    """A transaction that may add to the seen set."""

    def __call__(self, *, durable: bool = True) -> AbstractContextManager[Transaction]: ...


class Mark(NamedTuple):
    """A sweep that is not finished: the rules' generation that it began, and the fingerprint from which on is still to be looked at."""

    generation: int
    at: bytes


def mark(db: sqlite3.Connection) -> Mark | None:
    text = scalar(db, "SELECT value FROM meta WHERE name = 'sweeping'")
    if text is None:
        return None
    generation, at = json.loads(text)
    return Mark(generation, bytes.fromhex(at))


def _set(tx: Transaction, mark: Mark) -> None:
    tx.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('sweeping', ?)", (json.dumps([mark.generation, mark.at.hex()]),))


def size(tx: Transaction, sweep: Sweep) -> Swept:
    """What it would do."""
    touched = Touched.of(tx, sweep)
    return sweepslice.whole(tx, sweep, touched).told()._replace(sites=len(touched.sites))


def is_small(ledger: Ledger, sweep: Sweep) -> bool:
    """Whether it can be one step, which nobody notices."""
    with ledger.look() as tx:
        if tx.value("sites") > FEW_SITES:
            return False
        left = SLICE
        for number in Touched.of(tx, sweep).sites:
            for pairs in seen.of_site(tx, number):
                left -= len(pairs)
                if left < 0:
                    return False
    return True


def at_once(tx: Transaction, sweep: Sweep, policy: Policy, now: float, sites: Sites) -> Swept:
    touched = Touched.of(tx, sweep)
    plan = sweepslice.whole(tx, sweep, touched)
    sweepslice.apply(tx, plan, policy, now, sites)
    return plan.told()._replace(sites=len(touched.sites))


def begin(tx: Transaction, generation: int) -> None:
    _set(tx, Mark(generation, FIRST))


def finish(
    ledger: Ledger,
    marking: Marking,
    sweep: Sweep,
    generation: int,
    policy: Callable[[sqlite3.Connection], Policy],
    now: float,
    sites: Sites,
) -> Swept:
    """What was begun for rules of this generation, or an earlier one with the same book, is done when this returns, by whomever."""
    with ledger.look() as tx:
        if _mark_of(tx, generation) is None:
            return Swept()
        touched = Touched.of(tx, sweep)  # nothing comes to another site but what is at home there
    total = Swept(len(touched.sites))
    while slices := _look(ledger, sweep, touched, generation):
        while True:
            with marking(durable=False) as tx:  # the end is: what is lost of it in a power cut is lost with all that came after it
                found = _mark_of(tx, generation)
                part = None if found is None else slices.get(found.at)
                if found is not None and part is not None:
                    total = _sum(total, _run(tx, sweep, touched, part, policy(tx.db), now + tx.waited, sites))
                    _set(tx, found._replace(at=part.after))
            if part is None or part.after == END:  # or others are ahead
                break
            time.sleep(PAUSE)
    with marking() as tx:
        found = _mark_of(tx, generation)
        if found is not None and found.at == END:
            sweepslice.forget_notes(tx)
            tx.execute("DELETE FROM meta WHERE name = 'sweeping'")
    return total


def _mark_of(tx: Transaction, generation: int) -> Mark | None:
    """None: it is finished, and perhaps another has begun since."""
    found = mark(tx.db)
    return None if found is None or generation < found.generation else found


def _run(tx: Transaction, sweep: Sweep, touched: Touched, part: _Slice, policy: Policy, now: float, sites: Sites) -> Swept:
    plan = sweepslice.plan(tx, sweep, touched, part.items)
    sweepslice.apply(tx, plan, policy, now, sites)
    sweepslice.note(tx, plan)
    told = plan.told()
    return told._replace(left=told.left + part.left)


def _sum(one: Swept, other: Swept) -> Swept:
    return Swept(*(a + b for a, b in zip(one, other, strict=True)))


# -- looking


class _Slice(NamedTuple):
    """Entries from one fingerprint to another. left: how many besides `items` stay as they are, without text."""

    items: list[Item]
    left: int
    after: bytes


def _look(ledger: Ledger, sweep: Sweep, touched: Touched, generation: int) -> Mapping[bytes, _Slice]:
    """The next slices by where they begin. Whoever looks from there has the same, as long as nobody writes: several share them."""
    with ledger.look() as tx:
        found = _mark_of(tx, generation)
        if found is None or found.at == END:
            return {}
        pairs, after = _read(tx, touched, found.at)
        texts = sweepslice.texts(tx, pairs)
    slices: dict[bytes, _Slice] = {}
    start, items, left = found.at, list[Item](), 0
    for (key, entry), item in zip(pairs, sweepslice.judged(sweep, pairs, texts), strict=True):
        if len(items) == SLICE:
            slices[start] = _Slice(items, left, key)
            start, items, left = key, [], 0
        if item is None:
            continue
        if item.own is None and entry <= 0 and entry not in texts and not touched.forgets[site_id(key)]:
            left += 1
        else:
            items.append(item)
    slices[start] = _Slice(items, left, after)
    return slices


def _read(tx: Transaction, touched: Touched, at: bytes) -> tuple[Pairs, bytes]:
    """What is to be looked at from there on, about LOOK of it, and where to go on."""
    pairs: Pairs = []
    first = bisect_left(touched.order, _site(at))
    for site in touched.order[first : first + LOOK]:
        where: bytes | None = at if _site(at) == site else _start(site)
        many = seen.FIRST_SLICE
        while where is not None and _site(where) == site:
            if len(pairs) >= LOOK:
                return pairs, where
            found, where = seen.part(tx, where, many)
            many = min(4 * many, seen.SLICE)
            pairs += takewhile(lambda pair: _site(pair[0]) == site, found)  # noqa: B023 (used at once)
    rest = touched.order[first + LOOK : first + LOOK + 1]
    return pairs, _start(rest[0]) if rest else END


def _start(site: int) -> bytes:
    return site.to_bytes(8, "little") + bytes(8)


def _site(key: bytes) -> int:
    return int.from_bytes(key[:8], "little")
