"""Counts what one crawl process did; out come the progress line, the final text and the JSON object."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from shutil import get_terminal_size
from typing import Any

from urlsieve.doors.crawler.visited import Visited


@dataclass(slots=True)
class Tally:
    """`pages` counts settled fetches, whatever came of them. `ended`: empty, max_pages or interrupted."""

    pages: int = 0
    states: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)
    sitemaps: Counter[str] = field(default_factory=Counter)
    delays: dict[str, float] = field(default_factory=dict)
    links: int = 0
    bytes: int = 0
    redirects: int = 0
    given_back: int = 0
    lost: int = 0
    ended: str = ""
    started: float = field(default_factory=time.monotonic)

    def add(self, visited: Visited, state: str) -> None:
        """`state` is Settled.state: of a lost lease nothing counts but that it was lost."""
        outcome = visited.outcome
        if state == "lost":
            self.lost += 1
            return
        if outcome.kind == "release":
            self.given_back += 1
            return
        self.pages += visited.fetched
        self.links += visited.links
        self.bytes += visited.size
        self.left_out.update(visited.left_out)
        self.said.update(visited.said)
        self.sitemaps.update(visited.sitemap)
        self.redirects += len(outcome.redirects) + (outcome.final_url is not None)
        if outcome.kind == "skip":
            self.skipped[outcome.reason or "skip"] += 1
        else:
            self.states[state] += 1
        if outcome.kind == "fail":
            reason = outcome.reason or "fail"
            # servers write these texts: there may be any number of them
            known = reason in self.failures or len(self.failures) < MOST_REASONS
            self.failures[reason if known else "others"] += 1

    def as_dict(self, store: dict[str, Any]) -> dict[str, Any]:
        return {
            "ended": self.ended,
            "pages": self.pages,
            "done": self.states["done"],
            "delayed": self.states["delayed"],
            "dead": self.states["dead"],
            "skipped": dict(self.skipped),
            "failures": dict(self.failures),
            "links": self.links,
            "left_out": dict(self.left_out),
            "sitemaps": dict(self.sitemaps),
            "said": dict(self.said),
            "redirects": self.redirects,
            "given_back": self.given_back,
            "lost_leases": self.lost,
            "bytes": self.bytes,
            "delays": self.delays,
            "seconds": round(time.monotonic() - self.started, 3),
            "store": store,
        }

    def text(self, store: dict[str, Any]) -> str:
        seconds = time.monotonic() - self.started
        lines = [
            f"{self.pages} pages in {seconds:.1f} s, {self.bytes:,} bytes, {self.links:,} links; ended: {ENDS[self.ended]}",
            f"  done {self.states['done']}   to be tried again {self.states['delayed']}   dead {self.states['dead']}   "
            f"given back {self.given_back}",
        ]
        for title, counts in (("skipped", self.skipped), ("failures", self.failures), ("links left out", self.left_out)):
            if counts:
                lines.append(f"  {title}: " + ", ".join(f"{count} {reason}" for reason, count in counts.most_common(8)))
        if self.sitemaps:
            counted = (f"{self.sitemaps[word]:,} {text}" for word, text in SITEMAPS.items() if self.sitemaps[word])
            lines.append("  sitemaps: " + ", ".join(counted))
        if self.said:
            lines.append("  pages that name: " + ", ".join(f"{text} {self.said[word]:,}" for word, text in SAID.items() if self.said[word]))
        if self.lost:
            lines.append(f"  {self.lost} leases were lost: this process was too slow for them and others took over")
        slow = list(self.delays.items())
        lines += [f"  {group}: one page every {seconds:g} s, as its robots.txt asks" for group, seconds in slow[:SHOWN]]
        if len(slow) > SHOWN:
            lines.append(f"  and {len(slow) - SHOWN} more hosts that ask for a longer delay (all of them with --json)")
        lines.append(
            f"  store: {store['accepted']:,} URLs accepted, {store['done']:,} done, "
            f"{store['pending'] + store['delayed']:,} waiting, {store['leased']:,} out, {store['dead']:,} dead"
        )
        return "\n".join(lines)


SITEMAPS = {
    "read": "read",
    "urls": "pages listed",
    "missing": "not there",
    "refused": "that are no sitemaps, or too large",
    "broken": "broken, read as far as it went",
    "cut": "with more than 50,000 URLs",
    "left_out": "further ones out of scope, or too deep",
}
SAID = {"canonical": "themselves as canonical", "canonical_elsewhere": "another page as canonical", "hreflang": "other languages"}
#: Different reasons of failures that are told apart.
MOST_REASONS = 1_000
#: Lines of one kind in a report for people.
SHOWN = 10
ENDS = {"empty": "nothing is left", "max_pages": "--max-pages reached", "interrupted": "interrupted", "": "by an error"}


def _on_terminal() -> bool:
    return sys.stderr.isatty()


@dataclass(slots=True)
class Progress:
    """One line on standard error, rewritten; nothing at all where that is not a terminal."""

    tally: Tally
    shown: bool = field(default_factory=_on_terminal)
    at: float = 0.0

    @property
    def due(self) -> bool:
        return self.shown and time.monotonic() >= self.at + 0.5

    def show(self, in_flight: int, waiting: int, next_in: float | None) -> None:
        """`next_in`: seconds until something may be fetched, where that is known."""
        if not self.shown:
            return
        self.at = time.monotonic()
        tally = self.tally
        rate = tally.pages / max(time.monotonic() - tally.started, 0.001)
        line = f"{tally.pages} pages  {in_flight} in flight  {waiting} waiting  {rate:.1f}/s"
        if next_in is not None and next_in >= 1 and not in_flight:
            line += f"  next in {next_in:.0f} s"
        width = get_terminal_size().columns - 1
        sys.stderr.write("\r" + line[:width].ljust(width))
        sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * (get_terminal_size().columns - 1) + "\r")
            sys.stderr.flush()

    def note(self, text: str) -> None:
        """Something worth a line of its own; on a terminal or not."""
        self.clear()
        print(f"urlsieve crawl: {text}", file=sys.stderr, flush=True)


def print_report(tally: Tally, store: dict[str, Any], *, as_json: bool) -> None:
    print(json.dumps(tally.as_dict(store), ensure_ascii=False) if as_json else tally.text(store), flush=True)
