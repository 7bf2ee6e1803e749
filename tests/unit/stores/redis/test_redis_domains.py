"""What a domain has used is a number, not a sum over its sites at every question; it stays true whoever changes what."""

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
