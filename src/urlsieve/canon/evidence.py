"""What fetched pages told goes in; for each thing that URLs may differ in, how often it made no difference and how often it did comes out.

A *clean pair* is two URLs that differ in one thing only and had the same content, or of which one led to the other. Two that had different
contents are a *counter-example*. What is counted is chosen so that a site cannot talk us into a merge:

- Contents are counted, not pairs: pairs with one content count once. An error page, a login page or an empty page that stands under a
  hundred addresses is one.
- A content that more than `MOST_PAGES` pages (paths) of a site share is no page's content, and no clean pair.
- A URL that had two contents changes by itself and proves nothing, neither way.
- One counter-example stops a merge, whatever else was seen.
- Hosts are compared inside of a family: those that differ in `www.`, `m.`, `amp.` or `mobile.` alone. All else is counted host by host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from urlsieve.canon.likeness import HOST, PARAMETER, DomainOf, Parts, base_of, difference, lowered, names_of, parts_of, rests, values_of
from urlsieve.canon.witnesses import Told

#: A content under more paths of a family than this is an error page or the like.
MOST_PAGES = 3
#: Pairs shown, of each sort.
MOST_SAMPLES = 10

Pair = tuple[str, str]


@dataclass(slots=True)
class Weight:
    """Of one kind on one host; of the kind host, between two of one family. contents: the different ones of clean pairs. against: how
    many counter-examples. values: those that a parameter had in clean pairs."""

    base: str
    kind: str
    hosts: tuple[str, ...]
    contents: set[str] = field(default_factory=set)
    against: int = 0
    samples: list[Pair] = field(default_factory=list)
    samples_against: list[Pair] = field(default_factory=list)
    values: set[str] = field(default_factory=set)

    @property
    def clean(self) -> int:
        return len(self.contents)


@dataclass(slots=True)
class Weighed:
    """pages: host → keys seen there, of hosts that a rule could name. clashing: keys of counter-examples."""

    weights: dict[tuple[str, tuple[str, ...]], Weight] = field(default_factory=dict)
    pages: dict[str, int] = field(default_factory=dict)
    clashing: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Family:
    keys: dict[str, Parts] = field(default_factory=dict)
    marks: dict[str, set[str]] = field(default_factory=dict)
    led: list[tuple[str, str, str | None]] = field(default_factory=list)


def weighed(told: Iterable[Told], keys: Mapping[str, str | None], domain_of: DomainOf) -> Weighed:
    """keys: URL as told → its key under today's rules; None where it has none."""
    families: dict[str, _Family] = {}
    result = Weighed()
    for one in told:
        _take(families, one, keys, domain_of)
    for base, family in families.items():
        for parts in family.keys.values():
            result.pages[parts.host] = result.pages.get(parts.host, 0) + 1
        _Weighing(base, family, domain_of, result).run()
    return result


def _take(families: dict[str, _Family], told: Told, keys: Mapping[str, str | None], domain_of: DomainOf) -> None:
    key = keys.get(told.url)
    parts = None if key is None else parts_of(key)
    if key is None or parts is None:
        return
    family = families.setdefault(base_of(parts.host, domain_of), _Family())
    family.keys[key] = parts
    if told.mark is not None:
        family.marks.setdefault(key, set()).add(told.mark)
    final = None if told.final is None else keys.get(told.final)
    if final is None or final == key:
        return
    led_to = parts_of(final)
    if led_to is None:
        return
    other = families.setdefault(base_of(led_to.host, domain_of), _Family())
    other.keys[final] = led_to
    if told.mark is not None:
        other.marks.setdefault(final, set()).add(told.mark)
    if other is family:
        family.led.append((key, final, told.mark))


class _Weighing:
    """One family into the result."""

    def __init__(self, base: str, family: _Family, domain_of: DomainOf, result: Weighed) -> None:
        self.base, self.family, self.domain_of, self.result = base, family, domain_of, result
        self.steady = {key: next(iter(marks)) for key, marks in family.marks.items() if len(marks) == 1}
        pages: dict[str, set[str]] = {}
        for key, mark in self.steady.items():
            pages.setdefault(mark, set()).add(lowered(family.keys[key].path).removesuffix("/"))
        self.common = {mark for mark, paths in pages.items() if len(paths) > MOST_PAGES}

    def run(self) -> None:
        for (kind, rest), members in self._classes().items():
            if kind.startswith(PARAMETER) and rest in self.steady:
                members.append(rest)
            if len(members) < 2:
                continue
            if kind == HOST:
                for one, other in combinations(sorted(members), 2):
                    self._weigh(self._weight(kind, one, other), [one, other])
            else:
                self._weigh(self._weight(kind, members[0], members[0]), members)
        for one, other, mark in self.family.led:
            differs = difference(self.family.keys[one], self.family.keys[other], self.domain_of)
            if differs is not None and mark not in self.common:
                self._clean(self._weight(differs, one, other), mark or other, one, other)

    def _classes(self) -> dict[tuple[str, str], list[str]]:
        classes: dict[tuple[str, str], list[str]] = {}
        for key in self.steady:
            for kind, rest in rests(self.family.keys[key], self.domain_of).items():
                classes.setdefault((kind, rest), []).append(key)
        return classes

    def _weight(self, kind: str, one: str, other: str) -> Weight:
        hosts = tuple(sorted({self.family.keys[one].host, self.family.keys[other].host}))
        return self.result.weights.setdefault((kind, hosts), Weight(self.base, kind, hosts))

    def _weigh(self, weight: Weight, members: list[str]) -> None:
        """Members of one class: all of them one page, or not."""
        first = members[0]
        other = next((key for key in members if self.steady[key] != self.steady[first]), None)
        if other is not None:
            weight.against += 1
            self.result.clashing.update((first, other))
            _keep(weight.samples_against, first, other)
        elif self.steady[first] not in self.common:
            self._clean(weight, self.steady[first], first, members[1])
            if weight.kind.startswith(PARAMETER):
                name = weight.kind.removeprefix(PARAMETER)
                every = (self.family.keys[key] for key in members)
                weight.values.update(values_of(parts, name) for parts in every if name in names_of(parts))

    def _clean(self, weight: Weight, content: str, one: str, other: str) -> None:
        if content not in weight.contents:
            weight.contents.add(content)
            _keep(weight.samples, one, other)


def _keep(samples: list[Pair], one: str, other: str) -> None:
    if len(samples) < MOST_SAMPLES:
        samples.append((one, other))


def kept_by(result: Weighed, keys: Mapping[str, str | None]) -> Callable[[Told], bool]:
    """Which lines stay, however many there are: those of counter-examples."""
    return lambda told: keys.get(told.url) in result.clashing or (told.final is not None and keys.get(told.final) in result.clashing)
