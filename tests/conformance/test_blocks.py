"""A group that answers "not now" is left alone: what blocks it, for how long, who probes, and whose attempts it costs."""

import pytest

from sieve_lab import DAY, drain, pages, states, urls_of

HOST = ["a.example"]


def fail_next(sieve, **values):
    (lease,) = sieve.pop(1)
    return lease.url, sieve.fail(lease, "no", **values)


def test_a_429_blocks_the_group_and_no_other(sieve):
    sieve.push([*pages(5), "http://b.example/"])
    (lease,) = sieve.pop(1, groups=HOST)
    assert "delayed" == sieve.fail(lease, "slow down", status=429, retry_after=60).state
    assert ["http://b.example/"] == urls_of(sieve.pop(10))
    assert [] == sieve.pop(10, groups=HOST)


@pytest.mark.parametrize("status", [429, 503, 500, 403, 404, None])
def test_retry_after_blocks_the_group_on_any_status(sieve, clock, status):
    sieve.push(pages(5))
    fail_next(sieve, status=status, retry_after=100)
    clock.advance(99)
    assert [] == sieve.pop(10)
    clock.advance(101)
    assert 1 == len(sieve.pop(10))


def test_done_with_429_acts_as_fail(sieve):
    sieve.push(pages(3))
    assert "delayed" == sieve.done(sieve.pop(1)[0], status=429).state
    assert [] == sieve.pop(10)


def test_a_429_without_a_time_blocks_for_a_while_and_says_until_when(sieve, clock):
    sieve.push(pages(3))
    fail_next(sieve, status=429)
    empty = sieve.pop(10)
    assert [] == empty
    assert clock.now < empty.next_at <= clock.now + 3600
    clock.advance(empty.next_at - clock.now)
    assert 1 == len(sieve.pop(10))


def test_the_block_lasts_as_long_as_was_asked_for(sieve, clock):
    sieve.push(pages(3))
    fail_next(sieve, status=429, retry_after=60)
    clock.advance(59.9)
    assert [] == sieve.pop(10)


def test_retry_after_is_clamped_to_a_day(sieve, clock):
    sieve.push(pages(3))
    fail_next(sieve, status=503, retry_after=1e9)
    assert sieve.pop(10).next_at <= clock.now + DAY
    clock.advance(DAY)
    assert 1 == len(sieve.pop(10))


def test_infinite_retry_after_is_clamped_or_refused(sieve, clock):
    from urlsieve import ConfigError

    sieve.push(pages(3))
    (lease,) = sieve.pop(1)
    try:
        sieve.fail(lease, "x", status=503, retry_after=float("inf"))
    except ConfigError:
        sieve.release(lease)
        return
    clock.advance(DAY)
    assert 1 == len(sieve.pop(10))


def test_the_block_is_ended_by_one_probe_of_a_different_url(sieve, clock):
    sieve.push(pages(6))
    failed, _ = fail_next(sieve, status=429, retry_after=60)
    clock.advance(4000)
    probe = sieve.pop(10)
    assert 1 == len(probe)
    assert failed != probe[0].url
    assert [] == sieve.pop(10)
    sieve.done(probe)
    assert 5 == len(sieve.pop(10))


def test_the_probe_is_not_the_url_that_failed_even_where_that_one_is_more_urgent(sieve, clock):
    sieve.push("http://a.example/urgent", priority=100)
    sieve.push(pages(3))
    failed, _ = fail_next(sieve, status=429, retry_after=60)
    assert "http://a.example/urgent" == failed
    clock.advance(4000)
    assert ["http://a.example/p0"] == urls_of(sieve.pop(10))


def test_the_probe_is_another_url_also_where_all_have_failed_before(sieve, clock):
    sieve.push("http://a.example/urgent", priority=100)
    sieve.push("http://a.example/other")
    urgent, other = sieve.pop(2)
    assert "http://a.example/urgent" == urgent.url
    sieve.fail(other, "x", status=500)
    sieve.fail(urgent, "slow down", status=429, retry_after=60)
    clock.advance(4000)
    assert [other.url] == urls_of(sieve.pop(10))


