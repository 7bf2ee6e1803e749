"""Counts of what a level was asked."""

import struct

import pytest

from urlsieve._kernel import ABSENT
from urlsieve._kernel._core import count_absent
from urlsieve.stores.embedded.asking import SAMPLED, Asking


def test_all_calls_are_counted_and_some_are_timed():
    asking = Asking()
    assert {"asked": 0, "yes": 0, "no": 0, "calls": 0, "ns": None} == asking.so_far().as_dict()
    timed = []
    for _ in range(2 * SAMPLED):
        begun = asking.begin()
        timed.append(begun > 0)
        asking.end(begun, 10, 3)
    assert [i % SAMPLED == 0 for i in range(2 * SAMPLED)] == timed
    found = asking.so_far().as_dict()
    assert (20 * SAMPLED, 6 * SAMPLED, 14 * SAMPLED, 2 * SAMPLED) == (found["asked"], found["yes"], found["no"], found["calls"])
    assert found["ns"] > 0


@pytest.mark.parametrize("values", [[], [ABSENT], [0, ABSENT, -1, ABSENT + 1, ABSENT], [5] * 100])
def test_values_that_are_absent_are_counted(values):
    assert values.count(ABSENT) == count_absent(bytearray(struct.pack(f"<{len(values)}q", *values)))


def test_values_that_are_cut_off_are_refused():
    with pytest.raises(ValueError, match="8 for each"):
        count_absent(bytearray(9))
