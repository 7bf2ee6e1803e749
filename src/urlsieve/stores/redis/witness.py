"""Lines about fetched pages in, the same lines out, shard by shard."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence

from urlsieve.stores.protocol import LEAST_EVIDENCE, MOST_EVIDENCE, Evidence, Witnessed
from urlsieve.stores.redis.job import Ask, Job
from urlsieve.stores.redis.wire import Call

_VERSION = struct.Struct("<d")


def most_of(job: Job) -> int:
    """Bytes that fit into a shard."""
    return max(LEAST_EVIDENCE, MOST_EVIDENCE // job.shards.count)


def asks(job: Job, witnessed: Sequence[Witnessed]) -> list[Ask]:
    """Go along with a settle."""
    by_shard: dict[int, list[bytes]] = {}
    for one in witnessed:
        by_shard.setdefault(job.shards.of(one.site), []).append(one.line)
    return [Ask(shard, "witness", ["add", b"".join(lines), most_of(job)]) for shard, lines in by_shard.items()]


def read(job: Job, least: float) -> Iterator[Evidence]:
    """Shards are asked how much they have, and those that have enough are read, one after the other."""
    most = most_of(job)
    keys = [f"{key}y" for key in job.shards.keys]
    sizes = job.wire.ask([Call("", "", ("STRLEN", key)) for key in keys])
    for shard, size in enumerate(sizes):
        if size - _VERSION.size > least * most:
            (found,) = job.wire.ask([Call("", "", ("GET", keys[shard]))])
            if found is not None and len(found) > _VERSION.size:
                yield Evidence(shard, most, int(_VERSION.unpack_from(found)[0]), found[_VERSION.size :])


def fold(job: Job, seen: Evidence, text: bytes) -> bool:
    return bool(job.one(seen.part, "witness", ["fold", seen.version, len(seen.text), text], time.time()).values[0])
