"""Profile classic is what Go makes of a URL, bit for bit: against committed vectors, and against Go itself where it is installed."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import foreign_urls
import go_classic
from canon_urls import references, urls
from urlsieve.canon import Canonicalizer, canonicalize, explain
from urlsieve.errors import ConfigError, InvalidURL

VECTORS = Path(__file__).parents[2] / "cases/classic_vectors.jsonl"
CLASSIC = Canonicalizer(profile="classic", secret=7)


def vectors() -> tuple[dict[str, Any], list[tuple[bytes, bytes | None]]]:
    about, *lines = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
    pairs = [
        (line["url"].encode() if "url" in line else bytes.fromhex(line["hex"]), None if line["key"] is None else line["key"].encode())
        for line in lines
    ]
    return about, pairs


def agree(pairs: list[tuple[bytes, bytes | None]]) -> int:
    """How many have a key."""
    found = CLASSIC.canonicalize_many([url for url, _ in pairs])
    digests = CLASSIC.foreign_fingerprints([url for url, _ in pairs])
    expected = [
        None if go_classic.is_ours_to_refuse(url, reason) else form for (url, form), reason in zip(pairs, found.reasons, strict=True)
    ]
    assert expected == [None if key is None else key.encode() for key in found]
    assert [None if form is None else hashlib.md5(form).digest() for form in expected] == digests
    return len(found) - found.rejected


def test_every_vector_has_the_form_that_go_gave_it() -> None:
    about, pairs = vectors()
    assert about["go"].startswith(f"{go_classic.VERSION}.")
    assert len(pairs) > 5000
    assert agree(pairs) > 2000


@pytest.mark.skipif(go_classic.missing() is not None, reason=str(go_classic.missing()))
def test_go_itself_says_the_same_of_fresh_urls(pytestconfig: pytest.Config) -> None:
    import random

    seed = random.randrange(1 << 32)
    print("seed", seed)  # shown when it fails
    batch = foreign_urls.as_bytes(foreign_urls.urls(seed, 10_000), seed)
    with go_classic.Go() as go:
        assert agree(list(zip(batch, go.forms(batch), strict=True))) > 1000
        assert vectors()[1] == list(zip([url for url, _ in vectors()[1]], go.forms([url for url, _ in vectors()[1]]), strict=True))


def test_what_the_form_is_known_for() -> None:
    forms = {
        "http://Example.com/A/?b=2&a=1&utm_source=x&utm_medium=y&ts=9#top": "http://example.com/a/?a=1&b=2",
        "http://e.com/A/": "http://e.com/a",
        "http://e.com": "http://e.com",
        "http://e.com/?ts=1": "http://e.com",
        "http://e.com/?": "http://e.com/?",
        "http://e.com/?b&a=x+y%20z": "http://e.com/?a=x+y+z&b=",
        "http://e.com/?a=1;b=2&c=%zz&d": "http://e.com/?d=",
        "http://e.com:80/a b(c)": "http://e.com:80/a%20b%28c%29",
        "http://e.com/a(c)": "http://e.com/a(c)",
        "http://É.com/É": "http://%c3%89.com/%c3%89",
        "http://U%40:P@e.com/": "http://u%40:p@e.com",
        "https://e.com/a/..//b": "https://e.com/a/..//b",
        "http:/x/": "http:/x",
    }
    assert list(forms.values()) == [canonicalize(url, profile="classic") for url in forms]


def test_what_has_no_form_has_a_reason() -> None:
    reasons = {
        "": "empty",
        " \n": "empty",
        "/a": "relative",
        "e.com": "relative",
        "ftp://e.com/": "scheme",
        "mailto:a": "scheme",
        " http://e.com/": "invalid",
        "ht\ttp://e.com/": "invalid",
        "http://e.com/%zz": "invalid",
        "http://e.com/#%zz": "invalid",
        "http://e.com/\x7f": "invalid",
        "http://e.com:8a/": "invalid",
        "http://é@e.com/": "invalid",
        "http://[::1": "host",
        "http://e com/": "host",
        "http://e%41.com/": "host",
        "http:é": "host",
        "http://e.com/" + "a" * 70_000: "too_long",
        "http://e.com/" + "é" * 30_000: "too_long",
    }
    assert list(reasons.values()) == list(CLASSIC.canonicalize_many(reasons).reasons)
    assert [None] * len(reasons) == CLASSIC.foreign_fingerprints(reasons)


def test_the_site_is_the_host_and_a_port_that_is_not_the_scheme_s_own() -> None:
    sites = {
        "http://E.com:80/": "e.com",
        "https://E.com:80": "e.com:80",
        "http://U@e.com:81/": "e.com:81",
        "http:/x": "",
        "http://[::1]:80": "[::1]",
    }
    keys = CLASSIC.canonicalize_many(sites)
    assert list(sites.values()) == [keys.site(i) for i in range(len(keys))]


def test_traps_hold_here_too() -> None:
    canon = Canonicalizer(profile="classic", traps=(4, 2, 2))
    batch = ["http://e.com/a/b/c/d/e", "http://e.com/a/a/a", "http://e.com/?a&a&a", "http://e.com/a/a?a=1&a=2", "http:"]
    assert ["trap", "trap", "trap", None, None] == list(canon.canonicalize_many(batch).reasons)


@given(references)
def test_a_base_joins_as_a_browser_does(url: str) -> None:
    base = "http://base.example/x/y?q=1"
    with_base = CLASSIC.canonicalize_many([url], base=base)
    if CLASSIC.canonicalize_many([url]).reasons[0] == "relative":
        joined = Canonicalizer(profile="exact", fragment="drop").canonicalize_many([url], base=base)
        assert (None if joined[0] is None else CLASSIC.canonicalize_many([with_base.absolute(0)])[0]) == with_base[0]
    else:
        assert CLASSIC.canonicalize_many([url])[0] == with_base[0]


@given(st.lists(urls, max_size=8))
def test_one_call_and_a_batch_say_the_same(batch: list[str]) -> None:
    keys = CLASSIC.canonicalize_many(batch)
    assert list(keys) == list(CLASSIC.canonicalize_many([url.encode() for url in batch]))
    for i, url in enumerate(batch):
        if keys[i] is None:
            with pytest.raises(InvalidURL, match=keys.reasons[i]):
                CLASSIC.canonicalize(url)
        else:
            assert (keys[i], keys.fingerprints[16 * i : 16 * i + 16]) == (CLASSIC.canonicalize(url), CLASSIC.fingerprint(url))


def test_md5_is_md5_at_every_length() -> None:
    for length in range(200):
        url = "http://e.com/" + "a" * length
        assert [hashlib.md5(url.rstrip("/").encode()).digest()] == CLASSIC.foreign_fingerprints([url])


def test_an_encoding_is_refused_as_go_has_none() -> None:
    with pytest.raises(ConfigError, match="latin-1"):
        Canonicalizer(profile="classic", encoding="latin-1")
    with pytest.raises(ConfigError, match="drops the fragment"):
        Canonicalizer(profile="classic", fragment="keep")
    assert "http://e.com/%e9" == CLASSIC.canonicalize(b"http://e.com/\xe9")


def test_it_explains_itself() -> None:
    told = explain("http://e.com/A/", "http://e.com/a", profile="classic")
    assert (True, "http://e.com/a") == (told.same, told.key)
    assert "merges pages that differ" in str(told)
