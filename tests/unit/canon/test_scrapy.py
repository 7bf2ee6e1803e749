"""Profile scrapy is w3lib's canonicalize_url and Scrapy's fingerprint, bit for bit: in the kernel, in Python, and against the originals."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.utils.request import fingerprint
from w3lib.url import canonicalize_url

import foreign_urls
from canon_urls import references, urls
from urlsieve.canon import Canonicalizer, canonicalize, explain
from urlsieve.errors import ConfigError, InvalidURL

REAL = Path(__file__).parents[2] / "cases/data/kasztp_urls.txt.gz"
KERNEL = Canonicalizer(profile="scrapy", secret=7)
PYTHON = Canonicalizer(profile="scrapy", secret=7, always_parse=True)  # no URL is the kernel's

Answer = tuple[str | None, str | None]
"""The key and the fingerprint in hexadecimal; None: refused."""


def theirs(url: str | bytes, encoding: str = "utf-8") -> Answer:
    """What w3lib and Scrapy say. What Scrapy's Request refuses has no key, although w3lib alone would give it one."""
    text = url if isinstance(url, str) else url.decode(encoding, "percentencode")
    try:
        key = canonicalize_url(url, encoding=encoding)
        try:
            request = Request(text, encoding=encoding)
        except UnicodeEncodeError:  # w3lib takes UTF-8 then, Scrapy gives up
            Request(text)
            return key, None
    except ValueError:
        return None, None
    try:
        return key, fingerprint(request).hex()
    except ValueError:
        return key, None


def ours(canon: Canonicalizer, batch: list[str] | list[bytes]) -> list[Answer]:
    keys, digests = canon.canonicalize_many(batch), canon.foreign_fingerprints(batch)
    return [(key, None if digest is None else digest.hex()) for key, digest in zip(keys, digests, strict=True)]


def wanted(canon: Canonicalizer, batch: list[str] | list[bytes]) -> list[Answer]:
    """Theirs; but a text without a scheme is refused, which Scrapy lets pass if `://` is anywhere in it."""
    return [
        (None, None) if reason == "relative" else theirs(url)
        for url, reason in zip(batch, canon.canonicalize_many(batch).reasons, strict=True)
    ]


def agree(batch: list[str] | list[bytes]) -> None:
    expected = wanted(KERNEL, batch)
    assert expected == ours(KERNEL, batch)
    assert expected == ours(PYTHON, batch)


def test_every_url_of_the_real_list_has_their_form_and_their_fingerprint() -> None:
    real = gzip.decompress(REAL.read_bytes()).decode().splitlines()
    agree(real[::6])
    agree([url.encode() for url in real[1::12]])


@pytest.mark.parametrize("seed", range(4))
def test_hostile_urls_have_their_form_and_their_fingerprint(seed: int) -> None:
    batch = foreign_urls.urls(seed, 2000)
    agree(batch)
    agree(foreign_urls.as_bytes(batch, seed))
    reasons = set(KERNEL.canonicalize_many(batch).reasons)
    assert {None, "empty", "invalid", "host", "scheme", "relative"} == reasons


@given(urls)
def test_generated_urls_have_their_form_and_their_fingerprint(url: str) -> None:
    agree([url])
    agree([url.encode()])


@given(st.text(max_size=30))
def test_any_text_behind_a_host_has_their_form(text: str) -> None:
    agree([f"http://e.com/{text}", f"http://e.com{text}", f"https://{text}/a?b"])


@given(st.binary(max_size=40))
def test_any_bytes_behind_a_host_have_their_form(data: bytes) -> None:
    agree([b"http://e.com/" + data, b"http://e.com/?" + data])


def test_a_host_longer_than_any_label_is_as_python_s_codec_leaves_it_but_not_after_its_long_work() -> None:
    labels = [
        "é" * 1300,
        "e" * 1300 + "é",
        "\u00ad" * 1300 + "é",
        "e\u0301\u00ad" * 450,
        "\u1100\u00ad\u1161\u00ad\u11a8" * 20,
        "ß" * 1250,
        "ﷺ" * 70,
    ]
    agree([f"http://{label}.com/" for label in labels] + [f"http://a。{label}/" for label in labels])
    # Python's codec takes some microseconds a character: this would be minutes
    assert 200 == len(KERNEL.canonicalize_many([f"http://{'é' * 10_000}/{n}" for n in range(200)]))


