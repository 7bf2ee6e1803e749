"""A lease belongs to one worker until its deadline: tokens, attempts, expiry, extension, release."""

import pytest

from sieve_lab import DAY, hosts, pages, states, urls_of
from urlsieve import LeaseLost, Outcome

URL = "http://a.example/"


@pytest.fixture
def lease(sieve):
    sieve.push(URL)
    (lease,) = sieve.pop(1, lease=60)
    return lease


SETTLING = {
    "done": lambda sieve, lease: sieve.done(lease),
    "fail": lambda sieve, lease: sieve.fail(lease, "x", status=403),
    "skip": lambda sieve, lease: sieve.skip(lease, "type"),
    "release": lambda sieve, lease: sieve.release(lease),
    "extend": lambda sieve, lease: sieve.extend(lease, 60.0),
}
every_verb = pytest.mark.parametrize("verb", SETTLING.values(), ids=SETTLING)


def test_an_empty_store_gives_nothing_and_no_time_to_ask_again(sieve):
    leases = sieve.pop()
    assert [] == leases
    assert leases.next_at is None


def test_a_lease_says_everything_a_worker_needs(sieve, clock):
    sieve.push("HTTP://WWW.A.example:8080/b?utm_source=x&c=1", priority=3)
    (lease,) = sieve.pop(1, lease=30)
    assert "HTTP://WWW.A.example:8080/b?utm_source=x&c=1" == lease.url
    assert "http://www.a.example:8080/b?c=1" == lease.key
    assert "www.a.example:8080" == lease.site
    assert "www.a.example:8080" == lease.group
    assert (1, 3, 0) == (lease.attempt, lease.priority, lease.depth)
    assert clock.now + 30 == lease.deadline
    assert lease.previous is None


def test_a_leased_url_is_nobody_elses(sieve, lease):
    assert [] == sieve.pop(10)
    assert {"leased": 1} == states(sieve)


def test_pop_gives_at_most_its_limit(sieve):
    sieve.push(pages(5))
    assert [2, 2, 1, 0] == [len(sieve.pop(2)) for _ in range(4)]


def test_a_lost_lease_goes_back_and_the_old_worker_is_refused(sieve, clock, lease):
    clock.advance(61)
    (second,) = sieve.pop(1)
    assert (URL, 2) == (second.url, second.attempt)
    assert second.token != lease.token
    for verb in SETTLING.values():
        with pytest.raises(LeaseLost):
            verb(sieve, lease)
    assert {"leased": 1} == states(sieve)
    assert "done" == sieve.done(second).state


def test_cra_05_an_old_attempt_of_the_same_worker_cannot_renew_or_settle_the_new_one(sieve, clock):
    sieve.push(URL)
    (first,) = sieve.pop(1, lease=10)
    clock.advance(11)
    (second,) = sieve.pop(1, lease=10)
    with pytest.raises(LeaseLost):
        sieve.extend(first, 3600.0)
    with pytest.raises(LeaseLost):
        sieve.done(first)
    clock.advance(11)
    (third,) = sieve.pop(1, lease=10)
    assert 3 == third.attempt
    assert 3 == len({first.token, second.token, third.token})
    with pytest.raises(LeaseLost):
        sieve.done(second)
    sieve.done(third)
    assert {"done": 1} == states(sieve)


def test_after_the_deadline_but_before_reaping_the_worker_is_still_in_time(sieve, clock, lease):
    clock.advance(1000)
    assert "done" == sieve.done(lease).state


def test_after_the_deadline_but_before_reaping_a_lease_can_be_extended(sieve, clock, lease):
    clock.advance(1000)
    assert sieve.extend(lease, 60.0) is True
    assert [] == sieve.pop(1)
    clock.advance(59)
    assert [] == sieve.pop(1)
    clock.advance(2)
    assert [URL] == urls_of(sieve.pop(1))


def test_the_deadline_itself_is_when_asking_again_is_worth_it(sieve, clock, lease):
    assert lease.deadline == sieve.pop(1).next_at


