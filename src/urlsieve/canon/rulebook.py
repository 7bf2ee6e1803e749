"""The rules as a store keeps them: today's set, the sets before it that still matter, and who changed what; as text and as a value.

A set that came before matters as long as URLs that today's rules merge may have been seen under the keys it gave them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from urlsieve.canon import spelling
from urlsieve.canon.rules import Rules
from urlsieve.canon.ruletable import host_of, resolved, stripped
from urlsieve.canon.rulevalues import Rule
from urlsieve.errors import ConfigError, StoreMismatch

#: Of the text. A newer one is refused.
FORMAT = 1
#: Sets before today's that are kept, and lines of the history. An older set that is let go costs refetches, never a page.
MOST_FORMER, MOST_CHANGES = 16, 200


@dataclass(frozen=True, slots=True)
class Changed:
    """One line of the history. at: seconds since the epoch; what: apply, confirm, suspend or resume; match: of which rule."""

    generation: int
    at: float
    what: str
    by: str = ""
    match: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Book:
    """rules: None where there are none. former: (generation, rules) of sets before, the newest first; the first of them is the last one."""

    generation: int = 0
    rules: Rules | None = None
    former: tuple[tuple[int, Rules | None], ...] = ()
    changes: tuple[Changed, ...] = ()

    @property
    def text(self) -> str:
        """What a store keeps."""
        known = {
            "format": FORMAT,
            "rules": _text(self.rules),
            "former": [[generation, _text(rules)] for generation, rules in self.former],
            "changes": [[c.generation, c.at, c.what, c.by, c.match, c.evidence] for c in self.changes],
        }
        return json.dumps(known, ensure_ascii=False)

    def since(self, rule: Rule) -> int:
        """The first generation of which it can be told that it had this rule, just as it is, and all after it."""
        found = self.generation
        for generation, rules in self.former:
            if rules is None or not any(replace(other, line=rule.line) == rule for other in rules.rules):
                break
            found = generation
        return found

    def next(self, rules: Rules | None, changed: Changed) -> Book:
        """The book after a change. Of the sets before, those that can still tell something stay."""
        rules = rules if rules is not None and rules.text else None
        former = [(self.generation, self.rules)]
        former += [(number, old) for number, old in self.former if asked(rules, old).tightened and old not in (rules, self.rules)]
        changed = replace(changed, generation=self.generation + 1)
        return Book(self.generation + 1, rules, tuple(former[:MOST_FORMER]), (*self.changes, changed)[-MOST_CHANGES:])


def read(generation: int, text: str, where: str) -> Book:
    """StoreMismatch: a newer urlsieve wrote it."""
    if not text.startswith("{"):
        return Book(generation, _rules(text, where))
    known = json.loads(text)
    if known["format"] > FORMAT:
        raise StoreMismatch(
            f"the rules of {where} have format {known['format']}, and this urlsieve reads up to {FORMAT}: use a newer one", "rules"
        )
    former = tuple((number, _rules(old, where)) for number, old in known["former"])
    return Book(generation, _rules(known["rules"], where), former, tuple(Changed(*line) for line in known["changes"]))


def _text(rules: Rules | None) -> str:
    return "" if rules is None else rules.text


def _rules(text: str, where: str) -> Rules | None:
    rules = Rules.kept(text, f"the rules of {where}")
    return rules if rules.text else None


@dataclass(frozen=True, slots=True)
class Matches:
    """Which sites a set of matches covers. `sites`: these too."""

    matches: frozenset[str] = frozenset()
    sites: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.matches or self.sites)

    def covers(self, site: str) -> bool:
        """A site or a host, with or without its port."""
        host = host_of(site)
        if site in self.sites or host in self.sites or f"={host}" in self.matches:
            return True
        return any(above in self.matches for above in spelling.and_parents(host))


def asked(rules: Rules | None, former: Rules | None, switches: Sequence[str] = ()) -> Asked:
    """Of which URLs a key that the former rules gave tells that today's URL was seen: where today's can only merge more than those did."""
    found = () if rules is None and former is None else (rules or _NONE).differences(former)
    return Asked(
        _matches({one.match for one in found if one.tightens}, (), switches),
        _matches({one.match for one in found if one.loosens}, (), switches),
    )


@dataclass(frozen=True, slots=True)
class Asked:
    tightened: Matches
    loosened: Matches

    def covers(self, host: str) -> bool:
        return self.tightened.covers(host) and not self.loosened.covers(host)


def touched(rules: Rules | None, former: Rules | None, switches: Sequence[str] = ()) -> tuple[Matches, Matches]:
    """(the sites of URLs that may have other keys than under the former rules; those of them with keys that may stand for pages which
    today's rules tell apart and the former did not)."""
    found = (rules or _NONE).differences(former)

    def covered(matches: set[str]) -> Matches:
        targets: set[str] = set()
        for every in (rules, former):
            for rule in () if every is None else every.rules:
                if rule.match in matches:
                    targets.update(target for _, target in resolved(rule.hosts))
        return _matches(matches, targets, switches)

    return covered({one.match for one in found}), covered({one.match for one in found if one.loosens})


def _matches(matches: set[str], sites: Sequence[str] | set[str], switches: Sequence[str]) -> Matches:
    def spelt(match: str) -> str:
        host = match.removeprefix("=")
        return match[: len(match) - len(host)] + stripped(host, tuple(switches))

    names = tuple(switches)
    return Matches(frozenset({*matches, *map(spelt, matches)}), frozenset({*sites, *(stripped(site, names) for site in sites)}))


def rule_of(rules: Rules, match: str) -> Rule:
    """The rule of this match, or of this match, a blank and its path. ConfigError: there is none, or several with different paths."""
    found = [rule for rule in rules.rules if rule.name == match] or [rule for rule in rules.rules if rule.match == match]
    if not found:
        known = ", ".join(sorted({rule.name for rule in rules.rules})[:10]) or "none"
        raise ConfigError(f"there is no rule {match!r}; there are: {known}")
    if len(found) > 1:
        raise ConfigError(f"{match!r} has several rules, one for each path: say which, as in {found[0].name!r}")
    return found[0]


_NONE = Rules.kept("", "no rules")
