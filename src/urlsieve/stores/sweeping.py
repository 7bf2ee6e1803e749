"""Entries whose fingerprints rules have changed go in; in which order they move, and which of those that become one stays, comes out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from urlsieve.model import State

#: Of entries that become one: a leased one stays, else one that is done, one that waits, one that is dead.
_RANK = {State.LEASED: 0, State.DONE: 1, State.PENDING: 2, State.DELAYED: 3, State.DEAD: 4}


class Move(NamedTuple):
    """An entry that has another fingerprint under the new rules. forgets: its site is one that the sweep takes back."""

    old: bytes
    entry: int
    new: bytes
    site: str
    state: State
    forgets: bool

    @property
    def rank(self) -> int:
        return _RANK[self.state]

    @property
    def waits(self) -> bool:
        return self.state in (State.PENDING, State.DELAYED)


def outranks(move: Move, state: State, forgets: bool) -> bool:
    """Whether it takes the place of an entry in this state that came there by the same sweep, earlier. If they had come together, the move
    would have come first. The other goes: it stays only if the move can be left where it is, and neither waits."""
    goes = move.waits or move.forgets or forgets or state in (State.PENDING, State.DELAYED)
    return goes and move.rank < _RANK[state]


class Unit(NamedTuple):
    """Moves to make together. circle: they change places with one another, so all of them leave before the first arrives."""

    moves: list[Move]
    circle: bool


class Fate(Enum):
    MOVED, MERGED, LEFT = range(3)


def _first(move: Move) -> tuple[int, bytes]:
    """Of equals any, but always the same."""
    return move.rank, move.old


def in_order(moves: Sequence[Move]) -> Iterator[Unit]:
    """What leaves a place comes before what arrives there, and of those that arrive at one place the one that stays comes first."""
    leaving = {move.old: move for move in moves}
    arriving: dict[bytes, list[Move]] = {}
    for move in sorted(moves, key=_first):
        arriving.setdefault(move.new, []).append(move)
    given: set[bytes] = set()
    for start in arriving:
        path: dict[bytes, int] = {}  # places, each of which is free only when the next one is
        place = start
        while place not in given and place not in path:
            path[place] = len(path)
            if place not in leaving:
                break
            place = leaving[place].new
        places = list(path)
        given.update(places)
        if place in path and place in leaving:
            circle = places[path[place] :]
            places = places[: path[place]]
            yield Unit(sorted((move for one in circle for move in arriving[one]), key=_first), True)
        for one in reversed(places):
            for move in arriving[one]:
                yield Unit([move], False)


def fates(moves: Sequence[Move], there: Collection[bytes]) -> Iterator[tuple[Move, Fate]]:
    """there: new fingerprints that are entries now and are not forgotten. One that is left is found under its old fingerprint by whoever
    asks, and is as it was when the rules merge less again. lua/sweep.lua says the same."""
    taken = set(there)
    for unit in in_order(moves):
        if unit.circle:
            taken.difference_update(move.old for move in unit.moves)
        for move in unit.moves:
            fate = Fate.MOVED if move.new not in taken else Fate.MERGED if move.waits or move.forgets or unit.circle else Fate.LEFT
            if fate is not Fate.LEFT and not unit.circle:
                taken.discard(move.old)
            taken.add(move.new)
            yield move, fate
