"""A redirect's target and every hop are entries of their own, settled together with their source."""

import pytest

from sieve_lab import pages, states, urls_of
from urlsieve import URLItem

OLD, HOP, NEW = "http://a.example/old", "http://a.example/hop", "http://b.example/new"


def pop_old(sieve):
    sieve.push(OLD, priority=9)
    (lease,) = sieve.pop(1, groups=["a.example"])
    return lease


def test_can_16_target_and_hops_are_done_and_seen(sieve):
    sieve.done(pop_old(sieve), status=200, final_url=NEW, redirects=[HOP])
    assert {"done": 3} == states(sieve)
    assert ["seen", "seen", "seen"] == sieve.push([OLD, HOP, NEW]).verdicts
    assert [] == sieve.pop(10)


def test_can_16_a_target_that_was_pending_is_not_fetched_again(sieve):
    sieve.push([NEW, HOP])
    sieve.done(pop_old(sieve), final_url=NEW, redirects=[HOP])
    assert {"done": 3} == states(sieve)
    assert [] == sieve.pop(10)


def test_can_16_a_target_that_was_delayed_is_not_fetched_again(sieve, clock):
    sieve.push(URLItem(NEW, due=clock.now + 50))
    sieve.done(pop_old(sieve), final_url=NEW)
    clock.advance(100)
    assert [] == sieve.pop(10)
    assert {"done": 2} == states(sieve)


def test_can_16_a_target_leased_by_another_is_left_alone(sieve):
    sieve.push(NEW)
    (theirs,) = sieve.pop(1)
    sieve.done(pop_old(sieve), final_url=NEW)
    assert {"done": 1, "leased": 1} == states(sieve)
    assert "done" == sieve.done(theirs).state


def test_a_target_that_was_dead_is_alive(sieve):
    sieve.push(NEW)
    sieve.fail(sieve.pop(1)[0], "x", status=403)
    sieve.done(pop_old(sieve), final_url=NEW)
    assert {"done": 2} == states(sieve)


def test_a_target_that_was_done_stays_done(sieve):
    sieve.push(NEW)
    sieve.done(sieve.pop(1)[0])
    sieve.done(pop_old(sieve), final_url=NEW)
    assert {"done": 2} == states(sieve)


def test_a_target_that_was_only_known_is_still_seen_once(sieve):
    sieve.mark(NEW, known=True)
    sieve.done(pop_old(sieve), final_url=NEW)
    assert 2 == sieve.stats().seen
    assert [] == sieve.pop(10)


@pytest.mark.parametrize("own", [OLD, "http://A.example/old#x", "HTTP://a.example:80/old?"])
def test_a_redirect_to_itself_is_one_entry(sieve, own):
    sieve.done(pop_old(sieve), final_url=own, redirects=[own, own])
    assert {"done": 1} == states(sieve)


def test_hops_that_repeat_are_one_entry(sieve):
    sieve.done(pop_old(sieve), final_url=NEW, redirects=[HOP, NEW, HOP, NEW])
    assert {"done": 3} == states(sieve)


@pytest.mark.parametrize(
    "target", ["mailto:x@y.example", "", "http://", "javascript:void(0)", "http://a.example:99999/", "http://" + "x" * 70_000]
)
def test_a_target_that_is_no_url_does_not_hold_back_its_source(sieve, target):
    assert "done" == sieve.done(pop_old(sieve), status=302, final_url=target).state
    assert {"done": 1} == states(sieve)


def test_a_relative_target_is_resolved_against_its_source(sieve):
    sieve.done(pop_old(sieve), status=302, final_url="/new?x=1")
    assert [True] == sieve.seen(["http://a.example/new?x=1"])


def test_a_failed_page_settles_nothing_else(sieve):
    sieve.push(NEW)
    settled = sieve.done(pop_old(sieve), status=500, final_url=NEW)
    assert "delayed" == settled.state
    assert [NEW] == urls_of(sieve.pop(10))


def test_targets_in_one_batch_do_not_hurt_leases_of_the_same_batch(sieve):
    sieve.push(pages(3))
    leases = sieve.pop(3)
    assert ["done"] * 3 == [settled.state for settled in sieve.done(leases, final_url="http://a.example/p1")]
    assert {"done": 3} == states(sieve)


def test_thousands_of_dead_articles_redirected_to_the_front_page_are_two_more_entries(sieve):
    sieve.push(pages(3_000))
    given = 0
    while leases := sieve.pop(1000):
        given += len(leases)
        sieve.done(leases, status=200, final_url="http://a.example/", redirects=["http://a.example/home"])
    assert 3_000 == given
    assert {"done": 3_002} == states(sieve)
    assert [True] == sieve.seen(["http://a.example/"])
