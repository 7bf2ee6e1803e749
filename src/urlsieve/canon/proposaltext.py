"""Proposals go in, a file of site rules comes out in which nothing merges before a person has looked.

`hosts`, `https` and `path_case` are written without `confirmed`, so they are only proposed. What would merge as soon as the file is applied
(`drop`, `trailing_slash`) is a comment.
"""

from __future__ import annotations

from collections.abc import Iterator

from urlsieve.canon.proposals import LEAST, Point, Proposal, Proposals
from urlsieve.canon.rulewriter import text_of

_SAMPLES, _OTHERS, _VALUES = 3, 50, 5


def toml(found: Proposals, today: str) -> str:
    """today: the rules that there are, as text. They stand first, as they are: what is applied is a whole file."""
    new = [proposal for proposal in found.rules if proposal.under is None]
    parts = [_HEAD, today.rstrip("\n"), *("\n".join(_rule(proposal)) for proposal in new)]
    parts += ["\n".join(_to_add(proposal)) for proposal in found.rules if proposal.under is not None]
    parts += ["\n".join(_others(found)), "\n".join(_verified(found))]
    return "\n\n".join(part for part in parts if part) + "\n"


_HEAD = """\
# Proposals from redirects and from pages with one signature. hosts, https and path_case are applied once they are confirmed:
#     urlsieve rules apply FILE; urlsieve rules confirm MATCH --by NAME
# What stands in a comment would be applied at once: take its # away when you have looked."""


def _rule(proposal: Proposal) -> Iterator[str]:
    if not proposal.points:
        yield f"# Nothing is known of {proposal.match.removeprefix('=')}: this keeps it out of the rule for the names above it."
    for point in proposal.points:
        yield from _said(point)
    yield "[[site]]"
    yield f"match = {text_of(proposal.match)}"
    yield from _keys(proposal)


def _to_add(proposal: Proposal) -> Iterator[str]:
    yield f"# To add by hand to the rule {proposal.under}, if you agree (a rule that is confirmed applies it at once):"
    for point in proposal.points:
        yield from _said(point)
    yield from (f"#     {line.removeprefix('# ')}" for line in _keys(proposal))


def _keys(proposal: Proposal) -> Iterator[str]:
    keys = {point.key for point in proposal.points}
    if proposal.hosts:
        yield f"hosts = {{ {', '.join(f'{text_of(host)} = {text_of(target)}' for host, target in proposal.hosts)} }}"
    if "https" in keys:
        yield 'https = "merge"'
    if "path_case" in keys:
        yield 'path_case = "lower"'
    if "trailing_slash" in keys:
        yield '# trailing_slash = "strip"'
    names = sorted(point.name for point in proposal.points if point.key == "drop")
    if names:
        yield f"# drop = [{', '.join(map(text_of, names))}]"


def title_of(point: Point) -> str:
    """What it is about."""
    hosts = " and ".join(point.hosts)
    return f"parameter {point.name} of {hosts}" if point.key == "drop" else f"{point.key} of {hosts}"


def _said(point: Point) -> Iterator[str]:
    bound = "" if point.bound is None else f": wrong for at most {100 * point.bound:.2g} % of its pages (95 % confidence)"
    yield f"# {title_of(point)}: {point.clean} clean pairs, no counter-example{bound}"
    if point.values:
        shown = ", ".join(text_of(value if len(value) <= 40 else value[:40] + "…") for value in point.values[:_VALUES])
        yield f"#     {len(point.values)} values: {shown}{', …' if len(point.values) > _VALUES else ''}"
    for one, other in point.samples[:_SAMPLES]:
        yield f"#     {one}  {other}"


def _others(found: Proposals) -> Iterator[str]:
    if found.others:
        yield "# Not proposed:"
    for point in found.others[:_OTHERS]:
        if point.against:
            one, other = point.samples_against[0]
            yield f"# {title_of(point)}: {_many(point.against, 'counter-example')}, {_many(point.clean, 'clean pair')}: {one}  {other}"
        else:
            why = "" if point.clean < LEAST else ", but it is not one with others that were seen, or too much would be covered"
            yield f"# {title_of(point)}: {point.clean} of {LEAST} clean pairs, no counter-example{why}"
    if len(found.others) > _OTHERS:
        yield f"# and {len(found.others) - _OTHERS} more"


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _verified(found: Proposals) -> Iterator[str]:
    for match, number in sorted(found.verified.items()):
        yield f"# The rule {match}: {_many(number, 'merged page')} fetched all the same, and equal"
