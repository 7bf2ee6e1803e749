"""Offers that bring the earlier fingerprints of their URLs, as after a change of rules that could not move them: no text told of them."""

from dataclasses import replace

import pytest

from changing_rules import fetch, the_lease
from sieve_lab import states
from urlsieve import URLItem
from urlsieve.batch import Defaults
from urlsieve.model import Earlier, Mode, Verdict

OWN, WAS = "http://www.example.com/now", "http://www.example.com/was"
SEEN, NEW, RAISED, REQUEUED = Verdict.SEEN, Verdict.NEW, Verdict.RAISED, Verdict.REQUEUED


@pytest.fixture
def sieve(lab):
    return lab.open(keep_urls=True)


def prints(sieve, url):
    return sieve.canonicalizer.fingerprint(url)


def offers(sieve, *own, **defaults):
    """(URL, its earlier URLs) each, as the façade hands them to the store: the first of a batch from 0."""
    prepared = sieve._opened.prepare([url for url, *_ in own], Defaults(**defaults), None).offers
    earlier = {i: tuple(Earlier(prints(sieve, url), url.split("/")[2]) for url in others) for i, (_, *others) in enumerate(own) if others}
    return replace(prepared, earlier=earlier)


def offer(sieve, mode, *own, **defaults):
    found = sieve._store.offer(offers(sieve, *own, **defaults), mode, 0, sieve.now())
    assert not found.stale_rules
    return [Verdict(verdict) for verdict in found.verdicts]


def become(sieve, clock, url, state):
    if state == "known":
        sieve.mark(url, known=True)
        return None
    sieve.push(URLItem(url, priority=3, depth=2))
    lease = None if state == "pending" else the_lease(sieve)
    if state == "delayed":
        sieve.release(lease, not_before=clock.now + 1000)
    elif state == "done":
        sieve.done(lease)
    elif state == "dead":
        sieve.fail(lease, "no", status=403)
    return lease


EVERY = ("pending", "leased", "delayed", "done", "dead", "known")


@pytest.mark.parametrize("keep_urls", [True, False])
@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("was", EVERY)
def test_what_was_seen_under_an_earlier_fingerprint_goes_by_it(lab, clock, was, mode, keep_urls):
    sieve = lab.open(keep_urls=keep_urls)
    lease = become(sieve, clock, WAS, was)
    before = states(sieve)
    first = {
        Mode.RAISE: {"pending": RAISED, "delayed": RAISED},
        Mode.AGAIN: {"pending": RAISED, "leased": REQUEUED, "delayed": RAISED, "done": REQUEUED, "dead": REQUEUED, "known": REQUEUED},
    }.get(mode, {})
    assert [first.get(was, SEEN), SEEN] == offer(sieve, mode, (OWN, WAS), (OWN, WAS), priority=9)
    known = (was == "known") + 1
    if was == "known" and mode is Mode.AGAIN:
        assert (1, 1, {"pending": 1}) == (sieve.stats().accepted, sieve.stats().known, states(sieve))
        assert [OWN] == fetch(sieve, clock)
        return
    assert (int(was != "known"), known) == (sieve.stats().accepted, sieve.stats().known)
    assert [True, True] == sieve.seen([OWN, WAS])
    assert "known" == sieve.info(OWN).state
    if first.get(was, SEEN) is SEEN or was == "leased":
        assert before == states(sieve)
    else:
        assert {"pending": 1} == states(sieve)
        assert 9 == sieve.info(WAS).priority
    again = offer(sieve, mode, (OWN, WAS), priority=9)
    assert [REQUEUED if (was, mode) == ("leased", Mode.AGAIN) else SEEN] == again
    assert known == sieve.stats().known
    if lease is not None and was == "leased":
        sieve.done(lease)
    waits = was in ("pending", "delayed") or first.get(was) is REQUEUED
    # without its text a done one is fetched as what is asked for now
    assert ([OWN if was == "done" and not keep_urls else WAS] if waits else []) == fetch(sieve, clock)
    if waits or was == "leased":
        assert "done" == sieve.info(WAS).state


def test_an_entry_comes_before_what_is_only_known(sieve, clock):
    become(sieve, clock, WAS, "known")
    become(sieve, clock, WAS + "2", "done")
    assert [REQUEUED] == offer(sieve, Mode.AGAIN, (OWN, WAS, WAS + "2"))
    assert [WAS + "2"] == fetch(sieve, clock)


