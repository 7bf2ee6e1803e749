"""Offers in, verdicts out: one call per shard, all in one round trip; near the high-water mark in the batch's own order."""

from __future__ import annotations

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
    mark = job.policy.high_water
    stale = False
    limits = None if offers.limits is None else Limits(job, offers, now)
    if limits is not None and limits.are_near():
        stale = _near_a_limit(job, offers, mode, generation, now, verdicts, limits)
    elif mark is not None and mode not in (Mode.MARK_DONE, Mode.MARK_KNOWN) and job.shards.count > 1:
        stale = _near_the_mark(job, offers, mode, generation, now, mark, verdicts, limits)
    else:
        stale = _step(
            job, job.shards.parts(offers, texts=mode is not Mode.MARK_KNOWN), mode, generation, now, lambda shard: 0, verdicts, limits
        )
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


def _near_a_limit(job: Job, offers: Offers, mode: Mode, generation: int, now: float, verdicts: bytearray, limits: Limits) -> bool:
    """The job's limits and its day's are of all shards: the batch's stretches go one after the other, so that the first come in; several
    workers at once may go beyond by a stretch each."""
    for shard, positions in runs(job.shards.of_offers(offers)):
        part = job.shards.whole(offers, shard, positions, True)
        limits.look()
        others = 0 if job.policy.high_water is None else sum(many for i, many in enumerate(waiting_by_shard(job)) if i != shard)
        if _step(job, [part], mode, generation, now, lambda _, others=others: others, verdicts, limits):  # type: ignore[misc]
            return True
    return False


def _near_the_mark(
    job: Job, offers: Offers, mode: Mode, generation: int, now: float, mark: int, verdicts: bytearray, limits: Limits | None
) -> bool:
    """The mark is the whole store's: each shard is told how many wait in the others. Where the batch may cross it, its stretches go one
    after the other, so that the first come in; several workers at once may pass it by a batch each."""
    have = waiting_by_shard(job)
    waiting, many = sum(have), len(verdicts)
    by_shard = job.shards.of_offers(offers)
    if waiting + many < mark or waiting >= mark * HEADROOM:
        return _step(job, job.shards.parts(offers), mode, generation, now, lambda shard: waiting - have[shard], verdicts, limits)
    for shard, positions in runs(by_shard):
        part = job.shards.whole(offers, shard, positions, texts=True)
        others = sum(have) - have[shard]
        if _step(job, [part], mode, generation, now, lambda _, others=others: others, verdicts, limits):  # type: ignore[misc]
            return True
        have[shard] = waiting_of(job, shard)
    return False


def waiting_by_shard(job: Job) -> list[int]:
    """Pending and delayed URLs of each shard."""
    return [number["pending"] + number["delayed"] for number in counters(job, range(job.shards.count))]


def waiting_of(job: Job, shard: int) -> int:
    (number,) = counters(job, [shard])
    return number["pending"] + number["delayed"]
