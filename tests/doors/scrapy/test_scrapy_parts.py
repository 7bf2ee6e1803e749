"""The parts of the door by themselves: what is in hand, what waits, what is offered, what an answer comes to, the desk."""

import logging
import threading
import time
from dataclasses import replace
from email.utils import formatdate
from types import SimpleNamespace

import pytest
import scrapy
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import Settings
from twisted.python.failure import Failure

import urlsieve
from sieve_lab import states
from urlsieve import Outcome, testing
from urlsieve.doors.scrapy import options, taps
from urlsieve.doors.scrapy.desk import Desk
from urlsieve.doors.scrapy.hands import Hands, Work
from urlsieve.doors.scrapy.offering import Offer, Offering
from urlsieve.doors.scrapy.outcome import outcome_of
from urlsieve.doors.scrapy.recent import GOOD_FOR, MOST, Recent
from urlsieve.doors.scrapy.telling import Telling
from urlsieve.doors.scrapy.waiting import Kept, Waiting

URL = "http://a.example/"


@pytest.fixture
def memory():
    with urlsieve.open("memory:") as opened:
        yield opened


def leased(sieve, *urls, priority=0):
    sieve.push(list(urls) or [URL], priority=priority)
    return sieve.pop(len(urls) or 1)


def offer_of(sieve, url=URL, *, again=False, variant=b"", **written):
    fingerprint = sieve.canonicalizer.fingerprint(url, variant=variant)
    return Offer(None, fingerprint, url, variant, 0, 0, None, {"scrapy": 1, **written}, again=again)


# -- in hand


def test_a_lease_is_settled_when_the_last_request_under_it_is_done(memory):
    hands, waiting = Hands(), Waiting()
    (lease,) = leased(memory)
    root = hands.take(lease)
    waiting.lease(root)
    work = hands.begin(scrapy.Request(URL), root, stands=True)
    waiting.keep(Kept(scrapy.Request(URL), root, True))
    assert None is hands.end(work, None)
    retry = hands.begin(waiting_next := scrapy.Request(URL), root, stands=True)
    assert waiting_next in hands.works
    assert (lease, Outcome("done")) == hands.end(retry, Outcome("done"))
    assert ({}, {}) == (hands.works, hands.roots)


def test_what_becomes_of_a_child_does_not_change_what_became_of_its_page(memory):
    hands, waiting = Hands(), Waiting()
    (lease,) = leased(memory)
    root = hands.take(lease)
    waiting.lease(root)
    page = hands.begin(scrapy.Request(URL), root, stands=True)
    waiting.keep(Kept(scrapy.Request(URL), root, False))
    assert None is hands.end(page, Outcome("done"))
    child = hands.begin(scrapy.Request(URL), root, stands=False)
    assert (lease, Outcome("done")) == hands.end(child, Outcome("fail", reason="no"))


def test_work_that_has_ended_ends_once_and_work_without_a_lease_settles_nothing():
    hands = Hands()
    work = hands.begin(scrapy.Request(URL), None, stands=False)
    assert None is hands.end(work, Outcome("done"))
    assert None is hands.end(work, Outcome("done"))


# -- what waits


def test_the_larger_priority_comes_first_and_equals_in_the_order_of_arrival(memory):
    hands, waiting = Hands(), Waiting()
    roots = [hands.take(lease) for lease in leased(memory, f"{URL}1", f"{URL}2", priority=5)]
    for root in roots:
        waiting.lease(root)
    kept = [Kept(scrapy.Request(URL, priority=priority), None, False) for priority in (1, 5, 9, 9)]
    for one in kept:
        waiting.keep(one)
    assert (6, 2, 4) == (len(waiting), waiting.ahead, waiting.kept_alone())
    assert [kept[2], kept[3], kept[1], *roots, kept[0], None] == [waiting.next() for _ in range(7)]


