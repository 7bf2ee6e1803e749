"""URLs or a site in; they are no longer seen, in slices that do not keep the server from others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from urlsieve.model import Offers
from urlsieve.stores.protocol import StaleRules
from urlsieve.stores.redis import look
from urlsieve.stores.redis.job import Ask, Job
from urlsieve.stores.redis.shards import MOST_AT_ONCE
from urlsieve.stores.redis.wire import Argument

#: URLs that a purge drops in one call.
PURGE_SLICE = 1000


def forget(job: Job, offers: Offers, generation: int | None, now: float) -> int:
    """How many were seen, under one fingerprint or another."""
    rules: Argument = "" if generation is None else generation
    asks = [Ask(shard, "drop", [own, b"", earlier, rules]) for shard, own, earlier in _parts(job, offers)]
    answers = job.ask(asks, now, sign=True)
    if any(answer.values[0] is None for answer in answers):
        raise StaleRules
    return sum(answer.values[0] for answer in answers)


def _parts(job: Job, offers: Offers) -> Iterator[tuple[int, bytes, bytes]]:
    """(shard, fingerprints, each with an earlier one): all that one URL was called lies in one part."""
    for shard, positions in job.shards.of_offers(offers).items():
        names: dict[bytes, list[bytes]] = {}
        for i in positions:
            own = offers.fingerprints[16 * i : 16 * i + 16]
            names.setdefault(own, []).extend(one.fingerprint for one in offers.earlier.get(i, ()))
        keys = list(names)
        for at in range(0, len(keys), MOST_AT_ONCE):
            part = keys[at : at + MOST_AT_ONCE]
            yield shard, b"".join(part), b"".join(own + one for own in part for one in dict.fromkeys(names[own]))


def purge(job: Job, shard: int, half: bytes, now: float) -> int:
    """In slices, each whole: others work meanwhile, and what they push of the site while it is purged may stay."""
    total = 0
    slice_of: list[bytes] = []
    for url, _, _ in look.marks(job, shard, half):
        slice_of.append(half + url)
        if len(slice_of) == PURGE_SLICE:
            total += _drop(job, shard, slice_of, b"", now)
            slice_of = []
    return total + _drop(job, shard, slice_of, half, now)


def _drop(job: Job, shard: int, keys: Sequence[bytes], half: bytes, now: float) -> int:
    return int(job.one(shard, "drop", [b"".join(keys), half, b"", ""], now, sign=True).values[0])
