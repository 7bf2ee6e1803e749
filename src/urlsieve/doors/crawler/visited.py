"""What a visit comes to: the outcome for the store, and what the report counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from urlsieve import Outcome


@dataclass(frozen=True, slots=True)
class Visited:
    """`fetched`: the page itself was asked for. `links`: how many the page had; `left_out`: how many of them, by reason.

    `said`: what pages say about themselves, counted; `evidence`: the same of this one, for the evidence file. `sitemap`: counts of
    one that was read (a sitemap is no page and not `fetched`). `note`: worth a line for people.
    """

    outcome: Outcome
    fetched: bool = False
    links: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    size: int = 0
    said: dict[str, int] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)
    sitemap: dict[str, int] = field(default_factory=dict)
    note: str | None = None
