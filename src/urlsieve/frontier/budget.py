"""What of a URL's site, domain, job and day is used up, and what they may use, go in; whether the URL may still come comes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from urlsieve.model import Budget


class Used(NamedTuple):
    """URLs accepted, pages fetched and bytes fetched so far."""

    urls: int = 0
    pages: int = 0
    bytes: int = 0


def refusal(limits: Mapping[str, Budget], used: Mapping[str, Used]) -> str | None:
    """For an offer: "limit" where as many URLs as may be are there already, "budget" where no page of it could be fetched any more.

    Units (site, domain, job, day) without a limit, or of which nothing is used, refuse nothing. A day's pages are no reason to refuse
    an offer: there is a day after it.
    """
    for unit, budget in limits.items():
        if budget.urls is not None and used.get(unit, Used()).urls >= budget.urls:
            return "limit"
    lasting = {unit: budget for unit, budget in limits.items() if unit != "day"}
    return "budget" if spent(lasting, used) else None


def spent(limits: Mapping[str, Budget], used: Mapping[str, Used]) -> tuple[str, ...]:
    """For a fetch: the units whose pages or bytes are used up; empty: it may go."""
    found = []
    for unit, budget in limits.items():
        have = used.get(unit, Used())
        pages = budget.pages is not None and have.pages >= budget.pages
        if pages or (budget.bytes is not None and have.bytes >= budget.bytes):
            found.append(unit)
    return tuple(found)
