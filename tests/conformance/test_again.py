"""Asking again for what was seen: each state's answer, and the new count of attempts."""

import pytest

from sieve_lab import pages, states, urls_of
from urlsieve import URLItem

URL = "http://a.example/"


def popped(sieve, url=URL):
    sieve.push(url)
    (lease,) = sieve.pop(1)
    return lease


def test_a_done_url_is_queued_again_and_accepted_is_unchanged(sieve):
    sieve.done(popped(sieve))
    assert ["requeued"] == sieve.push(URL, mode="again").verdicts
    assert {"pending": 1} == states(sieve)
    assert 1 == sieve.stats().accepted
    assert [URL] == urls_of(sieve.pop(10))


def test_a_dead_url_is_queued_again_with_a_new_count_of_attempts(sieve, clock):
    sieve.fail(popped(sieve), "forbidden", status=403)
    assert {"dead": 1} == states(sieve)
    assert 1 == sieve.push(URL, mode="again").requeued
    for attempt in (1, 2, 3):
        (lease,) = sieve.pop(1, lease=10)
        assert attempt == lease.attempt
        clock.advance(11)
    assert [] == sieve.pop(1)
    assert {"dead": 1} == states(sieve)


def test_a_url_that_expired_to_death_can_be_asked_for_again(sieve, clock):
    sieve.push(URL)
    for _ in range(3):
        assert 1 == len(sieve.pop(1, lease=10))
        clock.advance(11)
    assert [] == sieve.pop(1)
    assert 1 == sieve.push(URL).seen
    assert 1 == sieve.push(URL, mode="again").requeued
    assert 1 == sieve.pop(1)[0].attempt


def test_a_pending_url_is_not_queued_twice(sieve):
    sieve.push(URL)
    assert 0 == sieve.push(URL, mode="again").new
    assert [URL] == urls_of(sieve.pop(10))
    assert [] == sieve.pop(10)


def test_again_lifts_a_pending_url_like_raise(sieve):
    sieve.push(pages(2))
    assert ["raised"] == sieve.push("http://a.example/p1", priority=9, mode="again").verdicts
    assert ["http://a.example/p1"] == urls_of(sieve.pop(1))


def test_a_url_that_was_never_seen_is_new(sieve):
    assert ["new"] == sieve.push(URL, mode="again").verdicts
    assert [URL] == urls_of(sieve.pop(10))


@pytest.mark.parametrize("settle", ["done", "fail", "skip", "gone"])
def test_a_leased_url_comes_back_after_it_is_settled(sieve, settle):
    lease = popped(sieve)
    assert ["requeued"] == sieve.push(URL, mode="again").verdicts
    assert {"leased": 1} == states(sieve)
    assert [] == sieve.pop(10)
    match settle:
        case "done":
            sieve.done(lease)
        case "fail":
            sieve.fail(lease, "forbidden", status=403)
        case "skip":
            sieve.skip(lease, "type")
        case "gone":
            sieve.done(lease, status=404)
    (again,) = sieve.pop(10)
    assert (URL, 1) == (again.url, again.attempt)
    sieve.done(again)
    assert [] == sieve.pop(10)
    assert {"done": 1} == states(sieve)


def test_a_leased_url_asked_for_again_comes_back_when_its_lease_expires(sieve, clock):
    sieve.push(URL)
    sieve.pop(1, lease=10)
    sieve.push(URL, mode="again")
    clock.advance(11)
    (lease,) = sieve.pop(10)
    sieve.done(lease)
    assert {"leased": 0, "dead": 0} == {name: sieve.stats().as_dict()[name] for name in ("leased", "dead")}


def test_asking_many_times_during_one_lease_brings_it_back_once(sieve):
    lease = popped(sieve)
    for _ in range(5):
        sieve.push(URL, mode="again")
    sieve.done(lease)
    sieve.done(sieve.pop(10))
    assert [] == sieve.pop(10)


