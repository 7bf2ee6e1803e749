"""Merging of runs and records against a model of dicts: newest first, a piece at a time."""

import random
import struct
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_lab import OWNER, Key, Table, block_at, file_of, hashed, keys_of, neighbours, records_of, run_of, tables

from urlsieve._kernel import ABSENT, TOMBSTONE, Run, merge_records

START = bytes(16)


def merged(newest_first: list[Table], tombstones: bool) -> Table:
    """What the merge of these must be."""
    result: Table = {}
    for table in reversed(newest_first):
        result.update(table)
    return result if tombstones else {key: value for key, value in result.items() if value != TOMBSTONE}


def all_of(sources: list[Run | bytes], limit: int, tombstones: bool) -> bytes:
    """Everything, a piece at a time; every piece but the last is full, and the next one's start is its first fingerprint."""
    pieces: list[bytes] = []
    start: bytes | None = START
    while start is not None:
        piece, after = merge_records(sources, start, limit, tombstones=tombstones)
        assert after is None or len(piece) == 24 * limit
        assert not pieces or piece[:16] == start
        pieces.append(piece)
        start = after
    return b"".join(pieces)


@given(st.lists(st.tuples(tables, st.booleans()), max_size=6), st.integers(1, 40), st.booleans())
def test_a_merge_is_what_dicts_laid_over_one_another_are(parts: list[tuple[Table, bool]], limit: int, tombstones: bool) -> None:
    sources: list[Run | bytes] = [run_of(table) if is_run else records_of(table) for table, is_run in parts]
    assert records_of(merged([table for table, _ in parts], tombstones)) == all_of(sources, limit, tombstones)


@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from([1, 30, 4_000]), st.sampled_from([997, 100_000]), st.booleans())
@settings(max_examples=30)
def test_a_merge_of_many_blocks_is_too(seed: int, count: int, sites: int, limit: int, tombstones: bool) -> None:
    chance = random.Random(seed)
    common = hashed(seed, sites=sites, count=4_000)
    layers: list[Table] = []
    for i in range(count):
        again = chance.sample(sorted(common), 1_500)
        layers.append(hashed(seed + i, sites=sites, count=2_000) | {key: chance.choice([TOMBSTONE, i]) for key in again})
    sources: list[Run | bytes] = [run_of(table) if i % 3 else records_of(table) for i, table in enumerate(layers)]
    assert records_of(merged(layers, tombstones)) == all_of(sources, limit, tombstones)


@given(tables, tables, st.data())
def test_a_merge_begins_at_the_start_whether_it_is_there_or_not(new: Table, old: Table, data: st.DataObject) -> None:
    model = merged([new, old], True)
    start = data.draw(st.sampled_from([(0, 0), (2**64 - 1, 2**64 - 1), *model, *neighbours(list(model)[:4])]))
    wanted = {key: value for key, value in model.items() if key >= start}
    for sources in ([run_of(new), run_of(old)], [records_of(new), records_of(old)]):
        assert (records_of(wanted), None) == merge_records(sources, keys_of([start]), 1_000, tombstones=True)


def test_of_equals_the_newest_source_wins() -> None:
    layers: list[Table] = [{(1, 1): 3}, {(1, 1): 2, (1, 2): 2}, {(1, 1): 1, (1, 2): 1, (1, 3): 1}]
    wanted = records_of({(1, 1): 3, (1, 2): 2, (1, 3): 1})
    assert (wanted, None) == merge_records([run_of(table) for table in layers], START, 9, tombstones=True)
    assert (wanted, None) == merge_records([records_of(table) for table in layers], START, 9, tombstones=True)


def test_a_tombstone_hides_what_is_older_and_is_left_out_or_kept() -> None:
    layers: list[Table] = [{(1, 1): TOMBSTONE, (1, 4): TOMBSTONE}, {(1, 1): 1, (1, 2): 2}]
    sources: list[Run | bytes] = [run_of(table) for table in layers]
    assert (records_of({(1, 2): 2}), None) == merge_records(sources, START, 9, tombstones=False)
    assert (records_of(merged(layers, True)), None) == merge_records(sources, START, 9, tombstones=True)