def test_attempts_are_counted_when_the_lease_is_given_and_then_the_url_is_dead(sieve, clock):
    sieve.push(URL)
    for attempt in (1, 2, 3):
        (lease,) = sieve.pop(1, lease=10)
        assert attempt == lease.attempt
        clock.advance(10.5)
    assert [] == sieve.pop(1)
    assert {"dead": 1} == states(sieve)
    assert sieve.info(URL).reason
    with pytest.raises(LeaseLost):
        sieve.done(lease)


def test_max_attempts_is_the_openers_choice(lab, clock):
    sieve = lab.open(max_attempts=1)
    sieve.push(URL)
    sieve.pop(1, lease=10)
    clock.advance(11)
    assert [] == sieve.pop(1)
    assert {"dead": 1} == states(sieve)


def test_a_dead_url_keeps_text_and_reason_for_seven_days_and_stays_seen_for_ever(sieve, clock, lease):
    sieve.fail(lease, "forbidden here", status=403)
    clock.advance(6.9 * DAY)
    sieve.pop(1)
    info = sieve.info(URL)
    assert ("dead", URL) == (info.state, info.url)
    assert "forbidden here" in info.reason
    clock.advance(0.2 * DAY)
    sieve.pop(1)
    assert sieve.info(URL).reason is None
    assert [True] == sieve.seen([URL])
    assert 1 == sieve.stats().dead
    assert 1 == sieve.push(URL, mode="again").requeued


@every_verb
def test_what_is_settled_cannot_be_settled_again(sieve, lease, verb):
    sieve.done(lease)
    with pytest.raises(LeaseLost):
        verb(sieve, lease)
    assert {"done": 1} == states(sieve)


@every_verb
@pytest.mark.parametrize(
    "token", ["", "x", "\0", "é" * 10, "0-0-0", "1.2.3", "-1", "9" * 40, "x" * 1_000_000], ids=lambda text: f"{text[:6]!r}-{len(text)}"
)
def test_a_token_that_was_never_given_is_lost(sieve, lease, verb, token):
    with pytest.raises(LeaseLost):
        verb(sieve, token)
    assert {"leased": 1} == states(sieve)


@every_verb
def test_a_token_one_letter_off_is_lost(sieve, lease, verb):
    for position in range(len(lease.token)):
        letter = "0" if lease.token[position] != "0" else "1"
        with pytest.raises(LeaseLost):
            verb(sieve, lease.token[:position] + letter + lease.token[position + 1 :])
    assert {"leased": 1} == states(sieve)


def test_a_token_of_another_store_is_lost(sieve, lease, tmp_path, clock):
    from urlsieve import testing

    with testing.open(str(tmp_path / "other"), clock=clock, seed=5) as other:
        other.push([URL])
        (foreign,) = other.pop(1)
        with pytest.raises(LeaseLost):
            sieve.done(foreign)
        with pytest.raises(LeaseLost):
            other.done(lease)


def test_a_token_may_stand_for_its_lease(sieve, lease):
    assert sieve.extend(lease.token, 5.0) is True
    assert "done" == sieve.done(lease.token).state


def test_in_a_batch_a_lost_lease_does_not_hold_back_the_others(sieve, clock):
    sieve.push(hosts(3))
    one, two, three = sieve.pop(3)
    sieve.done(two)
    assert ["done", "lost", "done"] == [settled.state for settled in sieve.done([one, two, three])]
    assert {"done": 3} == states(sieve)


def test_the_same_lease_twice_in_a_batch_counts_once(sieve, lease):
    assert ["done", "lost"] == [settled.state for settled in sieve.done([lease, lease])]


def test_extending_a_batch_answers_for_each(sieve, clock):
    sieve.push(hosts(3))
    one, two, three = sieve.pop(3, lease=10)
    sieve.done(two)
    assert [True, False, True] == sieve.extend([one, two, three], 100.0)
    clock.advance(99)
    assert [] == sieve.pop(3)


def test_empty_batches_are_fine(sieve):
    assert [] == sieve.done([])
    assert [] == sieve.fail([], "x")
    assert [] == sieve.skip([], "x")
    assert [] == sieve.release([])
    assert [] == sieve.extend([], 60.0)
    assert [] == sieve.settle([])


def test_an_extension_counts_from_now_and_may_come_many_times(sieve, clock, lease):
    for _ in range(10):
        clock.advance(50)
        assert sieve.extend(lease, 60.0) is True
    clock.advance(59)
    assert [] == sieve.pop(1)
    clock.advance(2)
    assert 2 == sieve.pop(1)[0].attempt


