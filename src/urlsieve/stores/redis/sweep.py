"""Rules that merge less than before go in; what they take back is moved to its own fingerprint or forgotten, shard by shard.

A change of the rules puts the number of its sweep into the job's header, tells every shard of the new generation, so that none takes
anything under an older one, and sweeps; only then does the header say that it is swept, and somebody offer under the new rules. Whoever
finds one that is not finished does the same from the start: what is done already is found done. Each shard keeps the number of the last
sweep it is done with: a slice of a slower sweeper that comes after that is refused, and forgets nothing that was pushed since.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from urlsieve.stores.protocol import Kept, Sweep, Swept
from urlsieve.stores.redis import pack
from urlsieve.stores.redis.job import Job
from urlsieve.stores.redis.look import Mark, marks_of, scan
from urlsieve.stores.redis.wire import Argument, Call

#: Entries in one call of the script, and looked at together.
SLICE = 1000
#: The lock of those who sweep spares others the same work; nothing goes wrong without it. Seconds; and between two looks at it.
LOCK, LOCK_TTL, LOOK = "rules", 10.0, 0.1
_GONE, _MOVE = struct.Struct("<16sd"), struct.Struct("<16sd16s")
_RANK = {"leased": 0, "done": 1, "pending": 2, "delayed": 3, "dead": 4}


class Move(NamedTuple):
    """rank: of two that become one the lower stays: the leased one, else one that is done, one that waits, one that is dead."""

    old: bytes
    entry: int
    new: bytes
    site: str
    rank: int


class Judged(NamedTuple):
    """Of a slice of a shard. gone: fingerprint and entry (0: without text) of what is to be forgotten, unless it waits or is out, as
    `waiting` of them do."""

    gone: list[tuple[bytes, int]]
    waiting: set[bytes]
    moves: list[Move]


def size(job: Job, sweep: Sweep) -> Swept:
    """What it would do. Changes nothing."""
    total = Swept()
    for shard in range(job.shards.count):
        halves = _touched(job, shard, sweep)
        forgotten, leaving, new = 0, set[bytes](), list[bytes]()
        for judged in _judge(job, shard, sweep, halves):
            forgotten += len(judged.gone) - len(judged.waiting)
            leaving.update(key for key, entry in judged.gone if entry and key not in judged.waiting)
            leaving.update(move.old for move in judged.moves)
            new += [move.new for move in judged.moves]
        touched = set(halves)
        taken = {key for key, has_text in _entries(job, shard, set(new) - leaving) if has_text or key[:8] not in touched}
        moved = len(set(new) - taken)
        total = _sum(total, Swept(len(halves), forgotten, moved, len(new) - moved))
    return total


def begin(job: Job, sweep: Sweep, book: str, expected: int, now: float) -> Swept | None:
    """The rules become these, and what they take back is swept. None: there are others than `expected`, or a sweep comes first."""
    turn = _Turn(job, now)
    turn.take()
    try:
        if not job.replace_rules(book, expected, swept=False):
            return None
        return _finish(job, sweep, expected + 1, turn, now)
    finally:
        turn.end()


def finish(job: Job, sweep: Sweep, generation: int, now: float) -> Swept:
    """What somebody has begun by rules of this generation is done when this returns, by whomever."""
    turn = _Turn(job, now)
    try:
        while not turn.take():
            ruled, _ = job.rules()
            if ruled.swept or ruled.generation != generation:
                return Swept()
            time.sleep(LOOK)
        return _finish(job, sweep, generation, turn, now)
    finally:
        turn.end()


def _finish(job: Job, sweep: Sweep, generation: int, turn: _Turn, now: float) -> Swept:
    """A server that restarts meanwhile may have lost a part of it, and the generation has jumped; the number has not."""
    ruled, first = job.rules()
    number, total = first, Swept()
    if ruled.generation != generation:
        return total
    while number is not None and number == first:
        epoch = job.epoch
        job.tell()  # before anything is looked at: no shard takes anything under the older rules from now on
        done = job.wire.ask([Call("", "", ("GET", f"{key}w")) for key in job.shards.keys])
        for shard, last in enumerate(done):
            if int(last or 0) < number:
                total = _sum(total, _shard(job, shard, sweep, number, turn, now))
        if job.end_sweep(number, epoch):
            break
        _, number = job.rules()
    return total


class _Turn:
    """The lock, taken again while its holder works. With a clock that is the caller's nobody waits: it may stand still."""

    def __init__(self, job: Job, now: float) -> None:
        self._job, self._now = job, now
        self._owner = os.urandom(8).hex()
        self._token: int | None = None
        self._until = 0.0

    def take(self) -> bool:
        if self._token is not None and time.monotonic() < self._until:
            return True
        arguments: list[Argument] = ["lock", LOCK, self._owner, repr(LOCK_TTL), repr(self._now), self._job.clock]
        ((token, _),) = self._job.wire.ask([Call("job", self._job.key, arguments)])
        self._token = None if token is None else int(token)
        self._until = time.monotonic() + LOCK_TTL / 3
        return self._token is not None or self._job.clock == b"1"

    def end(self) -> None:
        if self._token is not None:
            self._job.wire.ask([Call("job", self._job.key, ("unlock", LOCK, self._token))])


# -- one shard


