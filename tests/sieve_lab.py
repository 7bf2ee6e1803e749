"""Helpers of the sieve's tests: a store, a virtual clock and everyone who opened it go in; conservation is what comes out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import redis_server
from urlsieve import testing

STATES = ("pending", "leased", "delayed", "done", "dead")
DAY = 86_400.0

#: Every store of this version: name → options of its opener. "memory" has no second opener. "embedded-runs": its journal becomes a run
#: after a few URLs, and texts of done ones are packed at once, so that runs, merges, tombstones and blocks are met in every test.
#: "redis" has 64 shards.
STORES: dict[str, dict[str, Any]] = {
    "embedded": {},
    "embedded-normal": {"durability": "normal"},
    "embedded-runs": {},
    "memory": {},
    "redis": {},
}
#: The same with one shard, where order is one for all groups and a group may be of any domain: see the mark `one_shard`.
ONE_SHARD = "redis-1"
SHARED = [name for name in STORES if name != "memory"]


def address_of(name: str, place: Path) -> str:
    """A store of its own for a test that has this directory."""
    if name == "memory":
        return "memory:"
    if name.startswith("redis"):
        server = redis_server.shared()
        return server.address(f"{place.name}-{next(_numbers)}"[-64:].lstrip("-"), **({"shards": 1} if name == ONE_SHARD else {}))
    return str(place / "store")


_numbers = count()


def pages(count: int, *, host: str = "a.example", start: int = 0) -> list[str]:
    """`count` different URLs of one host."""
    return [f"http://{host}/p{number}" for number in range(start, start + count)]


def hosts(count: int, *, path: str = "/") -> list[str]:
    """One URL on each of `count` hosts, so that no two share a group."""
    return [f"http://h{number}.example{path}" for number in range(count)]


def urls_of(leases: Iterable[Any]) -> list[str]:
    return [lease.url for lease in leases]


def states(sieve: Any) -> dict[str, int]:
    """How many entries are in each state, zeros left out."""
    found = sieve.stats().as_dict()
    return {name: found[name] for name in STATES if found[name]}


def figures(sieve: Any) -> dict[str, Any]:
    """What stats say of the store: without what this opener asked of it, which questions change too."""
    return {name: value for name, value in sieve.stats().as_dict().items() if name != "levels"}


def check_conservation(sieve: Any) -> None:
    """The two equalities of the store protocol, by the counts and by enumeration."""
    found = sieve.stats().as_dict()
    assert found["accepted"] == sum(found[name] for name in STATES)
    assert found["seen"] == found["accepted"] + found["known"]
    assert sieve.verify(deep=True) == []


@dataclass
class Lab:
    """One store under one virtual clock. `open` may be called again for a second worker (not on memory:)."""

    name: str
    address: str
    options: dict[str, Any]
    clock: testing.VirtualClock = field(default_factory=testing.VirtualClock)
    opened: list[Any] = field(default_factory=list)
    closed: bool = False

    def open(self, **options: Any) -> Any:
        seed = options.pop("seed", len(self.opened))
        sieve = testing.open(self.address, clock=self.clock, seed=seed, **{**self.options, **options})
        self.opened.append(sieve)
        return sieve

    def reopen(self, **options: Any) -> Any:
        """Everyone leaves, one comes back."""
        self.close()
        return self.open(**options)

    def close(self) -> None:
        for sieve in self.opened:
            sieve.close()
        self.opened.clear()

    def finish(self) -> None:
        """Conservation is checked after every test, on a fresh opener where there can be one."""
        if self.closed or not self.opened:
            return
        if self.address == "memory:":
            for sieve in self.opened:
                check_conservation(sieve)
        else:
            check_conservation(self.open())
        self.close()


def drain(sieve: Any, clock: testing.VirtualClock, each: Callable[[Any, Any], object], *, limit: int = 100, rounds: int = 10_000) -> int:
    """Pop until nothing is left, moving the clock to `next_at` when nothing may be fetched; `each(sieve, lease)` settles. The leases given."""
    given = 0
    for _ in range(rounds):
        leases = sieve.pop(limit)
        given += len(leases)
        for lease in leases:
            each(sieve, lease)
        if not leases:
            if leases.next_at is None:
                return given
            assert leases.next_at > clock.now, "an empty pop must not say that it is worth asking now"
            clock.advance(leases.next_at - clock.now)
    raise AssertionError(f"not drained after {rounds} pops: {states(sieve)}")


def finish(address: str, start: list[str]) -> Any:
    """Everything that is left is done, long after every lease and every wait."""
    clock = testing.VirtualClock(time.time() + 100_000)
    with testing.open(address, clock=clock) as sieve:
        check_conservation(sieve)
        before = sieve.stats()
        drain(sieve, clock, lambda sieve, lease: sieve.done(lease, links=[f"{lease.url}/link"] if lease.depth == 0 else ()), limit=200)
        assert {"done": 2 * len(start)} == states(sieve)
        assert [True] * len(start) == sieve.seen([url + "/link" for url in start])
        check_conservation(sieve)
    return before