def test_what_the_form_is_known_for() -> None:
    forms = {
        "http://E.com:80?b=2&a=1": "http://e.com:80/?a=1&b=2",
        "http://e.com/?b=&a&&c=x+y%20z": "http://e.com/?a=&b=&c=x+y+z",
        "http://e.com/a/../b;p=1?q#f": "http://e.com/b;p=1?q=",
        "http://e.com/%7Ea%2fb%3Fc|[d]": "http://e.com/~a%2Fb%3Fc|[d]",
        "http://www.bücher.de/é": "http://www.xn--bcher-kva.de/%C3%A9",
        "http://u%40:p@e.com\\x": "http://u%40:p@e.com/x",
        "http://[::0:1]/": "http://[::1]/",
        "ftp://e.com/a": "ftp://e.com/a",
        "http://.é.com/": "http://.é.com/",
    }
    assert list(forms.values()) == [canonicalize(url, profile="scrapy") for url in forms]


def test_what_has_no_form_has_a_reason() -> None:
    reasons = {
        "": "empty",
        " \t": "empty",
        "/a?next=http://e.com": "relative",
        "e.com": "relative",
        "mailto:a@e.com": "scheme",
        "http:x": "scheme",
        "http://e.com:99999/": "invalid",
        "http://e.com:8a/": "invalid",
        "http://e.com/\ud800": "invalid",
        "http://[::1/": "host",
        "http://[x]/": "host",
        "http://e℀.com/": "host",
        "http://e.com/" + "a" * 70_000: "too_long",
        "http://e.com/" + "é" * 30_000: "too_long",
    }
    assert list(reasons.values()) == list(KERNEL.canonicalize_many(reasons).reasons)
    assert [None] * len(reasons) == KERNEL.foreign_fingerprints(reasons)


def test_the_site_is_the_host_and_a_port_that_is_not_the_scheme_s_own() -> None:
    sites = {
        "http://E.com:80/": "e.com",
        "https://e.com:0443/": "e.com",
        "https://e.com:80/": "e.com:80",
        "http://e.com:8080?a": "e.com:8080",
        "http://u:p@e.com:80/": "e.com",
        "http://[::1]:80/": "[::1]",
        "http://[::1]:81/": "[::1]:81",
        "http://[::80]/": "[::80]",
        "http://bücher.de:80/a@b:80": "xn--bcher-kva.de",
        "file:///etc": "",
        "about:blank": "",
    }
    for canon in (KERNEL, PYTHON):
        keys = canon.canonicalize_many(sites)
        assert list(sites.values()) == [keys.site(i) for i in range(len(keys))]
    assert KERNEL.fingerprints(sites) == PYTHON.fingerprints(sites)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1251", "gb2312", "shift_jis", "utf-8-sig", "utf-16", "iso2022_jp", "utf-7", "cp037"])
def test_an_encoding_is_w3lib_s(encoding: str) -> None:
    canon = Canonicalizer(profile="scrapy", encoding=encoding)
    batch = foreign_urls.urls(99, 1500)
    keys = canon.canonicalize_many(batch)
    expected = [None if reason in ("relative", "empty") else theirs(url, encoding) for url, reason in zip(batch, keys.reasons, strict=True)]
    assert [None if answer is None else answer[0] for answer in expected] == list(keys)
    got = [None if digest is None else digest.hex() for digest in canon.foreign_fingerprints(batch)]
    assert [None if answer is None else answer[1] for answer in expected] == got


@pytest.mark.parametrize("encoding", ["latin-1", "gb2312", "cp037"])
def test_bytes_are_read_in_the_encoding(encoding: str) -> None:
    canon = Canonicalizer(profile="scrapy", encoding=encoding)
    batch = [f"http://e.com/é?q=ü{n}".encode(encoding, "ignore") for n in range(50)] + foreign_urls.as_bytes(foreign_urls.urls(5, 500), 5)
    keys = canon.canonicalize_many(batch)
    expected = [
        None if reason in ("relative", "empty") else theirs(url, encoding)[0] for url, reason in zip(batch, keys.reasons, strict=True)
    ]
    assert expected == list(keys)


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ConfigError, match="no-such"):
        Canonicalizer(profile="scrapy", encoding="no-such")


