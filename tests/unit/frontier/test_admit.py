"""What is let in, lifted or brought back, as pure functions of what the store has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.frontier.admit import class_of_return, expire, is_full, lift
from urlsieve.model import Klass, Policy, State

NOW = 1000.0
POLICY = Policy(max_attempts=3)


@pytest.mark.parametrize("priority,waiting,expected", [(0, 99, False), (0, 100, True), (-5, 100, True), (1, 100, False), (1, 124, False), (1, 125, True), (10**9, 125, True)])  # fmt: skip
def test_low_priorities_are_refused_at_the_mark_and_others_a_quarter_above_it(priority, waiting, expected):
    assert expected == is_full(priority, waiting, 100)


def test_without_a_mark_nothing_is_full():
    assert not is_full(0, 10**12, None)


def test_a_pending_url_is_lifted_by_a_larger_priority_only():
    assert lift(State.PENDING, 3, None, new_priority=3, new_due=None, now=NOW) is None
    assert lift(State.PENDING, 3, None, new_priority=2, new_due=None, now=NOW) is None
    assert (5, None) == lift(State.PENDING, 3, None, new_priority=5, new_due=None, now=NOW)
    assert (5, None) == lift(State.PENDING, 3, None, new_priority=5, new_due=NOW + 9, now=NOW)


def test_a_delayed_url_is_wanted_now_by_an_offer_that_names_no_time_or_a_past_one():
    assert (3, None) == lift(State.DELAYED, 3, NOW + 50, new_priority=0, new_due=None, now=NOW)
    assert (3, None) == lift(State.DELAYED, 3, NOW + 50, new_priority=0, new_due=NOW - 1, now=NOW)


def test_a_due_time_is_brought_forward_and_never_back():
    assert (3, NOW + 10) == lift(State.DELAYED, 3, NOW + 50, new_priority=0, new_due=NOW + 10, now=NOW)
    assert lift(State.DELAYED, 3, NOW + 50, new_priority=0, new_due=NOW + 90, now=NOW) is None
    assert (7, NOW + 50) == lift(State.DELAYED, 3, NOW + 50, new_priority=7, new_due=NOW + 90, now=NOW)


@given(
    state=st.sampled_from([State.PENDING, State.DELAYED]),
    priority=st.integers(-9, 9),
    new_priority=st.integers(-9, 9),
    due=st.floats(NOW + 1, NOW + 100),
    new_due=st.one_of(st.none(), st.floats(0, 2 * NOW)),
)
def test_nothing_is_ever_lowered_or_put_off(state, priority, new_priority, due, new_due):
    lifted = lift(state, priority, due if state is State.DELAYED else None, new_priority=new_priority, new_due=new_due, now=NOW)
    if lifted is None:
        return
    assert lifted.priority == max(priority, new_priority)
    assert state is State.DELAYED or lifted.due is None
    assert lifted.due is None or lifted.due <= due


def test_a_done_url_returns_as_a_revisit_and_a_dead_one_as_a_retry():
    assert (Klass.REVISIT, Klass.RETRY) == (class_of_return(State.DONE), class_of_return(State.DEAD))


def test_an_expired_lease_goes_back_as_a_retry_until_the_last_attempt():
    assert (State.PENDING, Klass.RETRY, 1, None) == expire(Klass.NEW, 1, None, POLICY, NOW)
    assert (State.PENDING, Klass.REVISIT, 2, None) == expire(Klass.REVISIT, 2, None, POLICY, NOW)
    assert State.DEAD is expire(Klass.RETRY, 3, None, POLICY, NOW).state


def test_an_expired_lease_that_was_asked_for_again_starts_anew():
    assert (State.PENDING, Klass.REVISIT, 0, None) == expire(Klass.RETRY, 3, NOW - 1, POLICY, NOW)
    assert (State.DELAYED, Klass.REVISIT, 0, NOW + 9) == expire(Klass.RETRY, 3, NOW + 9, POLICY, NOW)
