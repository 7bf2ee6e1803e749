"""The calls of interface.md: what they take, what they answer, what they refuse."""

import threading
from typing import Any

import pytest

from urlsieve.canon import CANONICAL_VERSION, Canonicalizer, Keys, canonicalize, canonicalize_many, explain, fingerprint
from urlsieve.errors import ConfigError, InvalidURL

URLS = ["HTTP://E.com:80/a?utm_source=x", b"http://e.com/\xff", "mailto:a@b", "http://f.com/#/r", "http://b\u00fccher.de/x"]
KEYS = ["http://e.com/a", "http://e.com/%FF", None, "http://f.com/#/r", "http://xn--bcher-kva.de/x"]


def test_keys_are_a_sequence_of_keys_and_nones() -> None:
    keys = canonicalize_many(URLS)
    assert KEYS == list(keys)
    assert KEYS == [keys[i] for i in range(-5, 0)]
    assert KEYS[1:4] == keys[1:4]
    assert [None, None, "scheme", None, None] == list(keys.reasons)
    assert ["scheme", None] == keys.reasons[2:4]
    assert (5, 1, 80) == (len(keys), keys.rejected, len(keys.fingerprints))
    assert bytes([0, 0, 3, 0, 0]) == keys.status
    assert bytes(16) == keys.fingerprints[32:48]
    assert "http://e.com/a" in keys
    with pytest.raises(IndexError):
        keys[5]


def test_keys_know_site_host_and_route() -> None:
    keys = canonicalize_many(["http://u:p@E.com:8080/", "http://[::1]:80/", "http://e.com/#!/a", "x"])
    assert ["e.com:8080", "[::1]", "e.com"] == [keys.site(i) for i in range(3)]
    assert ["e.com:8080", "[::1]", "e.com"] == [keys.host(i) for i in range(3)]
    assert [False, False, True, False] == [keys.route(i) for i in range(4)]
    with pytest.raises(LookupError, match="relative"):
        keys.site(3)


def test_what_to_fetch_is_the_url_as_found_or_its_resolved_href() -> None:
    found: list[str | bytes] = ["HTTP://E.com/a?utm_source=x#t", "../c#t", b"/d", "http:e", " http://e.com/f "]
    keys = canonicalize_many(found, base="http://base.example/x/y/z")
    assert [found[0], "http://base.example/x/c#t", "http://base.example/d", "http://base.example/x/y/e", found[4]] == [
        keys.absolute(i) for i in range(5)
    ]
    keys = canonicalize_many(found, base="ftp://no.example/")
    assert found[0] == keys.absolute(0)
    assert [None, "relative", "relative", None, None] == list(keys.reasons)


def test_a_batch_takes_any_iterable_but_not_one_url() -> None:
    assert KEYS == list(canonicalize_many(iter(URLS)))
    assert [] == list(canonicalize_many([]))
    assert b"" == Canonicalizer().fingerprints(())
    for wrong in ("http://e.com/", b"http://e.com/"):
        with pytest.raises(TypeError, match="not one URL"):
            canonicalize_many(wrong)


@pytest.mark.parametrize("wrong", [None, 5, ["http://e.com/"], bytearray(b"http://e.com/")])
def test_a_url_is_text_or_bytes(wrong: Any) -> None:
    with pytest.raises(TypeError, match="str or bytes"):
        canonicalize(wrong)
    with pytest.raises(TypeError, match="str or bytes"):
        canonicalize_many(["http://e.com/", wrong])
    with pytest.raises(TypeError, match="str or bytes"):
        fingerprint(wrong)


def test_batches_of_every_size_around_a_stretch_without_the_interpreter_lock() -> None:
    canon = Canonicalizer()
    urls = [f"http://e{i}.com/\u00e9" if i % 7 else f"http://u@e{i}.com/" for i in range(8_200)]
    whole = canon.fingerprints(urls)
    assert whole == b"".join(canon.fingerprints(urls[i : i + 1]) for i in range(len(urls)))
    for size in (1, 4_095, 4_096, 4_097, 8_192):
        assert whole[: 16 * size] == canon.fingerprints(urls[:size])


