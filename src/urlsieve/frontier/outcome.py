"""An outcome in, the kind of answer it was out: the table of store-protocol, row by row."""

from __future__ import annotations

from enum import Enum

from urlsieve.model import Outcome

GONE = frozenset({404, 410})
AGAIN_LATER = frozenset({408, 425})
THROTTLED = 429


class Kind(Enum):
    DONE = "done"
    GONE = "gone"
    SKIPPED = "skipped"
    RELEASED = "released"
    REFUSED = "refused"  # a final no: dead
    FAILED = "failed"  # delayed with backoff, dead after max_attempts
    THROTTLED = "throttled"  # the server named a time, or said 429: delayed, and the group is blocked


def classify(outcome: Outcome) -> Kind:
    """First row that fits: release, skip, Retry-After or 429, 404/410, success of done(), other 4xx, everything else failed."""
    if outcome.kind == "release":
        return Kind.RELEASED
    if outcome.kind == "skip":
        return Kind.SKIPPED
    status = outcome.status if outcome.status is not None else (200 if outcome.kind == "done" else None)
    succeeded = outcome.kind == "done" and status is not None and (200 <= status < 400)
    if succeeded:
        return Kind.DONE
    if outcome.retry_after is not None or status == THROTTLED:
        return Kind.THROTTLED
    if status in GONE:
        return Kind.GONE
    if status is not None and 400 <= status < 500 and status not in AGAIN_LATER:
        return Kind.REFUSED
    return Kind.FAILED


def reason_of(outcome: Outcome) -> str:
    """What the failed list shows: the caller's words, else the status."""
    if outcome.reason:
        return outcome.reason
    return f"status {outcome.status}" if outcome.status is not None else outcome.kind
