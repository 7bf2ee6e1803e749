"""Runs that are damaged, cut off, foreign or made up: they are never believed."""

import random
import struct

import pytest
from run_lab import OWNER, asked, block_at, file_of, hashed, keys_of, neighbours, reindexed, resealed

from urlsieve._kernel import ABSENT, TOMBSTONE, Run


@pytest.mark.slow
def test_a_byte_that_is_flipped_anywhere_is_never_believed() -> None:
    table = hashed(15, sites=30, count=3_600)
    file, chance = file_of(table), random.Random(15)
    probes = chance.sample(sorted(table), 250) + neighbours(chance.sample(sorted(table), 20))
    wanted, keys = [table.get(key, ABSENT) for key in probes], keys_of(probes)
    assert 35_000 < len(file) < 40_000
    for at in range(len(file)):
        held = bytearray(file)
        held[at] ^= chance.randrange(1, 256)
        number = block_at(file, at)
        if number is None:
            with pytest.raises(ValueError, match=r"damaged|not a run|version \d+, this|cut off"):
                Run(held, owner=OWNER)
            continue
        run, answers = Run(held, owner=OWNER), bytearray(struct.pack("<q", ABSENT) * len(probes))
        with pytest.raises(ValueError, match=rf"^block {number} is damaged$"):
            run.get_many(keys, answers)
        for value, right in zip(struct.unpack(f"<{len(probes)}q", answers), wanted, strict=True):
            assert value in (right, ABSENT)
        assert [number] == run.check()


def test_a_run_that_is_cut_off_anywhere_is_refused() -> None:
    file = file_of(hashed(16, sites=30, count=3_600))
    for size in range(len(file)):
        with pytest.raises(ValueError, match=rf"^cut off: {size} bytes of a run whose end is missing$"):
            Run(file[:size], owner=OWNER)
    with pytest.raises(ValueError, match=r"^cut off"):
        Run(file + b"\x00", owner=OWNER)
    with pytest.raises(ValueError, match=rf"^cut off: {len(file) - 5_000} of {len(file)} bytes$"):
        Run(file[:20_000] + file[25_000:], owner=OWNER)


def test_a_run_of_another_store_is_refused() -> None:
    file = file_of({(1, 1): 1})
    with pytest.raises(ValueError, match=r"^of another store$"):
        Run(file, owner=OWNER + 1)


def test_a_run_of_a_newer_version_is_refused_whatever_else_it_has() -> None:
    file = bytearray(file_of({(1, 1): 1}))
    file[8:12] = struct.pack("<I", 7)
    for newer in (file, file[:12], file + b"more"):
        with pytest.raises(ValueError, match=r"^version 7, this program knows 1 to 2$"):
            Run(newer, owner=OWNER)


@pytest.mark.parametrize("other", [b"\n", b"SQLite format 3\x00" * 100, b"\x89PNG\r\n\x1a\n" * 100, bytes(10_000)])
def test_a_file_that_is_no_run_is_refused(other: bytes) -> None:
    with pytest.raises(ValueError, match=r"^not a run$"):
        Run(other, owner=OWNER)


def test_a_run_that_went_through_a_translation_of_line_ends_is_refused() -> None:
    file = file_of({(1, 1): 1})
    with pytest.raises(ValueError, match=r"^not a run$"):
        Run(file.replace(b"\r\n", b"\n"), owner=OWNER)


def test_the_seals_of_these_tests_are_those_of_the_writer() -> None:
    file = file_of(hashed(17, sites=30, count=3_600))
    assert [file, file, file] == [resealed(bytearray(file), block) for block in range(3)]