def test_single_calls_raise_with_the_reason() -> None:
    for call in (canonicalize, fingerprint, Canonicalizer().canonicalize, Canonicalizer().fingerprint):
        with pytest.raises(InvalidURL, match="scheme") as caught:
            call("ftp://e.com/")
        assert "scheme" == caught.value.reason


def test_a_fingerprint_depends_on_secret_and_variant_and_not_on_the_spelling() -> None:
    url, spelling = "http://e.com/a", "HTTP://E.com:80/./a?#x"
    assert fingerprint(url) == fingerprint(spelling) == Canonicalizer().fingerprint(url)
    assert 5 == len({fingerprint(url), fingerprint(url, secret=1), fingerprint(url, secret=1 << 127), fingerprint(url, variant=b"m"), b""})
    assert fingerprint(url)[:8] == fingerprint(url, variant=b"m")[:8] == fingerprint("http://e.com/b")[:8]
    assert fingerprint(url, secret=5, variant=b"\x00x") == Canonicalizer(secret=5).fingerprints([url], variants=[b"\x00x"])


def test_variants_must_be_one_for_each_url() -> None:
    with pytest.raises(ValueError, match="one for each"):
        Canonicalizer().fingerprints(["http://e.com/"], variants=[])


@pytest.mark.parametrize(
    "options",
    [
        {"profile": "classic", "encoding": "latin-1"},
        {"profile": "scrapy", "fragment": "keep"},
        {"profile": "scrapy", "rules": "rules.toml"},
        {"profile": "none such"},
        {"fragment": "some"},
        {"encoding": "none such"},
        {"rules": "none-such.toml"},
        {"secret": -1},
        {"secret": 1 << 128},
        {"traps": (1, 2)},
        {"traps": (-1, 0, 0)},
        {"profile": "exact", "fragment": "keep"},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Canonicalizer(**options)


def test_no_rules_and_empty_rules_are_none() -> None:
    assert "http://e.com/" == canonicalize("http://e.com", rules=None) == Canonicalizer(rules={}).canonicalize("http://e.com")


def test_the_profile_and_the_secret_can_be_read() -> None:
    canon = Canonicalizer(profile="exact", secret=9)
    assert ("exact", 9, 1) == (canon.profile, canon.secret, CANONICAL_VERSION)


def test_fragments_by_option() -> None:
    url = "http://e.com/#/r"
    routes, drop, keep = (Canonicalizer(fragment=mode) for mode in ("routes", "drop", "keep"))
    assert [url, "http://e.com/", url] == [canon.canonicalize(url) for canon in (routes, drop, keep)]
    assert "http://e.com/#top" == keep.canonicalize("http://e.com/#top")
    assert "http://e.com/" == keep.canonicalize("http://e.com/#")


def test_one_canonicalizer_serves_many_threads() -> None:
    canon = Canonicalizer(secret=3)
    urls = [f"http://e{i}.com/{i}?b=1&a=2" if i % 9 else f"http://\u00fc{i}.de/" for i in range(10_000)]
    wanted = canon.fingerprints(urls)
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(canon.fingerprints(urls))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [wanted] * 4 == found


def test_keys_do_not_change_with_the_list_they_came_from() -> None:
    urls: list[str | bytes] = ["http://e.com/a", "http://e.com/b"]
    keys = canonicalize_many(urls)
    assert isinstance(keys, Keys)
    urls.clear()
    assert ["http://e.com/a", "http://e.com/b"] == list(keys)
    assert "http://e.com/b" == keys.absolute(1)


def test_explain_of_the_module_is_that_of_the_canonicalizer() -> None:
    assert str(explain("http://E.com")) == str(Canonicalizer().explain("http://E.com"))
