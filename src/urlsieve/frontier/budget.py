"""What of a URL's site, domain, job and day is used up, and what they may use, go in; whether the URL may still come, and when it may be
fetched, come out.

A page is a fetch that was answered for good: success, redirect, not modified, gone, or a final no. Bytes count whenever they are said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from urlsieve.frontier.outcome import Kind, classify
from urlsieve.model import Budget, Outcome

#: What the reason of a URL begins with that waits for its unit's budget, and why its group sleeps; the unit follows.
SPENT = "budget spent: "
#: Until the rules change: no clock gets there.
NEVER = 1e11
_DAY = 86_400.0


class Used(NamedTuple):
    """URLs accepted, pages fetched and bytes fetched so far."""

    urls: int = 0
    pages: int = 0
    bytes: int = 0

    def more(self, *, urls: int = 0, pages: int = 0) -> Used:
        return Used(self.urls + urls, self.pages + pages, self.bytes)


class Usage(NamedTuple):
    """Of the job, of its day, of some sites, and of the domains that they are of (domain_of: site → domain)."""

    job: Used
    day: Used
    sites: Mapping[str, Used]
    domain_of: Mapping[str, str]
    domains: Mapping[str, Used]


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


def again_at(units: tuple[str, ...], now: float) -> float:
    """When there is budget again: tomorrow (UTC) where only the day's is spent."""
    return (day_of(now) + 1) * _DAY if units == ("day",) else NEVER


def day_of(now: float) -> int:
    """Days since the epoch, UTC."""
    return int(now // _DAY)


def cost(outcome: Outcome) -> tuple[int, int]:
    """Pages and bytes that a settled lease has used."""
    kind = classify(outcome)
    if kind is Kind.RELEASED:
        return 0, 0
    return int(kind in (Kind.DONE, Kind.GONE, Kind.REFUSED)), outcome.size or 0
