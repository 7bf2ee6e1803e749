"""Site rules: a file's text goes in, checked and compiled rules come out; what differs between two sets of them is told.

`match` is a host and everything below it (`=host`: exactly it). Of all rules that match a URL one is applied, the most specific: an exact
host before its parents, a longer parent before a shorter, a longer path before a shorter. Nothing cascades, so a reader sees one rule.
"""

from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, final

from urlsieve.canon import rulechecks, rulefile, ruletable, rulewriter, spelling
from urlsieve.canon.rulediff import Difference, differences
from urlsieve.canon.rulefile import Parsed, Problem
from urlsieve.canon.ruletable import Compiled
from urlsieve.canon.rulevalues import Rule
from urlsieve.canon.scope import Scope
from urlsieve.errors import ConfigError

if TYPE_CHECKING:
    from os import PathLike


class Counts(NamedTuple):
    """What a set of rules contains. `proposed`: rules with something that nobody has confirmed yet."""

    rules: int
    applied: int
    proposed: int
    suspended: int
    examples: int
    groups: int


@final
class Rules:
    """A checked set of site rules, immutable; `Rules.load(path)` or `Rules.parse(text)` make one, or raise ConfigError.

    rules: in the file's order. scope: what is in scope. text: the same set in normal form, in which order and comments of the file are
    gone; parse(text) gives an equal set. digest: 64 hexadecimal digits of text. Two sets are equal if their texts are.
    """

    def __init__(self, parsed: Parsed, name: str) -> None:
        self.name = name
        self._parsed = parsed
        self.rules = parsed.rules
        self.scope = Scope(parsed.scope, parsed.rules)
        self.groups = {group: matches for group, matches, _ in parsed.groups}
        self.text = rulewriter.written(parsed)
        self._by_host = ruletable.rules_by_host(self.rules)
        self._group_by_match = {match: group for group, matches in self.groups.items() for match in matches}

    @classmethod
    def load(cls, path: "str | PathLike[str]") -> "Rules":
        """The rules of a file. ConfigError: it cannot be read, is not UTF-8, or has mistakes, each told with its line."""
        return cls.parse(cls.read(path), str(path))

    @staticmethod
    def read(path: "str | PathLike[str]") -> str:
        """The text of a file. ConfigError: it cannot be read, or is not UTF-8."""
        name = str(path)
        try:
            with open(path, "rb") as file:
                data = file.read(4 * rulefile.MOST_BYTES + 1)
        except (OSError, ValueError) as error:
            raise ConfigError(f"the rules {name!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ConfigError(f"{name}:{line}: this is not UTF-8: save the file as UTF-8") from None

    @classmethod
    def parse(cls, text: str, name: str = "rules", *, thorough: bool = False) -> "Rules":
        """The rules of a text; `name` stands in messages. `thorough`: 1,000 made-up URLs for every rule, not only where it rewrites."""
        rules, problems = cls.examined(text, name, thorough=thorough)
        if rules is None:
            raise ConfigError(said(name, problems))
        return rules

    @classmethod
    def examined(cls, text: str, name: str = "rules", *, thorough: bool = False) -> tuple["Rules | None", list[Problem]]:
        """The rules, or None and every mistake that was found."""
        from urlsieve.canon.ruletrials import Trial

        parsed = rulefile.parse(text.replace("\r\n", "\n"))
        problems = parsed.problems or rulechecks.problems(parsed)
        if not problems and parsed.rules:
            problems = Trial(parsed.rules).problems(thorough=thorough)
        return (None if problems else cls(parsed, name)), sorted((problem.cut() for problem in problems), key=lambda problem: problem.line)

    @classmethod
    def kept(cls, text: str, name: str) -> "Rules":
        """Of a text that was checked before it was kept: only its shape is checked again."""
        parsed = rulefile.parse(text)
        if parsed.problems:
            raise ConfigError(said(name, [problem.cut() for problem in parsed.problems]))
        return cls(parsed, name)

    def with_rule(self, old: Rule, new: Rule) -> "Rules":
        """The set with one of its rules confirmed, suspended or resumed. What a rule proposes was checked with it, so nothing is tried
        again: with thousands of rules that takes a long time, and a worker may be waiting."""
        rules = tuple(new if rule is old else rule for rule in self.rules)
        return Rules.kept(rulewriter.written(self._parsed._replace(rules=rules)), self.name)

    def without_merges(self) -> "Rules | None":
        """The set without `hosts`, `https` and `path_case`. None: it applies none of them."""
        if not any(rule.suspended is None and rule.confirmed is not None and rule.merges for rule in self.rules):
            return None
        plain = (replace(rule, hosts=(), https=None, path_case=None, examples=()) for rule in self.rules)
        return Rules(self._parsed._replace(rules=tuple(plain)), self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __len__(self) -> int:
        return len(self.rules)

    def __repr__(self) -> str:
        return f"<Rules {self.name!r}: {len(self.rules)} rules, {self.counts.proposed} with proposals>"

    @cached_property
    def digest(self) -> str:
        from hashlib import sha256

        return sha256(self.text.encode()).hexdigest()

    @cached_property
    def counts(self) -> Counts:
        live = [rule for rule in self.rules if rule.suspended is None]
        return Counts(
            rules=len(self.rules),
            applied=len(live),
            proposed=sum(bool(rule.proposed) for rule in live),
            suspended=len(self.rules) - len(live),
            examples=sum(len(rule.examples) for rule in self.rules),
            groups=len(self.groups),
        )

    def compiled(self, *, switches: tuple[str, ...] = (), proposed: bool = False, limited: bool = True) -> Compiled | None:
        """The kernel's table; made once for each way. Not `limited`: without limits against traps. ConfigError where a switch makes two
        rules one."""
        return _compiled(self, switches, proposed, limited)

    def rules_for(self, host: str) -> list[Rule]:
        """The rules whose match covers a host (without port), the most specific first; those with a path among them."""
        found = [rule for above in spelling.and_parents(host) for rule in self._by_host.get(above, ()) if rule.covers(host)]
        return sorted(found, key=lambda rule: (-len(rule.host), not rule.exact, rule.path is None, -len(rule.path or "")))

    def proposed_of(self, rule: Rule) -> tuple[str, ...]:
        """What of a rule, also of one as it is applied, nobody has confirmed."""
        return self.source_of(rule).proposed

    def source_of(self, rule: Rule) -> Rule:
        """The rule of this set that another, as it is applied, was made of."""
        # not by its line: sets that say the same share what was compiled, and their files may have other lines
        return next(one for one in self._by_host[rule.host] if (one.match, one.path) == (rule.match, rule.path))

    def group_of(self, host: str) -> str | None:
        """The name of the group a host (with or without port) shares its turn with, or None: the most specific match says it."""
        name = ruletable.host_of(host)
        exact = self._group_by_match.get("=" + name)
        if exact is not None:
            return exact
        return next((group for above in spelling.and_parents(name) if (group := self._group_by_match.get(above)) is not None), None)

    def target_of(self, site: str) -> str | None:
        """Where a rule takes a site (host[:port]), or None: its URLs have keys of that other site."""
        for rule in self.rules_for(ruletable.host_of(site)):
            if rule.suspended is None:
                target = dict(ruletable.resolved(rule.applied.hosts)).get(site)
                if target is not None:
                    return target
                if rule.path is None:
                    break
        return None

    def sources_of(self, site: str) -> tuple[str, ...]:
        """The sites (host[:port]) that rules take to this one."""
        found = {
            source
            for rule in self.rules
            if rule.suspended is None
            for source, target in ruletable.resolved(rule.applied.hosts)
            if target == site
        }
        return tuple(sorted(source for source in found if self.target_of(source) == site))

    def differences(self, previous: "Rules | None") -> tuple[Difference, ...]:
        """What is not as it was, match by match; see Difference. None: there were no rules before."""
        return differences(() if previous is None else previous.rules, self.rules)

    def touched(self, previous: "Rules | None") -> tuple[str, ...]:
        """The matches whose URLs may have other keys than before: `example.com` (and everything below) or `=www.example.com`."""
        return tuple(sorted({one.match for one in self.differences(previous)}))

    def tightens(self, previous: "Rules | None") -> tuple[str, ...]:
        """Those of them where URLs that had two keys may have one now."""
        return tuple(sorted({one.match for one in self.differences(previous) if one.tightens}))

    def loosens(self, previous: "Rules | None") -> tuple[str, ...]:
        """Those of them where URLs that had one key may have two now."""
        return tuple(sorted({one.match for one in self.differences(previous) if one.loosens}))

    def as_dict(self) -> dict[str, Any]:
        """What `rules check --json` prints of them."""
        return {**self.counts._asdict(), "digest": self.digest}


def said(name: str, problems: list[Problem]) -> str:
    """One line of text for the first mistake, and how many more there are."""
    first = problems[0]
    more = f" (and {len(problems) - 1} more: urlsieve rules check {name})" if len(problems) > 1 else ""
    return f"{name}:{first.line}: {first.text}{more}"


def rules_of(rules: object) -> Rules | None:
    """What `rules=` takes: None, a Rules, or a path of a file."""
    if rules is None or rules == {}:
        return None
    if isinstance(rules, Rules):
        return rules
    if isinstance(rules, str) or hasattr(rules, "__fspath__"):
        return Rules.load(rules)
    raise ConfigError(f"rules is a path or a Rules, not {type(rules).__name__}")


@lru_cache(maxsize=32)
def _compiled(rules: Rules, switches: tuple[str, ...], proposed: bool, limited: bool) -> Compiled | None:
    return ruletable.compile_rules(rules.rules, switches=switches, proposed=proposed, limited=limited)
