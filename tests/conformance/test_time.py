"""The clock is an argument: what happens when it jumps or goes back."""

import pytest

from sieve_lab import drain, hosts, pages, states, urls_of
from urlsieve import URLItem


def step_back(clock, seconds):
    clock.now -= seconds


@pytest.mark.parametrize("back", [1, 59, 3600, 1_000_000])
def test_a_clock_set_back_does_not_shorten_a_lease(sieve, clock, back):
    sieve.push(pages(1))
    (lease,) = sieve.pop(1, lease=60)
    step_back(clock, back)
    assert [] == sieve.pop(1)
    clock.advance(59)
    assert [] == sieve.pop(1)
    assert "done" == sieve.done(lease).state


@pytest.mark.parametrize("back", [1, 9, 3600])
def test_a_clock_set_back_does_not_free_a_group_early(lab, clock, back):
    sieve = lab.open(delay=10.0)
    sieve.push(pages(3))
    sieve.done(sieve.pop(1))
    step_back(clock, back)
    assert [] == sieve.pop(1)
    clock.advance(9.9)
    assert [] == sieve.pop(1)
    clock.advance(back + 0.1)
    assert 1 == len(sieve.pop(1))


def test_a_clock_set_back_does_not_end_a_block_early(sieve, clock):
    sieve.push(pages(3))
    sieve.fail(sieve.pop(1)[0], "x", status=429, retry_after=100)
    step_back(clock, 50)
    clock.advance(99)
    assert [] == sieve.pop(1)


def test_a_clock_set_back_does_not_bring_a_delayed_url_forward(sieve, clock):
    sieve.push(URLItem("http://a.example/", due=clock.now + 10))
    step_back(clock, 100)
    assert [] == sieve.pop(1)
    clock.advance(99)
    assert [] == sieve.pop(1)
    clock.advance(11)
    assert 1 == len(sieve.pop(1))


def test_work_goes_on_while_the_clock_is_behind(sieve, clock):
    sieve.push(hosts(5))
    sieve.done(sieve.pop(2))
    step_back(clock, 100_000)
    sieve.push(hosts(8))
    leases = sieve.pop(10)
    assert 6 == len(leases)
    assert ["done"] * 6 == [settled.state for settled in sieve.done(leases)]
    assert {"done": 8} == states(sieve)


def test_a_lease_extended_after_a_step_back_is_not_shorter_than_asked_for(sieve, clock):
    sieve.push(pages(1))
    (lease,) = sieve.pop(1, lease=60)
    step_back(clock, 30)
    assert sieve.extend(lease, 60.0) is True
    clock.advance(59)
    assert [] == sieve.pop(1)


def test_a_clock_far_ahead_loses_no_url(sieve, clock):
    sieve.push([*hosts(5), URLItem("http://a.example/", due=clock.now + 1e6)])
    sieve.pop(3, lease=60)
    clock.advance(1e8)
    assert 6 == len(sieve.pop(10))


@pytest.mark.parametrize("start", [0.0, 1.0, 1_700_000_000.123456, 4e9, 1e11])
def test_any_epoch_will_do(tmp_path, start):
    from urlsieve import testing

    clock = testing.VirtualClock(start)
    with testing.open("memory:", clock=clock, delay=0.25) as sieve:
        sieve.push(pages(4))
        times = []
        drain(sieve, clock, lambda sieve, lease: (times.append(clock.now), sieve.done(lease)))
    assert [start + 0.25 * step for step in range(4)] == pytest.approx(times, abs=1e-4)


def test_next_at_is_never_in_the_past_and_always_enough(lab, clock):
    sieve = lab.open(delay=1.3, concurrency=1)
    sieve.push([*pages(5), *pages(5, host="b.example"), URLItem("http://c.example/", due=clock.now + 2.2)])
    found = []
    drain(sieve, clock, lambda sieve, lease: (found.append(lease.url), sieve.done(lease)), limit=3)
    assert 11 == len(set(found)) == len(found)


def test_more_expired_leases_than_one_call_reaps_come_back_over_the_next_calls(sieve, clock):
    sieve.push(pages(2500))
    assert 2500 == len(sieve.pop(2500, lease=10))
    clock.advance(11)
    found = []
    for _ in range(10):
        found += urls_of(sieve.pop(5000))
    assert sorted(pages(2500)) == sorted(found)


def test_more_due_urls_than_one_call_wakes_come_over_the_next_calls(sieve, clock):
    sieve.push([URLItem(url, due=clock.now + 5) for url in pages(2500)])
    clock.advance(6)
    found = []
    for _ in range(10):
        found += urls_of(sieve.pop(5000))
    assert sorted(pages(2500)) == sorted(found)
