"""Faults of identity, seen from outside: what is pushed, and how many of them are new."""

import pytest

import urlsieve
from sieve_lab import states, urls_of
from urlsieve import URLItem


def news(sieve, *urls, **values):
    return sieve.push(list(urls), **values).new


def test_can_01_case_in_path_and_query_is_kept(sieve):
    assert 4 == news(
        sieve, "http://example.com/A/b", "http://example.com/a/B", "http://example.com/?t=SeCrEt", "http://example.com/?t=secret"
    )
    assert {"pending": 4} == states(sieve)


def test_can_03_an_encoded_percent_sign_stays_encoded(sieve):
    assert 3 == news(sieve, "http://example.com/off/Sale%25", "http://example.com/off/%2525", "http://example.com/off/%25")
    keys = [lease.key for lease in sieve.pop(10)]
    assert ["http://example.com/off/Sale%25", "http://example.com/off/%2525", "http://example.com/off/%25"] == keys
    assert 0 == news(sieve, *keys)


def test_can_04_an_encoded_hash_is_no_fragment(sieve):
    assert 2 == news(sieve, "http://example.com/p/item%20%2376#top", "http://example.com/p/item%20")
    assert "http://example.com/p/item%20%2376" == sieve.pop(1)[0].key


def test_can_06_routes_of_single_page_apps_are_pages_and_anchors_are_not(sieve):
    assert 3 == news(
        sieve, "http://example.com/#/topic/1", "http://example.com/#/user/2", "http://example.com/x#sec1", "http://example.com/x#sec2"
    )


def test_can_08_the_border_between_url_and_body_cannot_move(sieve):
    assert 2 == news(sieve, URLItem("http://example.com/foo", variant=b"POST\n"), URLItem("http://example.com/fo", variant=b"POST\no"))


def test_can_10_spellings_of_an_internationalised_host_are_one(sieve):
    report = sieve.push(["http://münchen.example/x", "http://MÜNCHEN.example/x", "http://xn--mnchen-3ya.example/x"])
    assert (1, 2, 1) == (report.new, report.seen, sieve.stats().sites)


def test_can_14_a_trailing_slash_makes_another_page(sieve):
    assert 2 == news(sieve, "http://example.com/feedback/?f=1", "http://example.com/feedback?f=1")


def test_can_22_user_info_is_part_of_the_identity(sieve):
    assert 4 == news(sieve, "https://info@example.com/", "https://example.com/", "https://u:p@example.com/x", "https://example.com/x")
    assert ["example.com"] == [row.name for row in sieve.sites()]


def test_can_22_credentials_are_not_shown_in_explanations(sieve):
    sieve.push("https://u:secretword@example.com/x")
    assert "secretword" not in str(sieve.why("https://u:secretword@example.com/x"))
    assert "secretword" not in str(sieve.doctor())


def test_can_24_dot_segments_and_ipv6_are_resolved(sieve):
    urls = ["http://example.com/a/../b/./c", "http://example.com/b/c", "http://[2001:DB8:0:0::1]/x", "http://[2001:db8::1]/x"]
    report = sieve.push(urls)
    assert (2, 2) == (report.new, report.seen)
    keys = {lease.key for lease in sieve.pop(10)}
    assert {"http://example.com/b/c", "http://[2001:db8::1]/x"} == keys
    assert 0 == news(sieve, *keys)


def test_can_26_a_site_that_keeps_appending_a_parameter_ends_in_a_trap(sieve):
    url, links = "http://trap.example/p?v=0", []
    for number in range(1, 500):
        url = f"http://trap.example/p?v={number}&" + url.partition("?")[2]
        links.append(url)
    report = sieve.push(links)
    assert report.new <= 64
    assert 499 - report.new == report.reasons["trap"]
    assert 1 == news(sieve, "http://other.example/p?v=1")


@pytest.mark.parametrize("path", ["/a" * 9, "/x/" + "loop/" * 10, "/s" * 300, "/" + "/".join(f"d{n}" for n in range(257))])
def test_can_26_paths_without_end_are_traps(sieve, path):
    assert ["rejected:trap"] == sieve.push("http://trap.example" + path).verdicts


def test_can_28_an_empty_query_and_a_missing_slash_are_the_front_page(sieve):
    assert 1 == news(sieve, "http://example.com?", "http://example.com", "http://example.com/")
    assert ["http://example.com?"] == urls_of(sieve.pop(10))
    assert [True] == sieve.seen(["http://example.com/"])


def test_can_14_a_trailing_slash_is_dropped_only_by_a_rule_and_the_store_says_who_confirmed_it(sieve):
    """CAN-14: by default both are pages; with the rule one is, and the rule lists who looked."""
    pair = ["http://example.com/feedback/?f=1", "http://example.com/feedback?f=1"]
    assert ["new", "new"] == sieve.push(pair).verdicts
    rule = (
        '[[site]]\nmatch = "other.example"\ntrailing_slash = "strip"\n'
        'confirmed = { by = "Ann", at = 2026-11-30, evidence = "40 pairs alike" }\n'
    )
    sieve.apply_rules(urlsieve.Rules.parse(rule), by="Ann")
    assert ["new", "seen"] == sieve.push([url.replace("example.com", "other.example") for url in pair]).verdicts
    assert ["seen", "seen"] == sieve.push(pair).verdicts
    (confirmed,) = [one.confirmed for one in sieve.rules.rules]
    assert ("Ann", "40 pairs alike") == (confirmed.by, confirmed.evidence)
