"""Regular expressions of rules: what they match is what Python's re matches, what cannot be linear is refused, and the steps are counted."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve._kernel import Regex

atoms = st.sampled_from(["a", "b", "/", ".", r"\.", "[ab]", "[^/]", "[a-c0-9]", r"\d", r"\w", r"[\d/]", "[]a]", "[a-]", "[^a-c]", r"\-"])
lengths = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?", "??", "{1,3}?"])


def grouped(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.tuples(st.sampled_from(["(", "(?:"]), inside, st.just(")")).map("".join)
    # Something that takes a byte stands in each repeated group: how often an empty one is repeated is nobody's promise.
    solid = st.tuples(st.sampled_from(["(", "(?:"]), st.sampled_from(["a", "[^/]", "b/"]), st.just("(?:"), inside, st.just("))")).map(
        "".join
    )
    repeated = st.tuples(solid | atoms, lengths).map("".join)
    several = st.lists(inside | repeated | group, min_size=1, max_size=3).map("".join)
    return several | st.lists(several, min_size=2, max_size=3).map("|".join)


bodies = st.recursive(atoms | st.tuples(atoms, lengths).map("".join), grouped, max_leaves=8)
patterns = st.tuples(st.sampled_from(["", "^"]), bodies, st.sampled_from(["", "$"])).map("".join)
texts = st.text(alphabet="abc/.-09", max_size=14)


@given(patterns, texts)
def test_a_match_and_its_groups_are_those_of_python(pattern: str, text: str) -> None:
    try:
        regex = Regex(pattern.encode())
    except ValueError as error:
        assert "too large" in error.args[0] or "9 groups" in error.args[0]
        return
    # \Z, as a path has no line feed that $ could stand before
    wanted = re.search(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern, text, re.ASCII | re.DOTALL)
    ends, _ = regex.match(text.encode())
    if wanted is None:
        assert None is ends
    else:
        spans = [wanted.span(i) for i in range(regex.groups + 1)]
        assert [None if span == (-1, -1) else span for span in spans] == ends


@given(bodies, st.integers(0, 2**64 - 1))
def test_a_sample_is_matched(pattern: str, seed: int) -> None:
    try:
        regex = Regex(pattern.encode())
    except ValueError:
        return
    text = regex.sample(seed, 100_000)
    assert re.fullmatch(pattern, text.decode("latin-1"), re.DOTALL | re.ASCII)


@pytest.mark.parametrize(
    ("pattern", "what", "at"),
    [
        (rb"(?=a)", "look-around", 0),
        (rb"a(?!b)", "look-around", 1),
        (rb"(?i)a", "flags", 0),
        (rb"(?P<n>a)", "names", 0),
        (rb"(a)\1", "back references", 3),
        (rb"\bword", "this escape is not known", 0),
        (rb"a\z", "this escape is not known", 1),
        (rb"a**", "repetition of a repetition", 2),
        (rb"*a", "nothing before it", 0),
        (rb"(|+)", "nothing before it", 2),
        (rb"a{2,1}", "m <= n", 1),
        (rb"a{501}", "m <= n", 1),
        (rb"a{x}", "m <= n", 1),
        (rb"{2}", "write \\{", 0),
        (rb"(a", "not closed", 0),
        (rb"a)", "no group", 1),
        (rb"[ab", "] is missing", 0),
        (rb"[b-a]", "no bytes", 1),
        (rb"[a-\d]", "no bytes", 1),
        (b"a\\", "at the end", 1),
        (b"a b", "write others as %XX", 1),
        ("é".encode(), "write others as %XX", 0),
        (b"(a)" * 10, "more than 9 groups", 27),
        (b"(?:" * 33 + b")" * 33, "too deep", 96),
        (b"a" * 499, "too large", 0),
        (b"a" * 1001, "1000 bytes", 1000),
        (rb"(?:(?:(?:(?:){500}){500}){500}){500}", "too large", 0),
        (rb"(a{100}){100}", "too large", 0),
        (rb"^*", "cannot be repeated", 1),
    ],
)
def test_what_cannot_be_matched_in_linear_time_or_is_no_expression_is_refused_with_its_place(pattern: bytes, what: str, at: int) -> None:
    with pytest.raises(ValueError) as caught:
        Regex(pattern)
    assert what in caught.value.args[0]
    assert at == caught.value.args[1]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (rb"(a*)*b", b"a" * 65536),
        (rb"(a|aa)+$", b"a" * 65535 + b"b"),
        (rb"(.*)(.*)(.*)(.*)(.*)x", b"a" * 65536),
        (rb"(a?){60}a{60}", b"a" * 65536),
        (rb"([^/]+/)+x", b"a/" * 32768),
        (rb"a.{100}b", b"a" * 65536),
    ],
)
def test_the_worst_text_costs_its_length_times_the_program(pattern: bytes, text: bytes) -> None:
    regex = Regex(pattern)
    _, steps = regex.match(text)
    assert 0 < steps <= 3 * regex.size * (len(text) + 1)
    _, half = regex.match(text[: len(text) // 2])
    assert steps <= 2.1 * half + 1000
