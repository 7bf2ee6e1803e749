"""A limit in, leased rows out: which shards a worker asks, by what they last told it, and their answers as rows."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from math import inf

from urlsieve.model import Row
from urlsieve.stores.protocol import Leased
from urlsieve.stores.redis import pack
from urlsieve.stores.redis.job import Answer, Ask, Job
from urlsieve.stores.redis.pack import Head
from urlsieve.stores.redis.shards import MOST_AT_ONCE
from urlsieve.stores.redis.wire import Call

#: Every so many pops the shard that this worker has asked least recently comes first, whatever its priority.
FAIR_POP = 20
#: Shards looked at, and tidied, along with every pop, so that what others did is known soon.
GLANCES = 4
#: Rounds of a pop, each for shards that were ready when last heard of: somebody else may be faster every time.
MOST_ROUNDS = 100


class Rounds:
    """What this worker knows of the shards. Equal ones take turns, beginning at a home of its own, so that workers spread."""

    def __init__(self, job: Job, chance: int) -> None:
        self._job = job
        self._heads: list[Head | None] = [None] * job.shards.count
        self._cursor = chance % job.shards.count
        self._glance = self._cursor
        self._pops = 0
        self._asked = [0] * job.shards.count
        self._lock = threading.Lock()
        job.heard = self.hear

    def hear(self, shard: int, head: Head) -> None:
        """Its times become the caller's."""
        wake, bury = (None if time is None else time - head.shift for time in (head.wake, head.bury))
        self._heads[shard] = head._replace(wake=wake, bury=bury)

    def lease(self, limit: int, ttl: float, now: float, chance: bytes) -> Leased:
        rows: list[Row] = []
        reaped = 0
        looked = None in self._heads and self._look(now)
        if limit == 0:
            return self._tidied(ttl, now, chance)
        for _ in range(MOST_ROUNDS):
            chosen = self._choose(limit - len(rows), now)
            if not chosen:
                if looked:
                    break
                looked = self._look(now)
                continue
            asks = [self._lease(shard, many, ttl, chance) for shard, many in chosen]
            answers = self._job.ask([*asks, *self._along({shard for shard, _ in chosen}, ttl, now, chance)], now, again=once_more)
            for ask, answer in zip(asks, answers, strict=False):
                found = rows_of(ask.shard, answer)
                rows += found
                reaped += int(answer.values[2])
            if len(rows) >= limit:
                return Leased(rows, now, reaped)
        return Leased(rows, self._later(now), reaped)

    def _lease(self, shard: int, many: int, ttl: float, chance: bytes, groups: Sequence[bytes] | None = None) -> Ask:
        named = b"0" if groups is None else b"1"
        return Ask(shard, "lease", [many, repr(ttl), chance, named, os.urandom(8), b"0", kept_ms(self._job), *(groups or ())])

    def _look(self, now: float) -> bool:
        """All shards, in one round trip."""
        self._job.everywhere("peek", (), now)
        return True

    def _tidied(self, ttl: float, now: float, chance: bytes) -> Leased:
        """Nothing is leased: what time has brought is done, in all shards that are known to have some."""
        times = ((shard, time) for shard, head in enumerate(self._heads) if head is not None for time in (head.wake, head.bury))
        ripe = dict.fromkeys(shard for shard, time in times if time is not None and time <= now)
        answers = self._job.ask([self._lease(shard, 0, ttl, chance) for shard in ripe], now, again=once_more)
        return Leased([], self._later(now), sum(int(answer.values[2]) for answer in answers))

    def _along(self, without: set[int], ttl: float, now: float, chance: bytes) -> list[Ask]:
        """In the same round trip: a look at some shards in turn; and where time has brought something, a lease of nothing, which tidies up:
        what is due or expired elsewhere is then known with its priority."""
        count = self._job.shards.count
        with self._lock:
            start, self._glance = self._glance, (self._glance + GLANCES) % count
        times = ((shard, time) for shard, head in enumerate(self._heads) if head is not None for time in (head.wake, head.bury))
        ripe = sorted({shard for shard, time in times if time is not None and time <= now} - without)
        tidied = [*(shard for shard in ripe if shard >= start), *ripe][:GLANCES]
        looks = {(start + i) % count for i in range(GLANCES)} - without - set(tidied)
        tidying = [self._lease(shard, 0, ttl, chance) for shard in dict.fromkeys(tidied)]
        return [*tidying, *(Ask(shard, "peek") for shard in looks)]

    def _later(self, now: float) -> float | None:
        wakes = [head.wake for head in self._heads if head is not None and head.wake is not None]
        if any(head is not None and head.top is not None for head in self._heads):
            return now
        return max(now, min(wakes)) if wakes else None

    def _choose(self, need: int, now: float) -> list[tuple[int, int]]:
        """(shard, how many), the best first: as many shards as it takes by what they said."""
        count = self._job.shards.count
        with self._lock:
            self._pops += 1
            pops, start = self._pops, self._cursor
        open_ones = []
        for i in range(count):
            shard = (start + i) % count
            head = self._heads[shard]
            if head is None:
                continue
            if head.top is not None:
                open_ones.append((-head.top, i, shard, head))
            elif head.wake is not None and head.wake <= now:
                open_ones.append((0.0, i, shard, head))
            elif head.bury is not None and head.bury <= now:  # gives nothing, so it comes after all that may
                open_ones.append((inf, i, shard, head))
        open_ones.sort(key=lambda one: one[:2])
        if pops % FAIR_POP == 0 and open_ones:
            longest = min(open_ones, key=lambda one: self._asked[one[2]])
            open_ones.remove(longest)
            open_ones.insert(0, longest)
        chosen: list[tuple[int, int]] = []
        for _, _, shard, head in open_ones:
            if need <= 0:
                break
            many = min(need, MOST_AT_ONCE, self._expected(head))
            chosen.append((shard, many))
            need -= many
        with self._lock:
            for shard, _ in chosen:
                self._asked[shard] = pops
            if chosen:
                self._cursor = (chosen[-1][0] + 1) % count
        return chosen

    def _expected(self, head: Head) -> int:
        """How many URLs it may give: its pending ones, or one per group whose turn it is where a turn gives one."""
        if self._job.policy.delay > 0:
            return max(1, min(head.ready, head.pending))
        return max(1, head.pending)

    def by_name(self, limit: int, ttl: float, now: float, chance: bytes, names: Sequence[str], ids: Sequence[int]) -> Leased:
        """Only these groups, shard by shard, the one with the highest priority first."""
        if limit == 0:
            return self.lease(0, ttl, now, chance)
        by_shard: dict[int, list[bytes]] = {}
        for name, number in zip(names, ids, strict=True):
            by_shard.setdefault(self._job.shards.of(name), []).append(pack.half_of(number))
        order = self._by_top(by_shard, now) if len(by_shard) > 1 else list(by_shard)
        rows: list[Row] = []
        reaped = 0
        wakes: list[float] = []
        for shard in order:
            while len(rows) < limit:
                asked = min(limit - len(rows), MOST_AT_ONCE)
                (answer,) = self._job.ask([self._lease(shard, asked, ttl, chance, by_shard[shard])], now, again=once_more)
                found = rows_of(shard, answer)
                rows += found
                reaped += int(answer.values[2])
                if len(found) < asked:
                    break
        if len(rows) >= limit:
            return Leased(rows, now, reaped)
        for shard, halves in by_shard.items():
            wakes += named(self._job.one(shard, "peek", halves, now), now)[1]
        return Leased(rows, max(now, min(wakes)) if wakes else None, reaped)

    def _by_top(self, by_shard: dict[int, list[bytes]], now: float) -> list[int]:
        answers = self._job.ask([Ask(shard, "peek", halves) for shard, halves in by_shard.items()], now)
        tops = {}
        for shard, answer in zip(by_shard, answers, strict=True):
            rows = [pack.group_row(b"\0" * 8, record, 0.0, None) for record in answer.values[0] if record]
            tops[shard] = max((top for row in rows for top in row.tops if top is not None), default=-(2**60))
        return sorted(by_shard, key=lambda shard: -tops[shard])