def test_a_newer_value_brings_a_forgotten_fingerprint_back() -> None:
    sources: list[Run | bytes] = [records_of({(1, 1): 3}), run_of({(1, 1): TOMBSTONE}), run_of({(1, 1): 1})]
    assert (records_of({(1, 1): 3}), None) == merge_records(sources, START, 9, tombstones=False)


def test_where_to_go_on_is_none_when_only_tombstones_that_are_left_out_follow() -> None:
    source = run_of({(1, 1): 1, (1, 2): TOMBSTONE, (1, 3): TOMBSTONE})
    assert (records_of({(1, 1): 1}), None) == merge_records([source], START, 1, tombstones=False)
    assert (records_of({(1, 1): 1}), keys_of([(1, 2)])) == merge_records([source], START, 1, tombstones=True)


def test_nothing_merged_is_nothing() -> None:
    assert (b"", None) == merge_records([], START, 1, tombstones=True)
    assert (b"", None) == merge_records([b"", run_of({}), b""], START, 1, tombstones=True)


def test_one_source_may_stand_there_several_times() -> None:
    run = run_of({(1, 1): 1, (2, 2): 2})
    assert (records_of({(1, 1): 1, (2, 2): 2}), None) == merge_records([run] * 50, START, 9, tombstones=True)


@pytest.mark.parametrize("second", [(1, 5), (1, 4), (0, 9)])
def test_records_that_are_not_in_order_are_refused(second: Key) -> None:
    wrong = struct.pack("<QQqQQq", 1, 5, 1, *second, 1)
    with pytest.raises(ValueError, match=r"^source 1: record 1 does not come after the one before it$"):
        merge_records([run_of({(0, 0): 1}), wrong], START, 9, tombstones=True)


def test_absent_in_a_source_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^source 0: the value of record 1 is ABSENT"):
        merge_records([struct.pack("<QQqQQq", 1, 5, 1, 1, 6, ABSENT)], START, 9, tombstones=True)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes, not 15"):
        merge_records([], bytes(15), 9, tombstones=True)
    for limit in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            merge_records([], START, limit, tombstones=True)
    with pytest.raises(ValueError, match="records of source 1 have 24 bytes"):
        merge_records([b"", bytes(25)], START, 9, tombstones=True)
    for wrong in (None, "text", 5, bytearray(24)):
        with pytest.raises(TypeError):
            merge_records([wrong], START, 9, tombstones=True)  # type: ignore[list-item]
        with pytest.raises(TypeError):
            merge_records([], wrong, 9, tombstones=True)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_byte_that_is_flipped_in_a_block_is_named_and_never_merged() -> None:
    table = hashed(15, sites=30, count=3_600)
    file, chance = file_of(table), random.Random(15)
    other = records_of(hashed(16, sites=30, count=50))
    for at in range(64, len(file)):
        number = block_at(file, at)
        if number is None:
            break
        held = bytearray(file)
        held[at] ^= chance.randrange(1, 256)
        with pytest.raises(ValueError, match=rf"^source 1: block {number} is damaged$"):
            merge_records([other, Run(held, owner=OWNER)], START, 10_000, tombstones=True)


def test_damage_that_came_after_a_block_was_verified_is_not_merged() -> None:
    table = hashed(17, sites=3, count=900)
    held = bytearray(file_of(table))
    run = Run(held, owner=OWNER)
    assert [] == run.check()
    held[5_000] ^= 1
    with pytest.raises(ValueError, match=r"^source 0: block 0 is damaged$"):
        merge_records([run], START, 10, tombstones=True)


def test_damage_behind_what_is_asked_for_does_not_matter_yet() -> None:
    held = bytearray(file_of(hashed(18, sites=3, count=5_000)))
    held[30_000] ^= 1
    piece, after = merge_records([Run(held, owner=OWNER)], START, 100, tombstones=True)
    assert (2_400, True) == (len(piece), after is not None)


def test_threads_merge_the_same_runs() -> None:
    layers = [hashed(20 + i, sites=40, count=10_000) for i in range(3)]
    sources: list[Run | bytes] = [run_of(table) for table in layers]
    wanted, results = records_of(merged(layers, True)), []
    threads = [threading.Thread(target=lambda: results.append(all_of(sources, 5_000, True))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [wanted] * 4 == results
