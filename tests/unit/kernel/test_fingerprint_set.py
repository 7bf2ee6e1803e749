"""The set of fingerprints against Python's own, with its memory counted while it grows."""

import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve._kernel import FingerprintSet


def keys_of(numbers: list[int]) -> bytes:
    return b"".join(number.to_bytes(16, "little") for number in numbers)


def expected_flags(seen: set[bytes], keys: bytes, status: bytes | None = None) -> bytes:
    flags = bytearray()
    for i in range(len(keys) // 16):
        key = keys[16 * i : 16 * i + 16]
        if status is not None and status[i]:
            flags.append(2)
            continue
        flags.append(key not in seen)
        seen.add(key)
    return bytes(flags)


small = st.integers(0, 300)
narrow = st.builds(lambda high, low: high << 64 | low, st.sampled_from([0, 1, 2**63, 2**64 - 1]), st.integers(0, 3))
numbers = st.one_of(small, narrow, st.integers(0, 2**128 - 1))


@given(st.lists(st.lists(numbers, max_size=60), max_size=8))
def test_it_says_what_a_python_set_says(batches: list[list[int]]) -> None:
    table, seen = FingerprintSet(), set()
    for batch in batches:
        keys = keys_of(batch)
        before = bytes(keys[16 * i : 16 * i + 16] in seen for i in range(len(batch)))
        assert before == table.contains_many(keys)
        assert expected_flags(seen, keys) == table.add_many(keys)
        assert len(seen) == len(table)
    everything = b"".join(sorted(seen))
    assert b"\x01" * len(seen) == table.contains_many(everything)


@given(st.lists(st.tuples(numbers, st.integers(0, 7)), max_size=60))
def test_a_key_with_a_status_is_skipped_and_not_in_the_set(pairs: list[tuple[int, int]]) -> None:
    table, seen = FingerprintSet(), set()
    keys, status = keys_of([number for number, _ in pairs]), bytes(code for _, code in pairs)
    assert expected_flags(seen, keys, status) == table.add_many(keys, status)
    assert len(seen) == len(table)


def test_the_first_of_equals_in_a_batch_is_the_new_one() -> None:
    assert b"\x01\x00\x01\x00\x00" == FingerprintSet().add_many(keys_of([5, 5, 6, 5, 6]))


def test_the_all_zero_key_is_a_key_like_any_other() -> None:
    table = FingerprintSet()
    assert b"\x00" == table.contains_many(bytes(16))
    assert b"\x01\x00" == table.add_many(bytes(32))
    assert b"\x01" == table.contains_many(bytes(16))
    assert 1 == len(table)


@pytest.mark.parametrize("shape", ["hashes", "numbers", "one site", "one page"])
def test_it_never_takes_more_than_24_bytes_a_key_while_it_grows(shape: str) -> None:
    chance = random.Random(3)
    table, seen, total = FingerprintSet(), set(), 0
    for step in range(60):
        size = 10 + step * 60
        if shape == "hashes":
            keys = chance.randbytes(16 * size)
        elif shape == "numbers":
            keys = keys_of(list(range(total, total + size)))
        elif shape == "one site":
            keys = b"".join(b"one site" + chance.randbytes(8) for _ in range(size))
        else:
            keys = b"".join(chance.randbytes(8) + b"one page" for _ in range(size))
        total += size
        assert expected_flags(seen, keys) == table.add_many(keys)
        assert table.peak_nbytes <= 24 * len(table) + 32_000  # the 64 segments have a smallest size
    assert total == len(table)


def key_at(order: int, site: int) -> int:
    """The key that the table's mixing puts at `order`: the mixing undone."""
    mask = (1 << 64) - 1
    x = order
    for factor in (0xC4CEB9FE1A85EC53, 0xFF51AFD7ED558CCD):
        x = (x ^ x >> 33) * pow(factor, -1, 1 << 64) & mask
    x ^= x >> 33
    return (x ^ site * 0x9E3779B97F4A7C15 & mask) << 64 | site


@pytest.mark.parametrize("place", [0, 1 << 57, (1 << 58) - 1, (1 << 64) - 1])
@pytest.mark.parametrize("spacing", [0, 1, 1 << 20])
def test_keys_chosen_to_stand_at_one_place_are_slow_but_right_and_take_no_endless_memory(place: int, spacing: int) -> None:
    chance = random.Random(place)
    numbers = [key_at((place - spacing * i) % (1 << 64), i) for i in range(600)]
    chance.shuffle(numbers)
    table, seen = FingerprintSet(), set()
    for start in range(0, 600, 50):
        keys = keys_of(numbers[start : start + 50] + numbers[:20] + [chance.getrandbits(128) for _ in range(20)])
        assert expected_flags(seen, keys) == table.add_many(keys)
    assert b"\x01" * len(seen) == table.contains_many(b"".join(seen))
    assert table.peak_nbytes < 64 * len(table) + 32_000


@pytest.mark.slow
def test_at_a_million_keys_the_constant_no_longer_matters() -> None:
    chance = random.Random(4)
    table = FingerprintSet()
    for _ in range(100):
        assert 10_000 == table.add_many(chance.randbytes(160_000)).count(1)
        assert table.nbytes <= table.peak_nbytes <= 24 * len(table) + 20_000
    assert 1_000_000 == len(table)


def test_lengths_that_do_not_fit_are_refused_and_change_nothing() -> None:
    table = FingerprintSet()
    with pytest.raises(ValueError, match="16 bytes"):
        table.add_many(bytes(17))
    with pytest.raises(ValueError, match="16 bytes"):
        table.contains_many(bytes(15))
    with pytest.raises(ValueError, match="one for each"):
        table.add_many(bytes(32), b"\x00")
    assert 0 == len(table)


def test_threads_that_add_the_same_keys_make_each_new_once() -> None:
    table, chance = FingerprintSet(), random.Random(5)
    keys = chance.randbytes(16 * 20_000)
    fresh: list[int] = []
    threads = [threading.Thread(target=lambda: fresh.append(table.add_many(keys).count(1))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 20_000 == sum(fresh) == len(table)
