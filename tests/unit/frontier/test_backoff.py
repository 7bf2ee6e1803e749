"""Seconds to wait, as pure functions of attempts and chance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.frontier.backoff import block_length, retry_delay
from urlsieve.model import Policy

POLICY = Policy(backoff=10.0, block=60.0)
chances = st.floats(0, 1, exclude_max=True)


@pytest.mark.parametrize("attempt,longest", [(1, 10), (2, 20), (3, 40), (8, 1280), (9, 2560), (10, 3600), (50, 3600), (10_000, 3600)])
def test_the_longest_retry_delay_doubles_and_ends_at_an_hour(attempt, longest):
    assert longest == pytest.approx(retry_delay(attempt, POLICY, 1.0))
    assert longest / 2 == pytest.approx(retry_delay(attempt, POLICY, 0.5))


@given(attempt=st.integers(0, 100), chance=chances)
def test_full_jitter_means_anything_from_nothing_to_the_longest(attempt, chance):
    assert 0 <= retry_delay(attempt, POLICY, chance) <= 3600
    assert 0 == retry_delay(attempt, POLICY, 0.0)


@given(chance=chances, asked=st.floats(-1e12, 1e12))
def test_the_first_block_is_what_the_server_asked_for_up_to_a_day(chance, asked):
    length = block_length(0, POLICY, chance, asked)
    assert 0 < length <= 86_400
    if 1 <= asked <= 86_400:
        assert asked == length


@given(blocks=st.integers(0, 1000), chance=chances, asked=st.one_of(st.none(), st.floats(0, 1e9)))
def test_no_block_is_longer_than_a_day_or_shorter_than_was_asked_for(blocks, chance, asked):
    length = block_length(blocks, POLICY, chance, asked)
    assert 0 < length <= 86_400
    assert asked is None or length >= min(asked, 86_400)


@given(chance=chances)
def test_blocks_grow_whatever_the_jitter_until_they_are_a_day(chance):
    lengths = [block_length(blocks, POLICY, chance, None) for blocks in range(20)]
    assert sorted(lengths) == lengths
    assert lengths[3] > lengths[0]
    assert lengths[-1] <= 86_400


def test_the_jitter_of_blocks_spreads_the_probes_of_many_groups():
    lengths = {block_length(2, POLICY, chance / 10, None) for chance in range(10)}
    assert 10 == len(lengths)
