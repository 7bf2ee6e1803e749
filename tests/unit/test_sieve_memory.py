"""What a long crawl leaves behind: memory does not grow with the hosts ever seen, nor the store with payload that was taken."""

import json
import os

import pytest

import urlsieve
from sieve_lab import check_conservation, hosts, states
from urlsieve import testing

#: Most that SQLite's own page cache may hold of a store, in kilobytes: bounded, so not counted as growth.
PAGE_CACHE = 65_536


@pytest.mark.slow
def test_mem_05_the_memory_of_a_worker_does_not_grow_with_the_hosts_it_has_seen(fast_path, zygote):
    out = fast_path / "out"
    marks = [20_000, 200_000] if os.environ.get("URLSIEVE_HYPOTHESIS") == "long" else [10_000, 50_000]
    assert 0 == zygote.wait(zygote.start("visit_hosts", str(fast_path / "store"), marks, str(out)), 180)
    (memory, blocks), (memory_later, blocks_later) = json.loads(out.read_text())
    assert blocks_later <= blocks * 1.1
    assert memory_later <= memory * 1.1 + PAGE_CACHE


def size_of(store):
    return sum(path.stat().st_size for path in store.iterdir())


def cycles(sieve, count, start):
    """URLs with two kilobytes of payload each, pushed, taken and settled."""
    for first in range(start, start + count, 500):
        sieve.push([urlsieve.URLItem(f"http://h{n % 50}.example/{n}", meta="x" * 2000) for n in range(first, first + 500)])
        leases = sieve.pop(500)
        assert 500 == len(leases)
        sieve.done(leases)


@pytest.mark.slow
@pytest.mark.parametrize("keep", [False, True])
def test_mem_03_payload_is_freed_when_its_url_is_settled(fast_path, keep):
    store = fast_path / "store"
    clock = testing.VirtualClock()
    with testing.open(str(store), clock=clock, durability="normal", keep_urls=keep) as sieve:
        cycles(sieve, 1000, 0)
    before = size_of(store)
    with testing.open(str(store), clock=clock, durability="normal") as sieve:
        cycles(sieve, 6_000, 1000)
    grown = size_of(store) - before
    assert grown <= 6_000 * (250 if keep else 120), f"{grown / 6_000:.0f} bytes stay of each URL"


def test_without_kept_text_a_settled_url_leaves_its_fingerprint_and_is_counted():
    clock = testing.VirtualClock()
    with testing.open("memory:", clock=clock, keep_urls=False) as sieve:
        sieve.push(hosts(100))
        sieve.done(sieve.pop(50))
        assert {"done": 50, "pending": 50} == states(sieve)
        assert [True] * 100 == sieve.seen(hosts(100))
        assert "done" == sieve.info("http://h0.example/").state
        assert 50 == len(sieve.pop(100))
        assert 1 == sieve.push("http://h0.example/", mode="again").requeued
        check_conservation(sieve)


def test_with_kept_text_a_settled_url_can_be_shown():
    with testing.open("memory:", clock=testing.VirtualClock(), keep_urls=True) as sieve:
        sieve.push("http://A.example/x?utm_source=1")
        sieve.done(sieve.pop(1))
        assert "http://A.example/x?utm_source=1" == sieve.info("http://a.example/x").url


def test_a_listing_that_takes_long_does_not_hold_the_write_ahead_log_back(fast_path):
    store = fast_path / "store"
    with testing.open(str(store), clock=testing.VirtualClock(), durability="normal") as sieve:
        sieve.push(hosts(3000))
        listings = [sieve.sites(), sieve.groups()]
        for listing in listings:
            next(listing)
        for number in range(80):
            sieve.push([urlsieve.URLItem(url, meta="x" * 2000) for url in hosts(500, path=f"/{number}")])
        # a reader that stays open would keep every page that was written since in the log, and the ledger as it was
        assert (store / "ledger.db").stat().st_size > 30_000_000
        assert [2999, 2999] == [sum(1 for _ in listing) for listing in listings]
