"""Where a site's URLs lie: together with their group's, for ever, and spread evenly."""

from collections import Counter

import pytest

from sieve_lab import ONE_SHARD, Lab, address_of, states
from urlsieve import ConfigError, URLItem
from urlsieve.grouping import domains
from urlsieve.opening import _suffixes
from urlsieve.stores.redis.shards import Shards, runs


@pytest.fixture(scope="module")
def shards():
    return Shards("job", 64, 12345, domains(_suffixes()))


def test_all_of_a_registrable_domain_is_in_one_shard_whatever_the_port(shards):
    names = ("e.co.uk", "www.e.co.uk", "a.b.e.co.uk:8080", "E.co.uk.", "e.co.uk:443")
    assert 1 == len({shards.of(name) for name in names})
    assert 1 == len({shards.of(name) for name in ("[::1]", "[::1]:80")})
    assert 1 == len({shards.of(name) for name in ("127.0.0.1", "127.0.0.1:8000")})


def test_neighbours_under_a_public_suffix_are_apart(shards):
    assert len({shards.of(f"u{number}.github.io") for number in range(100)}) > 30


def test_the_shard_of_a_name_never_changes(shards):
    """Written down: a store made today must be found by every later version."""
    assert [47, 51, 12] == [shards.of(name) for name in ("example.com", "example.org", "127.0.0.1")]


def test_another_secret_spreads_otherwise():
    one, other = (Shards("job", 64, secret, domains(_suffixes())) for secret in (1, 2))
    names = [f"h{number}.example" for number in range(50)]
    assert [one.of(name) for name in names] != [other.of(name) for name in names]


def test_sites_are_spread_evenly(shards):
    found = Counter(shards.of(f"site-{number}.example") for number in range(20_000))
    assert 64 == len(found)
    assert max(found.values()) < 2 * 20_000 / 64


def test_runs_are_the_batch_in_its_order():
    assert [(0, [0, 1]), (1, [2]), (0, [3])] == list(runs({0: [0, 1, 3], 1: [2]}))


def test_a_group_of_another_domain_is_refused_with_the_way_out(fast_path):
    lab = Lab(name="redis", address=address_of("redis", fast_path), options={})
    sieve = lab.open()
    with pytest.raises(ConfigError) as caught:
        sieve.push(["http://fine.example/", URLItem("http://a.example/", group="b.example")])
    for word in ("b.example", "a.example", "shards=1"):
        assert word in str(caught.value)
    assert {} == states(sieve)
    assert (
        2 == sieve.push([URLItem("http://www.a.example/", group="a.example"), URLItem("http://a.example:8080/", group="x.a.example")]).new
    )
    lab.finish()


def test_a_store_of_one_shard_takes_any_group(fast_path):
    lab = Lab(name=ONE_SHARD, address=address_of(ONE_SHARD, fast_path), options={})
    assert 1 == lab.open().push(URLItem("http://a.example/", group="the machine")).new
    lab.finish()
