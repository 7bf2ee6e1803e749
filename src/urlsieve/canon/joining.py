"""Two URLs that are not the same go in; what would make them one comes out: a proposal of their rule, or another profile."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from urlsieve.canon.switches import SWITCHES, switched
from urlsieve.errors import ConfigError

if TYPE_CHECKING:
    from urlsieve.canon.canonicalizer import Canonicalizer


def what_would_join(canonicalizer: "Canonicalizer", urls: Sequence[str], base: str | None) -> list[str]:
    return [*_proposals(canonicalizer, urls, base), *_profiles(canonicalizer, urls, base)]


def _proposals(canonicalizer: "Canonicalizer", urls: Sequence[str], base: str | None) -> Iterator[str]:
    rules = canonicalizer.rules
    if rules is None or not rules.counts.proposed:
        return
    bold = canonicalizer._bold()
    keys = bold.canonicalize_many(urls, base=base)
    if keys[0] is None or keys[0] != keys[1]:
        return
    compiled = bold._compiled
    numbers = sorted({number for number in (keys.rule(0)[0], keys.rule(1)[0]) if number is not None})
    for number in numbers if compiled is not None else ():
        rule = compiled.rules[number]  # type: ignore[union-attr]
        if rule.proposed:
            line = rules.source_of(rule).line
            yield f"the proposed {' and '.join(rule.proposed)} of the site rule {rule.name!r} ({rules.name}:{line}) would join them"


def _profiles(canonicalizer: "Canonicalizer", urls: Sequence[str], base: str | None) -> Iterator[str]:
    """The nearest profile that would: safe, safe with one more switch, aggressive."""
    base_profile, on = switched(canonicalizer.profile)
    if base_profile not in ("exact", "safe"):
        return
    more = [name for name in SWITCHES if name not in on]
    tries = ["safe"] if base_profile == "exact" else ["+".join(("safe", *on, name)) for name in more]
    for profile in (*tries, "aggressive"):
        try:
            keys = canonicalizer._in_profile(profile).canonicalize_many(urls, base=base)
        except ConfigError:
            continue  # a switch that these rules or this fragment mode cannot be with
        if keys[0] is not None and keys[0] == keys[1]:
            yield f"profile {profile} would join them"
            return
