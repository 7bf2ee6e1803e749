"""A canonicalizer and the rule for one URL go in; its steps come out one by one, each as a program that does it and all before it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from urlsieve._kernel import Program, RuleTable
from urlsieve.canon import profiles
from urlsieve.canon.ruletable import lines_of
from urlsieve.canon.rulevalues import Rule
from urlsieve.canon.switches import SWITCHES, switched

if TYPE_CHECKING:
    from urlsieve.canon.canonicalizer import Canonicalizer

_PATH_KEYS = ("rewrite", "path_case", "trailing_slash")

ORDER = (
    *("drop_userinfo", "strip_host_dot", "strip_www", "https_merge", "rule:hosts", "rule:https"),
    *("percent", "decode_subdelims", "query_plus", "path_session", "collapse_slashes", "drop_index", "trailing_slash"),
    *("rule:rewrite", "rule:path_case", "rule:trailing_slash", "empty_query", "empty_pieces", "noise", "noise_wide", "query_session"),
    *("session_wide", "drop_blank", "dedup_pairs", "rule:drop", "rule:keep", "sort", "sort_full"),
)
"""All steps between parsing and the fragment, in the order in which the kernel does them."""


class Stage(NamedTuple):
    """`rule`: the step is a site rule's."""

    name: str
    program: Program
    rule: Rule | None = None


def stages(canonicalizer: "Canonicalizer", rule: Rule | None, *, path_stays: bool) -> Iterator[Stage]:
    """`rule`: the one the URL is under, as the profile's switches leave it; `path_stays`: its change of the path is not made."""
    base, on = switched(canonicalizer.profile)
    if base in profiles.FOREIGN:
        yield from _foreign(canonicalizer)
        return
    bits = dict(profiles.STEPS[base])
    keep = profiles.FRAGMENTS["keep"]
    steps, keys = canonicalizer._steps, set[str]()
    switches: tuple[str, ...] = ()

    def program(fragment: int, traps: tuple[int, int, int] = (0, 0, 0), *, last: bool = False, limited: bool = False) -> Program:
        table = None if rule is None else _table(rule, keys, last=last, limited=limited)
        return profiles.compile_program(steps, fragment, bytes(16), traps, switches=switches, rules=table)

    yield Stage("parse", program(keep))
    for name in ORDER:
        word, _, key = name.rpartition(":")
        if word:
            if (
                rule is None
                or (not getattr(rule, key) and not (key == "keep" and rule.keep is not None))
                or (path_stays and key in _PATH_KEYS)
            ):
                continue
            keys.add(key)
            yield Stage(key, program(keep), rule)
        elif name in on:
            switches += (name,)
            steps |= SWITCHES[name]
            yield Stage(name, program(keep))
        elif name in bits:
            steps |= bits[name]
            yield Stage(name, program(keep))
    mode = profiles.fragment_mode(canonicalizer.profile, canonicalizer.fragment)
    of_rule = rule if rule is not None and rule.fragment is not None else None
    yield Stage("fragment", program(mode, last=True), of_rule)
    yield Stage("limits", program(mode, canonicalizer.traps or (0, 0, 0), last=True, limited=True))


def _foreign(canonicalizer: "Canonicalizer") -> Iterator[Stage]:
    """Another program's form is one step."""
    profile, bits, drop = canonicalizer.profile, canonicalizer._steps, profiles.FRAGMENTS["drop"]
    form = profiles.form_of(profile)
    yield Stage(profile, profiles.compile_program(bits, drop, bytes(16), form=form))
    yield Stage("limits", profiles.compile_program(bits, drop, bytes(16), canonicalizer.traps or (0, 0, 0), form))


def _table(rule: Rule, keys: set[str], *, last: bool, limited: bool) -> RuleTable:
    """Only these keys of the rule, and what it says of noise and order, which are no steps of its own."""
    off = {"hosts": (), "https": None, "rewrite": (), "path_case": None, "trailing_slash": None, "drop": (), "keep": None}
    part = replace(rule, **{key: value for key, value in off.items() if key not in keys})  # type: ignore[arg-type]
    if not last:
        part = replace(part, fragment=None)
    if not limited:
        part = replace(part, scope=None)
    return RuleTable(lines_of(part, everywhere=True).encode("ascii"))
