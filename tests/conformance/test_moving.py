"""`entries` gives everything a store has, `admit` takes it as it is: what an export and an import are made of."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import urlsieve
from sieve_lab import DAY, drain, pages, urls_of
from urlsieve.errors import ConfigError
from urlsieve.model import Entry, Klass, State, Verdict


def store_of(sieve):
    return sieve._store


def entries(sieve, states=None):
    return list(store_of(sieve).entries(sieve.now(), states))


def fill(sieve, clock, seed=0):
    """URLs in every state, with all their fields."""
    chance = random.Random(seed)
    sieve.push([f"http://h{i % 7}.example/{i}" for i in range(120)])
    sieve.push([f"http://h{i}.example/top" for i in range(7)], priority=100, depth=2, via="http://hub.example/", meta={"a": [1, "ü"]})
    sieve.push(urlsieve.URLItem("http://post.example/f", variant=b"POST\0x", priority=-3))
    sieve.push(urlsieve.URLItem("http://later.example/", due=clock.now + DAY))
    sieve.push(b"http://h1.example/\xff\xfe")
    sieve.mark(["http://known.example/a", "http://known.example/b"], known=True)
    sieve.mark("http://marked.example/")
    for lease in sieve.pop(30, lease=1e5):
        chance.choice(
            [
                lambda one: sieve.done(one, links=[one.url + "/x"]),
                lambda one: sieve.fail(one, "refused", status=403),
                lambda one: sieve.fail(one, "slow", status=503),
                lambda one: sieve.skip(one, "robots"),
                lambda one: None,
            ]
        )(lease)


def moved(entry):
    """As it must be found after a move: a lease does not move with its URL."""
    if entry.state is State.LEASED:
        return entry._replace(state=State.PENDING, attempt=max(0, entry.attempt - 1))
    return entry


def test_everything_moves_to_another_store_as_it_is(lab, clock, sieve, other_store):
    fill(sieve, clock)
    before = entries(sieve)
    assert len(before) == sieve.stats().as_dict()["seen"]
    assert {entry.state for entry in before} == {None, *State}
    verdicts = store_of(other_store).admit(before, clock.now, skipped=sieve.stats().as_dict()["skipped"])
    assert bytes([Verdict.NEW]) * len(before) == verdicts
    assert sorted(moved(entry) for entry in before) == sorted(entries(other_store))
    one, two = sieve.stats().as_dict(), other_store.stats().as_dict()
    assert one["pending"] + one["leased"] == two["pending"]
    for name in ("accepted", "delayed", "done", "dead", "known", "seen", "skipped", "sites", "oldest_pending"):
        assert one[name] == two[name], name
    assert other_store.verify(deep=True) == []


def test_what_is_admitted_twice_is_there_once(lab, clock, sieve):
    fill(sieve, clock)
    everything = entries(sieve)
    assert bytes(len(everything)) == store_of(sieve).admit(everything, clock.now)
    assert everything == entries(sieve)


def test_the_first_of_equals_wins(lab, clock, sieve, other_store):
    sieve.push("http://a.example/")
    (entry,) = entries(sieve)
    verdicts = store_of(other_store).admit([entry, entry._replace(state=State.DONE), entry._replace(state=None)], clock.now)
    assert bytes([Verdict.NEW, Verdict.SEEN, Verdict.SEEN]) == verdicts
    assert "pending" == other_store.info("http://a.example/").state


def test_the_order_of_a_group_moves_with_it(lab, clock, sieve, other_store):
    sieve.push(pages(50), priority=1)
    sieve.push(pages(50, start=50))
    sieve.push(pages(1, start=70), priority=9, mode="raise")
    store_of(other_store).admit(entries(sieve), clock.now)
    assert urls_of(sieve.pop(100)) == urls_of(other_store.pop(100))


def test_attempts_and_reasons_move(lab, clock, sieve, other_store):
    sieve.push("http://a.example/")
    sieve.fail(sieve.pop(1)[0], "refused by the server", status=403)
    store_of(other_store).admit(entries(sieve), clock.now)
    info = other_store.info("http://a.example/")
    assert ("dead", "refused by the server", 1) == (info.state, info.reason, info.attempt)
    assert 1 == other_store.push("http://a.example/", mode="again").requeued
    assert [1] == [lease.attempt for lease in other_store.pop(9)]


def test_a_dead_url_keeps_its_seven_days_from_when_it_died(lab, clock, sieve, other_store):
    sieve.push("http://a.example/")
    sieve.fail(sieve.pop(1)[0], "no", status=403)
    clock.advance(6 * DAY)
    store_of(other_store).admit(entries(sieve), clock.now)
    clock.advance(2 * DAY)
    other_store.pop(1)
    (entry,) = entries(other_store)
    assert (State.DEAD, None) == (entry.state, entry.url)


@pytest.mark.parametrize("state", [State.PENDING, State.LEASED, State.DELAYED])
def test_what_has_no_url_cannot_wait(lab, clock, sieve, state):
    with pytest.raises(ConfigError, match="no URL"):
        store_of(sieve).admit([Entry(b"\1" * 16, state, "a.example")], clock.now)
    assert 0 == sieve.stats().as_dict()["seen"]


@pytest.mark.parametrize("state", [State.PENDING, State.LEASED, State.DELAYED])
def test_what_has_no_group_cannot_wait_and_nothing_of_its_batch_is_taken(lab, clock, sieve, state):
    good = Entry(b"\2" * 16, State.DONE, "a.example")
    with pytest.raises(ConfigError, match="no group"):
        store_of(sieve).admit([good, Entry(b"\1" * 16, state, "a.example", url="http://a.example/")], clock.now)
    assert 0 == sieve.stats().as_dict()["seen"]


def test_what_has_no_url_may_be_done_dead_or_known(lab, clock, sieve):
    given_ = [Entry(bytes([i]) * 16, state, "a.example") for i, state in enumerate((State.DONE, State.DEAD, None), 1)]
    store_of(sieve).admit(given_, clock.now)
    assert sorted(given_, key=lambda e: e.fingerprint) == sorted(entries(sieve), key=lambda e: e.fingerprint)


def test_a_due_url_waits_until_it_is_due(lab, clock, sieve, other_store):
    sieve.push(urlsieve.URLItem("http://a.example/", due=clock.now + 100))
    store_of(other_store).admit(entries(sieve), clock.now)
    assert [] == other_store.pop(1)
    clock.advance(100)
    assert ["http://a.example/"] == urls_of(other_store.pop(1))


def test_a_limit_counts_what_was_admitted(lab, clock, sieve, other_store):
    sieve.push(pages(5))
    other_store.site("a.example").limit = 6
    store_of(other_store).admit(entries(sieve), clock.now)
    report = other_store.push(pages(9))
    assert (5, 1, 3) == (report.seen, report.new, len(report.verdicts) - 6)


def test_states_are_chosen(lab, clock, sieve):
    fill(sieve, clock)
    everything = entries(sieve)
    for state in [None, *State]:
        chosen = entries(sieve, frozenset([state]))
        assert [entry for entry in everything if entry.state is state] == chosen
    assert [] == entries(sieve, frozenset())


def test_what_moves_while_it_is_listed_is_not_missed(lab, clock, sieve):
    """Whatever state it goes to meanwhile: each URL that was there is given."""
    sieve.push([f"http://h{i % 50}.example/{i}" for i in range(3000)])
    sieve.pop(300, lease=1e5)
    expected = {entry.fingerprint for entry in entries(sieve)}
    chance = random.Random(5)
    got = set()
    out = []
    for number, entry in enumerate(store_of(sieve).entries(clock.now)):
        got.add(entry.fingerprint)
        if number % 100 == 0:
            out += sieve.pop(20, lease=1e5)
            for lease in chance.sample(out, min(8, len(out))):
                out.remove(lease)
                chance.choice([sieve.done, sieve.release, lambda one: sieve.fail(one, "no", status=503)])(lease)
            sieve.push([f"http://h{i}.example/{chance.randrange(3000)}" for i in range(50)], priority=number, mode="raise")
            sieve.push([f"http://h{i}.example/{chance.randrange(3000)}" for i in range(50)], mode="again")
    assert set() == expected - got


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_a_moved_store_gives_the_rest_of_the_crawl(lab, clock, seed):
    if lab.name != "memory":
        return  # the property is about the form of entries; one store form is enough
    one, two = lab.open(), lab.open()
    fill(one, clock, seed)
    store_of(two).admit(entries(one), clock.now)
    clock.advance(2 * 10**5)
    rest = []
    for sieve in (one, two):
        urls = []
        start = clock.now
        drain(sieve, clock, lambda s, lease, urls=urls: (urls.append(lease.url), s.done(lease)))
        clock.now = start
        rest.append(sorted(urls))
    assert rest[0] == rest[1]


def test_klass_moves(lab, clock, sieve, other_store):
    sieve.push("http://a.example/")
    sieve.done(sieve.pop(1)[0])
    sieve.revisit("http://a.example/")
    (entry,) = entries(sieve)
    assert Klass.REVISIT is entry.klass
    store_of(other_store).admit([entry], clock.now)
    assert ["revisit"] == [lease.klass for lease in other_store.pop(1)]
