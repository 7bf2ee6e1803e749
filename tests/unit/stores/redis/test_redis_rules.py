"""frontier.lua says the same as urlsieve.frontier: generated inputs go through the real server and through Python."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redis_server
from urlsieve.frontier import admit, turn
from urlsieve.model import Klass, Policy, State
from urlsieve.stores.redis.scripts import read

#: Answers as JSON text with all digits: Redis would cut Lua's numbers to whole ones.
CALL = b"""
local a = cjson.decode(ARGV[2])
local function opt(x) if x == cjson.null then return nil end return x end
local function number(x) return x == nil and cjson.null or string.format('%.17g', x) end
if ARGV[1] == 'place' then
  local spot, wake, room = place(a[1], a[2], a[3], a[4], a[5], a[6], opt(a[7]), a[8], a[9])
  return cjson.encode({number(spot), number(wake), number(room)})
elseif ARGV[1] == 'next_class' then
  local order = {}
  for i, class in ipairs(a[2]) do order[i] = string.char(class) end
  local class, position = next_class(a[1], table.concat(order), a[3])
  return cjson.encode({number(class), number(position)})
elseif ARGV[1] == 'is_full' then
  return cjson.encode({is_full(a[1], a[2], opt(a[3]))})
elseif ARGV[1] == 'lift' then
  local changed, priority, due = lift(a[1], a[2], opt(a[3]), a[4], opt(a[5]), a[6])
  if not changed then return cjson.encode({false}) end
  return cjson.encode({true, number(priority), number(due)})
elseif ARGV[1] == 'expire' then
  local state, class, attempt, due = expire(a[1], a[2], opt(a[3]), a[4], a[5])
  return cjson.encode({number(state), number(class), number(attempt), number(due)})
end
"""


@pytest.fixture(scope="module")
def lua():
    client = redis_server.shared().client()
    script = client.register_script(read("common/frontier") + CALL)
    yield lambda name, *arguments: [
        float(one) if isinstance(one, str) else one for one in json.loads(script(args=[name, json.dumps(arguments)]))
    ]
    client.close()


times = st.sampled_from([0.0, 99.5, 100.0, 100.25, 1e9]) | st.floats(0, 2e9)
priorities = st.integers(-5, 5) | st.integers(-(2**53), 2**53)
classes = st.sampled_from(list(Klass))


@given(
    waiting=st.booleans(),
    paused=st.booleans(),
    next_turn=times,
    blocked_until=times,
    half_open=st.booleans(),
    leased=st.integers(0, 6),
    concurrency=st.none() | st.integers(1, 6),
    delay=st.sampled_from([0.0, 0.5, 30.0]),
    now=times,
)
def test_place_is_the_same_on_the_server(lua, **arguments):
    spot, wake, room = turn.place(**arguments)
    expected = [float(spot), wake, None if room is None else float(room)]
    if spot is not turn.Place.READY:
        expected[2] = None  # room says nothing there
    assert expected == lua("place", *arguments.values())


@given(
    shares=st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)).filter(any),
    position=st.integers(0, 40),
    waiting=st.lists(st.booleans(), min_size=3, max_size=3).filter(any),
)
def test_the_class_of_a_turn_is_the_same_on_the_server(lua, shares, position, waiting):
    order = turn.pattern(shares)
    position %= len(order)
    assert list(turn.next_class(position, shares, waiting)) == lua("next_class", position, order, waiting)


@given(priority=priorities, waiting=st.integers(0, 200), high_water=st.none() | st.integers(1, 150))
def test_full_is_the_same_on_the_server(lua, priority, waiting, high_water):
    assert [admit.is_full(priority, waiting, high_water)] == lua("is_full", priority, waiting, high_water)


@given(
    state=st.sampled_from([State.PENDING, State.DELAYED]),
    priority=priorities,
    due=times,
    new_priority=priorities,
    new_due=st.none() | times,
    now=times,
)
def test_a_lift_is_the_same_on_the_server(lua, state, priority, due, new_priority, new_due, now):
    have = due if state is State.DELAYED else None
    lifted = admit.lift(state, priority, have, new_priority=new_priority, new_due=new_due, now=now)
    expected = [False] if lifted is None else [True, float(lifted.priority), lifted.due]
    assert expected == lua("lift", int(state), priority, have, new_priority, new_due, now)


@given(klass=classes, attempt=st.integers(1, 9), again=st.none() | times, most=st.integers(1, 9), now=times)
def test_what_an_expired_lease_leaves_is_the_same_on_the_server(lua, klass, attempt, again, most, now):
    left = admit.expire(klass, attempt, again, Policy(max_attempts=most), now)
    assert [float(left.state), float(left.klass), float(left.attempt), left.due] == lua("expire", int(klass), attempt, again, most, now)


def test_the_harness_would_see_a_difference(lua):
    assert [2.0, 105.0, None] == lua("place", True, False, 105.0, 0.0, False, 0, None, 0.0, 100.0)
    assert not math.isnan(lua("place", True, False, 0.0, 0.0, False, 0, None, 0.0, 100.0)[0])
