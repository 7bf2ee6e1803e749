"""A store in a profile with switches: its text is bound in one spelling; sites are what the switches leave, groups are hosts as found."""

import pytest

from sieve_lab import check_conservation, pages
from urlsieve import ConfigError, StoreMismatch


def test_a_profile_is_bound_in_its_one_spelling(shared):
    shared.open(profile="safe+trailing_slash+strip_www").push(pages(1))
    shared.close()
    sieve = shared.open(profile="safe+strip_www+trailing_slash")
    assert "safe+strip_www+trailing_slash" == sieve.stats().as_dict()["canonical"]["profile"]
    shared.close()
    for other in ("safe", "aggressive", "safe+strip_www"):
        with pytest.raises(StoreMismatch) as caught:
            shared.open(profile=other)
        assert "profile" == caught.value.field
    with pytest.raises(ConfigError, match="unknown switch"):
        shared.open(profile="safe+strip_ww")


def test_a_site_is_what_the_switches_leave_and_a_group_is_the_host_as_found(lab):
    sieve = lab.open(profile="safe+strip_www")
    report = sieve.push(["http://www.e.example/a", "http://e.example/a", "http://e.example/b"])
    assert ["new", "seen", "new"] == list(report.verdicts)
    leases = {lease.url: lease for lease in sieve.pop(10)}
    assert {"http://www.e.example/a": ("e.example", "www.e.example"), "http://e.example/b": ("e.example", "e.example")} == {
        url: (lease.site, lease.group) for url, lease in leases.items()
    }
    check_conservation(sieve)


def test_can_22_with_drop_userinfo_the_four_are_two(lab):
    sieve = lab.open(profile="safe+drop_userinfo")
    urls = ["https://info@e.example/", "https://e.example/", "https://u:p@e.example/x", "https://e.example/x"]
    assert ["new", "seen", "new", "seen"] == list(sieve.push(urls).verdicts)
