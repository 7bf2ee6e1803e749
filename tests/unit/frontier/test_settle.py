"""One leased row and its outcome: the new state, the attempts, the excuse, the next turn."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.frontier.settle import decide
from urlsieve.model import GroupRow, Health, Klass, Outcome, Policy, Row, State

NOW = 1000.0
POLICY = Policy(max_attempts=3, backoff=10.0, delay=2.0)


def copy(value, **changes):
    return value._replace(**changes) if isinstance(value, tuple) else replace(value, **changes)


def row(**changes):
    plain = Row(
        token="t", fingerprint=b"a" * 16, url="http://a.example/", site="a.example", group="a.example", group_id=1, priority=0, depth=0, attempt=1, klass=Klass.NEW,
        deadline=NOW + 60, via=None, meta=None, variant=b"", excused=0, failed_at=None, again=None,
    )  # fmt: skip
    return copy(plain, **changes)


def group(**changes):
    plain = GroupRow("a.example", 1, None, None, False, 0.0, 1, 0, (None, None, None), Health())
    return copy(plain, **changes)


def decided(outcome, *, row=row(), group=group(), health=None, chance=0.5, policy=POLICY):  # noqa: B008 - values
    return decide(row, group, health or group.health, outcome, policy=policy, now=NOW, chance=chance)


@pytest.mark.parametrize(
    "outcome,state",
    [
        (Outcome("done"), State.DONE), (Outcome("done", status=304), State.DONE), (Outcome("done", status=404), State.DONE), (Outcome("fail", reason="x", status=410), State.DONE),
        (Outcome("skip", reason="x"), State.DONE), (Outcome("fail", reason="x", status=403), State.DEAD), (Outcome("fail", reason="x"), State.DELAYED),
        (Outcome("done", status=500), State.DELAYED), (Outcome("fail", reason="x", status=429), State.DELAYED), (Outcome("release"), State.PENDING),
        (Outcome("release", not_before=NOW + 5), State.DELAYED), (Outcome("release", not_before=NOW - 5), State.PENDING),
    ],
)  # fmt: skip
def test_the_table_row_by_row(outcome, state):
    assert state is decided(outcome).change.state


def test_the_last_attempt_ends_dead_with_its_reason():
    change = decided(Outcome("fail", reason="reset"), row=row(attempt=3)).change
    assert (State.DEAD, "reset") == (change.state, change.reason)


def test_an_attempt_before_the_last_is_delayed_and_stays_counted():
    change = decided(Outcome("fail", reason="reset"), row=row(attempt=2)).change
    assert (State.DELAYED, 2, Klass.RETRY, NOW + 10) == (change.state, change.attempt, change.klass, change.due)


def test_a_release_takes_its_attempt_back_and_changes_nothing_else():
    decision = decided(Outcome("release"), row=row(attempt=3, klass=Klass.REVISIT, excused=2))
    change = decision.change
    assert (2, Klass.REVISIT, 2) == (change.attempt, change.klass, change.excused)
    assert decision.health == Health()


def test_a_throttled_attempt_is_excused_ten_times_and_then_counts():
    change = decided(Outcome("fail", reason="x", status=429), row=row(attempt=3, excused=9)).change
    assert (State.DELAYED, 2, 10) == (change.state, change.attempt, change.excused)
    change = decided(Outcome("fail", reason="x", status=429), row=row(attempt=3, excused=10)).change
    assert State.DEAD is change.state


def test_a_url_whose_group_answered_others_is_its_own_problem():
    health = Health(version=1, ok_at=NOW - 10)
    change = decided(Outcome("fail", reason="x", status=429), row=row(attempt=3, excused=5, failed_at=NOW - 20), health=health).change
    assert State.DEAD is change.state
    change = decided(Outcome("fail", reason="x", status=429), row=row(attempt=3, excused=5, failed_at=NOW - 5), health=health).change
    assert State.DELAYED is change.state


@pytest.mark.parametrize("outcome", [Outcome("done", elapsed=4.0), Outcome("fail", reason="x", elapsed=4.0), Outcome("done", status=404, elapsed=4.0), Outcome("skip", reason="x", elapsed=4.0)])  # fmt: skip
def test_the_next_turn_is_a_delay_after_the_settle_or_a_multiple_of_the_fetch_time(outcome):
    assert NOW + 2 == decided(outcome).change.next_turn
    assert NOW + 20 == decided(outcome, policy=replace(POLICY, factor=5.0)).change.next_turn
    assert NOW + 7 == decided(outcome, group=group(delay=7.0)).change.next_turn


def test_without_a_delay_a_settle_moves_no_turn():
    assert NOW >= decided(Outcome("done"), policy=replace(POLICY, delay=0.0)).change.next_turn


def test_what_was_asked_for_again_returns_whatever_became_of_it():
    for outcome in (Outcome("done"), Outcome("fail", reason="x", status=403), Outcome("skip", reason="x"), Outcome("done", status=404)):
        change = decided(outcome, row=row(again=NOW - 1, attempt=2)).change
        assert (State.PENDING, 0) == (change.state, change.attempt)
        change = decided(outcome, row=row(again=NOW + 9, attempt=2)).change
        assert (State.DELAYED, NOW + 9, 0) == (change.state, change.due, change.attempt)


outcomes = st.builds(
    Outcome,
    st.sampled_from(["done", "fail", "skip", "release"]),
    status=st.one_of(st.none(), st.integers(100, 599)),
    reason=st.just("x"),
    retry_after=st.one_of(st.none(), st.floats(0, 1e9)),
    not_before=st.one_of(st.none(), st.floats(0, 2000)),
)


@given(
    outcome=outcomes,
    attempt=st.integers(1, 3),
    excused=st.integers(0, 12),
    chance=st.floats(0, 1, exclude_max=True),
    again=st.sampled_from([None, NOW - 1, NOW + 5]),
)
def test_every_outcome_gives_a_state_that_makes_sense(outcome, attempt, excused, chance, again):
    change = decided(outcome, row=row(attempt=attempt, excused=excused, again=again), chance=chance).change
    assert change.state in (State.DONE, State.DEAD, State.DELAYED, State.PENDING)
    assert "t" == change.token
    assert 0 <= change.attempt <= attempt
    assert excused <= change.excused <= excused + 1 or 0 == change.excused
    if change.state is State.DELAYED:
        assert change.due is not None
        assert change.due >= NOW
    if outcome.kind == "release":
        assert change.state in (State.PENDING, State.DELAYED)
