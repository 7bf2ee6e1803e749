"""Stores whose keys are another program's: every URL that has a key can be queued, given out and found again, also with an odd site or none."""

import pytest

from sieve_lab import states

ODD = [
    "http://e.com:80/?b&a",
    "http://.é.com/a",
    "http://a b.example/",
    'http://e".example/',
    "http://[v1.x]/",
    "file:///etc/hosts",
    "data:text/plain,a",
    "ftp://e.com/",
]


@pytest.fixture
def sieve(lab):
    lab.options["profile"] = "scrapy"
    return lab.open()


def test_urls_with_an_odd_site_or_none_are_queued_given_out_and_known(sieve):
    assert len(ODD) == sieve.push(ODD).new
    assert ["rejected:scheme", "rejected:relative"] == sieve.push(["mailto:a", "a"]).verdicts
    leases = []
    while found := sieve.pop(10):
        leases += found
    assert sorted(ODD) == sorted(lease.url for lease in leases)
    assert "http://.é.com/a" in [lease.key for lease in leases]
    for lease in leases:
        sieve.done(lease, status=200)
    assert {"done": len(ODD)} == states(sieve)
    assert [True] * len(ODD) == sieve.seen(ODD)
    assert ["seen"] == sieve.push("http://E.com:80?a=&b=").verdicts


def test_they_have_a_group_by_domain_too(lab):
    lab.options |= {"profile": "scrapy", "group_by": "domain"}
    assert len(ODD) == lab.open().push(ODD).new


def test_links_are_joined_as_scrapy_joins_them(sieve):
    sieve.push("http://e.com:80/a/b")
    (lease,) = sieve.pop(1)
    sieve.done(lease, status=200, links=["../c", "?q"])
    assert ["http://e.com:80/a/b?q", "http://e.com:80/c"] == sorted(lease.url for lease in sieve.pop(10))


def test_the_profile_is_the_store_s_for_ever(lab, sieve):
    from urlsieve import StoreMismatch

    if lab.name != "memory":
        with pytest.raises(StoreMismatch, match="profile"):
            lab.open(profile="safe")


def test_classic_queues_what_go_parses_and_joins_links_as_a_browser_does(lab):
    lab.options["profile"] = "classic"
    sieve = lab.open()
    assert ["new", "seen", "rejected:invalid"] == sieve.push(["http://E.com/A/", "http://e.com/a?ts=1", "http://e.com/%zz"]).verdicts
    (lease,) = sieve.pop(1)
    assert ("http://E.com/A/", "http://e.com/a") == (lease.url, lease.key)
    sieve.done(lease, status=200, links=["b", "../A#x", "%zz"])
    assert ["http://e.com/A/b"] == [lease.url for lease in sieve.pop(10)]
