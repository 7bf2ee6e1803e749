"""Rules that have changed go in; entries move to the fingerprints they have now, and what no text speaks for is forgotten, shard by shard.

A change of the rules puts the number of its sweep into the job's header, tells every shard of the new generation, so that none takes
anything under an older one, and sweeps; only then does the header say that it is swept, and somebody offer under the new rules. Whoever
finds one that is not finished does the same from the start: what is done already is found done. Each shard keeps the number of the last
sweep it is done with: a slice of a slower sweeper that comes after that is refused, and forgets nothing that was pushed since.
"""

from __future__ import annotations

import os
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from urlsieve.errors import StoreUnavailable
from urlsieve.model import State
from urlsieve.stores.protocol import Kept, Sweep, Swept
from urlsieve.stores.redis import pack
from urlsieve.stores.redis.job import MOST_TRIES, Ask, Job
from urlsieve.stores.redis.look import Mark, marks_of, scan
from urlsieve.stores.redis.wire import Argument, Call
from urlsieve.stores.sweeping import Fate, Move, Unit, fates, in_order

#: Entries in one call of the script, and looked at together.
SLICE = 1000
#: The lock of those who sweep spares others the same work; nothing goes wrong without it. Seconds; and between two looks at it.
LOCK, LOCK_TTL, LOOK = "rules", 3.0, 0.1
_GONE, _MOVE = struct.Struct("<16sd"), struct.Struct("<16sd16sB")
#: Of a move: it goes rather than stay where it is; it leaves before anything arrives.
_FORGETS, _CIRCLE = 1, 2
_KNOWN = -1


Clock = Callable[[], float]


class Run(NamedTuple):
    """A sweep by its number, in one epoch: when the server restarts it is begun anew."""

    number: int
    epoch: int


class Judged(NamedTuple):
    """Of a slice of a shard. gone: fingerprint and entry (0: without text) of what is to be forgotten. left: how many without text stay."""

    gone: list[tuple[bytes, int]]
    moves: list[Move]
    left: int


def size(job: Job, sweep: Sweep) -> Swept:
    """What it would do. Changes nothing."""
    total = Swept()
    for shard in range(job.shards.count):
        touched = _touched(job, shard, sweep)
        forgotten, left, gone, moves = 0, 0, set[bytes](), list[Move]()
        for judged in _judge(job, shard, sweep, touched):
            forgotten, left = forgotten + len(judged.gone), left + judged.left
            gone.update(key for key, entry in judged.gone if entry)
            moves += judged.moves
        marks = _marks(job, shard, {move.new for move in moves} - gone)
        there = {key for key, mark in marks if mark != _KNOWN and (mark not in (0, -2) or not touched.get(key[:8], False))}
        ends = Counter(fate for _, fate in fates(moves, there))
        found = Swept(len(touched), forgotten, ends[Fate.MOVED], ends[Fate.MERGED], left + ends[Fate.LEFT])
        total = _sum(total, found)
    return total


def begin(job: Job, sweep: Sweep, book: str, expected: int, clock: Clock) -> Swept | None:
    """The rules become these, and what they take back is swept. None: there are others than `expected`, or a sweep comes first."""
    turn = _Turn(job, clock)
    turn.take()
    try:
        if not job.replace_rules(book, expected, swept=False):
            return None
        return _finish(job, sweep, expected + 1, turn, clock)
    finally:
        turn.end()


def finish(job: Job, sweep: Sweep, generation: int, clock: Clock) -> Swept:
    """What somebody has begun by rules of this generation is done when this returns, by whomever."""
    turn = _Turn(job, clock)
    try:
        while not turn.take():
            ruled, _ = job.rules()
            if ruled.swept or ruled.generation != generation:
                return Swept()
            time.sleep(LOOK)
        return _finish(job, sweep, generation, turn, clock)
    finally:
        turn.end()