def test_a_block_with_right_checksums_and_senseless_contents_is_damaged_or_read_but_harms_nothing() -> None:
    table, chance = hashed(18, sites=200, count=3_000), random.Random(18)
    file, keys, refused = file_of(table), list(table)[:300], 0
    for i in range(2_000):
        held = bytearray(file)
        at = 64 + (8 + i % 16 if i % 2 else chance.randrange(8, 3_000))
        held[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        run = Run(resealed(held, 0), owner=OWNER)
        try:
            asked(run, keys)
        except ValueError as error:
            assert ("block 0 is damaged", [0]) == (str(error), run.check())
            refused += 1
    assert refused > 500


@pytest.mark.parametrize("field", [8, 10, 12, 13, 14, 15, 16, 24, 31, 32, 33])
@pytest.mark.parametrize("value", [0, 0xFF])
def test_a_head_that_does_not_fit_its_block_is_damaged(field: int, value: int) -> None:
    held = bytearray(file_of({(i, 5): 2**62 + i * 300 for i in range(1, 300)}))
    if held[64 + field] == value:
        value ^= 1
    held[64 + field] = value
    run = Run(resealed(held, 0), owner=OWNER)
    if field == 16 or (field, value) == (15, 1):  # another base, tombstones: other values, all possible
        assert [] == run.check()
    else:
        assert [0] == run.check()


@pytest.mark.parametrize("entry", [16, 17, 23, 0, 7, 8, 15])
def test_an_index_with_right_checksums_and_senseless_contents_is_refused_or_its_block_is(entry: int) -> None:
    file = file_of(hashed(19, sites=30, count=3_600))
    index = struct.unpack_from("<Q", file, len(file) - 64)[0]
    for block in range(3):
        for value in (0, 1, 0x7F, 0xFF):
            held = bytearray(file)
            if held[index + 32 * block + entry] == value:
                continue
            held[index + 32 * block + entry] = value
            try:
                run = Run(reindexed(held), owner=OWNER)
            except ValueError as error:
                assert "index damaged" == str(error)
            else:
                assert block in run.check()


@pytest.mark.parametrize("field", [0, 8, 16, 24, 32, 40, 48, 64, 79, 80])
@pytest.mark.parametrize("value", [0, 1, 2**32 - 1, 2**63, 2**64 - 1])
def test_a_footer_with_a_right_checksum_and_senseless_contents_is_refused(field: int, value: int) -> None:
    file = file_of({(2, 2): 1, (3, 3): 2})
    held = bytearray(file)
    held[len(file) - 96 + field : len(file) - 88 + field] = struct.pack("<Q", value)
    if held == file or (field == 0 and 1 <= value <= 2048) or (field == 16 and value > 3) or field == 24:
        return  # another count, another last fingerprint: nothing in the footer or the index contradicts them
    with pytest.raises(ValueError, match=r"damaged|cut off: \d+ of \d+ bytes"):
        Run(reindexed(held), owner=OWNER)


def test_a_last_fingerprint_that_is_not_the_last_one_is_a_damaged_block() -> None:
    held = bytearray(file_of({(2, 2): 1, (3, 3): 2}))
    held[len(held) - 80 : len(held) - 64] = struct.pack("<QQ", 9, 9)
    assert [0] == Run(reindexed(held), owner=OWNER).check()


def test_a_block_that_is_whole_but_of_an_older_file_is_damaged() -> None:
    older, newer = (file_of({(1, url): url * factor for url in range(200)}) for factor in (1, -1))
    index = struct.unpack_from("<Q", newer, len(newer) - 64)[0]
    assert len(older) == len(newer)
    held = newer[:64] + older[64:index] + newer[index:]
    with pytest.raises(ValueError, match=r"^block 0 is damaged$"):
        asked(Run(held, owner=OWNER), [(1, 5)])


def test_a_block_at_another_blocks_place_is_damaged() -> None:
    file = file_of({(1, url): 5 for url in range(3 * 4_095)})
    first, second, third = (struct.unpack_from("<Q", file, len(file) - 96 - 32 * (3 - i) + 16)[0] for i in range(3))
    assert second - first == third - second
    held = file[:first] + file[second:third] + file[first:second] + file[third:]
    assert [0, 1] == Run(held, owner=OWNER).check()


@pytest.mark.parametrize("code", [1, 2, 3])
@pytest.mark.parametrize("forgotten", [False, True])
def test_a_code_past_the_largest_value_is_a_damaged_block(code: int, forgotten: bool) -> None:
    least = 2**63 - 2 if forgotten else 2**63 - 3
    held = bytearray(file_of({(1, 1): least, (1, 2**62): 2**63 - 1} | ({(1, 2**63): TOMBSTONE} if forgotten else {})))
    at = 64 + 34 + 2  # behind the head and the one site: 64 bits of each key, and 2 of its code
    assert 2 == held[64 + 14]
    codes = int.from_bytes(held[at : at + 18], "little")
    assert 2 == codes >> 130 & 3
    held[at : at + 18] = (codes ^ (2 ^ code) << 130).to_bytes(18, "little")
    assert ([0] if code == 3 else []) == Run(resealed(held, 0), owner=OWNER).check()


def crowd() -> bytes:
    chance = random.Random(23)
    return file_of({(9, chance.getrandbits(64)): chance.randrange(1_000) for _ in range(1_000)})


@pytest.mark.parametrize("field", [0, 2, 3, 4, 6, 7, 8, 16])
@pytest.mark.parametrize("value", [0, 0x3F, 0xFF])
def test_what_is_said_of_a_long_stretch_must_fit_it(field: int, value: int) -> None:
    held = bytearray(crowd())
    at = 64 + 34 + 2 + field
    if held[at] == value:
        value ^= 1
    held[at] = value
    assert [0] == Run(resealed(held, 0), owner=OWNER).check()


def test_a_rank_or_a_bit_of_a_long_stretch_that_is_wrong_is_a_damaged_block() -> None:
    file = crowd()
    start = 64 + 34 + 2 + 17
    zeros = struct.unpack_from("<H", file, start - 17 + 6)[0]
    ranks = 2 * ((1_000 + zeros - 1) // 256)
    for at in range(start, start + ranks + (1_000 + zeros) // 8):
        held = bytearray(file)
        held[at] ^= 1 << at % 8
        assert [0] == Run(resealed(held, 0), owner=OWNER).check()


def test_absent_as_the_base_of_a_block_is_a_damaged_block() -> None:
    held = bytearray(file_of({(1, 1): 5, (1, 2): 5}))
    held[64 + 16 : 64 + 24] = struct.pack("<q", ABSENT)
    assert [0] == Run(resealed(held, 0), owner=OWNER).check()
