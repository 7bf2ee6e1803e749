"""Scope patterns: what they let in and leave out, in any spelling, in bounded time; and which of them are none."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import urlsieve
from urlsieve.doors.crawler.patterns import LONGEST, MOST, MOST_WILD, Patterns, fits
from urlsieve.errors import ConfigError

SAFE = urlsieve.Canonicalizer(traps=(256, 8, 32))


def allows(patterns, url):
    return Patterns([patterns] if isinstance(patterns, str) else patterns, SAFE).allow(urlsieve.canonicalize(url))


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("example.com", "http://example.com/", True),
        ("example.com", "https://www.example.com:8443/a?b=1", True),
        ("example.com", "http://badexample.com/", False),
        ("example.com", "http://example.com.evil.org/", False),
        ("EXAMPLE.com.", "http://example.com./", True),
        ("=example.com", "http://example.com/a", True),
        ("=example.com", "http://www.example.com/a", False),
        ("*.example.com", "http://www.example.com/", True),
        ("*.example.com", "http://example.com/", False),
        ("news-*.example.com", "http://news-de.example.com/", True),
        ("*", "http://anything.org/at?all=1", True),
        ("münchen.example", "http://xn--mnchen-3ya.example/", True),
        ("*.münchen.example", "http://www.MÜNCHEN.example/", True),
        ("[2001:DB8::1]", "http://[2001:db8:0::1]/", True),
        ("127.1", "http://127.0.0.1/", True),
        ("example.com:8080", "http://example.com:8080/", True),
        ("example.com:8080", "http://example.com/", False),
        ("example.com:80", "http://example.com/", True),
        ("example.com:443", "https://example.com/", True),
        ("https://example.com", "http://example.com/", False),
        ("HTTPS://example.com", "https://example.com/", True),
        ("*://example.com", "http://example.com/", True),
        ("example.com/docs/", "http://example.com/docs/", True),
        ("example.com/docs/", "http://example.com/docs/a/b?c=d", True),
        ("example.com/docs/", "http://example.com/docs", False),
        ("example.com/docs", "http://example.com/docs?page=2", True),
        ("example.com/docs", "http://example.com/docs/a", False),
        ("example.com/docs*", "http://example.com/docs-old/a", True),
        ("/*.pdf", "http://anything.org/a/b.pdf?dl=1", True),
        ("/*.pdf", "http://anything.org/a/b.pdf.html", False),
        ("/a/*/c", "http://h.example/a/b/b/c", True),
        ("/Docs/", "http://h.example/docs/", False),
        ("/a b/", "http://h.example/a%20b/c", True),
        ("/bücher/", "http://h.example/b%C3%BCcher/1", True),
        ("/%7euser/", "http://h.example/~user/", True),
        ("/x/../y/", "http://h.example/y/1", True),
        ("/*?*sid=*", "http://h.example/p?a=1&sid=2", True),
        ("/*?*sid=*", "http://h.example/p", False),
        ("/*?*", "http://h.example/p?a=1", True),
        ("/*?*", "http://h.example/p", False),
        ("/s?b=*&a=1", "http://h.example/s?a=1&b=2", True),
        ("example.com?page=*", "http://example.com/any?page=3", True),
        ("/#/user/*", "http://h.example/#/user/1", True),
        ("/#/user/*", "http://h.example/", False),
        ("/a?b", "http://h.example/axb", False),
        ("/[ab]", "http://h.example/a", False),
    ],
)
def test_one_pattern(pattern, url, expected):
    assert expected == allows(pattern, url)
    assert expected != allows("!" + pattern, url)


def test_no_spelling_gets_round_a_pattern():
    for url in (
        "http://h.example/%70rivate/a",
        "http://h.example/x/..//../private/a",
        "HTTP://H.example:80/./private/a",
        "http://h.example/private\\a",
    ):
        assert not allows("!/private/", url), url


def test_what_is_let_in_by_one_and_left_out_by_another_is_out_in_any_order():
    patterns = ["example.com", "!example.com/login", "!*.example.com"]
    for order in (patterns, patterns[::-1]):
        assert allows(order, "http://example.com/a")
        assert not allows(order, "http://example.com/login")
        assert not allows(order, "http://www.example.com/a")
        assert not allows(order, "http://example.org/")


def test_only_excluding_patterns_let_everything_else_in():
    assert allows("!example.com", "http://example.org/")


def test_a_sitemaps_host_counts_without_its_path():
    patterns = Patterns(["example.com/docs/", "!*.example.com"], SAFE)
    assert patterns.allow_host("http://example.com/sitemap.xml")
    assert not patterns.allow_host("http://www.example.com/sitemap.xml")
    assert not patterns.allow_host("http://example.org/sitemap.xml")
    assert Patterns(["!example.com/docs/"], SAFE).allow_host("http://example.com/sitemap.xml")


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("", "empty"),
        ("!", "empty"),
        ("ftp://example.com/", "schemes"),
        ("mailto:someone", "host"),
        ("user@example.com", "no host"),
        ("exa mple.com", "no host"),
        ("=", "needs a host"),
        ("=*", "needs a host"),
        ("example.com:99999", "port"),
        ("example.com:x", "host"),
        ("a" * (LONGEST + 1), "longer"),
        ("/a/" * 300, "trap"),
        ("!example.com/?utm_source=*", "identity"),
        ("example.com/#top", "identity"),
        ("[::1", "host"),
    ],
)
def test_a_pattern_that_is_none_is_named(pattern, says):
    with pytest.raises(ConfigError, match=says) as caught:
        Patterns([pattern], SAFE)
    assert repr(pattern[:80]) in str(caught.value)


def test_too_many_patterns_are_refused():
    with pytest.raises(ConfigError, match="more than"):
        Patterns((f"h{i}.example" for i in range(MOST + 1)), SAFE)
    with pytest.raises(ConfigError, match="more than"):
        Patterns((f"/{i}" for i in range(MOST_WILD + 1)), SAFE)


def test_hostile_patterns_and_urls_take_bounded_time():
    url = "http://h.example/" + "ab" * 30_000
    started = time.perf_counter()
    for pattern in ("/" + "*a" * 1000, "/" + "**" * 1000 + "x", "/" + "*ab" * 600 + "c", "/*" + "ab" * 900 + "c*", "/" + "a*" * 1000):
        allows(pattern, url)
    many = Patterns((f"h{i}.example/docs/" for i in range(MOST)), SAFE)
    key = "http://h77.example/docs/x"
    for _ in range(1000):
        assert many.allow(key)
    assert time.perf_counter() - started < 5


@given(st.text("ab*", max_size=12), st.text("ab", max_size=20))
def test_a_glob_means_what_a_regular_expression_says(glob, text):
    expected = re.fullmatch(".*".join(map(re.escape, glob.split("*"))), text) is not None
    assert expected == fits(tuple(glob.split("*")), text)


@given(st.text(max_size=60))
def test_any_text_is_a_pattern_or_a_named_error(text):
    try:
        found = Patterns([text], SAFE)
    except ConfigError as error:
        assert "scope pattern" in str(error)
    else:
        assert found.allow("http://h.example/") in (True, False)
