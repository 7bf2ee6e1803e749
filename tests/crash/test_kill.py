"""Processes are really killed; afterwards every acknowledged URL is in exactly one state, and comes out."""

import json
import random
import time

import pytest

import urlsieve
from children import race_url
from sieve_lab import check_conservation, drain, finish, pages, states
from urlsieve import testing
from urlsieve.stores.embedded.seen import manifest
from zygote import wait_for

pytestmark = pytest.mark.crash


def test_cra_01_leases_of_a_killed_worker_come_back_with_a_second_attempt(place, fast_path, zygote):
    store, out = place.address("store"), fast_path / "out"
    with urlsieve.open(store) as sieve:
        sieve.push(pages(100))
    assert -9 == zygote.run("pop_then_die", store, 10, 60.0, str(out))
    taken = set(json.loads(out.read_text()))
    assert 10 == len(taken)
    clock = testing.VirtualClock(time.time() + 100)
    with testing.open(store, clock=clock) as sieve:
        leases = sieve.pop(1000)
        assert 100 == len(leases)
        assert taken == {lease.url for lease in leases if lease.attempt == 2}
        sieve.done(leases)
        assert {"done": 100} == states(sieve)
        check_conservation(sieve)


@pytest.mark.slow
def test_cra_01_workers_killed_at_random_moments_lose_nothing(place, fast_path, zygote):
    store, out, rng = place.address("store"), fast_path / "out", random.Random(3)
    start = [f"http://h{number % 97}.example/{'fail' if number % 10 == 0 else 'page'}/{number}" for number in range(2000)]
    with urlsieve.open(store, max_attempts=1000, durability="normal", backoff=0.01) as sieve:
        sieve.push(start)
    out.write_text("")
    for turn in range(40):
        size = out.stat().st_size
        pids = [zygote.start("work", store, str(out), 0.05) for _ in range(2)]
        if turn % 4:
            wait_for(out, size)
        time.sleep(rng.uniform(0.0, 0.06))
        for pid in pids:
            assert zygote.kill(pid) in (0, -9)
    noted = {line.split()[1] for line in out.read_text().splitlines() if line.startswith("done ")}
    assert noted
    assert finish(store, start).done >= len(noted) - 2


@pytest.mark.slow
@pytest.mark.parametrize("durability", [None, "normal"])  # None: what the kind of store does by itself
def test_ato_01_a_pushing_process_killed_at_random_moments_leaves_no_url_seen_but_not_queued(place, fast_path, zygote, durability):
    store, out, rng = place.address("store"), fast_path / "out", random.Random(4)
    urlsieve.open(store, durability=durability).close()
    acknowledged = 0
    for turn in range(12):
        out.write_text(f"{acknowledged}\n")
        pid = zygote.start("push_for_ever", store, str(out), acknowledged, (1, 50, 1000)[turn % 3])
        wait_for(out, out.stat().st_size)
        time.sleep(rng.uniform(0.0, 0.1))
        assert -9 == zygote.kill(pid)
        acknowledged = int(out.read_text().split()[-1])
    assert acknowledged > 0
    every = [race_url(number) for number in range(acknowledged + 2000)]
    clock = testing.VirtualClock()
    with testing.open(store, clock=clock) as sieve:
        check_conservation(sieve)
        seen = {url for url, known in zip(every, sieve.seen(every), strict=True) if known}
        assert set(every[:acknowledged]) <= seen
        found = []
        drain(sieve, clock, lambda sieve, lease: (found.append(lease.url), sieve.done(lease)), limit=2000)
        assert (len(seen), seen) == (len(found), set(found))
        check_conservation(sieve)


def test_a_batch_is_there_whole_or_not_at_all(fast_path, zygote):
    store, out, rng = str(fast_path / "store"), fast_path / "out", random.Random(5)
    urlsieve.open(store).close()
    for turn in range(10):
        first = turn * 1_000_000
        pid = zygote.start("push_for_ever", store, str(out), first, 4000)
        time.sleep(rng.uniform(0.02, 0.15))
        zygote.kill(pid)
        with urlsieve.open(store) as sieve:
            seen = sieve.seen([race_url(number) for number in range(first, first + 80_000)])
            assert sorted(seen, reverse=True) == seen
            assert 0 == sum(seen) % 4000
            assert [] == sieve.verify()


