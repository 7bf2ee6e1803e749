"""Questions to the job: counts, sites, groups, one URL. Nothing here writes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from urlsieve.model import MOST_EXAMPLES, Counts, EntryInfo, GroupRow, Offers, Refused, SiteRow, State
from urlsieve.stores.counting import counts_of
from urlsieve.stores.protocol import StaleRules
from urlsieve.stores.redis import pack
from urlsieve.stores.redis.job import Answer, Ask, Job
from urlsieve.stores.redis.lease import named
from urlsieve.stores.redis.wire import Call

SLICE = 200
#: URLs of one site looked at in one call.
STATES_AT_ONCE = 1000
#: Sites or keys whose first slices are asked for together.
TOGETHER = 50
_MARKS = {-1: "known", 0: "done", -2: "dead"}


def counts(job: Job, now: float) -> Counts:
    answers = job.everywhere("counts", (), now)
    header, reasons = job.wire.ask([Call("job", job.key, ("read",)), Call("", "", ("HGETALL", f"{job.key.removesuffix('header')}t"))])
    number: dict[str, int] = {}
    tallies: dict[str, int] = {}
    oldest: float | None = None
    for answer in answers:
        counters, shard_reasons, since, _ = answer.values
        for name, value in pack.counters(counters).items():
            number[name] = number.get(name, 0) + value
        _add(tallies, shard_reasons)
        if since:
            oldest = float(since) if oldest is None else min(oldest, float(since))
    _add(tallies, reasons)

    return counts_of(
        number,
        tallies,
        oldest=oldest,
        sampled=any(answer.values[3] == b"1" for answer in answers),
        size={},
        epoch=int(header[6] or 0),
        rules_generation=int(header[5] or 0),
    )


def _add(tallies: dict[str, int], flat: Sequence[bytes]) -> None:
    for name, many in pack.pairs(flat):
        if not name.startswith(b"#"):
            text = name.decode("utf-8", "replace")
            tallies[text] = tallies.get(text, 0) + int(many)


def refused(job: Job) -> list[Refused]:
    """Of the job and its shards, the newest first; equal times in the order of their lists."""
    places = [job.key.removesuffix("header"), *job.shards.keys]
    names = job.wire.ask([Call("", "", ("HKEYS", f"{place}t")) for place in places])
    lists = [(place, name) for place, found in zip(places, names, strict=True) for name in sorted(found) if not name.startswith(b"#")]
    answers = job.wire.ask([Call("", "", ("LRANGE", f"{place}x".encode() + name, 0, -1)) for place, name in lists]) if lists else []
    found = [
        pack.read_example(name.decode("utf-8", "replace"), text) for (_, name), texts in zip(lists, answers, strict=True) for text in texts
    ]
    found.sort(key=lambda one: -one.at)
    kept: Counter[str] = Counter()
    newest = []
    for one in found:
        kept[one.name] += 1
        if kept[one.name] <= MOST_EXAMPLES:
            newest.append(one)
    return newest


def contains(job: Job, offers: Offers, generation: int | None) -> bytes:
    """In one round trip. What each shard says of itself comes last: were its rules those of the caller then, they were so before."""
    flags = bytearray(len(offers.fingerprints) // 16)
    by_shard = job.shards.of_offers(offers)
    calls: list[Call] = []
    where: list[list[int]] = []
    for shard, positions in by_shard.items():
        by_site: dict[bytes, tuple[list[bytes], list[int]]] = {}
        for i in positions:
            names = [offers.fingerprints[16 * i : 16 * i + 16]]
            if i in offers.earlier:
                names += [one.fingerprint for one in offers.earlier[i]]
            for name in names:
                urls, at = by_site.setdefault(name[:8], ([], []))
                urls.append(name[8:])
                at.append(i)
        for half, (urls, at) in by_site.items():
            calls.append(Call("", "", ("HMGET", job.shards.keys[shard].encode() + b"f" + half, *urls)))
            where.append(at)
    many = len(calls)
    calls += [Call("", "", ("GETRANGE", f"{job.shards.keys[shard]}n", *pack.RULES_AND_JOB_AT)) for shard in by_shard]
    answers = job.wire.ask(calls) if calls else []
    newest = max((job.check(text) for text in answers[many:]), default=0)
    if generation is not None and generation < newest:
        raise StaleRules
    for at, answer in zip(where, answers[:many], strict=True):
        for i, mark in zip(at, answer, strict=True):
            flags[i] = flags[i] or mark is not None
    for i in offers.elsewhere:
        flags[i] = True
    return bytes(flags)


def sites(job: Job) -> Iterator[SiteRow]:
    """Shard by shard, in slices; a row that moves while the slices are read is given once."""
    for shard, key in enumerate(job.shards.keys):
        records = dict(scan(job, f"{key}i"))
        for half, found in marks_of(job, shard, records):
            yield _row(records[half], found)


def scan(job: Job, key: str, command: str = "HSCAN") -> Iterator[tuple[bytes, bytes]]:
    """Field and value of a hash, or member and score, in slices, each once."""
    for _, field, value in scan_all(job, [key], command):
        yield field, value


def scan_all(job: Job, keys: Sequence[str | bytes], command: str) -> Iterator[tuple[str | bytes, bytes, bytes]]:
    """(key, field, value) of many: the first slices of TOGETHER keys come in one round trip."""
    for start in range(0, len(keys), TOGETHER):
        part = keys[start : start + TOGETHER]
        first = job.wire.ask([Call("", "", (command, key, 0, "COUNT", SLICE)) for key in part])
        for key, (cursor, flat) in zip(part, first, strict=True):
            given: set[bytes] = set()
            while True:
                for field, value in pack.pairs(flat):
                    if field not in given:
                        given.add(field)
                        yield key, field, value
                if int(cursor) == 0:
                    break
                ((cursor, flat),) = job.wire.ask([Call("", "", (command, key, cursor, "COUNT", SLICE))])


def site(job: Job, name: str, half: bytes) -> SiteRow | None:
    shard = job.shards.of(name)
    (record,) = job.wire.ask([Call("", "", ("HGET", f"{job.shards.keys[shard]}i", half))])
    return None if record is None else _row(record, marks(job, shard, half))


def limit(job: Job, name: str, half: bytes) -> int | None:
    (record,) = job.wire.ask([Call("", "", ("HGET", f"{job.shards.keys[job.shards.of(name)]}i", half))])
    if record is None:
        return None
    most = pack.some(pack.SITE.unpack_from(record)[0])
    return None if most is None else int(most)


Mark = tuple[bytes, int, str]


def _row(record: bytes, found: Iterable[Mark]) -> SiteRow:
    have = Counter(word for _, _, word in found)
    name, limited = record[pack.SITE.size :].decode(), pack.some(pack.SITE.unpack_from(record)[0])
    numbers = (have["pending"], have["leased"], have["delayed"], have["done"], have["dead"])
    return SiteRow(name, have.total(), *numbers, None if limited is None else int(limited))


def marks(job: Job, shard: int, half: bytes) -> Iterator[Mark]:
    """(URL half, mark, state in words) of one site, in slices, each URL once."""
    for _, found in marks_of(job, shard, [half]):
        yield from found


def marks_of(job: Job, shard: int, halves: Iterable[bytes]) -> Iterator[tuple[bytes, Iterator[Mark]]]:
    """(site, its marks) of many sites: the first slices of TOGETHER sites come in one round trip."""
    every = list(halves)
    for start in range(0, len(every), TOGETHER):
        part = every[start : start + TOGETHER]
        asks = [Ask(shard, "states", [half, b"0", STATES_AT_ONCE]) for half in part]
        for half, answer in zip(part, job.ask(asks, time.time()), strict=True):
            yield half, _slices(job, shard, half, answer)


def _slices(job: Job, shard: int, half: bytes, answer: Answer) -> Iterator[Mark]:
    given: set[bytes] = set()
    while True:
        cursor, flat = answer.values
        for url, mark, state in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
            if url not in given:
                given.add(url)
                yield url, int(mark), "known" if state == pack.KNOWN_STATE else State(state).name.lower()
        if int(cursor) == 0:
            return
        answer = job.one(shard, "states", [half, cursor, STATES_AT_ONCE], time.time())


def groups(job: Job, now: float) -> Iterator[GroupRow]:
    for shard in range(job.shards.count):
        given: set[bytes] = set()
        cursor: bytes = b"0"
        while True:
            answer = job.one(shard, "groups", [cursor, SLICE], now)
            cursor, flat = answer.values
            for half, record, many in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
                if half not in given:
                    given.add(half)
                    yield pack.group_row(half, record, answer.head.shift, many)
            if int(cursor) == 0:
                break


def group(job: Job, name: str, half: bytes, counted: bool, now: float) -> GroupRow | None:
    answer = job.one(job.shards.of(name), "groups", [b"", 0, half], now)
    flat = answer.values[1]
    return pack.group_row(half, flat[1], answer.head.shift, flat[2] if counted else None) if flat else None


def info(job: Job, site_name: str, fingerprint: bytes, now: float) -> EntryInfo:
    answer = job.one(job.shards.of(site_name), "info", [fingerprint], now)
    shift = answer.head.shift
    if answer.values[0] is None:
        return EntryInfo("unseen")
    mark = int(answer.values[0])
    if mark in _MARKS:
        return EntryInfo(_MARKS[mark], level="server")
    _, raw, text, record, ahead = answer.values
    body = pack.read_body(text)
    if raw is None:
        return EntryInfo("done", url=body.url, depth=body.depth, level="server")
    spot = pack.read_spot(raw)
    state = State(spot.state)
    when = None if spot.time is None else spot.time - shift
    return EntryInfo(
        state.name.lower(),
        pack.group_row(spot.group, record, shift, None).name,
        spot.klass.name.lower(),
        spot.priority,
        spot.attempt,
        when if state is State.DELAYED else None,
        when if state is State.LEASED else None,
        body.depth,
        body.via,
        body.url,
        spot.tail.decode() or None if state in (State.DELAYED, State.DEAD) else None,
        ahead if state is State.PENDING else None,
        "server",
    )


def ready(job: Job, now: float, names: Sequence[str] | None, ids: Sequence[int]) -> tuple[bool, float | None]:
    """May something be popped now (of these groups), and if not, when."""
    if names is None:
        heads = [answer.head for answer in job.everywhere("peek", (), now)]
        waiting = any(head.top is not None for head in heads)
        wakes = [head.wake - head.shift for head in heads if head.wake is not None]
    else:
        waiting, wakes = False, []
        for name, number in zip(names, ids, strict=True):
            one, more = named(job.one(job.shards.of(name), "peek", [pack.half_of(number)], now), now)
            waiting, wakes = waiting or one, wakes + more
    if waiting:
        return True, now
    later = min(wakes, default=None)
    return later is not None and later <= now, later
