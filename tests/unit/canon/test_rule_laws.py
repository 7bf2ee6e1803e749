"""Rules and switches on hostile URLs: the kernel says what the oracle says, the form of a form is itself, one href has one key."""

from hypothesis import given, settings
from hypothesis import strategies as st

import canon_oracle
import rules_oracle
from rules_lab import loaded, rule_sets, switches, targets
from rules_oracle import Site
from urlsieve.canon import Canonicalizer
from urlsieve.errors import ConfigError, InvalidURL


def answer(canon: Canonicalizer, url: str) -> str:
    try:
        return canon.canonicalize(url)
    except InvalidURL as error:
        return f"<{error.reason}>"


@settings(max_examples=150)
@given(rule_sets, st.lists(targets, min_size=1, max_size=12))
def test_the_kernel_applies_rules_as_the_oracle_does(wanted: list[Site], found: list[str]) -> None:
    canon = Canonicalizer(rules=loaded(wanted))
    keys = canon.canonicalize_many(found)
    for i, url in enumerate(found):
        try:
            key, site, host = rules_oracle.canonical(url, wanted)
        except canon_oracle.Rejected:
            assert None is keys[i]
            continue
        assert (key, site, host) == (keys[i], keys.site(i), keys.host(i))
        assert key == answer(canon, key)


@settings(max_examples=150)
@given(switches, st.lists(targets, min_size=1, max_size=12))
def test_every_set_of_switches_does_what_the_oracle_does_and_keeps_both_laws(on: set[str], found: list[str]) -> None:
    canon = Canonicalizer(profile="+".join(["safe", *sorted(on)]))
    keys = canon.canonicalize_many(found)
    for i, url in enumerate(found):
        try:
            key, site, host = rules_oracle.canonical(url, [], on=on)
        except canon_oracle.Rejected:
            assert None is keys[i]
            continue
        assert (key, site, host) == (keys[i], keys.site(i), keys.host(i))
        assert key == answer(canon, key)
        assert key == answer(canon, canon_oracle.href(url) or "")


@settings(max_examples=100)
@given(switches, rule_sets, st.lists(targets, min_size=1, max_size=8))
def test_with_switches_and_rules_the_form_of_a_form_is_itself_and_one_href_has_one_key(
    on: set[str], wanted: list[Site], found: list[str]
) -> None:
    try:
        canon = Canonicalizer(profile="+".join(["safe", *sorted(on)]), rules=loaded(wanted))
    except ConfigError as error:
        assert "strip_" in str(error) or "circle" in str(error)
        return
    for url in found:
        key = answer(canon, url)
        if not key.startswith("<"):
            assert key == answer(canon, key)
            assert key == answer(canon, canon_oracle.href(url) or "")