def named(answer: Answer, now: float) -> tuple[bool, list[float]]:
    """What `peek` says of groups by name: may one give something now, and when may something change by time alone."""
    shift = answer.head.shift
    places = [pack.GROUP.unpack_from(record) for record in answer.values[0] if record]
    wakes = [place[11] - shift for place in places if place[10] == WAITING]
    ready = any(place[10] == READY for place in places)
    if answer.values[1]:
        wakes.append(float(answer.values[1]) - shift)
    return ready or any(wake <= now for wake in wakes), wakes


READY, WAITING = 1, 2
#: Where a call says that it may have been done already, among the arguments of its script.
_REPEATED = {"lease": 8, "settle": 4}
#: How long the answer to a lease or settle is kept for one who did not get it, in seconds, at least.
ANSWER_KEPT = 120.0


def kept_ms(job: Job) -> int:
    return int(1000 * max(ANSWER_KEPT, 2 * job.address.patience))


def once_more(call: Call, waited: float) -> Call:
    """The call to repeat when no answer came: it is answered as it was the first time, if it was done."""
    at = _REPEATED.get(call.script)
    if at is None:
        return call
    arguments = list(call.arguments)
    arguments[at] = b"1"
    return call._replace(arguments=arguments)


def rows_of(shard: int, answer: Answer) -> list[Row]:
    """The rows as workers get them."""
    stamp, deadline_text, _, flat_names, flat_rows = answer.values
    (deadline,) = pack.SITE.unpack(deadline_text + bytes(8))[:1]
    names = {half: name.decode() for half, name in pack.pairs(flat_names)}
    rows = []
    for packed, text in pack.pairs(flat_rows):
        number, klass, priority, attempt, excused, failed = pack.ROW.unpack(packed)
        b = pack.read_body(text)
        token, site, group = pack.token(shard, int(number), stamp), names[b.fingerprint[:8]], names[b.group]
        who = (token, b.fingerprint, b.url, site, group, pack.number_of(b.group))
        known = (int(priority), b.depth, attempt, pack.KLASSES[klass], deadline, b.via, b.meta, b.variant)
        rows.append(Row._make((*who, *known, excused, pack.some(failed), None)))
    return rows
