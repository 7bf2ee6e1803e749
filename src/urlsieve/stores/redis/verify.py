"""A job in, what is wrong with it out, in words: counts that do not agree, URLs that nobody would be given, groups nobody would serve."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence

from urlsieve.errors import StoreUnavailable
from urlsieve.frontier.turn import Place
from urlsieve.model import Klass, State
from urlsieve.stores.counting import STATE_NAMES, broken_equalities
from urlsieve.stores.redis import pack
from urlsieve.stores.redis.job import Job
from urlsieve.stores.redis.look import marks_of, scan, scan_all
from urlsieve.stores.redis.wire import Call

#: A shard that is written while it is enumerated is looked at again, this often, each time after a longer pause.
MOST_LOOKS = 20
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


def verify(job: Job, *, deep: bool) -> list[str]:
    """Quick: the counts of each shard against each other. Deep: each shard by enumeration, in slices."""
    problems: list[str] = []
    for shard, number in enumerate(counters(job, range(job.shards.count))):
        found = [*broken_equalities(number)]
        if deep:
            found += _deep(job, shard)
        problems += [f"shard {shard}: {problem}" for problem in found]
    return problems


def counters(job: Job, shards: Sequence[int]) -> list[dict[str, int]]:
    """Of these shards, in one round trip."""
    return [pack.counters(text) for text in job.wire.ask([Call("", "", ("GET", f"{job.shards.keys[shard]}n")) for shard in shards])]


def _deep(job: Job, shard: int) -> list[str]:
    pause = _FIRST_PAUSE
    for _ in range(MOST_LOOKS):
        (before,) = counters(job, [shard])
        found = list(_Look(job, shard, before).problems())
        if counters(job, [shard])[0].get("writes", 0) == before.get("writes", 0):
            return found
        time.sleep(pause)
        pause = min(_LONGEST_PAUSE, 2 * pause)
    raise StoreUnavailable(
        f"shard {shard} of {job.where} was written during each of {MOST_LOOKS} looks at it: verify it deeply when fewer workers write"
    )


class _Look:
    """One enumeration of one shard."""

    def __init__(self, job: Job, shard: int, number: dict[str, int]) -> None:
        self.job, self.shard, self.number = job, shard, number
        key = self.key = job.shards.keys[shard]
        self.spots = {int(number): pack.read_spot(text) for number, text in scan(job, f"{key}s")}
        self.bodies = {int(number): pack.read_body(text) for number, text in scan(job, f"{key}e")}
        self.records = {half: pack.GROUP.unpack_from(text) for half, text in scan(job, f"{key}g")}
        self.names = {half: pack.group_row(half, text, 0.0, None).name for half, text in scan(job, f"{key}g")}
        self.sites = {half: (pack.SITE.unpack_from(text), text[pack.SITE.size :].decode()) for half, text in scan(job, f"{key}i")}
        self.found: Counter[str] = Counter()
        self.heads: dict[bytes, list[int | None]] = {}
        self.live: dict[int, bytes] = {}
        self.accepted: Counter[bytes] = Counter()

    def problems(self) -> Iterator[str]:
        yield from self._seen()
        yield from self._queues()
        yield from self._held()
        yield from self._counts()
        yield from self._places()
        yield from self._domains()

    def _seen(self) -> Iterator[str]:
        texts: set[int] = set()
        for half, found in marks_of(self.job, self.shard, self.sites):
            (_, known), name = self.sites[half]
            mine = 0
            for url, mark, _ in found:
                self.found["seen"] += 1
                mine += mark == -1
                self.accepted[half] += mark != -1
                if mark == -1:
                    self.found["known"] += 1
                elif mark == 0 or mark <= -10:
                    self.found["done"] += 1
                elif mark == -2:
                    self.found["dead"] += 1
                number = mark if mark > 0 else -mark - 10 if mark <= -10 else None
                if number is None:
                    continue
                texts.add(number)
                if mark > 0:
                    self.live[number] = half + url
                body = self.bodies.get(number)
                if body is None or body.fingerprint != half + url:
                    yield f"a URL of {name} is marked with entry {number}, which is {'another' if body else 'not there'}"
            if mine != int(known):
                yield f"site {name}: its row counts {int(known)} known URLs, there are {mine}"
        for number in self.bodies.keys() - texts:
            yield f"entry {number} has a text but no mark: it would never be found"
        for number in self.spots.keys() - self.live.keys():
            yield f"entry {number} has a place but no mark"

    def _queues(self) -> Iterator[str]:
        queues: dict[str | bytes, tuple[bytes, Klass]] = {
            f"{self.key}q{int(klass)}".encode() + half: (half, klass) for half in self.records for klass in Klass
        }
        for key, member, score in scan_all(self.job, list(queues), "ZSCAN"):
            half, klass = queues[key]
            number, priority = int.from_bytes(member[-8:], "big"), -int(float(score))
            self.found["pending"] += 1
            self.found[f"pending.{klass.name.lower()}"] += 1
            tops = self.heads.setdefault(half, [None, None, None])
            top = tops[klass]
            tops[klass] = priority if top is None else max(top, priority)
            yield from self._is(number, State.PENDING, half, priority)

    def _is(self, number: int, state: State, group: bytes | None = None, priority: int | None = None) -> Iterator[str]:
        """An entry that an index has must be marked, and its own place must say the same."""
        body, spot = self.bodies.get(number), self.spots.get(number)
        if number not in self.live or body is None:
            yield f"entry {number} is {state.name.lower()} but has no text or mark"
            return
        have = State.PENDING if spot is None else State(spot.state)
        if have is not state or (group is not None and group != body.group):
            yield f"entry {number} is in the index of {state.name.lower()} ones, its place says {have.name.lower()}"
        elif priority is not None and priority != (body.priority if spot is None else spot.priority):
            yield f"entry {number} waits with priority {priority}, its place says another"

    def _held(self) -> Iterator[str]:
        self.leased: Counter[bytes] = Counter()
        for index, state in (("due", State.DELAYED), ("exp", State.LEASED), ("bury", State.DEAD)):
            for member, score in scan(self.job, f"{self.key}{index}", "ZSCAN"):
                number = int.from_bytes(member[-8:], "big")
                self.found[state.name.lower()] += 1
                yield from self._is(number, state)
                spot = self.spots.get(number)
                if spot is not None and spot.time != float(score):
                    yield f"entry {number}: the time in the index of {state.name.lower()} ones is not its own"
                if spot is not None and state is State.LEASED:
                    self.leased[spot.group] += 1
        indexed = sum(self.found[word] for word in ("pending", "leased", "delayed")) + sum(
            1 for spot in self.spots.values() if spot.state == State.DEAD
        )
        if indexed != len(self.live):
            yield f"{len(self.live)} URLs are marked as waiting, out or failed, but {indexed} are in an index"

    def _domains(self) -> Iterator[str]:
        """Where the rules have limits: the count of a domain is that of its sites."""
        of = {half: name for half, name in scan(self.job, f"{self.key}d") if half}
        used = {half: pack.PAGES.unpack(text) for half, text in scan(self.job, f"{self.key}u") if half not in (b"job", b"day")}
        sums: dict[bytes, list[int]] = {}
        for half, domain in of.items():
            three = sums.setdefault(domain, [0, 0, 0])
            for i, more in enumerate((self.accepted[half], *map(int, used.get(half, (0, 0))))):
                three[i] += more
        for domain, text in scan(self.job, f"{self.key}c"):
            counted = list(map(int, pack.DOMAIN.unpack(text)))
            if counted != (there := sums.get(domain, [0, 0, 0])):
                yield f"domain {domain.decode()}: it counts {counted} URLs, pages and bytes, its sites have {there}"

    def _counts(self) -> Iterator[str]:
        self.found["sites"], self.found["groups"] = len(self.sites), len(self.records)
        self.found["accepted"] = self.found["seen"] - self.found["known"]
        for name in ("seen", "known", "accepted", "sites", "groups", *STATE_NAMES, *(f"pending.{klass.name.lower()}" for klass in Klass)):
            if self.number.get(name, 0) != self.found[name]:
                yield f"count {name} says {self.number.get(name, 0)}, there are {self.found[name]}"

    def _places(self) -> Iterator[str]:
        """Every group with pending URLs is in exactly one place, with its true heads and its true number of leases."""
        ready = {member[8:]: float(score) for member, score in scan(self.job, f"{self.key}ready", "ZSCAN")}
        line, held, wake = (
            {member: float(score) for member, score in scan(self.job, f"{self.key}{index}", "ZSCAN")} for index in ("line", "held", "wake")
        )
        for half, record in self.records.items():
            name, paused, leased, place = self.names[half], record[0], record[4], record[10]
            tops = [None if (top := pack.some(one)) is None else int(top) for one in record[5:8]]
            true_heads = self.heads.get(half, [None, None, None])
            top = max((one for one in tops if one is not None), default=None)
            if tops != true_heads:
                yield f"group {name}: heads {tops} are {true_heads}"
            if leased != self.leased[half]:
                yield f"group {name}: its count of leases, {leased}, is wrong: {self.leased[half]}"
            if place == Place.HELD and not leased and not paused:
                yield f"group {name} is held out though it has no lease out and is not paused: it would never be served"
            where = (half in ready, half in line, half in wake, half in held)
            if where != (place == Place.READY, place == Place.READY, place == Place.WAITING, place == Place.HELD):
                yield f"group {name}: its place {place} is not where the indexes have it: {where}"
            if (place == Place.IDLE) != (top is None) or (place == Place.READY and ready.get(half) != -float(top or 0)):
                yield f"group {name}: place {place} does not fit (top {top})"
        for half in {*ready, *line, *wake, *held, *self.leased} - self.records.keys():
            yield f"group {half.hex()} is in an index but has no row: it would never be served"
