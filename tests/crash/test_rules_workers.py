"""The rules change while workers crawl: a parameter, a host map, a suspension; some workers are late. No page is lost, nothing is refused."""

import json
import time
from collections import Counter

import pytest

import urlsieve
from children import page_of, spellings
from sieve_lab import check_conservation

DROP = """
[[site]]
match = "site{site}.com"
drop = ["sid"]
"""
MAP = """hosts = {{ "m.site{site}.com" = "www.site{site}.com" }}
confirmed = {{ by = "Ann", at = 2026-11-30 }}
"""


def rules(*parts):
    return urlsieve.Rules.parse("".join(part.format(site=site) for site in range(3) for part in parts))


def change(sieve):
    """The map is wrong for every fifth page: somebody notices it, a rule at a time, and puts it right."""
    yield sieve.apply_rules(rules(DROP), by="Ann")
    yield sieve.apply_rules(rules(DROP, MAP), by="Ann")
    for site in range(3):
        yield sieve.suspend_rule(f"site{site}.com", by="Bob", evidence="it is another page")
    yield sieve.resume_rule("site1.com", by="Carl")
    yield sieve.suspend_rule("site1.com", by="Bob")
    yield sieve.apply_rules(rules(DROP), by="Ann")
    yield sieve.apply_rules(None, by="Ann")
    yield sieve.apply_rules(rules(DROP), by="Ann")


@pytest.mark.slow
@pytest.mark.parametrize("keep_urls", [True, False])
def test_can_rules_change_while_four_workers_crawl(place, fast_path, zygote, keep_urls):
    store, out = place.address("store"), fast_path / "out"
    seconds, bound = 6.0, 0
    with urlsieve.open(store, keep_urls=keep_urls, durability=None) as sieve:
        moment = time.time() + seconds
        pids = [zygote.start("crawl_under_rules", store, seed, pause, moment, str(out)) for seed, pause in enumerate((0, 0, 0.02, 0.7))]
        changes = change(sieve)
        for turn in range(10):
            time.sleep(max(0.0, moment - seconds + (turn + 1) * seconds / 12 - time.time()))
            bound += next(changes).bound
        assert [0] * 4 == [zygote.wait(pid, 60) for pid in pids]
        assert 10 == sieve.rules_history().generation
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert [] == [row for row in rows if "refused" in row]
        fetched = [row["fetched"] for row in rows if "fetched" in row]
        assert 0 == sieve.push(spellings(3, 30)).rejected
        while leases := sieve.pop(100):
            fetched += [lease.url for lease in leases]
            sieve.done(leases)
        states = sieve.stats()
        assert 0 == states.pending + states.leased + states.dead
        truth = {page_of(url) for url in spellings(3, 30)}
        assert truth == {page_of(url) for url in fetched}
        again = sum(many - 1 for many in Counter(fetched).values())
        assert again <= bound
        check_conservation(sieve)
