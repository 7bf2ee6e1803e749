"""What is let in, lifted or brought back: an offer and what the store has of it in, the new values out."""

from __future__ import annotations

from typing import NamedTuple

from urlsieve.model import Klass, Policy, State

#: Above the high-water mark priorities up to this are refused at once, larger ones at HEADROOM times the mark.
LOW_PRIORITY, HEADROOM = 0, 1.25
#: How long a dead URL keeps its text and reason, in seconds.
DEAD_KEPT = 7 * 86400.0


def is_full(priority: int, waiting: int, high_water: int | None) -> bool:
    """`waiting`: pending and delayed URLs of the store. Low priorities are refused first."""
    return high_water is not None and waiting >= (high_water if priority <= LOW_PRIORITY else high_water * HEADROOM)


class Lift(NamedTuple):
    """What a raise makes of a waiting URL. due None: pending now."""

    priority: int
    due: float | None


def lift(state: State, priority: int, due: float | None, *, new_priority: int, new_due: float | None, now: float) -> Lift | None:
    """Priority only upwards, due only earlier; an offer that names no time wants the URL now. None: nothing changes."""
    wanted = new_due if new_due is not None and new_due > now else None
    sooner = state is State.DELAYED and (wanted is None or (due is not None and wanted < due))
    if new_priority <= priority and not sooner:
        return None
    return Lift(max(priority, new_priority), wanted if sooner else due)


def class_of_return(state: State) -> Klass:
    """A done URL that is asked for again is a revisit, a dead one a retry."""
    return Klass.RETRY if state is State.DEAD else Klass.REVISIT


class Expired(NamedTuple):
    """What a lease that ran out leaves. due: DELAYED until then."""

    state: State
    klass: Klass
    attempt: int
    due: float | None = None


def expire(klass: Klass, attempt: int, again: float | None, policy: Policy, now: float) -> Expired:
    """Back into the queue as a retry, or dead by max_attempts; asked for again meanwhile, it returns with a new count of attempts."""
    if again is not None:
        later = again > now
        return Expired(State.DELAYED if later else State.PENDING, Klass.REVISIT, 0, again if later else None)
    if attempt >= policy.max_attempts:
        return Expired(State.DEAD, klass, attempt)
    return Expired(State.PENDING, Klass.RETRY if klass is Klass.NEW else klass, attempt)