def _finish(job: Job, sweep: Sweep, generation: int, turn: _Turn, clock: Clock) -> Swept:
    """A server that restarts meanwhile may have lost a part of it, and the generation has jumped; the number has not."""
    ruled, first = job.rules()
    number, total = first, Swept()
    if ruled.generation != generation:
        return total
    for _ in range(MOST_TRIES):
        if number is None or number != first:
            return total
        run = Run(number, job.epoch)
        job.tell()  # before anything is looked at: no shard takes anything under the older rules from now on
        done = job.wire.ask([Call("", "", ("GET", f"{key}w")) for key in job.shards.keys])
        touched: dict[int, dict[bytes, bool]] = {}
        for shard, last in enumerate(done):
            if int(last or 0) < number:
                turn.take()
                touched[shard] = _touched(job, shard, sweep)
        job.ask([Ask(shard, "sweep", _arguments(job, run, last=True)) for shard, halves in touched.items() if not halves], clock())
        for shard, halves in touched.items():
            if halves:
                total = _sum(total, _shard(job, shard, halves, sweep, run, turn, clock))
        if job.end_sweep(*run):
            return total
        _, number = job.rules()
    raise StoreUnavailable(f"the server of {job.where} restarted during each of {MOST_TRIES} sweeps: the next worker begins with it again")


class _Turn:
    """The lock, taken again while its holder works. With a clock that is the caller's nobody waits: it may stand still."""

    def __init__(self, job: Job, clock: Clock) -> None:
        self._job, self._clock = job, clock
        self._owner = os.urandom(8).hex()
        self._token: int | None = None
        self._until = 0.0

    def take(self) -> bool:
        if self._token is not None and time.monotonic() < self._until:
            return True
        arguments: list[Argument] = ["lock", LOCK, self._owner, repr(LOCK_TTL), repr(self._clock()), self._job.clock]
        ((token, _),) = self._job.wire.ask([Call("job", self._job.key, arguments)])
        self._token = None if token is None else int(token)
        self._until = time.monotonic() + LOCK_TTL / 3
        return self._token is not None or self._job.clock == b"1"

    def end(self) -> None:
        if self._token is not None:
            self._job.wire.ask([Call("job", self._job.key, ("unlock", LOCK, self._token))])


# -- one shard


def _shard(job: Job, shard: int, touched: Mapping[bytes, bool], sweep: Sweep, run: Run, turn: _Turn, clock: Clock) -> Swept:
    """What goes goes while the rest is looked at; moves come after, when all of them are known."""
    total = Swept(len(touched))
    moves: list[Move] = []
    for judged in _judge(job, shard, sweep, touched):
        moves += judged.moves
        turn.take()
        found = _apply(job, shard, run, judged.gone, [], clock) if judged.gone else Swept()
        if found is None:
            return total
        total = _sum(total, found._replace(left=judged.left))
    for part in _slices(in_order(moves)):
        turn.take()
        found = _apply(job, shard, run, [], part, clock)
        if found is None:
            return total
        total = _sum(total, found)
    _apply(job, shard, run, [], [], clock, last=True)
    return total


def _apply(
    job: Job, shard: int, run: Run, gone: Sequence[tuple[bytes, int]], units: Sequence[Unit], clock: Clock, *, last: bool = False
) -> Swept | None:
    """None: somebody else is done with the shard, or the server has restarted."""
    arguments = _arguments(job, run, gone, units, last=last)
    ours, *many = job.one(shard, "sweep", arguments, clock(), sign=True).values
    return Swept(0, *many) if ours else None


def _arguments(job: Job, run: Run, gone: Sequence[tuple[bytes, int]] = (), units: Sequence[Unit] = (), *, last: bool) -> list[Argument]:
    moves = [(move, _FORGETS * move.forgets + _CIRCLE * unit.circle) for unit in units for move in unit.moves]
    names = {move.new[:8]: move.site for move, _ in moves}
    domains = job.shards.domains(names)
    return [
        *run,
        b"".join(_GONE.pack(*one) for one in gone),
        b"".join(_MOVE.pack(move.old, move.entry, move.new, flags) for move, flags in moves),
        int(last),
        len(names) + len(domains),
        *(argument for pair in names.items() for argument in pair),
        *(argument for pair in domains.items() for argument in pair),
    ]


