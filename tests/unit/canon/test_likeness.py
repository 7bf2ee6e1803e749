"""Keys with one thing taken out: two that share one differ in that thing and in nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.canon.likeness import CASE, HOST, PARAMETER, SCHEME, SLASH, base_of, difference, page_of, parts_of, rests
from urlsieve.canon.suffixes import registrable_domain

PAIRS = [
    ("http://www.a.example/x", "http://a.example/x", HOST),
    ("http://m.a.example/x", "http://www.a.example/x", HOST),
    ("http://amp.a.example/x", "http://mobile.a.example/x", HOST),
    ("http://www.blog.a.example/x", "http://blog.a.example/x", HOST),
    ("http://a.example/x", "https://a.example/x", SCHEME),
    ("http://a.example/x/", "http://a.example/x", SLASH),
    ("http://a.example/x/?q=1", "http://a.example/x?q=1", SLASH),
    ("http://a.example/X/y", "http://a.example/x/Y", CASE),
    ("http://a.example/x?a=1&s=2", "http://a.example/x?a=1&s=3", PARAMETER + "s"),
    ("http://a.example/x?s=2", "http://a.example/x", PARAMETER + "s"),
    ("http://a.example/x?s=2&s=3", "http://a.example/x?s=3&s=2", PARAMETER + "s"),
    ("http://a.example/x?a=1&b=1", "http://a.example/x?b=1", PARAMETER + "a"),
]
NONE = [
    ("http://a.example/x", "http://a.example/x"),
    ("http://www.a.example/x", "https://a.example/x"),
    ("http://a.example/x/", "https://a.example/x"),
    ("http://a.example/X", "http://a.example/x/"),
    ("http://a.example/x", "http://a.example/y"),
    ("http://a.example/x?a=1&b=2", "http://a.example/x"),
    ("http://a.example/x?a=1", "http://a.example/x?b=1"),
    ("http://a.example/x?a", "http://a.example/x"),  # no list of parameters
    ("http://a.example/x?/topic/1", "http://a.example/x"),
    ("http://a.example/x//", "http://a.example/x/"),
    ("http://a.example/%C3%A9", "http://a.example/%C3%A8"),
    ("http://www.example/x", "http://example/x"),  # no less than the registrable domain
    ("http://shop.a.example/x", "http://a.example/x"),
    ("http://www.a.example/x", "http://www.b.example/x"),
    ("http://a.example/x#!/r", "http://a.example/x"),
]


@pytest.mark.parametrize(("one", "other", "kind"), PAIRS)
def test_a_pair_that_differs_in_one_thing_has_that_kind_in_both_directions(one: str, other: str, kind: str) -> None:
    a, b = parts_of(one), parts_of(other)
    assert a is not None and b is not None
    assert (kind, kind) == (difference(a, b, registrable_domain), difference(b, a, registrable_domain))


@pytest.mark.parametrize(("one", "other"), NONE)
def test_a_pair_that_is_equal_or_differs_in_more_has_none(one: str, other: str) -> None:
    a, b = parts_of(one), parts_of(other)
    assert a is not None and b is not None
    assert (None, None) == (difference(a, b, registrable_domain), difference(b, a, registrable_domain))


@pytest.mark.parametrize("key", ["http://u@a.example/", "http://a.example:81/", "https://[::1]/", "ftp://a.example/"])
def test_what_no_rule_can_name_has_no_parts(key: str) -> None:
    assert parts_of(key) is None


def test_a_host_is_never_taken_below_its_registrable_domain() -> None:
    hosts = ["www.a.example", "a.example", "m.a.example", "www.m.example", "m.example", "www.1.2.3.4", "www.localhost", "www.co.uk"]
    assert ["a.example", "a.example", "a.example", "m.example", "m.example", "www.1.2.3.4", "www.localhost", "www.co.uk"] == [
        base_of(host, registrable_domain) for host in hosts
    ]


HOSTS = st.sampled_from(["a.example", "www.a.example", "m.a.example", "b.a.example", "www.b.a.example"])
PATHS = st.lists(st.sampled_from(["x", "X", "y", "%C3%A9", ""]), max_size=3).map("/".join).map("/{}".format)
QUERIES = st.none() | st.lists(st.tuples(st.sampled_from("abs"), st.sampled_from("12")), min_size=1, max_size=3).map(
    lambda pairs: "&".join(f"{name}={value}" for name, value in sorted(pairs, key=lambda pair: pair[0]))
)
KEYS = st.builds(
    lambda scheme, host, path, query: f"{scheme}://{host}{path}{'' if query is None else '?' + query}",
    st.sampled_from(["http", "https"]), HOSTS, PATHS, QUERIES,
)  # fmt: skip


def things(key: str) -> dict[str, object]:
    """What a key consists of, taken apart in another way."""
    scheme, _, rest = key.partition("://")
    head, _, query = rest.partition("?")
    host, _, path = head.partition("/")
    named: dict[str, list[str]] = {}
    for piece in filter(None, query.split("&")):
        name, _, value = piece.partition("=")
        named.setdefault(name, []).append(value)
    return {SCHEME: scheme, HOST: host, "path": path, **{PARAMETER + name: values for name, values in named.items()}}


@given(KEYS, KEYS)
def test_two_keys_have_a_kind_if_and_only_if_exactly_one_thing_differs(one: str, other: str) -> None:
    a, b = parts_of(one), parts_of(other)
    assert a is not None and b is not None
    kind = difference(a, b, registrable_domain)
    assert kind == difference(b, a, registrable_domain)
    ours, theirs = things(one), things(other)
    differing = {name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)}
    if kind in (SLASH, CASE):
        assert {"path"} == differing
        assert str(ours["path"]).lower().strip("/") == str(theirs["path"]).lower().strip("/")
    elif kind is not None:
        assert {kind} == differing
    elif len(differing) == 1:
        (name,) = differing
        assert name in (HOST, "path")  # hosts of two families, or two pages


@given(KEYS, KEYS)
def test_keys_that_differ_in_one_thing_are_of_one_page(one: str, other: str) -> None:
    a, b = parts_of(one), parts_of(other)
    assert a is not None and b is not None
    if difference(a, b, registrable_domain) is not None:
        assert page_of(one) == page_of(other)


@given(KEYS)
def test_a_rest_is_what_taking_the_thing_out_again_gives(key: str) -> None:
    parts = parts_of(key)
    assert parts is not None
    assert parts.text == key
    for kind, rest in rests(parts, registrable_domain).items():
        again = parts_of(rest)
        if again is not None:  # without a scheme it is no key
            assert rest == rests(again, registrable_domain).get(kind, rest)