def test_a_retry_waits_behind_what_was_fetched_ahead_unless_it_is_more_urgent(memory):
    hands, waiting = Hands(), Waiting()
    roots = [hands.take(lease) for lease in leased(memory, f"{URL}1", f"{URL}2")]
    for root in roots:
        waiting.lease(root)
    later = Kept(scrapy.Request(URL, priority=-1), roots[0], True)
    sooner = Kept(scrapy.Request(URL, priority=1), roots[0], True)
    waiting.keep(later)
    waiting.keep(sooner)
    assert 4 == waiting.ahead
    assert [sooner, *roots, later] == [waiting.next() for _ in range(4)]


def test_a_lost_lease_is_dropped_only_if_nobody_has_begun(memory):
    hands, waiting = Hands(), Waiting()
    first, second = (hands.take(lease) for lease in leased(memory, f"{URL}1", f"{URL}2"))
    waiting.lease(first)
    waiting.lease(second)
    assert first is waiting.next()
    assert (False, True) == (waiting.drop(first), waiting.drop(second))
    assert 0 == len(waiting)


def test_what_was_asked_about_is_forgotten_after_a_minute_or_when_it_is_too_much():
    clock = testing.VirtualClock()
    recent = Recent(clock)
    recent.add(b"a")
    recent.add(b"b")
    recent.discard(b"b")
    assert (True, False) == (b"a" in recent, b"b" in recent)
    clock.advance(GOOD_FOR)
    assert b"a" not in recent
    for number in range(MOST + 1):
        recent.add(number.to_bytes(4, "big"))
    assert (False, True) == ((0).to_bytes(4, "big") in recent, MOST.to_bytes(4, "big") in recent)


# -- what is offered


def test_requests_that_may_be_filtered_get_the_verdict_of_the_store(memory):
    offers = [offer_of(memory), offer_of(memory, f"{URL}?utm_source=x"), offer_of(memory, variant=b"post"), offer_of(memory, f"{URL}b")]
    assert ["new", "seen", "new", "new"] == [verdict for _, verdict in Offering(memory).take(offers)]


def test_asking_again_for_what_is_done_brings_it_back_with_what_is_asked_now(memory):
    memory.done(leased(memory)[0])
    assert ["requeued"] == [verdict for _, verdict in Offering(memory).take([offer_of(memory, again=True, callback="b")])]
    assert {"scrapy": 1, "callback": "b"} == memory.pop()[0].meta
    assert 1 == memory.stats().accepted


@pytest.mark.parametrize("state", ["pending", "leased", "delayed"])
def test_asking_again_for_what_is_not_done_loses_neither(memory, state):
    Offering(memory).take([offer_of(memory, callback="first")])
    if state != "pending":
        (lease,) = memory.pop()
        if state == "delayed":
            memory.fail(lease, "no")
    taken = Offering(memory).take([offer_of(memory, again=True, callback=name) for name in ("second", "third", "second")])
    assert ["new", "new", "seen"] == [verdict for _, verdict in taken]
    assert {"second", "third"} | ({"first"} if state == "pending" else set()) == {lease.meta["callback"] for lease in memory.pop(10)}


def test_two_that_ask_again_for_one_that_is_done_are_both_taken(memory):
    memory.done(leased(memory)[0])
    taken = Offering(memory).take([offer_of(memory, again=True, callback=name) for name in ("a", "b")])
    assert ["requeued", "new"] == [verdict for _, verdict in taken]
    assert ["a", "b"] == sorted(lease.meta["callback"] for lease in memory.pop(10))


def test_what_is_repeated_after_an_answer_was_lost_is_seen_and_nothing_is_twice(memory):
    offers = [offer_of(memory, f"{URL}{n}") for n in range(3)]
    Offering(memory).take(offers[:2])
    assert ["seen", "seen", "new"] == [verdict for _, verdict in Offering(memory).take(offers)]
    assert {"pending": 3} == states(memory)


def test_what_cannot_be_written_is_asked_about_and_marked_when_it_is_done(memory):
    question = replace(offer_of(memory), written=None)
    offering = Offering(memory)
    assert [(question, "aside")] == offering.take([question])
    assert 0 == memory.stats().seen
    done, other = replace(question, done=True), offer_of(memory, f"{URL}b")
    assert ["marked", "new"] == [verdict for _, verdict in offering.take([done, other])]
    assert ["seen"] == [verdict for _, verdict in offering.take([question])]
    assert {"pending": 1, "done": 1} == states(memory)


