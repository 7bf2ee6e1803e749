"""Whoever changes the rules is killed, again and again, while workers work: the next one finishes it, and nothing is lost."""

import random
import time

import pytest

import urlsieve
from sieve_lab import check_conservation, drain, finish, states
from urlsieve import testing
from urlsieve.stores.embedded import sweep
from zygote import wait_for

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def test_appliers_are_killed_while_workers_work_and_nothing_is_lost(place, fast_path, zygote):
    address, out, noted = place.address("rules"), fast_path / "out", fast_path / "noted"
    start = [f"http://m.h{number % 20}.example/page/{number}" for number in range(1500)]
    with urlsieve.open(address, max_attempts=1000, backoff=0.0, keep_urls=True) as sieve:
        sieve.push(start)
    workers = [zygote.start("work", address, str(out), 60.0) for _ in range(2)]
    chance = random.Random(5)
    for _ in range(6):
        before = noted.stat().st_size if noted.exists() else 0
        applier = zygote.start("change_rules", address, str(noted))
        wait_for(noted, before)
        time.sleep(chance.uniform(0.0, 0.4))
        zygote.kill(applier)
        with urlsieve.open(address) as fresh:  # finishes what was begun
            assert fresh._store.rules().swept
    for worker in workers:
        assert 0 == zygote.wait(worker, 120)
    with urlsieve.open(address) as sieve:
        sieve.apply_rules(None, by="Bob")
    words = noted.read_text().split()
    assert words.count("begin") > words.count("end")
    assert finish(address, start).accepted >= len(start)


@pytest.mark.parametrize("other", ["opens", "is open", "opens twice"])
def test_whoever_changes_the_rules_is_killed_between_slices_and_another_goes_on(fast_path, zygote, other):
    """Before each of its commits in turn, while the host map comes and goes."""
    address = str(fast_path / "store")
    start = [f"http://m.h.example/{number}" for number in range(80)] + [f"http://www.h.example/{number}" for number in range(60, 120)]
    pages = [[url for url in start if url.endswith(f"/{number}")] for number in range(120)]
    with urlsieve.open(address, keep_urls=True, backoff=0.0) as sieve:
        sieve.push(start)
        sieve.done(sieve.pop(20))
        leases = sieve.pop(20, lease=1000.0)
        begun = 0
        for at in range(1, 200):
            host = "h.example" if sieve.rules is None else ""
            status = zygote.run("change_rules_and_die", address, at, host)
            ruled = sieve._store.rules()
            begun += not ruled.swept
            if other == "is open":
                sieve.push("http://other.example/")  # hears of it, and finishes
            else:
                for _ in range(1 + (other == "opens twice")):
                    urlsieve.open(address).close()
            assert sieve._store.rules() == ruled._replace(swept=True)
            assert all(any(sieve.seen(page)) for page in pages)
            assert [] == sieve.verify(deep=True)
            if status == 0:
                break
        assert status == 0
        assert begun > 5
        sieve.apply_rules(None, by="Bob")
        settled = sieve.done(leases)
        assert {"done"} == {one.state for one in settled}  # nothing that is leased goes for one that waits
    clock = testing.VirtualClock(time.time() + 100_000)
    with testing.open(address, clock=clock) as sieve:
        drain(sieve, clock, lambda sieve, lease: sieve.done(lease))
        assert all(any(sieve.seen(page)) for page in pages)
        assert {"done"} == set(states(sieve))
        check_conservation(sieve)


def test_others_pop_and_settle_between_the_slices_of_a_sweep(fast_path, zygote):
    address = str(fast_path / "store")
    with urlsieve.open(address, keep_urls=True) as sieve:
        sieve.push(f"http://m.h.example/{number}" for number in range(20_000))
        sieve.push([f"http://other{number}.example/" for number in range(2_000)])
        applier = zygote.start("sweep_in_slices", address)
        while sieve._store.rules().swept:
            time.sleep(0.001)
        went = set()
        while (mark := sweep.mark(sieve._store._ledger._db)) is not None:
            went.add(mark.at)
            (lease,) = sieve.pop(1)
            assert sieve.extend(lease, 100)
            assert "done" == sieve.done(lease).state
        assert 5 < len(went)
        assert 0 == zygote.wait(applier)
        assert ["seen"] == sieve.push("http://www.h.example/1").verdicts
        assert [] == sieve.verify(deep=True)


def test_two_who_sweep_share_the_slices_and_a_push_is_taken_when_it_is_done(fast_path, zygote):
    address = str(fast_path / "store")
    with urlsieve.open(address, keep_urls=True) as sieve:
        sieve.push(f"http://m.h.example/{number}" for number in range(10_000))
        applier = zygote.start("sweep_in_slices", address)
        while sieve._store.rules().swept:
            time.sleep(0.001)
        urls = [f"http://www.h.example/{number}" for number in (1, 10_001)]
        assert ["seen", "new"] == sieve.push(urls).verdicts
        assert sieve._store.rules().swept
        assert 0 == zygote.wait(applier)
        assert [] == sieve.verify(deep=True)
        assert {"pending": 10_001} == states(sieve)
