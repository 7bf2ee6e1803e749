"""A group's health after each answer: what blocks, what does not, and what ends a block. Time and chance are arguments."""

from hypothesis import given
from hypothesis import strategies as st

from urlsieve.frontier.health import after_answer, after_failure, is_blocked, is_half_open, until
from urlsieve.model import Health, Policy

POLICY = Policy()
A, B, C = (bytes([letter]) * 16 for letter in b"abc")
NOW = 1000.0


def fail(health, url, *, now=NOW, throttled=False, retry_after=None):
    return after_failure(health, url, now, throttled=throttled, retry_after=retry_after, policy=POLICY, chance=0.5)


def failed(*urls):
    health, fault = Health(), False
    for url in urls:
        health, fault = fail(health, url)
    return health, fault


def test_two_failures_do_not_block():
    health, fault = failed(A, B)
    assert not is_blocked(health, NOW)
    assert not fault


def test_three_failures_of_two_urls_block():
    for urls in ((A, B, A), (A, A, B), (A, B, B), (A, B, C)):
        health, fault = failed(*urls)
        assert is_blocked(health, NOW), urls
        assert fault


def test_any_number_of_failures_of_one_url_do_not_block():
    health, fault = failed(*[A] * 20)
    assert not is_blocked(health, NOW)
    assert not fault


def test_an_answer_starts_the_count_anew():
    health = after_answer(failed(A, B)[0], NOW)
    health, _ = fail(health, A)
    health, _ = fail(health, B)
    assert not is_blocked(health, NOW)


def test_a_throttle_blocks_at_once_and_is_the_groups_fault():
    health, fault = fail(Health(), A, throttled=True, retry_after=30.0)
    assert fault
    assert NOW + 30 == health.blocked_until
    assert is_blocked(health, NOW + 29.9)
    assert is_half_open(health, NOW + 30)
    assert A == health.failed_url


def test_a_named_time_is_clamped_to_a_day():
    health, _ = fail(Health(), A, throttled=True, retry_after=1e9)
    assert NOW + 86_400 == health.blocked_until


def test_a_failure_during_a_block_never_shortens_it_and_is_the_groups_fault():
    health, _ = fail(Health(), A, throttled=True, retry_after=100.0)
    later, fault = fail(health, B, now=NOW + 10)
    assert fault
    assert later.blocked_until >= health.blocked_until
    assert later.blocks == health.blocks


def test_an_answer_to_an_older_request_does_not_end_a_block():
    health, _ = fail(Health(), A, throttled=True, retry_after=100.0)
    assert is_blocked(after_answer(health, NOW + 10), NOW + 10)


def test_the_probes_answer_ends_the_block_and_its_growth():
    health, _ = fail(Health(), A, throttled=True, retry_after=100.0)
    health = after_answer(health, NOW + 101)
    assert not is_blocked(health, NOW + 101)
    assert not is_half_open(health, NOW + 101)
    assert (0, 0) == (health.blocks, health.failures)


def test_a_probe_that_fails_blocks_again_and_longer():
    health, _ = fail(Health(), A, throttled=True)
    first = health.blocked_until - NOW
    again, fault = fail(health, B, now=health.blocked_until)
    assert fault
    assert again.blocked_until - health.blocked_until > first
    assert 2 == again.blocks


def test_a_block_by_hand_needs_no_probe_and_never_shortens_one():
    health = until(Health(), NOW + 50)
    assert is_blocked(health, NOW)
    assert not is_half_open(health, NOW + 50)
    blocked, _ = fail(Health(), A, throttled=True, retry_after=100.0)
    assert NOW + 100 == until(blocked, NOW + 10).blocked_until


def test_good_news_about_a_healthy_group_is_the_same_object_so_that_nothing_is_written():
    health = Health()
    assert health is after_answer(health, NOW)


events = st.lists(st.tuples(st.sampled_from(["ok", "fail", "throttle"]), st.sampled_from([A, B, C]), st.floats(0, 5000)), max_size=40)


@given(events)
def test_a_block_is_never_longer_than_a_day_and_never_ends_by_another_failure(events):
    health, now = Health(), NOW
    for what, url, passed in events:
        now += passed
        before = health
        if what == "ok":
            health = after_answer(health, now)
        else:
            health, _ = fail(health, url, now=now, throttled=what == "throttle")
            assert health.blocked_until >= before.blocked_until
        assert health.blocked_until <= now + 86_400
        assert health.failures >= 0
