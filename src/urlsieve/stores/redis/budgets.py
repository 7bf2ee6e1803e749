"""Names of sites in, what is used up of them, their domains, the job and its day out; and limits of offers as the scripts take them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from urlsieve.frontier.budget import Usage, Used
from urlsieve.model import Budget, Offers
from urlsieve.stores.redis import pack
from urlsieve.stores.redis.job import Ask, Job
from urlsieve.stores.redis.look import scan
from urlsieve.stores.redis.wire import Argument, Call

UNITS = ("site", "domain", "job", "day")
#: Those that shards share, and where their URLs stand among the six numbers.
_WIDE = {"job": 0, "day": 3}
_PROFILE = struct.Struct("<12d")
_SIX = struct.Struct("<6d")
#: Sites in one command.
_SLICE = 500


def reckon(job: Job, now: float) -> None:
    """Every site is told apart by its domain from now on; those that are there already are looked at once."""
    shards = job.shards
    shards.reckons = True
    known = job.wire.ask([Call("", "", ("HEXISTS", f"{key}d", "")) for key in shards.keys])
    for shard, (key, done) in enumerate(zip(shards.keys, known, strict=True)):
        if done:
            continue
        sites = [(half, shards.domain_of(record[pack.SITE.size :].decode())) for half, record in scan(job, f"{key}i")]
        parts = [sites[start : start + _SLICE] for start in range(0, len(sites), _SLICE)]
        job.ask((Ask(shard, "reckon", [value for pair in part for value in pair]) for part in parts), now)
        job.wire.ask([Call("", "", ("HSET", f"{key}d", "", "1"))])


def used(job: Job, sites: Mapping[str, int], now: float, *, whole: bool) -> Usage:
    shards = job.shards
    by_shard: dict[int, list[str]] = {shard: [] for shard in range(shards.count)} if whole else {}
    for name in sites:
        by_shard.setdefault(shards.of(name), []).append(name)
    domains = {name: shards.domain_of(name) for name in sites}
    asks = [
        Ask(shard, "used", [value for name in names for value in (pack.half_of(sites[name]), domains[name])])
        for shard, names in by_shard.items()
    ]
    own, shared, total = {}, {}, [0.0] * 6
    for names, answer in zip(by_shard.values(), job.ask(asks, now), strict=True):
        first, *rest = _SIX.iter_unpack(answer.values[0])
        total = [have + more for have, more in zip(total, first, strict=True)]
        for name, six in zip(names, rest, strict=True):
            own[name], shared[domains[name]] = _used(six[:3]), _used(six[3:])
    return Usage(_used(total[:3]), _used(total[3:]), own, domains, shared)


def _used(three: Sequence[float]) -> Used:
    return Used(*map(int, three))


class Limits:
    """Of one batch of offers. `packed(at)`: for a part of it, the profiles and one number per URL. For the job's and the day's limits the
    other shards count as they were before the batch."""

    def __init__(self, job: Job, offers: Offers, now: float) -> None:
        assert offers.limits is not None
        self._job, self._now = job, now
        self._of = [offers.limits(i) for i in range(len(offers.fingerprints) // 16)]
        self._shards: list[tuple[float, ...]] = [(0.0,) * 6] * job.shards.count
        wide = {(unit, limits[unit]) for limits in self._of for unit in _WIDE if unit in limits}
        self._wide = job.shards.count > 1 and bool(wide)
        self._most = [(unit, budget.urls) for unit, budget in wide if budget.urls is not None]
        self.look(*range(job.shards.count))

    def look(self, *shards: int) -> None:
        """What these shards have now."""
        if self._wide:
            for shard, answer in zip(shards, self._job.ask([Ask(shard, "used") for shard in shards], self._now), strict=True):
                self._shards[shard] = _SIX.unpack(answer.values[0][: _SIX.size])

    def are_near(self, many: int) -> bool:
        """The next `many` URLs may cross a limit of URLs that shards share. Beyond it there is nothing to cross: all are refused."""
        if not self._wide or not self._most:
            return False
        had = {unit: sum(six[at] for six in self._shards) for unit, at in _WIDE.items()}
        return any(had[unit] < most < had[unit] + many for unit, most in self._most)

    def arguments(self, shard: int, at: Sequence[int]) -> list[Argument]:
        numbers: dict[bytes, int] = {}
        index = [numbers.setdefault(_packed(self._of[i]), len(numbers) + 1) for i in at]
        others = [sum(six) for six in zip(*(s for i, s in enumerate(self._shards) if i != shard), strict=True)] or [0.0] * 6
        return [b"".join(numbers), struct.pack(f"<{len(index)}H", *index), _SIX.pack(*others)]


def _packed(limits: Mapping[str, Budget]) -> bytes:
    none = Budget()
    budgets = [limits.get(unit, none) for unit in UNITS]
    return _PROFILE.pack(*(pack.or_none(value) for budget in budgets for value in (budget.urls, budget.pages, budget.bytes)))
