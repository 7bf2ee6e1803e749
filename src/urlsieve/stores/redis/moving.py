"""Everything a job knows of its URLs out, entry by entry, and entries of another store in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from urlsieve.errors import ConfigError
from urlsieve.model import Entry, Klass, State, Verdict
from urlsieve.stores.protocol import StaleRules, refuse_unfit
from urlsieve.stores.redis import pack
from urlsieve.stores.redis.job import Ask, Job
from urlsieve.stores.redis.look import marks, scan
from urlsieve.stores.redis.offer import tally
from urlsieve.stores.redis.shards import MOST_AT_ONCE
from urlsieve.stores.redis.wire import Argument, Call

SLICE = 500
_WITHOUT_TEXT: dict[int, State | None] = {-1: None, 0: State.DONE, -2: State.DEAD}


def entries(job: Job, now: float, states: frozenset[State | None] | None) -> Iterator[Entry]:
    """Of each shard in three passes, each in slices: the queue in its order, what is held, then the seen set, which leaves out what was
    given already; whatever moved between the first two is met in the third. Pending ones of all shards come first."""
    wanted = frozenset([None, *State]) if states is None else states
    given: list[set[bytes]] = [set() for _ in job.shards.keys]
    if State.PENDING in wanted:
        for shard in range(job.shards.count):
            for entry in _pending(job, shard, now):
                if entry.fingerprint not in given[shard]:
                    given[shard].add(entry.fingerprint)
                    yield entry
    held = wanted & {State.LEASED, State.DELAYED, State.DEAD}
    if held:
        for shard, key in enumerate(job.shards.keys):
            ids: list[bytes] = []
            for index in ("exp", "due", "bury"):
                ids += [b"%d" % _id_in(member) for member, _ in scan(job, f"{key}{index}", "ZSCAN")]
            for _, entry in _texts(job, shard, ids, now):
                if entry.fingerprint not in given[shard] and entry.state in wanted:
                    given[shard].add(entry.fingerprint)
                    yield entry
    if wanted:
        for shard in range(job.shards.count):
            yield from _the_rest(job, shard, wanted, given[shard], now)


def _id_in(member: bytes) -> int:
    return int.from_bytes(member[-8:], "big")


def _pending(job: Job, shard: int, now: float) -> Iterator[Entry]:
    """Group by group, class by class, in order."""
    names = _site_names(job, shard)
    key = job.shards.keys[shard]
    for half, record in scan(job, f"{key}g"):
        group = record[pack.GROUP.size :].decode()
        for klass in Klass:
            after: tuple[Argument, Argument] = (b"", 0)
            while True:
                answer = job.one(shard, "queue", [int(klass), half, *after, SLICE], now)
                for place, priority, spot, text in answer.values[0]:
                    after = place, priority
                    yield _entry(spot, text, group, names, answer.head.shift)
                if len(answer.values[0]) < SLICE:
                    break


def _texts(job: Job, shard: int, ids: Sequence[bytes], now: float) -> Iterator[tuple[int, Entry]]:
    names, key = _site_names(job, shard), job.shards.keys[shard]
    for at in range(0, len(ids), SLICE):
        part = ids[at : at + SLICE]
        answer = job.one(shard, "texts", part, now)
        found = [(int(number), row) for number, row in zip(part, answer.values[0], strict=True) if row is not None]
        groups = [pack.read_body(row[1]).group for _, row in found]
        records = job.wire.ask([Call("", "", ("HMGET", f"{key}g", *groups))])[0] if groups else []
        for (number, row), record in zip(found, records, strict=True):
            group = "" if record is None else record[pack.GROUP.size :].decode()
            yield number, _entry(row[0], row[1], group, names, answer.head.shift)


class _SiteNames(dict[bytes, str]):
    """Site half → name, asked for when first needed."""

    def __init__(self, job: Job, shard: int) -> None:
        super().__init__()
        self._job, self._key = job, f"{job.shards.keys[shard]}i"

    def __missing__(self, half: bytes) -> str:
        (record,) = self._job.wire.ask([Call("", "", ("HGET", self._key, half))])
        name = self[half] = "" if record is None else record[pack.SITE.size :].decode()
        return name


def _site_names(job: Job, shard: int) -> _SiteNames:
    return _SiteNames(job, shard)


def _entry(spot_text: bytes, text: bytes, group: str, names: _SiteNames, shift: float, *, done: bool = False) -> Entry:
    spot, body = pack.read_spot(spot_text), pack.read_body(text)
    state = State.DONE if done else State(spot.state)

    def back(time: float | None) -> float | None:
        return None if time is None else time - shift

    known = (group, pack.number_of(body.group), body.url, body.priority if done else spot.priority, body.depth)
    if done:
        return Entry(body.fingerprint, state, names[body.fingerprint[:8]], *known)
    return Entry(
        body.fingerprint,
        state,
        names[body.fingerprint[:8]],
        *known,
        body.via,
        body.meta,
        body.variant,
        spot.klass,
        spot.attempt,
        spot.excused,
        back(spot.failed_at),
        back(spot.time) if state is State.DELAYED else None,
        spot.tail.decode() or None if state in (State.DELAYED, State.DEAD) else None,
        back(spot.time) if state is State.DEAD else None,
        back(spot.since),
    )


def _the_rest(job: Job, shard: int, wanted: frozenset[State | None], given: set[bytes], now: float) -> Iterator[Entry]:
    for half, record in scan(job, f"{job.shards.keys[shard]}i"):
        name = record[pack.SITE.size :].decode()
        found: Iterable[tuple[bytes, int]] = ((url, mark) for url, mark, _ in marks(job, shard, half))
        while found:
            texts: dict[int, bytes] = {}
            done: set[int] = set()
            for url, mark in found:
                if half + url in given:
                    continue
                if mark not in _WITHOUT_TEXT:
                    number = mark if mark > 0 else -mark - 10
                    texts[number] = url
                    if mark < 0:
                        done.add(number)
                elif _WITHOUT_TEXT[mark] in wanted:
                    yield Entry(half + url, _WITHOUT_TEXT[mark], name)
            names = _site_names(job, shard)
            names[half] = name
            for number, entry in _texts(job, shard, [b"%d" % number for number in texts], now):
                del texts[number]
                if number in done:
                    entry = entry._replace(state=State.DONE, via=None, meta=None, variant=b"", klass=Klass.NEW, attempt=0, excused=0)
                    entry = entry._replace(failed_at=None, since=None)
                if entry.state in wanted:
                    yield entry
            found = _marks_again(job, shard, half, list(texts.values()))


def _marks_again(job: Job, shard: int, half: bytes, urls: list[bytes]) -> list[tuple[bytes, int]]:
    """Of URLs whose text went between a look at their marks and one at their texts: they were settled, or are forgotten."""
    found: list[tuple[bytes, int]] = []
    for at in range(0, len(urls), SLICE):
        part = urls[at : at + SLICE]
        (values,) = job.wire.ask([Call("", "", ("HMGET", f"{job.shards.keys[shard]}f".encode() + half, *part))])
        found += [(url, int(mark)) for url, mark in zip(part, values, strict=True) if mark is not None]
    return found


# -- in


def admit(
    job: Job, given: Sequence[Entry], now: float, skipped: Mapping[str, int], groups: Mapping[int, str], generation: int | None
) -> bytes:
    """One verdict per entry, in one step per shard and MOST_AT_ONCE. Everything is looked at before the first is written."""
    refuse_unfit(given)
    by_shard: dict[int, list[int]] = {}
    for i, entry in enumerate(given):
        if not entry.site:
            raise ConfigError("an entry names no site: the shard it belongs to is not known")
        if entry.group:
            job.shards.check(entry.site, entry.group)
        by_shard.setdefault(job.shards.of(entry.site), []).append(i)
    verdicts = bytearray(len(given))
    chunks = [(shard, at[start : start + MOST_AT_ONCE]) for shard, at in by_shard.items() for start in range(0, len(at), MOST_AT_ONCE)]
    rules: Argument = "" if generation is None else generation
    asks = [Ask(shard, "admit", [rules, *_arguments(job, [given[i] for i in at])]) for shard, at in chunks]
    answers = job.ask(asks, now, sign=True)
    if any(answer.values[0] is None for answer in answers):
        raise StaleRules
    for (_, at), answer in zip(chunks, answers, strict=True):
        for i, taken in zip(at, answer.values[0], strict=True):
            verdicts[i] = Verdict.NEW if taken else Verdict.SEEN
    job.ask([Ask(job.shards.of(name), "group", [pack.half_of(group_id), name]) for group_id, name in groups.items()], now, sign=True)
    tally(job, "skipped", dict(skipped))
    return bytes(verdicts)


def _arguments(job: Job, part: Sequence[Entry]) -> list[Argument]:
    names: dict[bytes, str] = {}
    for entry in part:
        if entry.group:
            names[pack.half_of(entry.group_id)] = entry.group
    names.update((entry.fingerprint[:8], entry.site) for entry in part)
    domains = job.shards.domains({entry.fingerprint[:8]: entry.site for entry in part})
    flat: list[Argument] = [argument for pair in names.items() for argument in pair]
    flat += [argument for pair in domains.items() for argument in pair]
    packed: list[Argument] = [argument for entry in part for argument in pack.admitted(entry)]
    return [b"".join(entry.fingerprint for entry in part), len(names) + len(domains), *flat, *packed]