def _slices(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    """Of about SLICE moves each."""
    part: list[Unit] = []
    size = 0
    for unit in units:
        part.append(unit)
        size += len(unit.moves)
        if size >= SLICE:
            yield part
            part, size = [], 0
    if part:
        yield part


def _touched(job: Job, shard: int, sweep: Sweep) -> dict[bytes, bool]:
    """The halves of its sites that are looked at: and is what no text speaks for forgotten?"""
    names = [(half, record[pack.SITE.size :].decode()) for half, record in scan(job, f"{job.shards.keys[shard]}i")]
    return {half: sweep.forgets(name) for half, name in names if sweep.covers(name) or sweep.forgets(name)}


def _judge(job: Job, shard: int, sweep: Sweep, touched: Mapping[bytes, bool]) -> Iterator[Judged]:
    marks = ((half, mark) for half, found in marks_of(job, shard, touched) for mark in found)
    while part := list(islice(marks, SLICE)):
        yield _judged(job, shard, sweep, touched, part)


def _judged(job: Job, shard: int, sweep: Sweep, touched: Mapping[bytes, bool], part: Sequence[tuple[bytes, Mark]]) -> Judged:
    entries = [(half + url, mark if mark > 0 else -mark - 10 if mark <= -10 else 0, state) for half, (url, mark, state) in part]
    unspoken = [(key, 0) for key, number, _ in entries if not number]
    moves: list[Move] = []
    with_text = [entry for entry in entries if entry[1]]
    texts = _texts(job, shard, [number for _, number, _ in with_text])
    unspoken += [(key, 0) for (key, _, _), body in zip(with_text, texts, strict=True) if body is None]  # lost it just now
    found = [(*entry, body) for entry, body in zip(with_text, texts, strict=True) if body is not None]
    owns = sweep.moved([Kept(key, body.url, body.variant) for key, _, _, body in found])
    for (key, number, word, _), own in zip(found, owns, strict=True):
        state = State[word.upper()]
        if own is not None and job.shards.of(own[1]) == shard:
            if own[0] != key:
                moves.append(Move(key, number, *own, state, touched[key[:8]]))
        elif state in (State.DONE, State.DEAD):
            unspoken.append((key, number))
    gone = [(key, number) for key, number in unspoken if touched[key[:8]]]
    return Judged(gone, moves, len(unspoken) - len(gone))


def _texts(job: Job, shard: int, numbers: Sequence[int]) -> list[pack.Body | None]:
    if not numbers:
        return []
    (texts,) = job.wire.ask([Call("", "", ("HMGET", f"{job.shards.keys[shard]}e", *numbers))])
    return [None if text is None else pack.read_body(text) for text in texts]


def _marks(job: Job, shard: int, keys: Iterable[bytes]) -> list[tuple[bytes, int]]:
    """Of those that have one."""
    by_site: dict[bytes, list[bytes]] = {}
    for key in keys:
        by_site.setdefault(key[:8], []).append(key)
    parts = [(half, found[at : at + SLICE]) for half, found in by_site.items() for at in range(0, len(found), SLICE)]
    place = f"{job.shards.keys[shard]}f".encode()
    answers = job.wire.ask([Call("", "", ("HMGET", place + half, *(key[8:] for key in part))) for half, part in parts]) if parts else []
    found = ((key, mark) for (_, part), marks in zip(parts, answers, strict=True) for key, mark in zip(part, marks, strict=True))
    return [(key, int(mark)) for key, mark in found if mark is not None]


def _sum(one: Swept, other: Swept) -> Swept:
    return Swept(*(a + b for a, b in zip(one, other, strict=True)))
