"""Two sets of rules go in; for each match that is not as it was: whether it may merge more than before, or less, comes out.

Conservative: where it cannot be told, both are said. A set that merges more (tightens) needs a second question under the old key, one that
merges less (loosens) must forget what it merged: doing either in vain costs fetches, leaving it out loses pages.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from urlsieve.canon import spelling
from urlsieve.canon.ruletable import resolved, rules_by_host
from urlsieve.canon.rulevalues import Rule

_NOTHING = Rule(match="", line=0)


class Difference(NamedTuple):
    """`match`: the URLs below it may have other keys than before. tightens: two keys may have become one; loosens: one may be two."""

    match: str
    path: str | None
    tightens: bool
    loosens: bool


def differences(before: Sequence[Rule], after: Sequence[Rule]) -> tuple[Difference, ...]:
    old, new = _live(before), _live(after)
    by_host_old, by_host_new = rules_by_host(old.values()), rules_by_host(new.values())
    found = []
    for key in sorted({*old, *new}, key=lambda key: (key[0], key[1] or "")):
        match, path = key
        # where one side has no such rule, its URLs are under whatever is next: any rule that covers the host
        olds = [old[key]] if key in old else list(_next(new[key], by_host_old))
        news = [new[key]] if key in new else list(_next(old[key], by_host_new))
        ways = [_change(a, b) for a in olds for b in news]
        tightens, loosens = any(way[0] for way in ways), any(way[1] for way in ways)
        if tightens or loosens:
            found.append(Difference(match, path, tightens, loosens))
    return tuple(found)


def _live(rules: Sequence[Rule]) -> dict[tuple[str, str | None], Rule]:
    return {(rule.match, rule.path): rule.applied for rule in rules if rule.suspended is None}


def _next(rule: Rule, by_host: dict[str, list[Rule]]) -> Iterator[Rule]:
    yield _NOTHING
    for above in spelling.and_parents(rule.host):
        yield from (other for other in by_host.get(above, ()) if other.covers(rule.host))


def _change(old: Rule, new: Rule) -> tuple[bool, bool]:
    """(may merge more, may merge less) of one rule in the place of another."""
    more, less = False, False
    for tightens, loosens in (_names(old, new), _hosts(old, new), _rewrites(old, new), *_words(old, new)):
        more, less = more or tightens, less or loosens
    return more, less


def _names(old: Rule, new: Rule) -> tuple[bool, bool]:
    if (old.keep is None) != (new.keep is None):
        # an allow-list drops nearly everything, but it may keep a name that was dropped
        return (True, bool(old.drop)) if old.keep is None else (bool(new.drop), True)
    if old.keep is not None and new.keep is not None:
        return bool(set(old.keep) - set(new.keep)), bool(set(new.keep) - set(old.keep))
    return bool(set(new.drop) - set(old.drop)), bool(set(old.drop) - set(new.drop))


def _hosts(old: Rule, new: Rule) -> tuple[bool, bool]:
    a, b = dict(resolved(old.hosts)), dict(resolved(new.hosts))
    moved = any(a[host] != b[host] for host in a.keys() & b.keys())
    return moved or bool(b.keys() - a.keys()), moved or bool(a.keys() - b.keys())


def _rewrites(old: Rule, new: Rule) -> tuple[bool, bool]:
    if old.rewrite == new.rewrite:
        return False, False
    return (True, False) if not old.rewrite else (False, True) if not new.rewrite else (True, True)


def _words(old: Rule, new: Rule) -> Iterator[tuple[bool, bool]]:
    for key in ("https", "path_case", "trailing_slash"):
        yield bool(getattr(new, key) and not getattr(old, key)), bool(getattr(old, key) and not getattr(new, key))
    yield bool(old.sort and not new.sort), bool(new.sort and not old.sort)
    yield new.noise and not old.noise, old.noise and not new.noise
    if old.fragment != new.fragment:
        order = ("drop", "routes", "keep")  # None is the profile's own: any of them
        if old.fragment is None or new.fragment is None:
            other = old.fragment or new.fragment
            yield (other != "keep", other != "drop") if old.fragment is None else (other != "drop", other != "keep")
        else:
            yield order.index(new.fragment) < order.index(old.fragment), order.index(new.fragment) > order.index(old.fragment)