@given(st.one_of(urls, references))
def test_a_base_joins_as_scrapy_s_responses_do(url: str) -> None:
    from urllib.parse import urljoin

    base = "http://base.example/x/y?q=1"
    try:
        joined = urljoin(base, url.strip("".join(map(chr, range(0x21)))).translate(dict.fromkeys(map(ord, "\t\n\r"))))
        expected = theirs(joined)[0]
    except ValueError:
        expected = None
    for canon in (KERNEL, PYTHON):
        keys = canon.canonicalize_many([url], base=base)
        if keys.reasons[0] != "empty":
            assert expected == keys[0]
            if keys[0] is not None:
                assert keys[0] == canon.canonicalize(keys.absolute(0))


@pytest.mark.parametrize("base", ["ftp://e.com/", "nonsense", "", "http://[", "http:///x"])
def test_a_base_that_cannot_be_joined_to_is_none(base: str) -> None:
    assert ("relative",) == tuple(KERNEL.canonicalize_many(["a"], base=base).reasons)


def test_traps_hold_here_too() -> None:
    canon = Canonicalizer(profile="scrapy", traps=(4, 2, 2))
    batch = [
        "http://e.com/a/b/c/d/e",
        "http://e.com/a/a/a",
        "http://e.com/?a&a&a",
        "http://é.com/a/a/a",
        "http://e.com/a/a?a=1&a=2",
        "about:/a/a/a",
    ]
    assert ["trap", "trap", "trap", "trap", None, None] == list(canon.canonicalize_many(batch).reasons)


def test_a_fingerprint_is_the_digest_of_the_json_of_a_get() -> None:
    for length in range(200):  # past three blocks of SHA-1, each way of padding
        url = 'http://e".com/' + "a" * length
        text = json.dumps({"body": "", "headers": {}, "method": "GET", "url": url}, sort_keys=True)
        assert [hashlib.sha1(text.encode()).digest()] == KERNEL.foreign_fingerprints([url])


def test_a_request_is_fingerprinted_as_scrapy_holds_it() -> None:
    # the first reading of this host makes brackets of it, which the second refuses: a key, but no fingerprint
    assert "http://[x]/" == KERNEL.canonicalize("http://［x］/")
    assert [None] == KERNEL.foreign_fingerprints(["http://［x］/"])


def test_only_another_program_s_profile_has_its_fingerprint() -> None:
    with pytest.raises(ConfigError, match="another program"):
        Canonicalizer().foreign_fingerprints(["http://e.com/"])
    with pytest.raises(ConfigError, match="drops the fragment"):
        Canonicalizer(profile="scrapy", fragment="keep")


def test_one_call_and_a_batch_and_lines_say_the_same() -> None:
    batch = [url for url in foreign_urls.urls(12, 2000) if "\n" not in url and "\r" not in url]
    data = foreign_urls.as_bytes(batch, 3)
    data = [url.replace(b"\n", b"").replace(b"\r", b"") for url in data]
    keys = KERNEL.canonicalize_many(data)
    lines = KERNEL.lines(b"\n".join(data) + b"\n")
    assert keys.fingerprints == lines.fingerprints
    for i, url in enumerate(data):
        assert lines.key(i) == (None if keys[i] is None else keys[i].encode())
        if keys[i] is None:
            with pytest.raises(InvalidURL, match=keys.reasons[i]):
                KERNEL.canonicalize(url)
        else:
            assert (keys[i], keys.fingerprints[16 * i : 16 * i + 16]) == (KERNEL.canonicalize(url), KERNEL.fingerprint(url))
    flags = bytes(key is not None for key in keys)
    assert b"".join(key.encode() + b"\n" for key in keys if key is not None) == lines.select(flags, keys=True)


def test_it_explains_itself() -> None:
    told = explain("http://E.com?b&a", "http://e.com/?a=&b=", profile="scrapy")
    assert (True, "http://e.com/?a=&b=") == (told.same, told.key)
    assert "w3lib" in str(told)
    assert False is explain("http://.é.com/", "http://[v1.x]/", profile="scrapy").same
    assert "rejected as scheme" in str(explain("mailto:a", profile="scrapy"))
