"""Rules whose shape is right go in, every mistake of meaning with its line and what to write instead comes out.

What a rule says of a URL is tried on the kernel itself, in profile safe: its examples, and URLs made for it.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from urlsieve._kernel import Regex
from urlsieve.canon import ruletable, spelling
from urlsieve.canon.rulefile import Parsed, Problem
from urlsieve.canon.rulevalues import Bounds, Rule
from urlsieve.canon.suffixes import registrable_domain
from urlsieve.errors import ConfigError

MOST_PATHS: Final = 64  # rules with a path that one host may have to try
MOST_INSTRUCTIONS: Final = 500  # of all rewrites of a rule
_GROUP_NAME = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_DOLLAR = re.compile(r"\$(.?)")


def problems(parsed: Parsed) -> list[Problem]:
    """What is wrong with each rule by itself, with the rules together, with scope and groups."""
    found = [Problem(rule.line, text) for rule in parsed.rules for text in _alone(rule)]
    found += _together(parsed.rules)
    found += [Problem(parsed.scope_line, text) for text in _bounds(parsed.scope)]
    found += _groups(parsed)
    return found


# --- one rule ---------------------------------------------------------------------------------------------------------------------------


def _alone(rule: Rule) -> Iterator[str]:
    yield from _match(rule)
    yield from _path("path", rule.path)
    yield from _names(rule)
    yield from _host_map(rule)
    yield from _rewrites(rule)
    if rule.rewrite and not rule.examples:
        yield 'a rule with rewrite needs examples: write examples = [["the URL as found", "its key"]]'
    if rule.scope is not None:
        yield from _bounds(rule.scope)


def _match(rule: Rule) -> Iterator[str]:
    wrong = match_problem(rule.match)
    if wrong:
        yield f"match = {rule.match!r}: {wrong}"


def match_problem(match: str) -> str | None:
    """What is wrong with a host, or a host and everything below it."""
    host, equals = match.removeprefix("="), "=" if match.startswith("=") else ""
    wrong = spelling.host_problem(host, equals)
    if wrong is None and ":" in host.partition("]")[2] + ("" if host.startswith("[") else host):
        wrong = f'a rule is for all ports of a host; write "{equals}{host.rpartition(":")[0]}"'
    if wrong is None and not equals and not spelling.is_address(host) and registrable_domain(host) is None:
        wrong = f'below {host} are sites of strangers (a public suffix); write a registrable domain, or "={host}" for exactly that host'
    return wrong


def _path(key: str, path: str | None) -> Iterator[str]:
    if path is None:
        return
    if not path.startswith(("/", "*")):
        yield f'{key} = {path!r}: a path begins with /; write "/{path}"'
        return
    wrong = spelling.glob_problem(path, spelling.path_spelling)
    if wrong:
        yield f"{key} = {path!r}: {wrong}"


def _names(rule: Rule) -> Iterator[str]:
    if rule.drop and rule.keep is not None:
        yield "drop and keep exclude each other: keep names what stays, everything else is dropped; leave one of them out"
    from urlsieve.canon.noise import NAMES

    for key, names in (("drop", rule.drop), ("keep", rule.keep or ())):
        for name in names:
            wrong = spelling.glob_problem(name, spelling.name_spelling) if name else "an empty name"
            if wrong:
                yield f"{key}: {name!r}: {wrong}"
    for name in rule.keep or ():
        if rule.noise and name.lower() in NAMES:
            yield f"keep: {name!r} is a global noise name and would still be dropped: add noise = false, or leave it out"


def _host_map(rule: Rule) -> Iterator[str]:
    for found, target in rule.hosts:
        for site in (found, target):
            host = ruletable.host_of(site)
            wrong = spelling.site_problem(site)
            if wrong:
                yield f"hosts: {site!r}: {wrong}"
            elif not rule.covers(host):
                below = f'write match = "{rule.host}"' if rule.exact else "put it into a rule whose match covers both"
                yield f"hosts: {site} is not under match = {rule.match!r}: {below}"
        if found == target:
            yield f"hosts: {found} goes to itself: leave it out"
            return
    try:
        ruletable.resolved(rule.hosts)
    except ConfigError as error:
        yield str(error)


def _rewrites(rule: Rule) -> Iterator[str]:
    size = 0
    for rewrite in rule.rewrite:
        odd = next((c for c in rewrite.re if not (c.isascii() and c.isprintable())), None)
        if odd is not None:
            spelt = "".join(f"%{byte:02X}" for byte in odd.encode("utf-8", "surrogatepass"))
            yield f"rewrite: re = {rewrite.re!r}: paths are printable ASCII; write others as %XX: (?:{spelt}) for {odd!r}, not in [ ]"
            continue
        try:
            regex = Regex(rewrite.re.encode("utf-8", "surrogatepass"))
        except ValueError as error:
            what, at = error.args
            yield f"rewrite: re = {rewrite.re!r}, at character {at + 1}: {what}"
            continue
        size += regex.size
        yield from (f"rewrite: to = {rewrite.to!r}: {wrong}" for wrong in _replacement(rewrite.to, regex.groups))
    if size > MOST_INSTRUCTIONS:
        most = f"{size} instructions of {MOST_INSTRUCTIONS}"
        yield f"rewrite: the expressions are too large together ({most}): use several rules, or smaller {{m,n}}"
    if len(rule.rewrite) > 16:
        yield f"rewrite: {len(rule.rewrite)} rewrites; at most 16: use alternatives with |"


def _replacement(to: str, groups: int) -> Iterator[str]:
    if len(to) > 1000:
        yield "longer than 1000 characters"
    if "?" in to or "#" in to:
        yield "a rewrite makes a path: ? and # cannot be in it; write %3F or %23 for the characters"
    elif not (to.isascii() and to.isprintable()):
        yield f"ASCII only; write {spelling.path_spelling(to)!r}"
    for behind in _DOLLAR.findall(to):
        if behind.isdecimal():
            if int(behind) > groups:
                yield f"${behind}: the expression has {groups} groups"
        elif behind != "$":
            yield "a $ is followed by the number of a group; write $$ for the character"


# --- together ---------------------------------------------------------------------------------------------------------------------------


def _together(rules: Sequence[Rule]) -> Iterator[Problem]:
    by_host: dict[str, list[Rule]] = defaultdict(list)
    first: dict[tuple[str, str | None], Rule] = {}
    for rule in rules:
        same = first.setdefault((rule.match, rule.path), rule)
        if same is not rule:
            path = f" and path = {rule.path!r}" if rule.path else ""
            yield Problem(rule.line, f"match = {rule.match!r}{path} is that of line {same.line} too: one rule for one match; join the two")
        if rule.suspended is None:
            by_host[rule.host].append(rule)
    for host, own in by_host.items():
        chain = [rule for above in spelling.and_parents(host) for rule in by_host.get(above, ()) if rule.path is not None]
        if len(chain) > MOST_PATHS:
            text = f"{len(chain)} rules with a path for {host} and its parents; at most {MOST_PATHS}: use globs, or rewrite"
            yield Problem(own[-1].line, text)
    for rule in rules:
        if rule.suspended is None:
            yield from (Problem(rule.line, text) for text in _taken_by_others(rule, by_host))


def _taken_by_others(rule: Rule, by_host: dict[str, list[Rule]]) -> Iterator[str]:
    """A moved URL must be under the rule that moved it, or its key's key would be another."""
    for found, target in rule.hosts:
        for site in (found, target):
            host = ruletable.host_of(site)
            other = next(ruletable.more_specific(rule, host, by_host), None)
            if other is None:
                continue
            under = f"hosts: {site} is under the more specific rule {other.name!r} of line {other.line}"
            if site == target:
                yield f"{under}, which would change it again: join them"
            elif other.path is None:
                yield f"{under}, so this never applies: move it there"