def test_a_store_whose_creation_was_cut_short_can_be_created_again(place, zygote):
    rng = random.Random(6)
    for number in range(40):
        store = place.address(f"s{number}")
        pid = zygote.start("create", store)
        time.sleep(rng.uniform(0.0, 0.03))
        zygote.kill(pid)
        with urlsieve.open(store) as sieve:
            assert 2 == sieve.push(pages(2)).new
            check_conservation(sieve)


@pytest.mark.slow
def test_cra_11_after_random_kills_every_group_with_something_waiting_is_served(place, zygote):
    store, rng = place.address("store"), random.Random(7)
    urlsieve.open(store, max_attempts=100, concurrency=4, backoff=0.0, durability="normal").close()
    for turn in range(15):
        with urlsieve.open(store) as sieve:
            accepted = sieve.stats().accepted
            pids = [zygote.start("churn", store, 30) for _ in range(3)]
            end = time.monotonic() + 30
            while sieve.stats().accepted == accepted:  # a kill before anything was done would test nothing
                assert time.monotonic() < end
        time.sleep(rng.uniform(0.0, 0.2))
        for pid in pids:
            assert -9 == zygote.kill(pid)
        if turn % 5 == 4:
            with urlsieve.open(store) as sieve:
                check_conservation(sieve)
    clock = testing.VirtualClock(time.time() + 100_000)
    with testing.open(store, clock=clock) as sieve:
        waiting = {row.name for row in sieve.groups() if row.pending or row.leased}
        assert waiting
        served = set()
        drain(sieve, clock, lambda sieve, lease: (served.add(lease.group), sieve.done(lease)), limit=100)
        assert waiting <= served
        assert set(states(sieve)) <= {"done", "dead"}
        assert [] == [row.name for row in sieve.groups() if row.leased or row.pending]


@pytest.mark.slow
def test_kills_while_the_journal_becomes_runs_and_runs_are_merged_lose_nothing(fast_path, zygote):
    store, rng = fast_path / "store", random.Random(9)
    urlsieve.open(store, max_attempts=100, backoff=0.0, durability="normal").close()
    for turn in range(25):
        pids = [zygote.start("churn_runs", str(store), 30) for _ in range(2)]
        time.sleep(rng.uniform(0.05, 0.2))
        for pid in pids:
            assert -9 == zygote.kill(pid)
        if turn % 5 == 4:
            with urlsieve.open(store) as sieve:
                check_conservation(sieve)
                assert [] == [path.name for path in (store / "runs").glob("new-*")]
    with urlsieve.open(store) as sieve:
        with sieve._store._ledger.read() as db:
            names = {run.name for run in manifest(db)}
        assert names == {path.name for path in (store / "runs").glob("*.run")}
        assert names
        check_conservation(sieve)


def test_another_process_goes_on_when_the_holder_of_the_lock_is_killed(fast_path, zygote):
    store, out, rng = str(fast_path / "store"), fast_path / "out", random.Random(8)
    with urlsieve.open(store, durability="normal") as sieve:
        for turn in range(10):
            pid = zygote.start("push_for_ever", store, str(out), turn * 1_000_000, 20_000)
            time.sleep(rng.uniform(0.03, 0.15))
            zygote.kill(pid)
            report = sieve.push(pages(20, start=turn * 20))
            assert 20 == report.new
            sieve.done(sieve.pop(20, groups=["a.example"]))
        assert [True] * 200 == sieve.seen(pages(200))
        check_conservation(sieve)


def test_a_worker_killed_while_idle_leaves_no_lock(place, zygote):
    store = place.address("store")
    assert -9 == zygote.run("push_then", store, pages(5), "kill")
    with urlsieve.open(store) as sieve:
        assert {"pending": 5} == states(sieve)
        assert 5 == len(sieve.pop(10))
