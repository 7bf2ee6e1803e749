"""Outcomes with the links of their pages in; prepared batches to offer out, each page's links under that page's depth and base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from urlsieve import checks
from urlsieve.arguments import Ticket
from urlsieve.batch import MOST, Defaults, Prepared, readable, refused, slices
from urlsieve.model import Lease, Outcome, Row, URLItem


class Prepare(Protocol):
    def __call__(self, urls: list[str | bytes | URLItem], defaults: Defaults, base: str | None) -> Prepared: ...


def steps(pairs: Sequence[tuple[Ticket, Outcome]], rows: Sequence[Row | None], prepare: Prepare) -> Iterator[list[Prepared]]:
    """In atomic steps of at most MOST URLs: repeating some of them after a crash is harmless. `rows`: of those that are tokens."""
    step: list[Prepared] = []
    for prepared in _parts(pairs, rows, prepare):
        if step and sum(before.total for before in step) + prepared.total > MOST:
            yield step
            step = []
        step.append(prepared)
    if step:
        yield step


def _parts(pairs: Sequence[tuple[Ticket, Outcome]], rows: Sequence[Row | None], prepare: Prepare) -> Iterator[Prepared]:
    for (ticket, outcome), row in zip(pairs, rows, strict=True):
        if outcome.refused:
            yield refused(dict(outcome.refused))
        if not outcome.links:
            continue
        if isinstance(ticket, Lease):
            url, depth = ticket.url, ticket.depth
        elif row is not None:
            url, depth = readable(row.url), row.depth
        else:
            continue  # a lost token: nobody knows which page these were on; its next lease finds them again
        defaults = Defaults(depth=depth + 1, via=checks.text("via", url))
        for part in slices(outcome.links):
            yield prepare(part, defaults, outcome.final_url or url)