# --- scope and groups -------------------------------------------------------------------------------------------------------------------


def _bounds(bounds: Bounds) -> Iterator[str]:
    for key in ("include_hosts", "exclude_hosts"):
        for match in getattr(bounds, key):
            wrong = spelling.host_problem(match.removeprefix("="), "=" if match.startswith("=") else "")
            if wrong:
                yield f"{key}: {match!r}: {wrong}"
    for key in ("include_paths", "exclude_paths"):
        for path in getattr(bounds, key):
            yield from _path(key, path or "x")
    for key in ("include_extensions", "exclude_extensions"):
        for extension in getattr(bounds, key):
            if extension.startswith("."):
                yield f'{key}: {extension!r}: an extension is written without dot; write "{extension.lstrip(".")}"'
            elif not (extension.isascii() and (extension == "" or extension.isalnum()) and extension == extension.lower()):
                yield f"{key}: {extension!r}: an extension is lower-case letters and digits"


def _groups(parsed: Parsed) -> Iterator[Problem]:
    taken: dict[str, str] = {}
    for name, matches, line in parsed.groups:
        if not _GROUP_NAME.fullmatch(name):
            yield Problem(line, f"group {name!r}: a name has 1 to 64 letters, digits and . _ : -")
        for match in matches:
            wrong = match_problem(match)
            if wrong:
                yield Problem(line, f"group {name}: {match!r}: {wrong}")
            elif taken.setdefault(match, name) != name:
                yield Problem(line, f"group {name}: {match!r} is in group {taken[match]} too: a site has one turn")
