"""What is forgotten was never seen: single URLs and whole sites, with their queue entries and leases."""

import pytest

from sieve_lab import hosts, pages, states, urls_of
from urlsieve import LeaseLost, URLItem, UrlsieveError


def test_a_forgotten_url_is_new_again(sieve):
    sieve.push(pages(3))
    sieve.done(sieve.pop(3))
    assert 2 == sieve.forget(pages(2))
    assert [False, False, True] == sieve.seen(pages(3))
    assert ["new", "new", "seen"] == sieve.push(pages(3)).verdicts
    assert pages(2) == urls_of(sieve.pop(10))


def test_forgetting_takes_the_queue_entry_with_it(sieve):
    sieve.push(pages(3))
    assert 1 == sieve.forget("http://a.example/p1")
    assert ["http://a.example/p0", "http://a.example/p2"] == urls_of(sieve.pop(10))


def test_forgetting_loses_the_lease(sieve):
    sieve.push(pages(2))
    first, second = sieve.pop(2)
    assert 1 == sieve.forget([first.url])
    with pytest.raises(LeaseLost):
        sieve.done(first)
    assert "done" == sieve.done(second).state
    assert {"done": 1} == states(sieve)


def test_a_forgotten_and_pushed_again_lease_belongs_to_the_new_worker_only(sieve):
    sieve.push(pages(1))
    (old,) = sieve.pop(1)
    sieve.forget(pages(1))
    sieve.push(pages(1))
    (new,) = sieve.pop(1)
    assert 1 == new.attempt
    with pytest.raises(LeaseLost):
        sieve.done(old)
    assert "done" == sieve.done(new).state


@pytest.mark.parametrize("state", ["pending", "leased", "delayed", "done", "dead", "known"])
def test_any_state_can_be_forgotten(sieve, clock, state):
    url = "http://a.example/"
    if state == "known":
        sieve.mark(url, known=True)
    else:
        sieve.push(URLItem(url, due=clock.now + 9 if state == "delayed" else None))
    if state in {"leased", "done", "dead"}:
        (lease,) = sieve.pop(1)
        if state == "done":
            sieve.done(lease)
        if state == "dead":
            sieve.fail(lease, "x", status=403)
    assert 1 == sieve.forget([url])
    found = sieve.stats().as_dict()
    assert (0, 0, 0) == (found["seen"], found["accepted"], found["known"])
    assert ["new"] == sieve.push(url).verdicts


def test_forgetting_what_was_never_seen_counts_nothing(sieve):
    sieve.push(pages(1))
    assert 0 == sieve.forget(["http://b.example/", "ftp://bad", ""])
    assert 1 == sieve.forget([*pages(1), *pages(1)])
    assert 0 == sieve.forget([])


def test_purge_forgets_one_exact_site(sieve):
    sieve.push([*pages(5), *pages(3, host="www.a.example"), *pages(2, host="a.example:8080")])
    sieve.done(sieve.pop(2, groups=["a.example"]))
    assert 5 == sieve.purge(site="a.example")
    assert [False] * 5 == sieve.seen(pages(5))
    assert 5 == sieve.stats().pending
    assert {"www.a.example", "a.example:8080"} == {row.name for row in sieve.sites() if row.seen}
    assert 5 == sieve.push(pages(5)).new


def test_purge_loses_the_leases_of_its_site(sieve):
    sieve.push([*pages(3), "http://b.example/"])
    leases = sieve.pop(10)
    assert 3 == sieve.purge(site="a.example")
    settled = {lease.site: one.state for lease, one in zip(leases, sieve.done(leases), strict=True)}
    assert {"a.example": "lost", "b.example": "done"} == settled


def test_purge_takes_every_state_with_it(sieve, clock):
    sieve.push(pages(6))
    sieve.mark(pages(2, start=10), known=True)
    leases = sieve.pop(4)
    sieve.done(leases[0])
    sieve.fail(leases[1], "x", status=403)
    sieve.fail(leases[2], "x")
    assert 8 == sieve.purge(site="a.example")
    found = sieve.stats().as_dict()
    assert (0, 0, 0) == (found["seen"], found["accepted"], found["known"])
    assert [] == sieve.pop(10)


def test_purge_of_an_unknown_site_counts_nothing(sieve):
    sieve.push(pages(2))
    assert 0 == sieve.purge(site="nowhere.example")
    assert {"pending": 2} == states(sieve)


@pytest.mark.parametrize("site", ["", "http://a.example/", "a.example/x", "no such site!"])
def test_purge_never_takes_more_than_it_was_told(sieve, site):
    sieve.push(pages(2))
    try:
        assert 0 == sieve.purge(site=site)
    except UrlsieveError:
        pass
    assert {"pending": 2} == states(sieve)


def test_purge_survives_a_restart(shared):
    sieve = shared.open()
    sieve.push([*pages(100), *hosts(10)])
    sieve.purge(site="a.example")
    again = shared.reopen()
    assert [False] * 100 == again.seen(pages(100))
    assert [True] * 10 == again.seen(hosts(10))


def test_other_workers_see_what_was_forgotten(shared):
    one, two = shared.open(), shared.open()
    one.push(pages(2))
    assert [True, True] == two.seen(pages(2))
    two.forget(pages(1))
    assert [False, True] == one.seen(pages(2))
    assert ["new", "seen"] == one.push(pages(2)).verdicts


def test_a_large_site_is_purged_whole(sieve):
    sieve.push(pages(20_000))
    sieve.push(hosts(50))
    assert 20_000 == sieve.purge(site="a.example")
    assert 50 == len(sieve.pop(100))
    assert [] == sieve.pop(100)
