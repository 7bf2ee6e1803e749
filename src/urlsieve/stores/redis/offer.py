"""Offers in, verdicts out: one call per shard, all in one round trip; in the batch's order near the high-water mark or a job's limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from urlsieve.frontier.admit import HEADROOM
from urlsieve.model import Example, Mode, Offers
from urlsieve.stores.protocol import Offered
from urlsieve.stores.redis import pack
from urlsieve.stores.redis.budgets import Limits
from urlsieve.stores.redis.job import Ask, Job
from urlsieve.stores.redis.shards import Part, runs
from urlsieve.stores.redis.verify import counters
from urlsieve.stores.redis.wire import Argument, Call


def offer(job: Job, offers: Offers, mode: Mode, generation: int, now: float) -> Offered:
    verdicts = bytearray(len(offers.fingerprints) // 16)
    mark = None if mode in (Mode.MARK_DONE, Mode.MARK_KNOWN) or job.shards.count == 1 else job.policy.high_water
    limits = None if offers.limits is None else Limits(job, offers, now)
    if mark is None and (limits is None or not limits.are_near(len(verdicts))):
        parts = job.shards.parts(offers, texts=mode is not Mode.MARK_KNOWN)
        stale = _step(job, parts, mode, generation, now, lambda shard: 0, verdicts, limits)
    else:
        stale = _in_order(job, offers, mode, generation, now, mark, verdicts, limits)
    if stale:  # what shards took that had not heard of the newer rules is taken
        return Offered(bytes(verdicts), True)
    tally(job, "rejected", offers.rejected, offers.examples, now)
    return Offered(bytes(verdicts))


def tally(job: Job, kind: str, counts: Mapping[str, int], examples: Sequence[Example] = (), now: float = 0.0) -> None:
    """Refused before the store: counted for the job, and some of them kept. It costs a round trip only where there are some."""
    if not counts:
        return
    flat: list[Argument] = [argument for reason, many in counts.items() for argument in (reason[:80], many)]
    calls = [Call("job", job.key, ("tally", kind, *flat))]
    if examples:
        kept: list[Argument] = [part for one in examples for part in (f"{kind}.{one.reason[:80]}", pack.example(one))]
        calls.append(Call("job", job.key, ("examples", repr(now), job.clock, *kept)))
    job.wire.ask(calls)


def _step(
    job: Job,
    parts: Iterable[Part],
    mode: Mode,
    generation: int,
    now: float,
    elsewhere: Callable[[int], int],
    verdicts: bytearray,
    limits: Limits | None,
) -> bool:
    """Whether the caller's rules are old. `elsewhere`: URLs that wait in other shards than this."""
    positions: list[Sequence[int]] = []

    def asks() -> Iterator[Ask]:
        for part in parts:
            positions.append(part.positions)
            arguments = [int(mode), generation, elsewhere(part.shard), part.fingerprints, *part.arguments()]
            if limits is not None:
                arguments += [*(() if part.others else (b"", b"")), *limits.arguments(part.shard, part.positions)]
            yield Ask(part.shard, "offer", arguments)

    stale = False
    answers = job.ask(asks(), now, sign=True)
    for at, answer in zip(positions, answers, strict=True):
        found = answer.values[0]
        if found is None:
            stale = True
            continue
        for i, verdict in zip(at, found, strict=True):
            verdicts[i] = verdict
    return stale


def _in_order(
    job: Job, offers: Offers, mode: Mode, generation: int, now: float, mark: int | None, verdicts: bytearray, limits: Limits | None
) -> bool:
    """The mark, the job's limits and its day's are the whole store's: each shard is told what the others have. Where the batch may cross
    one, its stretches go one after the other, so that the first come in: until the rest cannot cross it, or is beyond it altogether.
    Several workers at once may pass by a batch each."""
    have = [0] * job.shards.count if mark is None else waiting_by_shard(job)
    by_shard = job.shards.of_offers(offers)
    left, many = deque(runs(by_shard)), len(verdicts)
    while left:
        near_the_mark = mark is not None and mark - many <= sum(have) < mark * HEADROOM
        near_a_limit = limits is not None and limits.are_near(many)
        if not (near_the_mark or near_a_limit):
            break
        shard, positions = left.popleft()
        many -= len(positions)
        part = job.shards.whole(offers, shard, positions, texts=True)
        others = sum(have) - have[shard]
        if _step(job, [part], mode, generation, now, lambda _, others=others: others, verdicts, limits):  # type: ignore[misc]
            return True
        if limits is not None:
            limits.look(shard)
        if mark is not None:
            have[shard] = waiting_of(job, shard)
    parts = job.shards.parts(offers) if many == len(verdicts) else job.shards.some(offers, left)
    return _step(job, parts, mode, generation, now, lambda shard: sum(have) - have[shard], verdicts, limits)


def waiting_by_shard(job: Job) -> list[int]:
    """Pending and delayed URLs of each shard."""
    return [number["pending"] + number["delayed"] for number in counters(job, range(job.shards.count))]


def waiting_of(job: Job, shard: int) -> int:
    (number,) = counters(job, [shard])
    return number["pending"] + number["delayed"]
