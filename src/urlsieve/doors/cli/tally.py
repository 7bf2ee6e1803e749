"""What became of lines goes in; the report of push and uniq comes out, one line for people or one JSON object.

Every line is in exactly one place: lines = ignored + new + seen + raised + requeued + rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from urlsieve.doors.cli.output import json_line, one_line, say

if TYPE_CHECKING:
    from urlsieve.answers import Report

#: The reason of records that are none: no JSON, no csv, no such field.
MALFORMED = "invalid"


class Tally:
    """Counts of one run. `ignored`: blank lines (and comments, where the command knows them); `reasons`: rejected, by reason."""

    def __init__(self) -> None:
        self.lines = self.ignored = self.new = self.seen = self.raised = self.requeued = 0
        self.reasons: Counter[str] = Counter()
        self.extra: dict[str, float | int] = {}
        self.malformed = 0  # of the rejected: records that are none
        self.first = ""  # where the first of them is, and why

    def add(self, report: Report, lines: int, offered: int, broken: Mapping[int, str]) -> None:
        """A batch of so many lines, of which so many were offered to a store and so many are no records."""
        self.lines += lines
        self.ignored += lines - offered - len(broken)
        self.broken(broken)
        self.new += report.new
        self.seen += report.seen
        self.raised += report.raised
        self.requeued += report.requeued
        self.reasons.update(report.reasons)

    def broken(self, found: Mapping[int, str]) -> None:
        """Records that are none, by where and why."""
        if found:
            self.first = self.first or next(iter(found.values()))
            self.malformed += len(found)
            self.reasons[MALFORMED] += len(found)

    @property
    def rejected(self) -> int:
        return self.reasons.total()

    def as_dict(self) -> dict[str, object]:
        return {
            "lines": self.lines,
            "ignored": self.ignored,
            "new": self.new,
            "seen": self.seen,
            "raised": self.raised,
            "requeued": self.requeued,
            "rejected": self.rejected,
            "reasons": dict(self.reasons.most_common()),
            **({"malformed": {"count": self.malformed, "first": self.first}} if self.malformed else {}),
            **self.extra,
        }

    def __str__(self) -> str:
        parts = [f"{self.new} new", f"{self.seen} seen"]
        parts += [f"{count} {name}" for name, count in (("raised", self.raised), ("requeued", self.requeued)) if count]
        if self.rejected:
            parts.append(f"{self.rejected} rejected ({', '.join(f'{reason} {n}' for reason, n in self.reasons.most_common())})")
        if self.ignored:
            parts.append(f"{self.ignored} ignored")
        if self.malformed:
            parts.append(f"{self.malformed} malformed (first: {self.first})")
        parts += [f"{name.replace('_', ' ')} {_short(value)}" for name, value in self.extra.items()]
        return f"{self.lines} lines: {', '.join(parts)}"

    def say(self, *, as_json: bool) -> None:
        say(json_line(self.as_dict()) if as_json else f"urlsieve: {one_line(str(self))}\n".encode("utf-8", "backslashreplace"))


def _short(value: float | int) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