def test_again_with_a_due_time_waits_for_it(sieve, clock):
    sieve.done(popped(sieve))
    assert 1 == sieve.push(URLItem(URL, due=clock.now + 60), mode="again").requeued
    assert {"delayed": 1} == states(sieve)
    assert clock.now + 60 == sieve.pop(1).next_at
    clock.advance(60)
    assert [URL] == urls_of(sieve.pop(1))


def test_revisit_is_again_with_a_due_time(sieve, clock):
    sieve.done(popped(sieve))
    assert 1 == sieve.revisit([URL], at=clock.now + 60).requeued
    assert [] == sieve.pop(1)
    clock.advance(60)
    (lease,) = sieve.pop(1)
    assert (URL, 1) == (lease.url, lease.attempt)
    sieve.done(lease)
    assert 1 == sieve.revisit(URL).requeued
    assert [URL] == urls_of(sieve.pop(1))


def test_again_with_a_due_time_on_a_leased_url_waits_for_it_too(sieve, clock):
    lease = popped(sieve)
    sieve.push(URLItem(URL, due=clock.now + 60), mode="again")
    sieve.done(lease)
    assert [] == sieve.pop(1)
    clock.advance(60)
    assert [URL] == urls_of(sieve.pop(1))


@pytest.mark.parametrize("waits", [(60, 10), (10, 60), (10, None, 60)])
def test_of_several_wishes_during_one_lease_the_earliest_counts(sieve, clock, waits):
    lease = popped(sieve)
    for wait in waits:
        sieve.push(URLItem(URL, due=None if wait is None else clock.now + wait), mode="again")
    sieve.done(lease)
    clock.advance(0 if None in waits else 10)
    assert [URL] == urls_of(sieve.pop(1))


def test_a_skipped_url_can_be_offered_again(sieve):
    sieve.skip(popped(sieve), "robots")
    assert 1 == sieve.push(URL).seen
    assert 1 == sieve.push(URL, mode="again").requeued
    assert [URL] == urls_of(sieve.pop(1))


def test_a_marked_url_can_be_asked_for_again_with_new_values(sieve):
    sieve.mark(URL)
    sieve.push(URL, mode="again", priority=4, meta={"why": "changed"})
    (lease,) = sieve.pop(1)
    assert (URL, 4, {"why": "changed"}) == (lease.url, lease.priority, lease.meta)


def test_inc_03_a_second_round_leases_what_the_first_has_done(sieve):
    sieve.push(pages(3))
    sieve.done(sieve.pop(10))
    assert 3 == sieve.push(pages(4), mode="again").requeued
    assert set(pages(4)) == set(urls_of(sieve.pop(10)))


def test_inc_15_a_second_round_keeps_the_identity(sieve):
    url = "http://example.com/t#comment-9"
    for _ in range(2):
        sieve.push(url, mode="again")
        (lease,) = sieve.pop(1)
        assert url == lease.url
        sieve.done(lease)
    assert 1 == sieve.stats().accepted


def test_cra_15_a_failed_url_is_seen_by_a_plain_push_and_returns_when_asked_for(sieve, clock):
    sieve.push(URL)
    for _ in range(3):
        clock.advance(3600)
        (lease,) = sieve.pop(1)
        settled = sieve.fail(lease, "broken page", status=500)
    assert "dead" == settled.state
    info = sieve.info(URL)
    assert "dead" == info.state
    assert "broken page" in info.reason
    assert 1 == sieve.push(URL).seen
    assert 1 == sieve.push(URL, mode="again").requeued
    clock.advance(3600)
    assert [URL] == urls_of(sieve.pop(1))


def test_cra_17_a_retry_is_the_same_record(sieve, clock):
    every = [f"http://h{number}.example/" for number in range(200)]
    bad = set(every[::10])
    sieve.push(every)
    attempts = 0
    while leases := sieve.pop(1000):
        attempts += len(leases)
        sieve.fail([lease for lease in leases if lease.url in bad and lease.attempt == 1], "once", status=500)
        sieve.done([lease for lease in leases if lease.url not in bad or lease.attempt > 1])
        clock.advance(20)
    assert 220 == attempts
    assert {"done": 200} == states(sieve)
    assert 200 == sieve.stats().accepted
