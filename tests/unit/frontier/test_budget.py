"""Budgets: what is used up refuses, what is not there refuses nothing, and tomorrow is another day."""

import pytest

from urlsieve.frontier.budget import NEVER, Used, again_at, cost, refusal, spent
from urlsieve.model import Budget, Outcome


@pytest.mark.parametrize(
    ("limits", "used", "answer"),
    [
        ({}, {"site": Used(9, 9, 9)}, None),
        ({"site": Budget()}, {"site": Used(9, 9, 9)}, None),
        ({"site": Budget(urls=10)}, {}, None),
        ({"site": Budget(urls=10)}, {"site": Used(urls=9)}, None),
        ({"site": Budget(urls=10)}, {"site": Used(urls=10)}, "limit"),
        ({"site": Budget(urls=0)}, {}, "limit"),
        ({"job": Budget(urls=10)}, {"site": Used(urls=10), "job": Used(urls=9)}, None),
        ({"domain": Budget(pages=5)}, {"domain": Used(pages=5)}, "budget"),
        ({"job": Budget(bytes=100)}, {"job": Used(bytes=101)}, "budget"),
        ({"job": Budget(urls=5, bytes=100)}, {"job": Used(urls=5, bytes=101)}, "limit"),
        ({"day": Budget(pages=5)}, {"day": Used(pages=5)}, None),
        ({"day": Budget(urls=5)}, {"day": Used(urls=5)}, "limit"),
    ],
)
def test_an_offer_is_refused_when_a_limit_is_reached(limits: dict[str, Budget], used: dict[str, Used], answer: str | None) -> None:
    assert answer == refusal(limits, used)


def test_a_fetch_waits_for_the_units_that_are_spent() -> None:
    limits = {"site": Budget(urls=1, pages=2), "job": Budget(bytes=10), "day": Budget(pages=3)}
    used = {"site": Used(urls=5, pages=1), "job": Used(bytes=10), "day": Used(pages=3)}
    assert ("job", "day") == spent(limits, used)
    assert () == spent(limits, {})


@pytest.mark.parametrize(
    ("units", "now", "at"),
    [
        (("day",), 0.0, 86_400.0),
        (("day",), 86_399.9, 86_400.0),
        (("day",), 86_400.0, 172_800.0),
        (("site",), 5.0, NEVER),
        (("job", "day"), 5.0, NEVER),  # tomorrow the job's is still spent
    ],
)
def test_there_is_budget_again_tomorrow_or_when_the_rules_change(units: tuple[str, ...], now: float, at: float) -> None:
    assert at == again_at(units, now)


@pytest.mark.parametrize(
    ("outcome", "pages", "size"),
    [
        (Outcome("done"), 1, 0),
        (Outcome("done", status=304, size=3), 1, 3),
        (Outcome("done", status=503, size=3), 0, 3),
        (Outcome("fail", reason="x", status=410, size=3), 1, 3),
        (Outcome("fail", reason="x", status=403, size=3), 1, 3),
        (Outcome("fail", reason="x", status=429, size=3), 0, 3),
        (Outcome("skip", reason="type", size=3), 0, 3),
        (Outcome("release", size=3), 0, 0),
    ],
)
def test_a_page_is_a_fetch_that_was_answered_for_good(outcome: Outcome, pages: int, size: int) -> None:
    assert (pages, size) == cost(outcome)
