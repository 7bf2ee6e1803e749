"""The cuckoo table: exact whatever is added, asked and removed, in whatever order, by however many threads."""

import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from urlsieve.errors import ConfigError
from urlsieve.sketch import CuckooTable

#: Few, so that they meet again; the zero key, which is what a free slot looks like, among them.
KEYS = [bytes(16), b"\1" + bytes(15), bytes(15) + b"\1", b"\xff" * 16, *(random.Random(n).randbytes(16) for n in range(60))]
blocks = st.lists(st.sampled_from(KEYS), max_size=40)


class AsADict(RuleBasedStateMachine):
    """A map from keys to values says the same."""

    def __init__(self) -> None:
        super().__init__()
        self.table = CuckooTable(values=True)
        self.model: dict[bytes, int] = {}
        self.numbers = iter(range(-5, 10**9))

    @rule(keys=blocks, replace=st.booleans())
    def add(self, keys: list[bytes], replace: bool) -> None:
        values = [next(self.numbers) for _ in keys]
        flags = (self.table.set if replace else self.table.add)(b"".join(keys), values)
        for flag, key, value in zip(flags, keys, values, strict=True):
            assert flag == (key not in self.model)
            if replace or key not in self.model:
                self.model[key] = value

    @rule(keys=blocks)
    def discard(self, keys: list[bytes]) -> None:
        for flag, key in zip(self.table.discard(b"".join(keys)), keys, strict=True):
            assert flag == (self.model.pop(key, None) is not None)

    @rule()
    def clear(self) -> None:
        self.table.clear()
        self.model.clear()

    @invariant()
    def same(self) -> None:
        every = b"".join(KEYS)
        assert [key in self.model for key in KEYS] == list(map(bool, self.table.contains(every)))
        assert [self.model.get(key, -99) for key in KEYS] == list(self.table.get(every, -99))
        assert len(self.model) == len(self.table)
        listed = {keys[16 * i : 16 * i + 16]: values[i] for keys, values in self.table.blocks() for i in range(len(values))}
        assert listed == self.model


TestAsADict = AsADict.TestCase


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 30_000), st.integers(0, 40_000), st.integers(0, 2**32))
def test_nothing_is_lost_while_it_grows(count: int, capacity: int, seed: int) -> None:
    keys = random.Random(seed).randbytes(16 * count)
    table = CuckooTable(capacity)
    assert bytes([1]) * count == table.add(keys)
    assert bytes([1]) * count == table.contains(keys)
    assert bytes(count) == table.add(keys)
    assert count == len(table)
    half = keys[: 16 * (count // 2)]
    assert bytes([1]) * (count // 2) == table.discard(half)
    assert bytes([0]) * (count // 2) + bytes([1]) * (count - count // 2) == table.contains(keys)


def test_it_is_nine_tenths_full_before_it_grows_and_a_reserved_one_does_not_grow() -> None:
    table = CuckooTable()
    rng = random.Random(7)
    fullest = size = 0.0
    for _ in range(200):
        table.add(rng.randbytes(16 * 1_000))
        before, size = size, (table.nbytes - CuckooTable().nbytes) / 16
        if before and size > 1.1 * before:  # most of its parts have grown: it was as full as that before
            fullest = max(fullest, len(table) / before)
    assert fullest > 0.9
    assert len(table) / size > 0.68
    reserved = CuckooTable(200_000)
    before = reserved.nbytes
    for _ in range(20):
        reserved.add(rng.randbytes(16 * 10_000))
    assert before == reserved.nbytes
    assert before < 200_000 * 16 / 0.8


def test_keys_that_would_meet_without_a_seed_do_not() -> None:
    """What the halves are mixed to, in other tables, is equal for all of these."""
    odd = 0x9E3779B97F4A7C15
    keys = b"".join(site.to_bytes(8, "little") + (site * odd % 2**64).to_bytes(8, "little") for site in range(1, 2_000))
    table = CuckooTable()
    assert 1_999 == table.add(keys).count(1)
    assert table.nbytes < 2_000_000


def test_keys_that_somebody_chose_make_it_large_but_not_wrong() -> None:
    """All bits but the lowest of each half are equal."""
    keys = b"".join(i.to_bytes(8, "little") + j.to_bytes(8, "little") for i in range(100) for j in range(100))
    table = CuckooTable()
    assert 10_000 == table.add(keys).count(1)
    assert 10_000 == table.contains(keys).count(1)


@pytest.mark.parametrize("crowd", [2, 8])
def test_of_threads_that_add_the_same_keys_one_wins_each(crowd: int) -> None:
    rng = random.Random(3)
    keys = [rng.randbytes(16 * 2_000) for _ in range(20)]
    table, wins, gate = CuckooTable(), [0] * crowd, threading.Barrier(crowd)

    def work(who: int) -> None:
        order = keys[:]
        random.Random(who).shuffle(order)
        gate.wait()
        for block in order:
            wins[who] += table.add(block).count(1)
            assert 2_000 == table.contains(block).count(1)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(crowd)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 40_000 == sum(wins) == len(table)


def test_what_is_no_block_and_what_is_no_value_is_refused() -> None:
    for wrong in (b"x", bytes(17), "x" * 16, bytearray(16)):
        with pytest.raises(ConfigError, match="16 each"):
            CuckooTable().add(wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="keeps no values"):
        CuckooTable().add(bytes(16), [1])
    with pytest.raises(ConfigError, match="without values=True"):
        CuckooTable().get(bytes(16))
    with pytest.raises(ConfigError, match="wants one for each"):
        CuckooTable(values=True).add(bytes(16))
    with pytest.raises(ConfigError, match="64 bits"):
        CuckooTable(values=True).add(bytes(16), [2**63])
    with pytest.raises(ValueError, match="2 values for 1"):
        CuckooTable(values=True).add(bytes(16), [1, 2])
    with pytest.raises(ConfigError, match="64 bits"):
        CuckooTable(values=True).get(bytes(16), 2**63)
    for wrong_capacity in (-1, 1.5, True, "9", 2**64):
        with pytest.raises(ConfigError, match="capacity"):
            CuckooTable(wrong_capacity)  # type: ignore[arg-type]
