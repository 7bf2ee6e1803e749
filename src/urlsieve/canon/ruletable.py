"""Checked rules and a profile's switches go in, the kernel's table and the rule behind each of its numbers come out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from urlsieve._kernel import RuleTable
from urlsieve.canon import spelling
from urlsieve.canon.rulevalues import Rule, order_of
from urlsieve.errors import ConfigError

_FRAGMENTS = {"drop": "0", "routes": "1", "keep": "2"}


class Compiled(NamedTuple):
    """`rules` by the numbers the kernel names; `switched`: the same as they are under the profile's switches."""

    table: RuleTable
    rules: tuple[Rule, ...]
    switched: tuple[Rule, ...]


def compile_rules(
    rules: Iterable[Rule], *, switches: tuple[str, ...] = (), proposed: bool = False, limited: bool = True
) -> Compiled | None:
    """None if no rule applies. `proposed`: also what nobody has confirmed. Not `limited`: without limits against traps. ConfigError where a
    switch makes two rules one."""
    wanted = [rule if proposed else rule.applied for rule in rules if rule.suspended is None]
    switched = [_switched(rule, switches) for rule in wanted]
    numbered = sorted(zip(switched, wanted, strict=True), key=lambda pair: order_of(pair[0]))
    if _hosts_switches(switches):
        _refuse_what_meets(numbered, " and ".join(_hosts_switches(switches)))
    if not numbered:
        return None
    text = "".join(lines_of(rule if limited else replace(rule, scope=None)) for rule, _ in numbered)
    return Compiled(RuleTable(text.encode("ascii")), tuple(rule for _, rule in numbered), tuple(rule for rule, _ in numbered))


def _refuse_what_meets(numbered: Sequence[tuple[Rule, Rule]], switch: str) -> None:
    """Rules that are apart in the file may meet where hosts have lost their www."""
    for (a, one), (b, other) in pairwise(numbered):
        if (a.match, a.path) == (b.match, b.path):
            raise ConfigError(
                f"with {switch} the rules of lines {one.line} and {other.line} are for the same host {a.match!r}: keep one of them, "
                "or leave the switch out"
            )
    by_host = rules_by_host(rule for rule, _ in numbered)
    for rule, _ in numbered:
        for _, target in rule.hosts:
            for other in more_specific(rule, host_of(target), by_host):
                raise ConfigError(
                    f"line {rule.line}: hosts: with {switch} {target} is under the more specific rule of line {other.line}, which would "
                    "change it again: join them, or leave the switch out"
                )


def host_of(site: str) -> str:
    """Of host[:port]."""
    return site.partition("]")[0] + "]" if site.startswith("[") else site.partition(":")[0]


def rules_by_host(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        found.setdefault(rule.host, []).append(rule)
    return found


def more_specific(rule: Rule, host: str, by_host: dict[str, list[Rule]]) -> Iterator[Rule]:
    """Other rules that a host is under before it is under this one, whatever their paths are."""
    for above in spelling.and_parents(host):
        for other in by_host.get(above, ()):
            if other.covers(host) and (len(other.host), other.exact) > (len(rule.host), rule.exact):
                yield other


def lines_of(rule: Rule, *, everywhere: bool = False) -> str:
    """The rule in the kernel's language (rules.h). `everywhere`: for every URL, whatever its host and path."""
    lines = ["r\ta\t\t"] if everywhere else [f"r\t{'e' if rule.exact else 'b'}\t{rule.host}\t{rule.path or ''}"]
    lines += [f"d\t{name}" for name in rule.drop]
    if rule.keep is not None:
        lines += ["k", *(f"k\t{name}" for name in rule.keep)]
    lines += [f"h\t{found}\t{target}" for found, target in resolved(rule.hosts)]
    lines += [f"w\t{rewrite.re}\t{rewrite.to}" for rewrite in rule.rewrite]
    lines += ["s"] if rule.https else []
    lines += ["c"] if rule.path_case else []
    lines += ["t"] if rule.trailing_slash else []
    lines += ["o"] if rule.sort else []
    lines += [] if rule.noise else ["n"]
    lines += [f"f\t{_FRAGMENTS[rule.fragment]}"] if rule.fragment else []
    traps = dict(rule.scope.traps) if rule.scope is not None else {}
    lines += [f"l\t{traps.get('segments', '-')}\t{traps.get('repeats', '-')}\t{traps.get('names', '-')}"] if traps else []
    return "\n".join(lines) + "\n"


def resolved(hosts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The map with every chain followed to its end. ConfigError for a cycle."""
    ways = dict(hosts)
    ends: dict[str, str] = {}
    for start in ways:
        passed = [start]
        while passed[-1] in ways and passed[-1] not in ends:
            if ways[passed[-1]] in passed:
                raise ConfigError(f"hosts go in a circle: {' → '.join([*passed, ways[passed[-1]]])}; leave one of these arrows out")
            passed.append(ways[passed[-1]])
        end = ends.get(passed[-1], passed[-1])
        ends.update((host, end) for host in passed if host in ways)
    return sorted(ends.items())


# --- what switches do to hosts ----------------------------------------------------------------------------------------------------------
# The kernel applies them before it asks the table, and the key they make must find the same rule: so the table speaks of hosts without www.


def _hosts_switches(switches: tuple[str, ...]) -> list[str]:
    return [name for name in ("strip_www", "strip_host_dot") if name in switches]


def _switched(rule: Rule, switches: tuple[str, ...]) -> Rule:
    if not _hosts_switches(switches):
        return rule
    host, switch = stripped(rule.host, switches), " and ".join(_hosts_switches(switches))
    if host != rule.host and not rule.exact:
        raise ConfigError(
            f"line {rule.line}: match = {rule.match!r} with {switch}: that host becomes {host}, and the rule would be for more than it "
            f'says; write match = "={rule.host}", or match = "{host}"'
        )
    moved: dict[str, str] = {}
    for found, target in resolved(rule.hosts):
        a, b = stripped(found, switches), stripped(target, switches)
        if moved.setdefault(a, b) != b:
            raise ConfigError(f"line {rule.line}: hosts: with {switch} {a} would go to both {moved[a]} and {b}")
    hosts = tuple((a, b) for a, b in sorted(moved.items()) if a != b)
    resolved(hosts)  # a circle may only appear now
    return replace(rule, match=("=" if rule.exact else "") + host, hosts=hosts)


def stripped(site: str, switches: tuple[str, ...]) -> str:
    """The site as the kernel's switches leave it (tidy.c does the same)."""
    host = host_of(site)
    port = site[len(host) :]
    if "strip_host_dot" in switches and len(host) > 1 and host.endswith(".") and not host.endswith(".."):
        host = host[:-1]
    if "strip_www" in switches:
        while host.startswith("www.") and len(host) > 4 and host[4] != "." and "." in host[4:-1]:
            host = host[4:]
    return host + port
