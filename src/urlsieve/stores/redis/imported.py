"""Digests of other programs in, which of them are there out: the imported levels of a job.

A level is a set of digests in every shard, by the digest itself; the job's hash `levels` names them. One shard's part of a batch is one
command.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from urlsieve.errors import ConfigError
from urlsieve.model import Level
from urlsieve.stores.redis.job import Job
from urlsieve.stores.redis.wire import Call

#: Digests in one command.
MOST_AT_ONCE = 1000


def levels(job: Job) -> list[Level]:
    """With their counts, which are asked only where there is a level."""
    known = _known(job)
    found = []
    for name, (kind, about) in sorted(known.items()):
        counts = job.wire.ask([Call("", "", ("SCARD", key)) for key in _keys(job, name)])
        found.append(Level(name, kind, about, sum(counts)))
    return found


def _known(job: Job) -> dict[str, tuple[str, str]]:
    (flat,) = job.wire.ask([Call("", "", ("HGETALL", _register(job)))])
    pairs = flat.items() if isinstance(flat, dict) else zip(flat[::2], flat[1::2], strict=True)
    return {name.decode(): tuple(json.loads(text)) for name, text in pairs}


def add(job: Job, level: Level, digests: bytes, tell: Callable[[], None]) -> int:
    """The level is named before it has anything: who reads of it asks it. tell: all workers, that there is one more."""
    known = json.dumps([level.kind, level.about])
    made, had = job.wire.ask(
        [Call("", "", ("HSETNX", _register(job), level.name, known)), Call("", "", ("HGET", _register(job), level.name))]
    )
    if had != known.encode():
        kind = json.loads(had)[0]
        raise ConfigError(f"the imported level {level.name!r} is there, of kind {kind}, about something else: name another")
    if made or not digests:  # also when it is begun again: a kill may have come before anybody was told
        tell()
    calls = [Call("", "", ("SADD", key, *part)) for key, part, _ in _parts(job, level.name, digests)]
    return sum(job.wire.ask(calls)) if calls else 0


def ask(job: Job, name: str, digests: bytes) -> bytes:
    flags = bytearray(len(digests) // 16)
    parts = list(_parts(job, name, digests))
    answers = job.wire.ask([Call("", "", ("SMISMEMBER", key, *part)) for key, part, _ in parts]) if parts else []
    for (_, _, at), answer in zip(parts, answers, strict=True):
        for i, there in zip(at, answer, strict=True):
            flags[i] = bool(there)
    return bytes(flags)


def digests(job: Job, name: str) -> Iterator[bytes]:
    for key in _keys(job, name):
        cursor = b"0"
        while True:
            ((cursor, found),) = job.wire.ask([Call("", "", ("SSCAN", key, cursor, "COUNT", MOST_AT_ONCE))])
            if found:
                yield b"".join(found)
            if int(cursor) == 0:
                break


def forget(job: Job, name: str, digests: bytes) -> int:
    calls = [Call("", "", ("SREM", key, *part)) for key, part, _ in _parts(job, name, digests)]
    return sum(job.wire.ask(calls)) if calls else 0


def drop(job: Job, name: str, tell: Callable[[], None]) -> bool:
    """Its name goes last: a drop that was killed is there to be dropped again."""
    job.wire.ask([Call("", "", ("UNLINK", key)) for key in _keys(job, name)])
    (gone,) = job.wire.ask([Call("", "", ("HDEL", _register(job), name))])
    if gone:
        tell()
    return bool(gone)


def _register(job: Job) -> str:
    return f"urlsieve:{{{job.address.job}}}:levels"


def _keys(job: Job, name: str) -> list[str]:
    return [f"{key}i:{name}" for key in job.shards.keys]


def _parts(job: Job, name: str, digests: bytes) -> Iterator[tuple[str, list[bytes], list[int]]]:
    """Key, its digests, and their positions."""
    by_shard: dict[int, list[int]] = {}
    for i in range(len(digests) // 16):
        by_shard.setdefault(int.from_bytes(digests[16 * i : 16 * i + 8], "little") % job.shards.count, []).append(i)
    keys = _keys(job, name)
    for shard, positions in by_shard.items():
        for start in range(0, len(positions), MOST_AT_ONCE):
            at = positions[start : start + MOST_AT_ONCE]
            yield keys[shard], [digests[16 * i : 16 * i + 16] for i in at], at
