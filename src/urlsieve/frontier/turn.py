"""Whose turn it is: a group's settings, health and queue in; ready, waiting until, or held out. And which class serves a turn.

This is a rule about places, not a decision about URLs, so stores call it inside their transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

#: Every so many turns the group that has waited longest is served, whatever its priority, so that none starves.
FAIR_TURN = 20


class Place(IntEnum):
    """A group is in exactly one of these, and so found by exactly one index."""

    IDLE = 0  # nothing pending
    READY = 1
    WAITING = 2  # until its turn or the end of its block
    HELD = 3  # paused, or all its leases are out: something must be done or settled first


class Placed(NamedTuple):
    place: Place
    wake: float | None  # WAITING: when
    room: int | None  # READY: URLs that may be given now (None: any number)


def place(
    *,
    waiting: bool,
    paused: bool,
    next_turn: float,
    blocked_until: float,
    half_open: bool,
    leased: int,
    concurrency: int | None,
    delay: float,
    now: float,
) -> Placed:
    """The one statement of when a group may give URLs."""
    if not waiting:
        return Placed(Place.IDLE, None, 0)
    if paused:
        return Placed(Place.HELD, None, 0)
    wake = max(next_turn, blocked_until)
    if wake > now:
        return Placed(Place.WAITING, wake, 0)
    limits = [1] if half_open or delay > 0 else []
    if half_open:
        concurrency = 1
    if concurrency is not None:
        if leased >= concurrency:
            return Placed(Place.HELD, None, 0)
        limits.append(concurrency - leased)
    return Placed(Place.READY, None, min(limits) if limits else None)


@lru_cache(maxsize=64)
def pattern(shares: tuple[int, int, int]) -> tuple[int, ...]:
    """The classes' turns spread evenly (smooth weighted round robin): 6/2/2 gives ten turns in which no class bunches."""
    credit = [0] * len(shares)
    total = sum(shares)
    order = []
    for _ in range(total):
        credit = [have + share for have, share in zip(credit, shares, strict=True)]
        best = max(range(len(shares)), key=credit.__getitem__)
        credit[best] -= total
        order.append(best)
    return tuple(order)


def next_class(position: int, shares: tuple[int, int, int], waiting: Sequence[bool]) -> tuple[int, int]:
    """(class, next position): the first class from `position` on in the pattern that has work. At least one must have."""
    order = pattern(shares)
    for step in range(len(order)):
        klass = order[(position + step) % len(order)]
        if waiting[klass]:
            return klass, (position + step + 1) % len(order)
    return next(k for k, work in enumerate(waiting) if work), position  # a class whose share is 0, alone with work
