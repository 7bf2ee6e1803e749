"""A second visit: what becomes of each state, the classes' shares of turns, and what is urgent. Nothing depends on what was before."""

import random
from collections import Counter
from itertools import pairwise

import pytest

from sieve_lab import pages, states, urls_of
from urlsieve import URLItem

HOST = "http://a.example/"
SHARES = {"new": 6, "retry": 2, "revisit": 2}


def settled(sieve, urls):
    """All of these fetched once."""
    sieve.push(urls)
    while leases := sieve.pop(100):
        sieve.done(leases)


def fill(sieve, clock, count, *, host="a.example"):
    """`count` URLs of each class wait on a host: /p0… new, /p10000… retry, /p20000… revisit."""
    old, bad = pages(count, host=host, start=20_000), pages(count, host=host, start=10_000)
    sieve.push(bad)
    leases = sieve.pop(count, groups=[host])
    assert bad == urls_of(leases)
    sieve.fail(leases, "once", status=500)
    sieve.group(host).unblock()  # several that fail in a row block their group: not the matter here
    sieve.mark(old)
    sieve.revisit(old)
    clock.advance(3600)
    sieve.push(pages(count, host=host))


def class_of(url):
    return ("new", "retry", "revisit")[int(url.rsplit("p", 1)[1]) // 10_000]


def turns(sieve, count, clock=None, step=0.0, limit=1):
    """Classes of `count` URLs, popped `limit` at a time and settled at once; the lease says the same."""
    found = []
    while len(found) < count:
        leases = sieve.pop(min(limit, count - len(found)))
        assert leases or step, "nothing may be fetched though URLs wait"
        assert [class_of(lease.url) for lease in leases] == [lease.klass for lease in leases]
        found += [(lease.group, lease.klass) for lease in leases]
        sieve.done(leases)
        if clock is not None:
            clock.advance(step)
    return found


# -- the shares


def test_in_any_ten_turns_of_a_group_six_are_new_two_retries_two_revisits(sieve, clock):
    fill(sieve, clock, 200)
    found = [klass for _, klass in turns(sieve, 300)]
    for start in range(len(found) - 9):
        assert SHARES == Counter(found[start : start + 10]), f"turns {start} to {start + 9}"


def test_no_class_comes_in_a_bunch(sieve, clock):
    fill(sieve, clock, 100)
    found = [klass for _, klass in turns(sieve, 150)]
    for klass in ("retry", "revisit"):
        at = [i for i, turn in enumerate(found) if turn == klass]
        assert max(after - before for before, after in pairwise(at)) <= 6
    assert ("new",) * 4 not in {tuple(found[i : i + 4]) for i in range(len(found))}


@pytest.mark.parametrize("limit", [2, 7, 40, 100])
def test_the_shares_do_not_depend_on_how_many_are_taken_at_once(sieve, clock, limit):
    fill(sieve, clock, 150)
    found = Counter(klass for _, klass in turns(sieve, 200, limit=limit))
    assert all(abs(found[klass] - 20 * share) <= 2 for klass, share in SHARES.items()), found


@pytest.mark.parametrize("limit", [1, 5, 30])
def test_over_many_groups_every_group_keeps_the_shares(lab, clock, limit):
    sieve = lab.open()
    hosts = [f"h{i}.example" for i in range(6)]
    for host in hosts:
        fill(sieve, clock, 40, host=host)
    sieve.set_policy(delay=1.0)
    found = turns(sieve, 300, clock, 0.5, limit=limit)
    total = Counter(klass for _, klass in found)
    assert all(abs(total[klass] - 30 * share) <= 12 for klass, share in SHARES.items()), total
    for host in hosts:
        own = [klass for group, klass in found if group == host]
        assert len(own) >= 20, "between shards nothing is promised but that none starves"
        for start in range(len(own) - 9):
            assert SHARES == Counter(own[start : start + 10]), host


def test_two_classes_share_as_six_to_two_or_two_to_two(sieve, clock):
    fill(sieve, clock, 100)
    waiting = [lease for lease in sieve.pop(300) if lease.klass == "new"]
    sieve.done(waiting)
    clock.advance(61)  # what was not settled comes back in its class, but a new one that was not
    found = Counter(klass for _, klass in turns(sieve, 100))
    assert abs(found["retry"] - found["revisit"]) <= 2
    assert 0 == found["new"]


def test_turns_that_a_class_did_not_use_are_not_saved_up(sieve, clock):
    """A hundred turns of revisits alone give the others no claim to a hundred turns."""
    fill(sieve, clock, 150)
    new = [lease for lease in sieve.pop(450) if lease.klass != "revisit"]
    sieve.done(new)
    clock.advance(61)
    assert {"revisit"} == {klass for _, klass in turns(sieve, 100)}
    sieve.push(pages(100, start=5000))
    found = Counter(klass for _, klass in turns(sieve, 40))
    assert abs(found["new"] - 30) <= 1
    assert abs(found["revisit"] - 10) <= 1


def test_a_single_revisit_is_served_within_ten_turns_of_its_group(sieve, clock):
    settled(sieve, HOST + "p20000")
    sieve.push(pages(100), priority=300)
    for _ in range(3):
        sieve.revisit(HOST + "p20000")
        assert "revisit" in {klass for _, klass in turns(sieve, 10)}


# -- what is urgent


@pytest.mark.parametrize("klass", ["new", "retry", "revisit"])
@pytest.mark.parametrize("mode", ["raise", "again"])
def test_a_waiting_url_made_urgent_is_the_next_of_its_class_in_its_group(sieve, clock, klass, mode):
    fill(sieve, clock, 20)
    fill(sieve, clock, 20, host="b.example")
    urgent = f"http://a.example/p{ {'new': 0, 'retry': 10_000, 'revisit': 20_000}[klass] + 17 }"
    assert ["raised"] == sieve.push(urgent, priority=100, mode=mode).verdicts
    found = []
    while not any(lease.klass == klass for lease in found if lease.group == "a.example"):
        found += sieve.pop(1, groups=["a.example"])
    assert urgent == found[-1].url
    assert 100 == found[-1].priority
    assert len(found) <= 6, "and its class does not wait for longer than its share says"


def test_an_urgent_revisit_of_a_finished_url_is_the_next_of_its_class(sieve, clock):
    settled(sieve, pages(30, start=20_000))
    sieve.revisit(pages(29, start=20_000))
    sieve.push("http://a.example/p20029", priority=5, mode="again")
    (lease,) = sieve.pop(1)
    assert ("http://a.example/p20029", "revisit", 5) == (lease.url, lease.klass, lease.priority)


def test_an_urgent_url_is_found_before_others_of_other_groups_too(sieve, clock):
    settled(sieve, HOST + "old")
    clock.advance(1)
    sieve.push(pages(50, host="b.example"), priority=4)
    sieve.push(HOST + "old", priority=5, mode="again")
    assert [HOST + "old"] == urls_of(sieve.pop(1))


def test_of_several_urgent_ones_the_higher_priority_then_the_earlier_arrival_is_next(sieve):
    settled(sieve, pages(4))
    for name, priority in (("p3", 7), ("p1", 9), ("p0", 7), ("p2", 0)):
        sieve.push(HOST + name, priority=priority, mode="again")
    assert [HOST + name for name in ("p1", "p3", "p0", "p2")] == [sieve.pop(1)[0].url for _ in range(4)]


def test_priority_is_never_lowered_by_asking_again(sieve):
    settled(sieve, pages(2))
    sieve.push(HOST + "p0", priority=9, mode="again")
    sieve.revisit(pages(2)[::-1])
    (lease,) = sieve.pop(1)
    assert (HOST + "p0", 9) == (lease.url, lease.priority)


def test_an_urgent_wish_ends_the_wait_of_a_revisit_that_is_for_later(sieve, clock):
    settled(sieve, pages(3))
    sieve.revisit(pages(3), at=clock.now + 1000)
    assert ["raised"] == sieve.push(HOST + "p2", priority=1, mode="raise").verdicts
    assert [HOST + "p2"] == urls_of(sieve.pop(10))


# -- when, and what it is then


def test_a_revisit_for_later_waits_in_its_class_and_then_shares_turns(sieve, clock):
    settled(sieve, pages(40, start=20_000))
    sieve.revisit(pages(40, start=20_000), at=clock.now + 60)
    sieve.push(pages(80))
    assert {"new"} == {klass for _, klass in turns(sieve, 20)}
    clock.advance(60)
    found = Counter(klass for _, klass in turns(sieve, 40))
    assert abs(found["revisit"] - 10) <= 1


def test_revisits_come_in_the_order_in_which_they_are_due(sieve, clock):
    settled(sieve, pages(20))
    due = [(url, random.Random(4 + i).randrange(1, 10_000)) for i, url in enumerate(pages(20))]
    for url, seconds in due:
        sieve.revisit(url, at=clock.now + seconds)
    clock.advance(10_000)
    assert [url for url, _ in sorted(due, key=lambda entry: entry[1])] == [sieve.pop(1)[0].url for _ in range(20)]


@pytest.mark.parametrize("at", [0.0, -1e9, None])
def test_a_time_that_has_passed_is_now(sieve, at):
    settled(sieve, pages(1))
    sieve.revisit(pages(1), at=at)
    assert pages(1) == urls_of(sieve.pop(1))


def test_an_earlier_time_counts_and_a_later_one_does_not(sieve, clock):
    settled(sieve, pages(1))
    for seconds in (500, 100, 300):
        sieve.revisit(pages(1), at=clock.now + seconds)
    assert clock.now + 100 == sieve.pop(1).next_at


def test_each_item_may_name_its_own_time(sieve, clock):
    settled(sieve, pages(2))
    sieve.revisit([URLItem(HOST + "p0", due=clock.now + 10), HOST + "p1"], at=clock.now + 20)
    assert clock.now + 10 == sieve.pop(1).next_at
    clock.advance(10)
    assert [HOST + "p0"] == urls_of(sieve.pop(5))


def test_the_state_before_decides_the_class_and_nothing_else(lab, clock):
    """done and known → revisit, dead → retry, never seen → new; attempts start anew whatever there was."""
    sieve = lab.open()
    settled(sieve, HOST + "done")
    sieve.mark(HOST + "marked")
    sieve.mark(HOST + "known", known=True)
    sieve.push(HOST + "dead")
    (lease,) = sieve.pop(1)
    sieve.fail(lease, "forbidden", status=403)
    names = ("done", "marked", "known", "dead", "unseen")
    assert ["requeued"] * 4 + ["new"] == sieve.revisit([HOST + name for name in names]).verdicts
    found = {lease.url.rsplit("/", 1)[1]: (lease.klass, lease.attempt) for lease in sieve.pop(10)}
    assert {"done": ("revisit", 1), "marked": ("revisit", 1), "known": ("revisit", 1), "dead": ("retry", 1), "unseen": ("new", 1)} == found


def test_the_tenth_revisit_is_like_the_first(lab, clock):
    sieve = lab.open(keep_urls=False)
    sieve.push(HOST, meta={"first": True}, depth=7)
    seen = []
    for _ in range(10):
        (lease,) = sieve.pop(1)
        seen.append((lease.url, lease.klass, lease.attempt, lease.priority, lease.meta, lease.via))
        assert ("done", None if lease.klass == "revisit" else "new") == (
            sieve.done(lease).state,
            None if lease.klass == "revisit" else "new",
        )
        assert 1 == sieve.revisit(HOST, at=clock.now + 60).requeued
        assert {"delayed": 1} == states(sieve)
        clock.advance(60)
    assert (HOST, "new", 1, 0, {"first": True}, None) == seen[0]
    assert {(HOST, "revisit", 1, 0, None, None)} == set(seen[1:])
    assert 1 == sieve.stats().accepted


def test_a_revisit_that_fails_is_still_a_revisit_and_dies_like_any_other(sieve, clock):
    settled(sieve, HOST)
    sieve.revisit(HOST)
    for attempt in (1, 2, 3):
        (lease,) = sieve.pop(1)
        assert ("revisit", attempt) == (lease.klass, lease.attempt)
        sieve.fail(lease, "broken", status=500)
        clock.advance(3600)
    assert {"dead": 1} == states(sieve)


def test_a_revisit_whose_lease_runs_out_is_still_a_revisit(sieve, clock):
    settled(sieve, HOST)
    sieve.revisit(HOST)
    sieve.pop(1, lease=5)
    clock.advance(6)
    (lease,) = sieve.pop(1)
    assert ("revisit", 2) == (lease.klass, lease.attempt)


def test_a_released_revisit_is_still_a_revisit(sieve, clock):
    settled(sieve, HOST)
    sieve.revisit(HOST)
    sieve.release(sieve.pop(1), not_before=clock.now + 5)
    clock.advance(5)
    (lease,) = sieve.pop(1)
    assert ("revisit", 1) == (lease.klass, lease.attempt)


def test_revisits_survive_a_restart_in_their_class_and_at_their_time(shared):
    sieve = shared.open()
    settled(sieve, pages(4))
    sieve.revisit(pages(2))
    sieve.revisit(pages(2, start=2), at=shared.clock.now + 60)
    sieve = shared.reopen()
    first = sieve.pop(10, lease=1000)
    shared.clock.advance(60)
    second = sieve.pop(10)
    assert (pages(2), pages(2, start=2)) == (urls_of(first), urls_of(second))
    assert {"revisit"} == {lease.klass for lease in [*first, *second]}


def test_a_revisit_waits_for_its_groups_delay_block_and_pause(lab, clock):
    sieve = lab.open(delay=10.0)
    settled(sieve, HOST + "x")
    sieve.revisit(HOST + "x")
    assert [] == sieve.pop(1), "the delay after the first visit"
    clock.advance(10)
    sieve.group("a.example").pause()
    assert [] == sieve.pop(1)
    sieve.group("a.example").resume()
    sieve.group("a.example").block(clock.now + 100)
    assert [] == sieve.pop(1)
    clock.advance(100)
    assert [HOST + "x"] == urls_of(sieve.pop(1))


# -- anything, against a model


class Model:
    """One group without limits, as the protocol's words have it: three lines by priority, then arrival; and what is for later."""

    def __init__(self):
        self.arrivals = 0
        self.waiting = {}  # url → (class, priority, arrival)
        self.later = {}  # url → (class, priority, due)
        self.out = {}  # url → [again]
        self.over = set()

    def arrive(self, url, klass, priority):
        self.arrivals += 1
        self.waiting[url] = (klass, priority, self.arrivals)

    def due(self, now):
        for url, (klass, priority, _) in sorted(((u, e) for u, e in self.later.items() if e[2] <= now), key=lambda found: found[1][2]):
            del self.later[url]
            self.arrive(url, klass, priority)

    def ask(self, url, priority, due, now, *, again):
        """push new, raise or again, the last two being alike for what waits."""
        if url in self.waiting:
            klass, before, arrival = self.waiting[url]
            self.waiting[url] = (klass, max(before, priority), arrival)
        elif url in self.later:
            klass, before, when = self.later[url]
            if due is None:
                del self.later[url]
                self.arrive(url, klass, max(before, priority))
            else:
                self.later[url] = (klass, max(before, priority), min(when, due))
        elif again and url in self.over:
            self.over.discard(url)
            if due is None:
                self.arrive(url, "revisit", priority)
            else:
                self.later[url] = ("revisit", priority, due)
        elif url not in self.over:
            if due is None:
                self.arrive(url, "new", priority)
            else:
                self.later[url] = ("new", priority, due)

    def heads(self):
        best = {}
        for url, (klass, priority, arrival) in self.waiting.items():
            best[klass] = min(best.get(klass, (1, 1, "")), (-priority, arrival, url))
        return {klass: url for klass, (_, _, url) in best.items()}


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_asked_each_pop_gives_the_head_of_a_class_and_no_class_starves(lab, clock, seed):
    sieve, model, rng = lab.open(), Model(), random.Random(seed)
    urls = pages(30)
    served_since = Counter()
    for step in range(400):
        url, priority = rng.choice(urls), rng.choice([0, 0, 0, 1, 5])
        # no two alike, and none near a second's turn: a store adds to the clock what it had to wait
        due = None if rng.random() < 0.6 else clock.now + rng.randrange(50) + 0.5 + step / 1000
        match rng.randrange(8):
            case 0 | 1:
                sieve.push(URLItem(url, priority=priority, due=due), mode="raise")
                model.ask(url, priority, due, clock.now, again=False)
            case 2 | 3 | 4:
                sieve.revisit(URLItem(url, priority=priority), at=due)
                model.ask(url, priority, due, clock.now, again=True)
            case 5:
                clock.advance(rng.randrange(1, 20))
            case _:
                model.due(clock.now)
                heads = model.heads()
                leases = sieve.pop(1)
                assert bool(heads) == bool(leases)
                for lease in leases:
                    assert heads.get(lease.klass) == lease.url, (lease.klass, heads)
                    del model.waiting[lease.url]
                    sieve.done(lease)
                    model.over.add(lease.url)
                    for klass in ("new", "revisit"):
                        served_since[klass] = 0 if klass == lease.klass or klass not in heads else served_since[klass] + 1
                    assert max(served_since.values()) <= 10
