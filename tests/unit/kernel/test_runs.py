"""Runs: what is written is read again, whatever the keys and values are, from any buffer and by any number of threads."""

import hashlib
import math
import mmap
import random
import struct
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_lab import OWNER, Key, Table, asked, assert_is, file_of, halves, hashed, neighbours, records_of, run_of, tables

from urlsieve._kernel import ABSENT, TOMBSTONE, Run, RunWriter, merge_records

#: What the program of format 1 made of 5,000 records and two more.
GOLDEN = Path(__file__).resolve().parents[2] / "golden/run-1.run"


@given(tables, st.lists(st.tuples(halves, halves), max_size=20), st.integers(1, 50))
def test_a_run_says_what_a_dict_says(table: Table, others: list[Key], piece: int) -> None:
    assert_is(Run(file_of(table, piece=piece), owner=OWNER), table, others + neighbours(list(table)[:5]))


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 50, 3_000]), st.sampled_from([1, 2, 255, 256, 2**16, 2**40, 2**63]))
@settings(max_examples=40)
def test_a_run_of_many_blocks_says_what_a_dict_says(seed: int, sites: int, spread: int) -> None:
    table = hashed(seed, sites=sites, count=5_000, spread=spread)
    run = run_of(table)
    assert run.blocks > 2
    assert_is(run, table, neighbours(sorted(table)[::50]))


EXTREMES = [0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]


@pytest.mark.parametrize(
    "table",
    [
        {(site, url): 5 for site in EXTREMES for url in EXTREMES},
        {(7, url): url for url in range(6_000)},
        {(site, 7): site for site in range(6_000)},
        {(7, 2**url): url for url in range(64)} | {(7, 2**64 - 2**url): -url for url in range(1, 63)},
        {(7, min(url, 3_000) + (2**63 if url > 3_000 else 0) + url): 0 for url in range(6_000)},
        {(0, url): (TOMBSTONE if url % 3 else url) for url in range(4_000)},
        {(0, url): TOMBSTONE for url in range(4_000)},
        {(0, url): (-(2**63) + 2 if url % 2 else 2**63 - 1) for url in range(4_000)},
        {(0, url): (TOMBSTONE, -(2**63) + 2, 2**63 - 1)[url % 3] for url in range(4_000)},
    ],
    ids=["extreme", "one site", "one page", "powers", "two crowds", "tombstones", "only tombstones", "wide", "wide with tombstones"],
)
def test_odd_keys_and_values_are_kept_as_they_are(table: Table) -> None:
    assert_is(run_of(table), table, neighbours(sorted(table)[::17]))


@pytest.mark.slow
def test_300_000_sites_of_three() -> None:
    table = hashed(8, sites=300_000, count=900_000)
    run, keys = run_of(table), list(table)
    assert ([table[key] for key in keys], 900_000) == asked(run, keys)
    assert ([ABSENT] * 100_000, 0) == asked(run, [(site, url ^ 1) for site, url in keys[:100_000]])


def test_an_empty_run_is_a_run() -> None:
    run = run_of({})
    assert (0, 0, b"", b"", []) == (run.count, run.blocks, run.first, run.last, run.check())
    assert ([ABSENT], 0) == asked(run, [(0, 0)])
    assert ([], 0) == asked(run, [])


def test_a_place_that_has_a_value_is_left_alone() -> None:
    run = run_of({(1, 1): 5, (1, 2): 6, (1, 3): 7})
    assert ([9, 6, TOMBSTONE, ABSENT], 1) == asked(run, [(1, 1), (1, 2), (1, 3), (1, 4)], [9, ABSENT, TOMBSTONE, ABSENT])


@pytest.mark.parametrize("size", [1, 15, 16, 17, 127, 128, 129, 16_384, 16_385, 40_000])
def test_a_batch_may_have_any_size_and_its_keys_any_order_and_repetition(size: int) -> None:
    table = hashed(9, sites=40, count=9_000)
    keys = random.Random(size).choices([*table, *neighbours(list(table)[:1_000])], k=size)
    wanted = [table.get(key, ABSENT) for key in keys]
    assert (wanted, sum(value != ABSENT for value in wanted)) == asked(run_of(table), keys)


