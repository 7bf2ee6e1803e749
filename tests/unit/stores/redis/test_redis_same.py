"""The same operations, in virtual time, by two openers of a Redis job and one of a memory store: the same verdicts, states and counts."""

from __future__ import annotations

import random

import pytest

import redis_server
from sieve_lab import check_conservation
from urlsieve import testing

URLS = [f"http://{host}.example/{number}" for host in ("a", "b", "c", "d") for number in range(4)]
STEPS = 80


@pytest.fixture
def address():
    yield redis_server.shared().address
    redis_server.forget_all()


class Pair:
    """One random history on both. Which URL is given is the store's to choose where order is not promised, so leases are taken of all that
    may be given, and settled by URL."""

    def __init__(self, seed, address):
        self.chance = random.Random(seed)
        self.clock = testing.VirtualClock()
        options = {"secret": 1, "max_attempts": 2, "backoff": 100.0, "high_water": 14, "keep_urls": seed % 2 == 0}
        self.memory = testing.open("memory:", clock=self.clock, seed=1, **options)
        self.others = [testing.open(address, clock=self.clock, seed=1, **options) for _ in range(2)]
        self.out = {}

    def both(self, act):
        other = self.chance.choice(self.others)
        one, two = act(self.memory), act(other)
        assert repr(one) == repr(two)

    def push(self):
        urls = self.chance.choices(URLS, k=self.chance.randint(1, 4))
        mode, priority = self.chance.choice(["new", "new", "raise", "again"]), self.chance.choice([0, 0, 1, -1])
        self.both(lambda sieve: sieve.push(urls, mode=mode, priority=priority))

    def mark(self):
        urls, known = self.chance.choices(URLS, k=2), self.chance.random() < 0.5
        self.both(lambda sieve: sieve.mark(urls, known=known))

    def forget(self):
        url = self.chance.choice(URLS)
        self.both(lambda sieve: sieve.forget([url]))
        self.out.pop(url, None)

    def purge(self):
        site = self.chance.choice("abcd") + ".example"
        self.both(lambda sieve: sieve.purge(site))
        self.out = {url: pair for url, pair in self.out.items() if site not in url}

    def limit(self):
        site, most = self.chance.choice("abcd") + ".example", self.chance.choice([None, 2, 3])
        for sieve in (self.memory, self.chance.choice(self.others)):
            sieve.site(site).limit = most

    def pop(self):
        other = self.chance.choice(self.others)
        one, two = self.memory.pop(100), other.pop(100)
        first, second = ({lease.url: (lease.attempt, lease.priority) for lease in found} for found in (one, two))
        assert first == second
        assert (one.next_at is None) == (two.next_at is None)  # backoff and blocks have jitter
        self.out.update({lease.url: (lease, next(b for b in two if b.url == lease.url)) for lease in one})

    def settle(self):
        if not self.out:
            return
        url = self.chance.choice(sorted(self.out))
        one, two = self.out[url] if self.chance.random() < 0.2 else self.out.pop(url)  # sometimes settled twice
        how, status = self.chance.choice(["done", "fail", "release", "extend"]), self.chance.choice([None, 404, 400])
        links, target = self.chance.choices(URLS, k=2), self.chance.choice([None, None, *URLS[:6]])
        other = self.chance.choice(self.others)

        def act(sieve, lease):
            if how == "done":
                found = sieve.done([lease], links=links, final_url=target)
            elif how == "fail":
                found = sieve.fail([lease], "broken", status=status)
            elif how == "release":
                found = sieve.release([lease])
            else:
                return sieve.extend([lease], 90.0)
            return [settled.state for settled in found]

        assert act(self.memory, one) == act(other, two)

    def wait(self):
        self.clock.advance(self.chance.choice([0.001, 400_000.0]))  # shorter than nearly any backoff or block, or longer than all

    def same(self):
        one, two = self.memory.stats().as_dict(), self.chance.choice(self.others).stats().as_dict()
        for name in ("accepted", "known", "seen", "pending", "leased", "delayed", "done", "dead", "rejected"):
            assert one[name] == two[name], name
        for url in self.chance.sample(URLS, 3):
            assert self.memory.seen([url]) == self.others[0].seen([url])

    def run(self):
        acts = [self.push] * 4 + [self.pop] * 2 + [self.settle] * 4 + [self.mark, self.forget, self.purge, self.wait, self.limit]
        for _ in range(STEPS):
            self.chance.choice(acts)()
            self.same()
        check_conservation(self.memory)
        check_conservation(self.others[0])
        for sieve in (self.memory, *self.others):
            sieve.close()


@pytest.mark.parametrize("shards", [1, 64])
@pytest.mark.parametrize("seed", range(6))
def test_two_openers_of_a_job_and_a_memory_store_say_the_same(address, seed, shards):
    Pair(seed, address(f"same{seed}", shards=shards)).run()
