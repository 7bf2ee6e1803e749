"""The failed list: what is on it, what it says, and what comes back."""

import pytest

from sieve_lab import DAY, states
from urlsieve import ConfigError, URLItem

GONE_BAD = "http://a.example/secret"


@pytest.fixture
def job(sieve):
    """One dead by its status, one dead by its attempts on another site, one done, one delayed."""
    sieve.set_policy(max_attempts=1)
    sieve.push([URLItem(GONE_BAD, priority=7, depth=2, via="http://a.example/", meta={"k": [1, None]}, variant=b"POST\0x")])
    sieve.fail(sieve.pop(1), "forbidden", status=403)
    sieve.push("http://b.example/slow")
    sieve.fail(sieve.pop(1), "timeout after 30 s")
    sieve.push("http://c.example/")
    sieve.done(sieve.pop(1))
    sieve.set_policy(max_attempts=3)
    sieve.push("http://d.example/")
    sieve.fail(sieve.pop(1), "timeout after 10 s")
    assert {"dead": 2, "done": 1, "delayed": 1} == states(sieve)
    return sieve


def test_only_dead_urls_are_on_the_list_with_all_that_is_known_of_them(job, clock):
    found = {one.url: one for one in job.failed()}
    assert {GONE_BAD, "http://b.example/slow"} == set(found)
    one = found[GONE_BAD]
    assert ("a.example", "a.example", 1, 7, 2) == (one.site, one.group, one.attempts, one.priority, one.depth)
    assert ("http://a.example/", {"k": [1, None]}, b"POST\0x") == (one.via, one.meta, one.variant)
    assert "forbidden" in one.reason
    assert clock() == one.at


def test_the_list_is_cut_by_site_and_by_reason(job):
    assert ["http://b.example/slow"] == [one.url for one in job.failed(site="B.example")]
    assert ["http://b.example/slow"] == [one.url for one in job.failed(reason="timeout*")]
    assert [] == list(job.failed(reason="timeout"))
    assert [] == list(job.failed(site="a.example", reason="timeout*"))


def test_what_is_retried_is_popped_again_as_it_was_with_a_new_count_of_attempts(job):
    assert 1 == job.retry(site="a.example")
    assert {"dead": 1, "done": 1, "delayed": 1, "pending": 1} == states(job)
    (lease,) = job.pop(1)
    assert (GONE_BAD, 1, 7, 2, "retry") == (lease.url, lease.attempt, lease.priority, lease.depth, lease.klass)
    assert ("http://a.example/", {"k": [1, None]}, b"POST\0x") == (lease.via, lease.meta, lease.variant)


def test_what_was_listed_may_be_chosen_from(job):
    chosen = [one for one in job.failed() if one.url.endswith("slow")]
    assert 1 == job.retry(chosen)
    assert ["http://b.example/slow"] == [lease.url for lease in job.pop(9)]


def test_an_old_list_brings_back_nothing_that_was_brought_back_since(job):
    old = list(job.failed())
    assert 2 == job.retry(old)
    job.done(job.pop(2))
    assert 0 == job.retry(old)
    assert {"done": 3, "delayed": 1} == states(job)


def test_one_whose_text_is_no_longer_kept_is_listed_and_stays_dead(job, clock):
    clock.advance(8 * DAY)
    job.done(job.pop(1))  # the delayed one; a lease tidies up
    assert [None, None] == [one.url for one in job.failed()]
    assert {"a.example", "b.example"} == {one.site for one in job.failed()}
    assert 0 == job.retry()
    assert 2 == states(job)["dead"]


def test_a_long_list_comes_back_whole(sieve):
    sieve.set_policy(max_attempts=1)
    urls = [f"http://h{n % 50}.example/{n}" for n in range(2_500)]
    sieve.push(urls)
    while leases := sieve.pop(500):
        sieve.fail(leases, "forbidden", status=403)
    assert 2_500 == sieve.retry()
    assert {"pending": 2_500} == states(sieve)
    assert set(urls) == {lease.url for lease in sieve.pop(2_500)}


def test_retry_takes_only_what_the_list_gives(job):
    with pytest.raises(ConfigError, match="failed"):
        job.retry([GONE_BAD])
