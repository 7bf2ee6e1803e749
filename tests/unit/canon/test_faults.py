"""Faults that happened elsewhere, by their number in the collection: each must be impossible here."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_urls import urls
from urlsieve.canon import Canonicalizer, Rules, canonicalize, canonicalize_many, fingerprint
from urlsieve.canon.switches import SWITCHES


def distinct(urls: list[str], **options: str) -> int:
    keys = Canonicalizer(**options).canonicalize_many(urls)  # type: ignore[arg-type]
    assert 0 == keys.rejected
    prints = {keys.fingerprints[16 * i : 16 * i + 16] for i in range(len(keys))}
    assert len(set(keys)) == len(prints)
    return len(prints)


def test_can_01_case_of_path_and_query_is_kept() -> None:
    assert 4 == distinct(
        ["http://example.com/A/b", "http://example.com/a/B", "http://example.com/?t=SeCrEt", "http://example.com/?t=secret"]
    )


@given(st.lists(st.sampled_from(["%", "25", "%25", "41", "e", "%7E", "/", "a"]), max_size=12).map("".join))
def test_can_03_an_encoded_percent_sign_is_never_decoded(path: str) -> None:
    url = f"http://example.com/{path}"
    key = canonicalize(url)
    assert key == canonicalize(key)
    assert path.count("%25") <= key.count("%25")


def test_can_03_the_three_urls_have_three_keys() -> None:
    assert 3 == distinct(["http://example.com/off/Sale%25", "http://example.com/off/%2525", "http://example.com/off/%25"])


def test_can_04_an_encoded_hash_is_no_fragment() -> None:
    urls = ["http://example.com/p/item%20%2376#top", "http://example.com/p/item%20"]
    assert 2 == distinct(urls)
    assert "http://example.com/p/item%20%2376" == canonicalize(urls[0])


def test_can_06_routes_are_pages_and_anchors_are_not() -> None:
    urls = ["http://example.com/#/topic/1", "http://example.com/#/user/2", "http://example.com/x#sec1", "http://example.com/x#sec2"]
    assert 3 == distinct(urls)
    assert 2 == distinct(urls, fragment="drop")


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_can_08_the_border_between_url_and_variant_cannot_move(left: bytes, right: bytes) -> None:
    text = "a" + left.hex() + right.hex()
    for cut in range(1, len(text)):
        assert fingerprint(f"http://e.com/{text}") != fingerprint(f"http://e.com/{text[:cut]}", variant=text[cut:].encode())
    assert fingerprint("http://example.com/foo", variant=b"POST") != fingerprint("http://example.com/fo", variant=b"oPOST")


def test_can_10_three_spellings_of_a_host_are_one_key_and_one_site() -> None:
    keys = canonicalize_many(["http://m\u00fcnchen.example/x", "http://M\u00dcNCHEN.example/x", "http://xn--mnchen-3ya.example/x"])
    assert 1 == len(set(keys))
    assert {"xn--mnchen-3ya.example"} == {keys.site(i) for i in range(3)}
    assert {keys.site(0)} == {keys.host(i) for i in range(3)}


def test_can_14_a_trailing_slash_makes_another_page() -> None:
    assert 2 == distinct(["http://example.com/feedback/?f=1", "http://example.com/feedback?f=1"])


def test_can_18_the_url_as_found_is_what_is_fetched() -> None:
    found = "http://example.com/?B=1&A=2"
    keys = canonicalize_many([found, "http://example.com/?A=2&B=1"])
    assert keys[0] == keys[1]
    assert found == keys.absolute(0)


def test_can_20_blanks_at_the_ends_are_not_part_of_a_url() -> None:
    assert 1 == distinct(["http://example.com/x ", "http://example.com/x\t", "http://example.com/x"])


def test_can_22_user_info_is_part_of_the_key_and_never_of_the_site() -> None:
    urls = ["https://info@example.com/", "https://example.com/", "https://u:p@example.com/x", "https://example.com/x"]
    assert 4 == distinct(urls)
    keys = canonicalize_many(urls)
    assert {"example.com"} == {keys.site(i) for i in range(4)}


def test_can_24_dot_segments_and_ipv6_are_written_one_way() -> None:
    urls = ["http://example.com/a/../b/./c", "http://example.com/b/c", "http://[2001:DB8:0:0::1]/x", "http://[2001:db8::1]/x"]
    assert 2 == distinct(urls)
    for key in canonicalize_many(urls):
        assert key == canonicalize(key or "")
    assert "http://[2001:db8::1]/x" == canonicalize(urls[2])


@pytest.mark.parametrize("url", ["http://example.com?", "http://example.com", "http://example.com/"])
def test_can_28_an_empty_query_and_a_missing_slash_are_decided(url: str) -> None:
    assert "http://example.com/" == canonicalize(url)


def together(urls: list[str], profile: str) -> set[str]:
    return {Canonicalizer(profile=profile).canonicalize(url) for url in urls}


def test_can_12_two_switches_that_are_right_alone_are_right_together() -> None:
    urls = ["http://example.com/path/", "http://example.com/path/index.html", "http://example.com/path"]
    assert (
        {"http://example.com/path"} == together(urls, "safe+drop_index+trailing_slash") == together(urls, "safe+trailing_slash+drop_index")
    )
    assert {"http://example.com/path/", "http://example.com/path"} == together(urls, "safe+drop_index")
    urls = ["http://example.com/path//index.html/", "http://example.com//path/index.html"]
    assert {"http://example.com/path"} == together(urls, "safe+drop_index+trailing_slash+collapse_slashes")


@given(st.lists(st.sampled_from(sorted(SWITCHES)), unique=True), urls)
def test_can_12_the_order_in_which_switches_are_named_means_nothing_and_all_sets_come_to_rest(names: list[str], url: str) -> None:
    one, other = (Canonicalizer(profile="+".join(["safe", *some])) for some in (names, names[::-1]))
    assert one.profile == other.profile
    keys = one.canonicalize_many([url])
    assert list(keys) == list(other.canonicalize_many([url]))
    if keys[0] is not None:
        assert keys[0] == one.canonicalize(keys[0])


def test_can_12_the_order_in_a_file_of_rules_means_nothing() -> None:
    parts = [
        "trailing_slash = 'strip'",
        "rewrite = [{ re = '(?:/index[.]html)+/?$', to = '/' }]",
        "examples = [['http://e.com/a/index.html', 'http://e.com/a']]",
    ]
    keys = set()
    for order in permutations(parts):
        rules = Rules.parse("\n".join(["[[site]]", "match = 'e.com'", *order]))
        keys |= {Canonicalizer(rules=rules).canonicalize(f"http://e.com/a{tail}") for tail in ("", "/", "/index.html")}
    assert {"http://e.com/a"} == keys


def test_can_14_a_confirmed_rule_merges_the_slash_and_says_who_confirmed_it() -> None:
    rules = Rules.parse("[[site]]\nmatch = 'example.com'\ntrailing_slash = 'strip'\nconfirmed = { by = 'Ann', at = 2026-11-30 }\n")
    canon = Canonicalizer(rules=rules)
    urls = ["http://example.com/feedback/?f=1", "http://example.com/feedback?f=1"]
    assert 1 == len({canon.fingerprint(url) for url in urls})
    assert "confirmed by Ann on 2026-11-30" in str(canon.explain(*urls))


def test_can_22_with_drop_userinfo_the_four_are_two() -> None:
    urls = ["https://info@example.com/", "https://example.com/", "https://u:p@example.com/x", "https://example.com/x"]
    assert {"https://example.com/", "https://example.com/x"} == together(urls, "safe+drop_userinfo")
