"""HyperLogLog: right within its error, the same in any order, mergeable, and refused when its bytes are not what was written."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.errors import ConfigError, StoreCorrupt
from urlsieve.sketch import HyperLogLog


def filled(count: int, p: int, seed: int) -> HyperLogLog:
    made, rng = HyperLogLog(p), random.Random(seed)
    for start in range(0, count, 10_000):
        made.add(rng.randbytes(16 * min(10_000, count - start)))
    return made


@pytest.mark.parametrize(("p", "count"), [(4, 3_000), (10, 10), (10, 1_000), (10, 50_000), (12, 20_000), (14, 100_000), (18, 200_000)])
def test_the_estimate_is_right_within_its_error(p: int, count: int) -> None:
    errors = [filled(count, p, seed).count() / count - 1 for seed in range(24)]
    expected = HyperLogLog(p).error
    assert abs(statistics.mean(errors)) < 4 * expected / 24**0.5 + 0.01 / count
    assert statistics.pstdev(errors) < 1.8 * expected


def test_nothing_is_nothing_and_the_same_again_is_nothing_new() -> None:
    made = HyperLogLog()
    assert 0 == made.count()
    block = random.Random(1).randbytes(160)
    assert made.add(block)
    before = made.count()
    assert not made.add(block * 100)
    assert before == made.count() == pytest.approx(10, abs=0.1)


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=60), st.randoms(), st.integers(4, 10))
def test_order_and_parts_do_not_matter(keys: list[bytes], rng: random.Random, p: int) -> None:
    one, other, parts = HyperLogLog(p), HyperLogLog(p), [HyperLogLog(p) for _ in range(3)]
    one.add(b"".join(keys))
    mixed = keys[:]
    rng.shuffle(mixed)
    for key in mixed:
        other.add(key)
        rng.choice(parts).add(key)
    assert one.to_bytes() == other.to_bytes() == (parts[0] | parts[1] | parts[2]).to_bytes()
    assert one.to_bytes() == HyperLogLog.from_bytes(one.to_bytes()).to_bytes()


def test_overlap_is_told_with_its_error() -> None:
    a, b = HyperLogLog(), HyperLogLog()
    rng = random.Random(5)
    both = [rng.randbytes(160_000) for _ in range(3)]
    for block in both:
        a.add(block)
        b.add(block)
    a.add(rng.randbytes(320_000))
    b.add(rng.randbytes(160_000))
    found, error = a.overlap(b)
    assert abs(found - 30_000) < 4 * error
    assert error < 1_000


def test_bytes_that_were_changed_are_refused() -> None:
    data = filled(5_000, 6, 1).to_bytes()
    for at in range(len(data)):
        for bit in (0, 5):
            broken = bytearray(data)
            broken[at] ^= 1 << bit
            try:
                again = HyperLogLog.from_bytes(bytes(broken))
            except StoreCorrupt:
                continue
            assert again.to_bytes()[12:] == data[12:]  # a bit that compression does not use
    for cut in range(len(data)):
        with pytest.raises(StoreCorrupt):
            HyperLogLog.from_bytes(data[:cut])
    with pytest.raises(StoreCorrupt, match="format 2"):
        HyperLogLog.from_bytes(data[:4] + b"\2" + data[5:])
    with pytest.raises(StoreCorrupt):
        HyperLogLog.from_bytes(data + b"x")


def test_another_p_cannot_be_merged_and_a_p_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="p = 10"):
        HyperLogLog(14).merge(HyperLogLog(10))
    for wrong in (3, 19, 14.0, True, None):
        with pytest.raises(ConfigError, match="from 4 to 18"):
            HyperLogLog(wrong)  # type: ignore[arg-type]
