"""Moves to other fingerprints: in an order in which every place is free when somebody comes, whatever depends on whatever."""

from hypothesis import given
from hypothesis import strategies as st

from urlsieve.model import State
from urlsieve.stores.sweeping import Fate, Move, fates, in_order, outranks

PLACES = [bytes([number]) * 16 for number in range(8)]


def made(pairs, flags):
    return [
        Move(PLACES[old], number, PLACES[new], "e.com", state, forgets)
        for number, ((old, new), (state, forgets)) in enumerate(zip(pairs.items(), flags, strict=False), 1)
        if old != new
    ]


moves = st.builds(
    made,
    st.dictionaries(st.integers(0, 7), st.integers(0, 7), max_size=8),
    st.lists(st.tuples(st.sampled_from(list(State)), st.booleans()), min_size=8, max_size=8),
)


@given(moves)
def test_every_move_is_given_once_and_comes_after_what_leaves_its_place(wanted):
    left, given_ones = set(), []
    for unit in in_order(wanted):
        given_ones += unit.moves
        if unit.circle:
            left.update(move.old for move in unit.moves)
        for move in unit.moves:
            assert move.new in left or move.new not in {other.old for other in wanted}
        left.update(move.old for move in unit.moves)
    assert sorted(wanted) == sorted(given_ones)


@given(moves, st.sets(st.sampled_from(PLACES)))
def test_afterwards_each_place_has_at_most_one_entry_and_none_that_waits_or_stays_is_lost(wanted, others):
    there = {place: f"other {number}" for number, place in enumerate(sorted(others)) if place not in {move.old for move in wanted}}
    there |= {move.old: move for move in wanted}
    taken = {place for place in there if place in {move.new for move in wanted}}
    ends = list(fates(wanted, taken))
    assert sorted(wanted) == sorted(move for move, _ in ends)
    after = {place: entry for place, entry in there.items() if isinstance(entry, str)}
    for move, fate in ends:
        if fate is not Fate.MERGED:
            place = move.new if fate is Fate.MOVED else move.old
            assert place not in after
            after[place] = move
    for move, fate in ends:
        if fate is Fate.MERGED:
            assert move.new in after
            assert move.waits or move.forgets or any(move in unit.moves for unit in in_order(wanted) if unit.circle)
        if fate is Fate.LEFT:
            assert not move.waits
            assert not move.forgets


RANKED = [State.LEASED, State.DONE, State.PENDING, State.DELAYED, State.DEAD]


@given(moves)
def test_whoever_comes_later_replaces_only_one_that_would_have_come_after_it(wanted):
    """And never one that would have been left where it was, if it can be left itself."""
    for move in wanted:
        for other in wanted:
            better = RANKED.index(move.state) < RANKED.index(other.state)
            leaves_both = not (move.waits or move.forgets or other.waits or other.forgets)
            assert outranks(move, other.state, other.forgets) == (better and not leaves_both)
