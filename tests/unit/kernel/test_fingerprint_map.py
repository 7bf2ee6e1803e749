"""The map from fingerprints to values against Python's own, with its memory counted and its order."""

import random
import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve._kernel import ABSENT, TOMBSTONE, FingerprintMap

Pair = tuple[tuple[int, int], int]

halves = st.one_of(st.integers(0, 3), st.sampled_from([2**63 - 1, 2**63, 2**64 - 1]), st.integers(0, 2**64 - 1))
fingerprints = st.tuples(halves, halves)
values = st.one_of(st.sampled_from([TOMBSTONE, TOMBSTONE + 1, -1, 0, 2**63 - 1]), st.integers(TOMBSTONE, 2**63 - 1))


def keys_of(keys: list[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack("<QQ", *key) for key in keys)


def records_of(pairs: list[Pair]) -> bytes:
    return b"".join(struct.pack("<QQq", *key, value) for key, value in pairs)


def answers(table: FingerprintMap, keys: list[tuple[int, int]]) -> list[int]:
    return [value for (value,) in struct.iter_unpack("<q", table.get_many(keys_of(keys)))]


@given(st.lists(st.lists(st.tuples(fingerprints, values), max_size=60), max_size=8), st.lists(fingerprints, max_size=20))
def test_it_says_what_a_dict_says(batches: list[list[Pair]], others: list[tuple[int, int]]) -> None:
    table: FingerprintMap = FingerprintMap()
    model: dict[tuple[int, int], int] = {}
    for batch in batches:
        table.set_many(records_of(batch))
        model.update(batch)
        asked = [key for key, _ in batch] + others
        assert [model.get(key, ABSENT) for key in asked] == answers(table, asked)
        assert len(model) == len(table)
    assert records_of(sorted(model.items())) == table.sorted_records()


@pytest.mark.parametrize("shape", ["hashes", "numbers", "one site", "one page", "three a site"])
def test_it_grows_without_losing_a_key_and_stays_below_48_bytes_each(shape: str) -> None:
    chance, table, model = random.Random(6), FingerprintMap(), {}
    for step in range(40):
        size, total = 10 + step * 60, len(model)
        if shape == "hashes":
            keys = [(chance.getrandbits(64), chance.getrandbits(64)) for _ in range(size)]
        elif shape == "numbers":
            keys = [(0, total + i) for i in range(size)]
        elif shape == "one site":
            keys = [(7, chance.getrandbits(64)) for _ in range(size)]
        elif shape == "one page":
            keys = [(chance.getrandbits(64), 7) for _ in range(size)]
        else:
            keys = [((total + i) // 3, chance.getrandbits(64)) for i in range(size)]
        batch = [(key, chance.getrandbits(40)) for key in keys]
        table.set_many(records_of(batch))
        model.update(batch)
        assert table.nbytes <= 48 * len(table) + 500
    assert list(model.values()) == answers(table, list(model))
    assert records_of(sorted(model.items())) == table.sorted_records()


def key_at(order: int, site: int) -> tuple[int, int]:
    """The key that the table's mixing puts at `order`: the mixing undone."""
    mask = (1 << 64) - 1
    x = order
    for factor in (0xC4CEB9FE1A85EC53, 0xFF51AFD7ED558CCD):
        x = (x ^ x >> 33) * pow(factor, -1, 1 << 64) & mask
    x ^= x >> 33
    return site, x ^ site * 0x9E3779B97F4A7C15 & mask


@pytest.mark.parametrize("place", [0, 1 << 63, (1 << 64) - 1])
def test_keys_chosen_to_stand_at_one_place_are_slow_but_right(place: int) -> None:
    table, pairs = FingerprintMap(), [(key_at(place, i), i) for i in range(2_000)]
    table.set_many(records_of(pairs))
    assert [value for _, value in pairs] == answers(table, [key for key, _ in pairs])
    assert [ABSENT] * 50 == answers(table, [key_at(place, i) for i in range(2_000, 2_050)])
    assert table.nbytes <= 48 * len(table) + 500


def test_of_equals_in_a_batch_the_last_one_stands() -> None:
    table = FingerprintMap()
    table.set_many(records_of([((1, 1), 5), ((1, 2), 6), ((1, 1), 7)]))
    assert [7, 6] == answers(table, [(1, 1), (1, 2)])
    assert 2 == len(table)


def test_a_tombstone_is_a_value_and_counts() -> None:
    table = FingerprintMap()
    table.set_many(records_of([((1, 1), 5), ((1, 1), TOMBSTONE)]))
    assert [TOMBSTONE] == answers(table, [(1, 1)])
    assert 1 == len(table)


def test_the_two_values_that_are_taken_are_the_smallest() -> None:
    assert (-(2**63), -(2**63) + 1) == (ABSENT, TOMBSTONE)


def test_absent_is_refused_as_a_value_and_nothing_is_set() -> None:
    table = FingerprintMap()
    with pytest.raises(ValueError, match="ABSENT is no value"):
        table.set_many(records_of([((1, 1), 5), ((2, 2), ABSENT)]))
    assert 0 == len(table)


def test_an_empty_map_answers_and_takes_next_to_nothing() -> None:
    table = FingerprintMap()
    table.set_many(b"")
    assert (b"", b"", [ABSENT]) == (table.sorted_records(), bytes(table.get_many(b"")), answers(table, [(0, 0)]))
    assert table.nbytes < 100


def test_clear_empties_it_and_gives_the_memory_back() -> None:
    table = FingerprintMap()
    table.set_many(records_of([((i, i), i) for i in range(1_000)]))
    table.clear()
    assert (0, [ABSENT], b"") == (len(table), answers(table, [(5, 5)]), table.sorted_records())
    assert table.nbytes < 100
    table.set_many(records_of([((5, 5), 6)]))
    assert [6] == answers(table, [(5, 5)])


def test_lengths_that_do_not_fit_are_refused_and_change_nothing() -> None:
    table = FingerprintMap()
    for size in (1, 23, 25):
        with pytest.raises(ValueError, match="24 bytes"):
            table.set_many(bytes(size))
    for size in (1, 15, 17):
        with pytest.raises(ValueError, match="16 bytes"):
            table.get_many(bytes(size))
    assert 0 == len(table)


@pytest.mark.parametrize("wrong", [None, "text", 5, bytearray(48), [b"x"]])
def test_wrong_types_are_refused(wrong: object) -> None:
    table = FingerprintMap()
    with pytest.raises(TypeError):
        table.set_many(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        table.get_many(wrong)  # type: ignore[arg-type]


def test_threads_share_a_map() -> None:
    table, chance = FingerprintMap(), random.Random(5)
    parts = [[((chance.getrandbits(64), chance.getrandbits(64)), i) for i in range(5_000)] for _ in range(4)]
    wrong: list[int] = []

    def work(part: list[Pair]) -> None:
        for start in range(0, len(part), 100):
            some = part[start : start + 100]
            table.set_many(records_of(some))
            if answers(table, [key for key, _ in some]) != [value for _, value in some]:
                wrong.append(start)
            if start % 1_000 == 0 and len(table.sorted_records()) < 24 * len(some):
                wrong.append(start)

    threads = [threading.Thread(target=work, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == wrong
    assert records_of(sorted(pair for part in parts for pair in part)) == table.sorted_records()