def test_an_extension_never_makes_a_deadline_earlier(sieve, clock, lease):
    assert sieve.extend(lease, 5.0) is True
    clock.advance(59)
    assert [] == sieve.pop(1)


def test_released_leases_come_back_untouched_and_uncounted(sieve):
    sieve.push(URL, priority=4, meta={"k": 1})
    for _ in range(10):
        (lease,) = sieve.pop(1)
        assert (1, 4, {"k": 1}) == (lease.attempt, lease.priority, lease.meta)
        assert "pending" == sieve.release(lease).state


def test_release_gives_back_the_last_attempt_too(sieve, clock):
    sieve.push(URL)
    for _ in range(2):
        sieve.pop(1, lease=10)
        clock.advance(11)
    (lease,) = sieve.pop(1)
    assert 3 == lease.attempt
    sieve.release(lease)
    assert 3 == sieve.pop(1)[0].attempt


def test_release_not_before_holds_this_url_only(sieve, clock):
    sieve.push(pages(2))
    first, second = sieve.pop(2)
    assert "delayed" == sieve.release(first, not_before=clock.now + 30).state
    sieve.release(second)
    assert [second.url] == urls_of(sieve.pop(10))
    assert clock.now + 30 == min(sieve.pop(10).next_at, clock.now + 30)
    clock.advance(30)
    assert [first.url] == urls_of(sieve.pop(10))


def test_release_group_until_holds_the_whole_group(sieve, clock):
    sieve.push([*pages(3), "http://b.example/"])
    lease = next(lease for lease in sieve.pop(1, groups=["a.example"]))
    sieve.release(lease, group_until=clock.now + 30)
    assert ["http://b.example/"] == urls_of(sieve.pop(10))
    clock.advance(29)
    assert [] == sieve.pop(10)
    clock.advance(1)
    assert 3 == len(sieve.pop(10))


def test_settle_takes_different_outcomes_in_one_step(sieve, clock):
    sieve.push(hosts(6))
    leases = sieve.pop(6)
    sieve.done(leases[5])
    outcomes = [
        Outcome("done", status=200),
        Outcome("fail", reason="x", status=403),
        Outcome("skip", reason="type"),
        Outcome("release"),
        Outcome("done", status=404),
        Outcome(),
    ]
    settled = sieve.settle(list(zip(leases, outcomes, strict=True)))
    assert ["done", "dead", "done", "pending", "done", "lost"] == [one.state for one in settled]
    assert "gone" == settled[4].change
    assert [lease.token for lease in leases] == [one.token for one in settled]
    assert {"done": 4, "dead": 1, "pending": 1} == states(sieve)


def test_a_token_is_never_given_twice(lab, clock):
    tokens = set()
    for round_ in range(4):
        sieve = lab.open(seed=7) if lab.name == "memory" else lab.reopen(seed=7)
        sieve.push(hosts(200, path=f"/{round_}"))
        leases = sieve.pop(200)
        tokens.update(lease.token for lease in leases)
        if lab.name != "memory":
            sieve.release(leases)
    if lab.name != "memory":
        assert 800 == len(tokens)


def test_ato_07_a_url_offered_during_its_lease_is_not_leased_twice(sieve, lease):
    assert ["seen"] == sieve.push(URL).verdicts
    sieve.done(lease)
    assert [] == sieve.pop(10)
    assert {"done": 1} == states(sieve)


def test_cra_07_a_lease_that_nobody_settled_is_not_done(lab, clock):
    sieve = lab.open()
    sieve.push(URL)
    sieve.pop(1, lease=60)
    assert 0 == sieve.stats().done
    clock.advance(61)
    (lease,) = sieve.pop(1)
    assert (0, 2) == (sieve.stats().done, lease.attempt)


def test_cra_13_a_buffer_given_back_is_neither_lost_nor_counted(sieve):
    sieve.push(pages(1000))
    leases = sieve.pop(1000)
    sieve.done(leases[:10])
    sieve.release(leases[10:])
    assert {"pending": 990, "done": 10} == states(sieve)
    assert {1} == {lease.attempt for lease in sieve.pop(1000)}