def test_one_that_is_seen_itself_goes_by_its_own_fingerprint(sieve, clock):
    become(sieve, clock, WAS, "dead")
    become(sieve, clock, OWN, "done")
    assert [REQUEUED] == offer(sieve, Mode.AGAIN, (OWN, WAS))
    assert {"dead": 1, "pending": 1} == states(sieve)
    assert 0 == sieve.stats().known


def test_one_that_is_only_known_itself_goes_by_an_earlier_entry(sieve, clock):
    become(sieve, clock, OWN, "known")
    become(sieve, clock, WAS, "done")
    assert [REQUEUED] == offer(sieve, Mode.AGAIN, (OWN, WAS))
    assert [WAS] == fetch(sieve, clock)
    assert (1, 1) == (sieve.stats().accepted, sieve.stats().known)


def test_equals_in_a_batch_are_told_by_any_of_their_earlier_fingerprints(sieve, clock):
    become(sieve, clock, WAS, "done")
    wanted = [(OWN, WAS + "0"), ("http://www.example.com/x",), (OWN, WAS), (OWN,)]
    assert [SEEN, NEW, SEEN, SEEN] == offer(sieve, Mode.NEW, *wanted)
    assert (2, 1) == (sieve.stats().accepted, sieve.stats().known)


def test_many_in_a_batch_of_many_shards(sieve, clock):
    sieve.mark([f"http://h{n}.example/was{n}" for n in range(0, 3000, 2)], known=True)
    wanted = [(f"http://h{n}.example/now", f"http://h{n}.example/no{n}", f"http://h{n}.example/was{n}") for n in range(3000)]
    found = offer(sieve, Mode.NEW, *wanted)
    assert [SEEN, NEW] * 1500 == found
    assert (1500, 3000) == (sieve.stats().accepted, sieve.stats().known)
    assert [SEEN] * 3000 == offer(sieve, Mode.NEW, *wanted)


def test_a_limit_counts_accepted_ones_only(sieve, clock):
    sieve.site("www.example.com").limit = 1
    become(sieve, clock, WAS, "known")
    become(sieve, clock, WAS + "1", "known")
    assert [REQUEUED, Verdict.LIMIT] == offer(sieve, Mode.AGAIN, (OWN, WAS), (OWN + "1", WAS + "1"))
    assert (1, 3) == (sieve.stats().accepted, sieve.stats().known)
    assert [SEEN, Verdict.LIMIT] == offer(sieve, Mode.NEW, (OWN + "1", WAS + "1"), (OWN + "2",))


def test_the_mark_of_a_full_store_does_not_hinder_what_is_seen(lab, clock):
    sieve = lab.open(keep_urls=True, high_water=1)
    become(sieve, clock, WAS, "pending")
    assert [SEEN, Verdict.FULL] == offer(sieve, Mode.NEW, (OWN, WAS), ("http://www.example.com/x", "http://www.example.com/y"))
    assert [True, False] == sieve.seen([OWN, "http://www.example.com/x"])


def test_contains_and_forget_look_under_all_of_them(sieve, clock):
    become(sieve, clock, WAS, "done")
    become(sieve, clock, WAS + "1", "known")
    wanted = [(OWN, WAS), (OWN + "1", WAS + "0", WAS + "1"), (OWN + "2", WAS + "2"), (OWN, WAS + "9")]
    assert b"\1\1\0\0" == sieve._store.contains(offers(sieve, *wanted))
    offer(sieve, Mode.NEW, (OWN, WAS))
    assert 2 == sieve._store.forget(offers(sieve, *wanted), sieve.now())
    assert 0 == sieve.stats().seen
    assert bytes(4) == sieve._store.contains(offers(sieve, *wanted))


@pytest.mark.parametrize("mode", list(Mode))
def test_what_was_seen_elsewhere_is_known_from_now_on(sieve, clock, mode):
    become(sieve, clock, OWN + "1", "dead")
    wanted = offers(sieve, (OWN,), (OWN,), (OWN + "1",), (OWN + "2",))
    wanted = replace(wanted, elsewhere=frozenset([1, 2]))
    assert b"\0\1\1\0" == sieve._store.contains(wanted)
    found = [Verdict(verdict) for verdict in sieve._store.offer(wanted, mode, 0, sieve.now()).verdicts]
    again = mode is Mode.AGAIN
    assert [REQUEUED if again else SEEN, SEEN, REQUEUED if again else SEEN, NEW] == found
    assert [True, True, True] == sieve.seen([OWN, OWN + "1", OWN + "2"])