def crowd(count: int, spread: int) -> Table:
    """Of one site, hashed."""
    chance = random.Random(20)
    return {(7, chance.getrandbits(64)): chance.randrange(spread) for _ in range(count)}


@pytest.mark.parametrize(("spread", "width"), [(1, 0), (2, 1), (256, 8), (257, 9), (60_000, 16), (10_000_000, 24)])
def test_a_value_costs_only_the_bits_that_its_block_needs(spread: int, width: int) -> None:
    assert (len(file_of(crowd(20_000, spread))) - len(file_of(crowd(20_000, 1)))) * 8 / 20_000 == pytest.approx(width, abs=0.2)


@pytest.mark.parametrize("count", [100, 1_000, 4_000, 50_000])
def test_what_the_order_of_a_sites_keys_says_costs_two_bits_instead_of_its_logarithm(count: int) -> None:
    bits = (len(file_of(crowd(count, 1))) - 300) * 8 / count
    assert bits <= 64 - math.log2(count) + 2.4 + 300 / count


@pytest.mark.parametrize("keys", [1, 3, 20])
def test_a_small_sites_half_is_written_once_without_what_its_neighbours_have_in_common(keys: int) -> None:
    table = hashed(21, sites=60_000 // keys, count=60_000, spread=1)
    assert len(file_of(table)) / len(table) <= 8 + 9.6 / keys + 0.1


def test_a_tombstone_does_not_make_its_block_wide() -> None:
    plain = {(7, url): url % 200 for url in range(20_000)}
    assert len(file_of(plain)) == len(file_of(plain | {(7, 5): TOMBSTONE}))


def test_the_bytes_of_format_2_are_frozen() -> None:
    assert FORMAT_2 == hashlib.sha256(file_of(FROZEN)).hexdigest()


FROZEN = {(i // 7 * 0x9E3779B97F4A7C15 % 2**64, i * 0xFF51AFD7ED558CCD % 2**64): i % 300 for i in range(5_000)}
FROZEN |= {(3, 3): TOMBSTONE, (2**64 - 1, 2**64 - 1): -5}
FROZEN |= {(5, i * 0xFF51AFD7ED558CCD % 2**64): -i for i in range(3_000)}
FORMAT_2 = "7fa04d55fda7213df4df67f5ca2c9b28ece8d7f4f3a05ade3dfe3372f353fba9"


# --- format 1 -----------------------------------------------------------------------------------------------------------------------


def test_a_run_of_format_1_is_read_and_merged_into_one_of_format_2() -> None:
    table = {key: value for key, value in FROZEN.items() if key[0] != 5}
    old = Run(GOLDEN.read_bytes(), owner=OWNER)
    assert (1, 5_002) == (old.version, old.count)
    assert_is(old, table, neighbours(sorted(table)[::17]))
    records, after = merge_records([old], bytes(16), 10_000, tombstones=True)
    assert (records_of(table), None) == (records, after)
    writer = RunWriter(owner=OWNER)
    new = Run(writer.add(records) + writer.finish(), owner=OWNER)
    assert 2 == new.version
    assert_is(new, table, neighbours(sorted(table)[::17]))


def test_a_byte_of_format_1_that_is_flipped_is_never_believed() -> None:
    file, chance = GOLDEN.read_bytes(), random.Random(22)
    for _ in range(300):
        held = bytearray(file)
        held[chance.randrange(64, len(file) - 2_000)] ^= chance.randrange(1, 256)
        assert 1 == len(Run(held, owner=OWNER).check())


# --- the writer ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", [(1, 5), (1, 4), (0, 9)])
def test_records_out_of_order_are_refused_and_change_nothing(second: Key) -> None:
    writer = RunWriter(owner=OWNER)
    out = writer.add(struct.pack("<QQq", 1, 5, 1))
    with pytest.raises(ValueError, match="record 0 of these does not come after"):
        writer.add(struct.pack("<QQq", *second, 1))
    with pytest.raises(ValueError, match="record 2 of these does not come after"):
        writer.add(struct.pack("<QQqQQqQQq", 1, 6, 1, 2, 5, 1, *second, 1))
    with pytest.raises(ValueError, match="ABSENT"):
        writer.add(struct.pack("<QQqQQq", 1, 6, 1, 2, 5, ABSENT))
    assert 1 == writer.count
    out += writer.add(struct.pack("<QQq", 1, 6, 2)) + writer.finish()
    assert_is(Run(out, owner=OWNER), {(1, 5): 1, (1, 6): 2}, [second, (2, 5)])


def test_a_finished_writer_takes_nothing_more() -> None:
    writer = RunWriter(owner=OWNER)
    writer.finish()
    with pytest.raises(ValueError, match="finished"):
        writer.add(b"")
    with pytest.raises(ValueError, match="finished"):
        writer.finish()


def test_how_the_records_come_in_does_not_matter() -> None:
    table = hashed(10, sites=20, count=6_000)
    assert file_of(table, piece=1) == file_of(table, piece=777) == file_of(table, piece=6_000)


def test_the_writer_keeps_no_more_than_a_block_back() -> None:
    writer, records, out = RunWriter(owner=OWNER), records_of(hashed(11, sites=20, count=20_000)), 0
    for start in range(0, len(records), 24_000):
        out += len(writer.add(records[start : start + 24_000]))
        assert out >= writer.count * 7 - 16_384
    assert 20_000 == writer.count


# --- wrong arguments ----------------------------------------------------------------------------------------------------------------


def test_lengths_that_do_not_fit_are_refused() -> None:
    run, writer = run_of({(1, 1): 1}), RunWriter(owner=OWNER)
    with pytest.raises(ValueError, match="24 bytes"):
        writer.add(bytes(25))
    with pytest.raises(ValueError, match="16 bytes"):
        run.get_many(bytes(17), bytearray(8))
    for size in (0, 7, 9, 16):
        with pytest.raises(ValueError, match="8 for each"):
            run.get_many(bytes(16), bytearray(size))


@pytest.mark.parametrize("wrong", [None, "text", 5, [b"x"]])
def test_wrong_types_are_refused(wrong: object) -> None:
    run = run_of({(1, 1): 1})
    with pytest.raises(TypeError):
        Run(wrong, owner=OWNER)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        RunWriter(owner=OWNER).add(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        run.get_many(wrong, bytearray(8))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        run.get_many(bytes(16), wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("owner", [-1, 2**64])
def test_an_owner_is_a_number_of_64_bits(owner: int) -> None:
    with pytest.raises(OverflowError):
        RunWriter(owner=owner)
    with pytest.raises(OverflowError):
        Run(file_of({}), owner=owner)


# --- the buffer ---------------------------------------------------------------------------------------------------------------------


def test_a_run_reads_a_mapped_file_and_holds_it(tmp_path: Path) -> None:
    table = hashed(12, sites=5, count=3_000)
    (tmp_path / "a.run").write_bytes(file_of(table))
    with (tmp_path / "a.run").open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    run = Run(mapped, owner=OWNER)
    with pytest.raises(BufferError):
        mapped.close()
    assert_is(run, table, neighbours(list(table)[:50]))
    del run
    mapped.close()


def test_a_refused_buffer_is_let_go() -> None:
    held = bytearray(b"no run at all")
    with pytest.raises(ValueError, match="not a run"):
        Run(held, owner=OWNER)
    held.extend(b"!")  # a BufferError if it were still held


def test_a_buffer_that_changes_under_a_run_is_a_wrong_answer_at_worst() -> None:
    table, chance = hashed(13, sites=300, count=6_000), random.Random(13)
    held = bytearray(file_of(table))
    run, keys, held_back = Run(held, owner=OWNER), list(table)[:400], bytes(held)
    asked(run, keys)
    for _ in range(3_000):
        at = chance.randrange(64, len(held) - 8)
        held[at : at + 8] = chance.choice([bytes(8), b"\xff" * 8, chance.randbytes(8)])
        try:
            asked(run, keys)
        except ValueError as error:
            assert "is damaged" in str(error)
            held[:] = held_back


def test_threads_share_a_run() -> None:
    table = hashed(14, sites=50, count=60_000)
    run, keys, wrong = run_of(table), list(table), []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(20):
            some = chance.choices(keys, k=2_000)
            if asked(run, some) != ([table[key] for key in some], 2_000):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == wrong
