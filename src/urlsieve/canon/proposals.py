"""What was weighed goes in; what a person could confirm, and how far the rest is from it, comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from urlsieve.canon.evidence import Pair, Weighed, Weight
from urlsieve.canon.likeness import CASE, HOST, PARAMETER, SCHEME, SLASH, DomainOf, base_of
from urlsieve.canon.spelling import and_parents

if TYPE_CHECKING:
    from urlsieve.canon.rules import Rules

#: Clean pairs (with different contents) from which something is proposed, if there is no counter-example.
LEAST = 20
#: More other hosts below a domain than this, and hosts of it are not proposed: a rule would cover too much that nobody looked at.
MOST_KEPT_OUT = 64
_KEYS = {HOST: "hosts", SCHEME: "https", SLASH: "trailing_slash", CASE: "path_case"}


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that a rule could merge. key: of the rule (hosts, https, path_case, trailing_slash, drop). hosts: those it was seen on.
    name: of the parameter, for drop. clean, against: pairs for it, with different contents, and counter-examples. values: different ones
    of the parameter in these. bound: at most such a part of the pages would be merged wrongly, with 95 % confidence (the rule of three);
    None where a counter-example or too little was seen."""

    key: str
    hosts: tuple[str, ...]
    clean: int
    against: int
    samples: tuple[Pair, ...] = ()
    samples_against: tuple[Pair, ...] = ()
    name: str = ""
    values: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        return self.clean >= LEAST and not self.against

    @property
    def bound(self) -> float | None:
        return 3.0 / self.clean if self.ready else None

    def as_dict(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "name": self.name,
            "hosts": list(self.hosts),
            "clean": self.clean,
            "against": self.against,
            "needed": LEAST,
            "bound": self.bound,
            "samples": [list(pair) for pair in self.samples],
            "samples_against": [list(pair) for pair in self.samples_against],
            "values": len(self.values),
            "ready": self.ready,
        }


@dataclass(frozen=True, slots=True)
class Proposal:
    """One rule. match: as in a file of rules. hosts: other hosts → the one they are pages of. points: what it merges. under: the match of
    a rule that there is for these hosts already: a person has to put it in there. A rule without points keeps what it matches out of one
    that would cover it."""

    match: str
    hosts: tuple[Pair, ...] = ()
    points: tuple[Point, ...] = ()
    under: str | None = None


@dataclass(frozen=True, slots=True)
class Proposals:
    """rules: in the order of their names. others: what is not proposed, the nearest to it first. verified: match → pages that a confirmed
    rule merges, fetched all the same and found equal."""

    rules: tuple[Proposal, ...]
    others: tuple[Point, ...]
    verified: Mapping[str, int]


def proposals(result: Weighed, rules: Rules | None, verified: Mapping[str, int], domain_of: DomainOf) -> Proposals:
    """rules: today's."""
    points = [_point(weight) for weight in result.weights.values()]
    made: dict[str, Proposal] = {}
    others: list[Point] = []
    for hosts, target in _joined(points, result.pages):
        match = base_of(target, domain_of)
        if match in made or len(_below(match, hosts, result.pages)) > MOST_KEPT_OUT:
            continue
        inside = [point for point in points if set(point.hosts) <= hosts]
        points = [point for point in points if not set(point.hosts) <= hosts]
        rest = _together([point for point in inside if point.key != "hosts"])
        chosen = (*(point for point in inside if point.key == "hosts" and point.ready), *(point for point in rest if point.ready))
        others += [point for point in (*rest, *(point for point in inside if point.key == "hosts")) if not point.ready]
        mapped = tuple((host, target) for host in sorted(hosts - {target}))
        made[match] = Proposal(match, mapped, chosen, _rule_for(rules, hosts))
    alone: dict[str, list[Point]] = {}
    for point in points:
        if point.key != "hosts" and point.ready:
            alone.setdefault(point.hosts[0], []).append(point)
        else:
            others.append(point)
    for host, found in alone.items():
        made[f"={host}"] = Proposal(f"={host}", (), tuple(_sorted(found)), _rule_for(rules, {host}))
    for one in [one for one in made.values() if one.hosts and one.under is None]:
        for host in _below(one.match, {*dict(one.hosts), *dict(one.hosts).values()}, result.pages):
            made.setdefault(f"={host}", Proposal(f"={host}"))
    others.sort(key=lambda point: (point.against > 0, -point.clean, point.hosts, point.key, point.name))
    return Proposals(tuple(made[match] for match in sorted(made, key=lambda name: name.removeprefix("="))), tuple(others), verified)


def _below(match: str, hosts: set[str], pages: Mapping[str, int]) -> list[str]:
    """Other hosts that were seen and that a rule for `match` would cover, although nothing was found out about them."""
    return sorted(host for host in pages if host not in hosts and match in and_parents(host))


def _point(weight: Weight) -> Point:
    parameter = weight.kind.startswith(PARAMETER)
    return Point(
        "drop" if parameter else _KEYS[weight.kind],
        weight.hosts,
        weight.clean,
        weight.against,
        tuple(weight.samples),
        tuple(weight.samples_against),
        weight.kind.removeprefix(PARAMETER) if parameter else "",
        tuple(sorted(weight.values)),
    )


def _sorted(points: Iterable[Point]) -> list[Point]:
    order = (*_KEYS.values(), "drop")
    return sorted(points, key=lambda point: (order.index(point.key), point.name, point.hosts))


def _together(points: list[Point]) -> list[Point]:
    """Of hosts that become one: what is against it on one of them is against it on all, and what is for it counts where it is most."""
    found: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        found.setdefault((point.key, point.name), []).append(point)
    return _sorted(
        Point(
            key,
            tuple(sorted({host for point in same for host in point.hosts})),
            max(point.clean for point in same),
            sum(point.against for point in same),
            tuple(pair for point in same for pair in point.samples)[:10],
            tuple(pair for point in same for pair in point.samples_against)[:10],
            name,
            tuple(sorted({value for point in same for value in point.values})),
        )
        for (key, name), same in found.items()
    )


def _joined(points: list[Point], pages: Mapping[str, int]) -> list[tuple[set[str], str]]:
    """Hosts that are one, and which of them has the pages: the one where most were seen. Not where one pair of them has a
    counter-example. The largest first."""
    found: list[set[str]] = []
    for point in points:
        if point.key == "hosts" and point.ready:
            meeting = [one for one in found if one & set(point.hosts)]
            found = [one for one in found if one not in meeting] + [set(point.hosts).union(*meeting)]
    bad = [set(point.hosts) for point in points if point.key == "hosts" and point.against]
    sound = sorted((hosts for hosts in found if not any(pair <= hosts for pair in bad)), key=lambda hosts: (-len(hosts), sorted(hosts)))
    return [(hosts, max(hosts, key=lambda host: (pages.get(host, 0), host.startswith("www."), host))) for hosts in sound]


def _rule_for(rules: Rules | None, hosts: set[str]) -> str | None:
    if rules is None:
        return None
    return next((rule.name for host in sorted(hosts) for rule in rules.rules_for(host)), None)