def _shard(job: Job, shard: int, sweep: Sweep, number: int, turn: _Turn, now: float) -> Swept:
    """What goes goes while the rest is looked at; moves come after, when all of them are known."""
    halves = _touched(job, shard, sweep)
    total = Swept(len(halves))
    moves: list[Move] = []
    for judged in _judge(job, shard, sweep, halves):
        moves += judged.moves
        turn.take()
        found = _apply(job, shard, number, judged.gone, [], now) if judged.gone else Swept()
        if found is None:
            return total
        total = _sum(total, found)
    for part in _slices(in_order(moves)):
        turn.take()
        found = _apply(job, shard, number, [], part, now)
        if found is None:
            return total
        total = _sum(total, found)
    _apply(job, shard, number, [], [], now, last=True)
    return total


def _apply(
    job: Job, shard: int, number: int, gone: Sequence[tuple[bytes, int]], moves: Sequence[Move], now: float, *, last: bool = False
) -> Swept | None:
    """None: somebody else is done with the shard."""
    names = {move.new[:8]: move.site for move in moves}
    arguments: list[Argument] = [
        number,
        b"".join(_GONE.pack(*one) for one in gone),
        b"".join(_MOVE.pack(move.old, move.entry, move.new) for move in moves),
        int(last),
        len(names),
        *(argument for pair in names.items() for argument in pair),
    ]
    ours, forgotten, moved, merged = job.one(shard, "sweep", arguments, now, sign=True).values
    return Swept(0, forgotten, moved, merged) if ours else None


def _touched(job: Job, shard: int, sweep: Sweep) -> list[bytes]:
    names = ((half, record[pack.SITE.size :].decode()) for half, record in scan(job, f"{job.shards.keys[shard]}i"))
    return [half for half, name in names if sweep.covers(name)]


def _judge(job: Job, shard: int, sweep: Sweep, halves: Sequence[bytes]) -> Iterator[Judged]:
    marks = ((half, mark) for half, found in marks_of(job, shard, halves) for mark in found)
    while part := list(islice(marks, SLICE)):
        yield _judged(job, shard, sweep, part)


def _judged(job: Job, shard: int, sweep: Sweep, part: Sequence[tuple[bytes, Mark]]) -> Judged:
    entries = [(half + url, mark if mark > 0 else -mark - 10 if mark <= -10 else 0, state) for half, (url, mark, state) in part]
    judged = Judged([(key, 0) for key, number, _ in entries if not number], set(), [])
    with_text = [entry for entry in entries if entry[1]]
    if not with_text:
        return judged
    (texts,) = job.wire.ask([Call("", "", ("HMGET", f"{job.shards.keys[shard]}e", *(number for _, number, _ in with_text)))])
    judged.gone.extend((key, 0) for (key, _, _), text in zip(with_text, texts, strict=True) if text is None)  # lost it just now
    found = [(entry, pack.read_body(text)) for entry, text in zip(with_text, texts, strict=True) if text is not None]
    owns = sweep.moved([Kept(key, body.url, body.variant) for (key, _, _), body in found])
    for ((key, number, state), _), own in zip(found, owns, strict=True):
        if own is None or job.shards.of(own[1]) != shard:
            judged.gone.append((key, number))
            if state in ("pending", "leased", "delayed"):
                judged.waiting.add(key)
        elif own[0] != key:
            judged.moves.append(Move(key, number, *own, _RANK[state]))
    return judged


def _entries(job: Job, shard: int, keys: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Those that are entries, and whether they have a text."""
    by_site: dict[bytes, list[bytes]] = {}
    for key in keys:
        by_site.setdefault(key[:8], []).append(key)
    parts = [(half, found[at : at + SLICE]) for half, found in by_site.items() for at in range(0, len(found), SLICE)]
    place = f"{job.shards.keys[shard]}f".encode()
    answers = job.wire.ask([Call("", "", ("HMGET", place + half, *(key[8:] for key in part))) for half, part in parts]) if parts else []
    for (_, part), marks in zip(parts, answers, strict=True):
        for key, mark in zip(part, marks, strict=True):
            if mark is not None and int(mark) != -1:
                yield key, int(mark) not in (0, -2)


# -- order


def in_order(moves: Sequence[Move]) -> Iterator[list[Move]]:
    """What leaves a place comes before what arrives there, and of those that arrive at one place the one that stays comes first. In lists
    of one; those that change places with one another, and whatever else arrives there, are one list: they must move together."""
    leaving = {move.old: move for move in moves}
    arriving: dict[bytes, list[Move]] = {}
    for move in sorted(moves, key=lambda move: move.rank):
        arriving.setdefault(move.new, []).append(move)
    given: set[bytes] = set()
    for start in arriving:
        path: dict[bytes, int] = {}  # places, each of which the next one must be free before: and where in the path
        place = start
        while place not in given and place not in path:
            path[place] = len(path)
            if place not in leaving:
                break
            place = leaving[place].new
        places = list(path)
        given.update(places)
        if place in path and place in leaving:  # a circle closes
            circle = places[path[place] :]
            places = places[: path[place]]
            yield sorted((move for one in circle for move in arriving[one]), key=lambda move: move.rank)
        for one in reversed(places):
            for move in arriving[one]:
                yield [move]


def _slices(units: Iterable[Sequence[Move]]) -> Iterator[list[Move]]:
    """Of about SLICE each; what is one unit stays together."""
    part: list[Move] = []
    for unit in units:
        part.extend(unit)
        if len(part) >= SLICE:
            yield part
            part = []
    if part:
        yield part


def _sum(one: Swept, other: Swept) -> Swept:
    return Swept(*(a + b for a, b in zip(one, other, strict=True)))
