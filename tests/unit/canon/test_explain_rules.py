"""Explanations with rules and switches: the steps lead to the key whatever the rules are, and notes say what waits and what would join."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules_lab import loaded, rule_sets, switches, targets
from rules_oracle import Site
from urlsieve.canon import Canonicalizer, Rules, explain
from urlsieve.errors import ConfigError


@settings(max_examples=80)
@given(switches, rule_sets, targets, st.booleans())
def test_the_steps_lead_from_the_url_to_its_key(on: set[str], wanted: list[Site], url: str, traps: bool) -> None:
    try:
        canon = Canonicalizer(profile="+".join(["safe", *sorted(on)]), rules=loaded(wanted), traps=(4, 2, 2) if traps else None)
    except ConfigError:
        return
    told = canon.explain(url)
    keys = canon.canonicalize_many([url])
    assert (keys[0],) == told.keys
    for before, after in zip(told.steps[0], told.steps[0][1:], strict=False):
        assert before.after == after.before
    if told.key is None:
        assert None is told.steps[0][-1].after
    elif told.steps[0]:
        assert told.key == told.steps[0][-1].after
    assert all(step.before != step.after and step.why for step in told.steps[0])
    json.dumps(told.as_dict())
    assert str(told)


@pytest.mark.parametrize(
    ("a", "b", "profile", "joins"),
    [
        ("http://e.com/a", "http://e.com/a/", "safe", "safe+trailing_slash"),
        ("http://e.com/", "https://e.com/", "safe", "safe+https_merge"),
        ("http://e.com/", "https://www.e.com/", "safe", "aggressive"),
        ("http://e.com/", "https://www.e.com/", "safe+strip_www", "safe+https_merge+strip_www"),
        ("http://e.com/%41", "http://e.com/A", "exact", "safe"),
        ("http://e.com/a", "http://e.com/b", "safe", None),
        ("http://e.com/a", "ftp://e.com/a/", "safe", None),
    ],
)
def test_the_nearest_profile_that_would_join_two_urls_is_named(a: str, b: str, profile: str, joins: str | None) -> None:
    told = explain(a, b, profile=profile)
    named = [note.split()[1] for note in told.notes if "would join them" in note]
    assert ([] if joins is None else [Canonicalizer(profile=joins).profile]) == [Canonicalizer(profile=name).profile for name in named]


def test_a_rule_that_cannot_be_applied_says_why() -> None:
    rules = Rules.parse("[[site]]\nmatch = 'e.com'\npath = '/shop/*'\ntrailing_slash = 'strip'\n", "r.toml")
    told = Canonicalizer(rules=rules).explain("http://e.com/shop/")
    assert "http://e.com/shop/" == told.key
    assert any("would put the URL under another rule or none" in note for note in told.notes)
    assert "under the site rule 'e.com /shop/*', r.toml:1" in told.notes


def test_user_info_is_masked_in_steps_of_rules() -> None:
    rules = Rules.parse("[[site]]\nmatch = 'e.com'\ndrop = ['a']\n")
    told = Canonicalizer(rules=rules).explain("http://u:secret@e.com/?a=1")
    assert "secret" not in json.dumps(told.as_dict())[: json.dumps(told.as_dict()).index('"keys"')]


def test_sets_that_say_the_same_tell_their_own_lines() -> None:
    def rule(path: str, key: str) -> str:
        return f"[[site]]\nmatch = 'e.com'\npath = '{path}'\n{key}\nhttps = 'merge'\n"

    texts = [rule("/a/*", "drop = ['x']"), rule("/b/*", "drop = ['y']")]
    first, second = (
        Rules.parse("".join(texts), "one.toml"),
        Rules.parse("# a file of another order\n" + "".join(reversed(texts)), "two.toml"),
    )
    assert first == second
    url = "http://e.com/b/?y=1"
    for rules, line in ((first, 6), (second, 2)):
        canon = Canonicalizer(rules=rules)
        source = f"{rules.name}:{line}"
        told = canon.explain(url, "https://e.com/b/?y=2")
        assert f"under the site rule 'e.com /b/*', {source}" in told.notes
        assert any("would join them" in note and f"({source})" in note for note in told.notes)
        assert line == canon.rule_of(canon.canonicalize_many([url]), 0).line
