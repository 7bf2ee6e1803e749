"""Budgets on a Redis store: what they cost when there is much of something."""

import redis_server
import urlsieve
from sieve_lab import pages
from urlsieve import Rules


def hlens(client):
    return client.info("commandstats").get("cmdstat_hlen", {"calls": 0})["calls"]


def test_offers_and_pops_under_a_domains_limit_do_not_look_at_all_its_sites():
    server = redis_server.shared()
    client = server.client()
    with urlsieve.open(server.address("domains")) as sieve:
        sieve.push([f"http://s{number}.e.example/" for number in range(500)])
        sieve.apply_rules(Rules.parse("[scope]\nlimits = { domain = { urls = 1000, pages = 1000 } }"))
        sieve.push("http://first.e.example/")
        before = hlens(client)
        for number in range(10):
            assert 1 == sieve.push(f"http://more{number}.e.example/").new
            sieve.done(sieve.pop(1), size=10)
        assert hlens(client) - before < 500
        assert 489 == sieve.push(pages(600, host="last.e.example")).new
        sieve.purge("s1.e.example")
        sieve.forget("http://s2.e.example/")
        assert 2 == sieve.push(pages(700, host="last.e.example")).new
        assert [] == sieve.verify(deep=True)
    redis_server.forget_all()


def test_many_sleepers_are_woken_in_slices_and_all_of_them():
    """Those who fall asleep meanwhile, and a second change of rules in the middle, too."""
    server = redis_server.shared()
    client = server.client()
    sleepers = 2500
    with urlsieve.open(server.address("sleepers", shards=1), group_by="domain") as sieve:
        sieve.push(pages(sleepers + 1, host="a.e.example"))
        sieve.apply_rules(Rules.parse("[scope]\nlimits = { site = { pages = 1 } }"))
        sieve.done(sieve.pop(1))
        while sieve.stats().pending:
            assert [] == sieve.pop(1000)
        (aside,) = [key[:-1] + b"V" for key in client.keys("*{sleepers:s0}:n")]
        sieve.apply_rules(Rules.parse("[scope]\nlimits = { site = { pages = 2 } }"))
        assert sleepers - 1000 == client.zcard(aside)
        sieve.apply_rules(Rules.parse("[scope]\nlimits = { site = { pages = 3000 } }"))
        given = []
        while leases := sieve.pop(400):
            given += leases
        assert sleepers == len(given)
        assert 0 == client.exists(aside)
        assert [] == sieve.verify(deep=True)
    redis_server.forget_all()
