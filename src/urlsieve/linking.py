"""Outcomes with the links of their pages in; prepared batches to offer out, each page's links under that page's depth and base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from urlsieve import checks
from urlsieve.arguments import Ticket
from urlsieve.batch import MOST, Defaults, Form, Prepared, as_found, example, prepare, readable, refused, slices
from urlsieve.model import MOST_EXAMPLES, Example, Lease, Outcome, Row, URLItem


class Part(NamedTuple):
    """Links of one page, or only counts of those that were left out; prepared under the rules of the moment, and again under newer ones."""

    urls: list[str | bytes | URLItem]
    defaults: Defaults
    base: str | None
    left_out: dict[str, int] | None = None
    examples: Sequence[Example] = ()  # of those that were left out
    judged: bool = True  # by the rules' scope

    def prepared(self, form: Form) -> Prepared:
        if self.left_out is not None:
            return refused(self.left_out, self.examples)
        return prepare(self.urls, self.defaults, form, base=self.base, judged=self.judged)


def steps(pairs: Sequence[tuple[Ticket, Outcome]], rows: Sequence[Row | None]) -> Iterator[list[Part]]:
    """In atomic steps of at most MOST URLs: repeating some of them after a crash is harmless. `rows`: of those that are tokens."""
    step: list[Part] = []
    for part in _parts(pairs, rows):
        if step and sum(len(before.urls) for before in step) + len(part.urls) > MOST:
            yield step
            step = []
        step.append(part)
    if step:
        yield step


def _parts(pairs: Sequence[tuple[Ticket, Outcome]], rows: Sequence[Row | None]) -> Iterator[Part]:
    for (ticket, outcome), row in zip(pairs, rows, strict=True):
        url, depth = (
            (ticket.url, ticket.depth) if isinstance(ticket, Lease) else (None, 0) if row is None else (readable(row.url), row.depth)
        )
        if outcome.refused:
            yield _left_out(outcome, url, depth + 1)
        if not outcome.links or url is None:
            continue  # a lost token: nobody knows which page these were on; its next lease finds them again
        defaults = Defaults(depth=depth + 1, via=checks.text("via", url))
        for links in slices(outcome.links):
            yield Part(links, defaults, outcome.final_url or url)


def _left_out(outcome: Outcome, via: str | None, depth: int) -> Part:
    counts: dict[str, int] = {}
    examples: list[Example] = []
    for reason, many, *urls in outcome.refused:
        counts[reason] = counts.get(reason, 0) + many
        examples += [example("rejected", reason, as_found(url), via, depth) for some in urls for url in some[-MOST_EXAMPLES:]]
    return Part([], Defaults(), None, counts, examples[-MOST_EXAMPLES:])
