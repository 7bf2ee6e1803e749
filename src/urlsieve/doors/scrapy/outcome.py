"""A finished piece of work and its result in, the outcome of its lease out."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from urlsieve.model import Outcome

if TYPE_CHECKING:
    from twisted.python.failure import Failure

    from urlsieve.doors.scrapy.hands import Work

DONE = Outcome("done")
REDIRECTED = Outcome("done", status=302)
#: What Scrapy's own parts say when they drop a request, as reasons that are counted.
_REASONS = {"Forbidden by robots.txt": "robots.txt", "max redirections reached": "redirects"}


def outcome_of(work: Work, result: Response | Failure) -> Outcome:
    """Done when the spider took the answer (or its errback the failure) and raised nothing; a request that was dropped is skipped;
    everything else failed, with the status that says whether trying again makes sense."""
    if work.error is not None:
        return Outcome("fail", reason=work.error)
    if isinstance(result, Response):
        return _answered(work, result)
    error = result.value
    if isinstance(error, IgnoreRequest):
        return Outcome("skip", reason=_REASONS.get(str(error), type(error).__name__))
    if work.handled:
        return DONE
    return Outcome("fail", reason=type(error).__name__)


def _answered(work: Work, response: Response) -> Outcome:
    elapsed, size = _seconds(work.request.meta.get("download_latency")), len(response.body)
    if work.handled:
        return Outcome("done", elapsed=elapsed, size=size)
    if response.status < 400:
        return Outcome("skip", reason="filtered", size=size)
    reason = f"status {response.status}"
    return Outcome("fail", reason=reason, status=response.status, retry_after=_retry_after(response), elapsed=elapsed, size=size)


def _retry_after(response: Response) -> float | None:
    """In seconds from now, whether the server gave them or a date; None where it gave neither."""
    header = response.headers.get("Retry-After")
    text = header.decode("latin-1").strip() if header else ""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e9 else None