# -- what an answer comes to


def answered(status, *, handled=True, error=None, headers=None, latency=None):
    work = Work(scrapy.Request(URL, meta={"download_latency": latency}), None, handled=handled, error=error)
    return outcome_of(work, Response(URL, status=status, headers=headers, body=b"seven b"))


def test_an_answer_that_the_spider_took_is_done_whatever_its_status():
    assert Outcome("done", elapsed=0.5, size=7) == answered(200, latency=0.5)
    assert Outcome("done", size=7) == answered(500)


def test_an_answer_that_nobody_took_is_what_its_status_says():
    assert Outcome("skip", reason="filtered", size=7) == answered(200, handled=False)
    assert Outcome("fail", reason="status 403", status=403, size=7) == answered(403, handled=False)
    assert Outcome("fail", reason="status 429", status=429, retry_after=120.0, size=7) == answered(
        429, handled=False, headers={"Retry-After": "120"}
    )


@pytest.mark.parametrize("header", ["", "soon", "-5", "99999999999999999999", "Mon, 99 Foo 2026", "\xff"])
def test_a_retry_after_that_makes_no_sense_is_none(header):
    assert None is answered(503, handled=False, headers={"Retry-After": header.encode("latin-1")}).retry_after


def test_a_retry_after_may_be_a_date():
    found = answered(503, handled=False, headers={"Retry-After": formatdate(time.time() + 600, usegmt=True)}).retry_after
    assert 590 < found <= 600
    assert 0.0 == answered(503, handled=False, headers={"Retry-After": formatdate(0, usegmt=True)}).retry_after


def test_a_callback_that_raised_is_a_failure_and_a_dropped_request_is_skipped():
    assert Outcome("fail", reason="KeyError in the callback") == answered(200, error="KeyError in the callback")
    work = Work(scrapy.Request(URL), None)
    assert Outcome("skip", reason="robots.txt") == outcome_of(work, Failure(IgnoreRequest("Forbidden by robots.txt")))
    assert Outcome("skip", reason="IgnoreRequest") == outcome_of(work, Failure(IgnoreRequest("http://user:pw@a.example/")))
    assert Outcome("fail", reason="TimeoutError") == outcome_of(work, Failure(TimeoutError("http://user:pw@a.example/")))
    assert Outcome("done") == outcome_of(Work(scrapy.Request(URL), None, handled=True), Failure(TimeoutError()))


# -- settings and the engine


def test_times_counts_and_words_are_read_from_settings():
    given = {
        "URLSIEVE_STORE": "crawl",
        "URLSIEVE_LEASE": "7.5",
        "URLSIEVE_IDLE_WAIT": "forever",
        "URLSIEVE_MAX_ATTEMPTS": 9,
        "CONCURRENT_REQUESTS": 5,
    }
    expected = options.Options(store="crawl", lease=7.5, prefetch=5, idle_wait=None, opening={"max_attempts": 9})
    assert expected == options.read(Settings(given))


@pytest.mark.parametrize("value", ["nan", True, [], {}, -1, 0.5, "1.5", 10**400, "inf"])
def test_a_count_that_is_none_is_an_error(value):
    with pytest.raises(urlsieve.ConfigError, match="URLSIEVE_PREFETCH must be a"):
        options.read(Settings({"URLSIEVE_STORE": "crawl", "URLSIEVE_PREFETCH": value}))


def test_cli_07_a_scrapy_that_cannot_be_watched_is_refused_at_the_start():
    engine = SimpleNamespace(downloader=SimpleNamespace(fetch=print), scraper=SimpleNamespace(enqueue_scrape=print))
    with pytest.raises(urlsieve.ConfigError, match=r"Scrapy \S+ has no call_spider_async at engine.scraper: use Scrapy 2.13 or newer"):
        taps.attach(SimpleNamespace(engine=engine), None)


# -- the desk