def test_a_group_of_one_url_is_probed_by_that_url(sieve, clock):
    sieve.push("http://a.example/")
    fail_next(sieve, status=429, retry_after=60)
    clock.advance(4000)
    (probe,) = sieve.pop(10)
    assert "done" == sieve.done(probe).state


def test_a_probe_that_fails_blocks_again(sieve, clock):
    sieve.push(pages(6))
    fail_next(sieve, status=429, retry_after=60)
    clock.advance(4000)
    fail_next(sieve, status=429, retry_after=60)
    clock.advance(30)
    assert [] == sieve.pop(10)


@pytest.mark.parametrize("how", ["expiry", "release", "skip", "gone", "forbidden", "forget"])
def test_a_probe_that_says_nothing_does_not_leave_the_group_stuck(sieve, clock, how):
    sieve.push(pages(6))
    fail_next(sieve, status=429, retry_after=60)
    clock.advance(4000)
    (probe,) = sieve.pop(10, lease=10)
    match how:
        case "release":
            sieve.release(probe)
        case "skip":
            sieve.skip(probe, "type")
        case "gone":
            sieve.done(probe, status=404)
        case "forbidden":
            sieve.fail(probe, "x", status=403)
        case "forget":
            sieve.forget([probe.url])
    clock.advance(4000)
    assert len(sieve.pop(10)) >= 1


def test_the_attempts_of_a_blocked_url_are_not_used_up(sieve, clock):
    sieve.push(pages(2))
    for _ in range(5):
        clock.advance(2 * DAY)
        (lease,) = sieve.pop(1)
        assert 1 == lease.attempt
        sieve.fail(lease, "slow down", status=429, retry_after=10)


def test_a_url_is_excused_at_most_ten_times(sieve, clock):
    sieve.push(pages(2))
    leases = dict.fromkeys(pages(2), 0)
    for _ in range(100):
        clock.advance(2 * DAY)
        for lease in sieve.pop(10):
            leases[lease.url] += 1
            sieve.fail(lease, "slow down", status=429, retry_after=10)
    assert {"dead": 2} == states(sieve)
    assert dict.fromkeys(pages(2), 13) == leases


def test_three_failures_in_a_row_of_different_urls_block_the_group(sieve, clock):
    sieve.push(pages(10))
    for _ in range(2):
        fail_next(sieve, status=500)
        waiting = sieve.pop(1)
        assert 1 == len(waiting)
        sieve.release(waiting)
    fail_next(sieve, status=500)
    empty = sieve.pop(10)
    assert [] == empty
    assert empty.next_at > clock.now


def test_failures_without_a_status_block_too(sieve):
    sieve.push(pages(10))
    sieve.fail(sieve.pop(3), "connection refused")
    assert [] == sieve.pop(10)


def test_a_success_in_between_starts_the_count_anew(sieve):
    sieve.push(pages(10))
    fail_next(sieve, status=500)
    fail_next(sieve, status=500)
    sieve.done(sieve.pop(1))
    fail_next(sieve, status=500)
    fail_next(sieve, status=500)
    assert 1 == len(sieve.pop(1))


def test_failures_of_one_url_alone_do_not_block_the_group(lab, clock):
    sieve = lab.open(max_attempts=10)
    sieve.push("http://a.example/bad")
    for _ in range(5):
        clock.advance(3600)
        fail_next(sieve, status=500)
    sieve.push(pages(3))
    assert set(pages(3)) <= set(urls_of(sieve.pop(10)))


def test_two_urls_are_enough_for_a_block(lab, clock):
    sieve = lab.open(max_attempts=10)
    sieve.push("http://a.example/bad")
    fail_next(sieve, status=500)
    clock.advance(3600)
    fail_next(sieve, status=500)
    sieve.push(pages(5), priority=10)
    fail_next(sieve, status=500)
    assert [] == sieve.pop(10)


