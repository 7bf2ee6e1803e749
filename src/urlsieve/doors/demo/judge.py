"""What the store says and what the site logged in, a table of figures out: each with what it must be, and whether it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from urlsieve.doors.demo.world import World

#: Their answer ends the matter; a redirect in a ring and the like are asked for, too.
NEVER_ASKED = frozenset({"hidden"})


@dataclass(frozen=True, slots=True)
class Figure:
    """`expected` None: shown, not judged."""

    name: str
    got: int
    expected: int | None
    note: str = ""

    @property
    def ok(self) -> bool:
        return self.expected is None or self.got == self.expected

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "got": self.got, "expected": self.expected, "ok": self.ok}


@dataclass(slots=True)
class Log:
    """The site's own log of one round: pages asked for, by whom, and what was answered."""

    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def pages(self) -> Counter[str]:
        return Counter(event["get"] for event in self.events if event["get"] not in ("robots", "stray"))

    @property
    def refusals(self) -> Counter[str]:
        """How often a page said "later": each is a reason to come again."""
        return Counter(event["get"] for event in self.events if event["status"] in (429, 503))

    def by(self, agent: str) -> Counter[str]:
        return Counter(event["get"] for event in self.events if event["agent"] == agent)

    def count(self, name: str) -> int:
        return sum(1 for event in self.events if event["get"] == name)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One round. `known`: for each spelling on a page that was read, whether the store has seen it. `orphans`: pages whose worker was
    killed after it had asked for them and before it settled them."""

    round: int
    log: Log
    stats: Mapping[str, Any]
    known: Sequence[bool]
    orphans: frozenset[str]
    problems: Sequence[str]
    seconds: float


def judge(world: World, evidence: Evidence, before: Evidence | None = None) -> list[Figure]:
    """`before`: the round before this one, whose pages need not be asked for again."""
    truth = world.reachable(evidence.round)
    old = world.reachable(before.round) if before is not None else {}
    must_ask = {name for name in truth if world.pages[name].kind not in NEVER_ASKED}
    expected = {name for name in must_ask if name not in old or name in world.starts}
    asked = evidence.log.pages
    allowed = {name: 1 + evidence.log.refusals[name] for name in expected}
    again = {name: count - allowed.get(name, 0) for name, count in asked.items() if count > allowed.get(name, 0)}
    excused = {name: count for name, count in again.items() if name in evidence.orphans and count == 1}
    stats = evidence.stats
    return [
        Figure("discovered", sum(evidence.known), len(evidence.known), "spellings of links, all known to the store"),
        Figure("distinct", stats["accepted"], len(truth), "pages behind them"),
        Figure("known", sum(evidence.known) - stats["accepted"], len(evidence.known) - len(truth), "spellings of a page it had"),
        Figure("fetched", len(asked), len(expected), "pages, start pages included"),
        Figure("fetched twice without cause", sum(again.values()) - sum(excused.values()), 0),
        Figure("fetched again, worker was killed", sum(excused.values()), None),
        Figure("lost", len(expected - asked.keys()) + stats["pending"] + stats["delayed"] + stats["leased"], 0),
        Figure("failed", stats["dead"], _kinds(world, truth, {"forbidden"}), "the page that lets nobody in"),
        Figure("forbidden by robots.txt, fetched", _kinds(world, asked, {"hidden"}), 0),
        Figure("asked for what is not there", evidence.log.count("stray"), 0),
        Figure("store's own check, problems", len(evidence.problems), 0),
    ]


def _kinds(world: World, names: Iterable[str], kinds: set[str]) -> int:
    return sum(1 for name in names if world.pages[name].kind in kinds)


def orphaned(world: World, asked: Iterable[str], leased: Iterable[str]) -> frozenset[str]:
    """Pages the dead worker had asked for and still held, with the redirect targets it had asked for on the way."""
    asked, found = set(asked), set()
    for name in leased:
        while name in asked and name not in found:
            found.add(name)
            if world.pages[name].kind != "redirect":
                break
            name = world.pages[name].goals[0]
    return frozenset(found)


def table(title: str, figures: Sequence[Figure]) -> str:
    """Plain text."""
    width = max(len(figure.name) for figure in figures)
    lines = [title, f"  {'':{width}}  {'urlsieve':>9}  {'the site':>9}"]
    for figure in figures:
        expected = "" if figure.expected is None else str(figure.expected)
        mark = "" if figure.expected is None else "ok" if figure.ok else "WRONG"
        lines.append(f"  {figure.name:{width}}  {figure.got:>9}  {expected:>9}  {mark:5} {figure.note}".rstrip())
    return "\n".join(lines)