class Loop:
    """Takes what the desk tells, as an event loop would."""

    def __init__(self, address, **settings):
        self.rounds, self.opened, self.ended = [], [], []
        self.over = threading.Event()
        self.desk = Desk(
            address,
            {},
            **({"lease": 60.0, "idle_wait": 0.0, "patience": 5.0} | settings),
            opened=self.opened.append,
            tell=self.rounds.append,
            ended=lambda error: (self.ended.append(error), self.over.set()),
        )
        self.desk.start()

    def until(self, found, seconds=20.0):
        deadline = time.monotonic() + seconds
        while not (value := found()):
            assert time.monotonic() < deadline, f"it never happened: {self.rounds} {self.ended}"
            time.sleep(0.005)
        return value

    def leases(self):
        return [lease for done in self.rounds for lease in done.leases]

    def close(self):
        self.desk.close(5.0)
        assert self.over.wait(20)
        return self.ended


def test_the_desk_offers_before_it_settles_and_gives_back_the_rest(store):
    with urlsieve.open(store) as sieve:
        sieve.push([f"{URL}{n}" for n in range(4)])
        loop = Loop(store)
        loop.desk.want(3)
        first, *_ = loop.until(loop.leases)
        loop.desk.offer(offer_of(sieve, f"{URL}new"))
        loop.desk.settle(first, Outcome("done"))
        loop.until(lambda: any(done.settled == {"done": 1} for done in loop.rounds))
        assert {"leased": 2, "pending": 2, "done": 1} == states(sieve)
        assert [None] == loop.close()
        assert {"pending": 4, "done": 1} == states(sieve)
        assert {1} == {lease.attempt for lease in sieve.pop(10)}


def test_the_desk_says_when_nothing_is_left_and_takes_it_back_when_something_comes(store):
    with urlsieve.open(store) as sieve:
        loop = Loop(store)
        loop.desk.want(1)
        assert 0 == loop.until(lambda: [done for done in loop.rounds if done.idle])[0].upto == loop.desk.submitted
        loop.desk.offer(offer_of(sieve))
        assert 1 == loop.desk.submitted
        assert URL == loop.until(loop.leases)[0].url
        assert [None] == loop.close()


def test_what_lies_on_the_desk_when_it_closes_is_still_done(store):
    with urlsieve.open(store) as sieve:
        loop = Loop(store)
        loop.until(lambda: loop.opened)
        for number in range(2500):
            loop.desk.offer(offer_of(sieve, f"{URL}{number}"))
        assert [None] == loop.close()
        assert {"pending": 2500} == states(sieve)


def test_leases_are_extended_while_the_desk_lives_and_a_lost_one_is_told(store):
    with urlsieve.open(store) as sieve:
        sieve.push([f"{URL}1", f"{URL}2"])
        loop = Loop(store, lease=0.9)
        loop.desk.want(2)
        loop.until(lambda: len(loop.leases()) == 2)
        time.sleep(2)
        assert {"leased": 2} == states(sieve)
        sieve.forget([f"{URL}1"])
        (lost,) = loop.until(lambda: [token for done in loop.rounds for token in done.lost])
        assert {lease.token for lease in loop.leases() if lease.url == f"{URL}1"} == {lost}
        assert [None] == loop.close()


def test_a_store_that_cannot_be_opened_is_told(tmp_path):
    (tmp_path / "file").write_text("no store")
    loop = Loop(str(tmp_path / "file"))
    (error,) = loop.until(lambda: loop.opened)
    assert isinstance(error, urlsieve.UrlsieveError)
    assert [] == loop.ended


# -- what is told


def test_what_is_so_in_every_round_is_said_once_aloud_and_then_once_a_minute_to_those_who_debug(caplog):
    now = [5.0]
    telling = Telling(None, None, clock=lambda: now[0])
    with caplog.at_level(logging.DEBUG, "urlsieve.doors.scrapy"):
        for tick in range(241):  # two minutes of half seconds
            now[0] = 5.0 + tick / 2
            telling.now_and_then(logging.INFO, "waits", "%d wait", tick)
    assert [("INFO", "0 wait"), ("DEBUG", "120 wait"), ("DEBUG", "240 wait")] == [
        (found.levelname, found.getMessage()) for found in caplog.records
    ]