def test_a_url_that_fails_while_others_succeed_is_its_own_problem(sieve, clock):
    sieve.push(["http://a.example/bad", *pages(100)])
    attempts, blocked = 0, 0

    def fetch(sieve, lease):
        nonlocal attempts
        if lease.url.endswith("/bad"):
            attempts += 1
            sieve.fail(lease, "always", status=503)
        else:
            sieve.done(lease)

    for _ in range(200):
        for lease in sieve.pop(1):
            fetch(sieve, lease)
        clock.advance(2)
        blocked += "blocked" in sieve.why("a.example").reasons
    assert 3 == attempts
    assert 0 == blocked
    assert {"dead": 1, "done": 100} == states(sieve)


def test_a_url_that_always_asks_for_a_pause_on_a_healthy_site_dies_after_few_blocks(sieve, clock):
    sieve.push(["http://a.example/bad", *pages(50)])
    asked = []

    def fetch(sieve, lease):
        if lease.url.endswith("/bad"):
            asked.append(clock.now)
            sieve.fail(lease, "never", status=503, retry_after=1e9)
        else:
            sieve.done(lease)

    drain(sieve, clock, fetch, limit=1)
    assert {"dead": 1, "done": 50} == states(sieve)
    assert len(asked) <= 5


def test_pol_03_a_429_pauses_the_host_and_no_url_dies(lab, clock):
    sieve = lab.open(concurrency=5)
    sieve.push(pages(120))
    healthy_from, during = clock.now + 300, []

    def fetch(sieve, lease):
        if clock.now < healthy_from:
            during.append(clock.now)
            sieve.fail(lease, "too many", status=429, retry_after=60)
        else:
            sieve.done(lease)

    first = sieve.pop(10)
    assert 5 == len(first)
    for lease in first:
        fetch(sieve, lease)
    drain(sieve, clock, fetch)
    assert {"done": 120} == states(sieve)
    assert len(during) <= 5 + 5


def test_a_site_that_is_down_for_two_days_loses_nothing(sieve, clock):
    sieve.push(pages(60))
    back, tries = clock.now + 2 * DAY, 0

    def fetch(sieve, lease):
        nonlocal tries
        if clock.now < back:
            tries += 1
            sieve.fail(lease, "connection refused")
        else:
            sieve.done(lease)

    drain(sieve, clock, fetch, limit=5)
    assert {"done": 60} == states(sieve)
    assert tries < 500


def test_blocks_grow_while_the_group_stays_silent(sieve, clock):
    sieve.push(pages(100))
    waits = []
    for _ in range(8):
        (lease,) = sieve.pop(1)
        sieve.fail(lease, "no", status=429)
        waits.append(sieve.pop(1).next_at - clock.now)
        clock.advance(waits[-1])
    assert sum(waits[4:]) > sum(waits[:4])
    assert max(waits) <= DAY


def test_leases_out_when_the_block_begins_can_still_succeed(sieve, clock):
    sieve.push(pages(10))
    first, second, third = sieve.pop(3)
    sieve.fail(first, "x", status=429, retry_after=60)
    assert "done" == sieve.done(second).state
    assert sieve.extend(third, 600.0) is True
    assert "done" == sieve.done(third).state


def test_a_block_holds_for_other_workers_and_over_a_restart(shared):
    one, two = shared.open(), shared.open()
    one.push(pages(5))
    fail_next(one, status=429, retry_after=100)
    assert [] == two.pop(10)
    three = shared.reopen()
    assert [] == three.pop(10)
    assert "blocked" in three.why("a.example").reasons
    shared.clock.advance(4000)
    assert 1 == len(three.pop(10))


def test_a_new_url_does_not_end_a_block(sieve, clock):
    sieve.push(pages(2))
    fail_next(sieve, status=429, retry_after=100)
    sieve.push(pages(5, start=10), priority=100)
    assert [] == sieve.pop(10)


def test_a_person_can_end_a_block(sieve):
    sieve.push(pages(5))
    fail_next(sieve, status=429, retry_after=1000)
    sieve.group("a.example").unblock()
    assert 4 == len(sieve.pop(10))
