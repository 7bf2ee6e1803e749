"""Whose turn it is, as a pure function; and how classes share a group's turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.frontier.turn import Place, next_class, pattern, place

NOW = 1000.0


def placed(**changes):
    healthy = {
        "waiting": True,
        "paused": False,
        "next_turn": 0.0,
        "blocked_until": 0.0,
        "half_open": False,
        "leased": 0,
        "concurrency": None,
        "delay": 0.0,
        "now": NOW,
    }
    return place(**{**healthy, **changes})  # fmt: skip


def test_a_group_without_limits_may_give_any_number():
    assert (Place.READY, None, None) == placed()


def test_a_group_with_nothing_waiting_is_idle_whatever_else_holds():
    assert Place.IDLE is placed(waiting=False, paused=True, next_turn=NOW + 5).place


def test_a_paused_group_is_held_without_a_time():
    assert (Place.HELD, None) == placed(paused=True, next_turn=NOW + 5)[:2]


@pytest.mark.parametrize("turn,block,wake", [(NOW + 5, 0, NOW + 5), (0, NOW + 7, NOW + 7), (NOW + 5, NOW + 7, NOW + 7)])
def test_a_group_waits_for_its_turn_and_its_block(turn, block, wake):
    assert (Place.WAITING, wake) == placed(next_turn=turn, blocked_until=block)[:2]


def test_the_turn_has_come_at_its_very_moment():
    assert Place.READY is placed(next_turn=NOW, blocked_until=NOW).place


def test_with_a_delay_one_turn_gives_one_url():
    assert 1 == placed(delay=0.5).room
    assert 1 == placed(delay=0.5, concurrency=10).room


def test_concurrency_leaves_the_rest_of_it():
    assert 3 == placed(concurrency=5, leased=2).room
    assert Place.HELD is placed(concurrency=5, leased=5).place
    assert Place.HELD is placed(concurrency=5, leased=9).place


def test_after_a_block_one_url_probes_and_the_others_wait_for_it():
    assert (Place.READY, 1) == (placed(half_open=True).place, placed(half_open=True).room)
    assert Place.HELD is placed(half_open=True, leased=1).place


def test_ten_turns_are_six_two_and_two():
    order = pattern((6, 2, 2))
    assert (6, 2, 2) == tuple(order.count(klass) for klass in range(3))


@given(st.tuples(st.booleans(), st.booleans(), st.booleans()).filter(any), st.integers(0, 9))
def test_a_class_without_work_gets_no_turn_and_no_turn_is_lost(waiting, position):
    for _ in range(30):
        klass, position = next_class(position, (6, 2, 2), waiting)
        assert waiting[klass]


def test_the_shares_of_two_classes_are_those_of_their_own():
    position, got = 0, [0, 0, 0]
    for _ in range(80):
        klass, position = next_class(position, (6, 2, 2), (True, False, True))
        got[klass] += 1
    assert 0 == got[1]
    assert abs(got[0] - 60) <= 4


def test_a_class_with_no_share_is_served_when_it_is_alone():
    assert 1 == next_class(0, (1, 0, 0), (False, True, False))[0]
