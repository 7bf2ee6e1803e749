"""Runs from dicts and back, and their seals, for the tests of runs, of damage and of merging."""

import random
import struct

from hypothesis import strategies as st

from urlsieve._kernel import ABSENT, TOMBSTONE, Run, RunWriter, siphash24

Key = tuple[int, int]
Table = dict[Key, int]
OWNER = 0x1122334455667788

halves = st.one_of(st.integers(0, 3), st.sampled_from([2**63 - 1, 2**63, 2**64 - 1]), st.integers(0, 2**64 - 1))
values = st.one_of(st.sampled_from([TOMBSTONE, TOMBSTONE + 1, -1, 0, 2**63 - 1]), st.integers(0, 300), st.integers(TOMBSTONE, 2**63 - 1))
tables = st.dictionaries(st.tuples(halves, halves), values, max_size=80)


def keys_of(keys: list[Key]) -> bytes:
    return b"".join(struct.pack("<QQ", *key) for key in keys)


def records_of(table: Table) -> bytes:
    return b"".join(struct.pack("<QQq", *key, value) for key, value in sorted(table.items()))


def file_of(table: Table, *, owner: int = OWNER, piece: int = 1_000) -> bytes:
    writer, records = RunWriter(owner=owner), records_of(table)
    parts = [writer.add(records[start : start + 24 * piece]) for start in range(0, len(records), 24 * piece)]
    return b"".join([*parts, writer.finish()])


def run_of(table: Table) -> Run:
    return Run(file_of(table), owner=OWNER)


def asked(run: Run, keys: list[Key], before: list[int] | None = None) -> tuple[list[int], int]:
    held = bytearray(struct.pack(f"<{len(keys)}q", *(before or [ABSENT] * len(keys))))
    filled = run.get_many(keys_of(keys), held)
    return list(struct.unpack(f"<{len(keys)}q", held)), filled


def hashed(seed: int, *, sites: int, count: int, spread: int = 1 << 20) -> Table:
    chance = random.Random(seed)
    names = [chance.getrandbits(64) for _ in range(sites)]
    return {(names[i % sites], chance.getrandbits(64)): chance.randrange(spread) for i in range(count)}


def neighbours(keys: list[Key]) -> list[Key]:
    """Keys that are nearly there."""
    near = [(site + i, url + j) for site, url in keys for i, j in ((0, 1), (0, -1), (1, 0), (-1, 0))]
    return [(site % 2**64, url % 2**64) for site, url in near]


def assert_is(run: Run, table: Table, others: list[Key]) -> None:
    for keys in (sorted(table), list(table), others):
        wanted = [table.get(key, ABSENT) for key in keys]
        assert (wanted, sum(value != ABSENT for value in wanted)) == asked(run, keys)
    assert ([], len(table)) == (run.check(), run.count)
    ends = [keys_of([key]) for key in (min(table), max(table))] if table else [b"", b""]
    assert ends == [run.first, run.last]


def block_at(file: bytes, at: int) -> int | None:
    """The number of the block that the byte belongs to; None: header, index or footer."""
    count, index = struct.unpack_from("<Q", file, len(file) - 88)[0], struct.unpack_from("<Q", file, len(file) - 64)[0]
    starts = [struct.unpack_from("<Q", file, index + 32 * i + 16)[0] for i in range(count)] + [index]
    return next((i for i in range(count) if starts[i] <= at < starts[i + 1]), None)


def sealed(file: bytearray, at: int, size: int, part: int, to: int) -> None:
    """Makes the checksum at `to` right for what stands at `at`, as somebody who knows the format could."""
    key = struct.pack("<QQ", 0x75726C7369657665 ^ OWNER, 0x72756E2066696C65 ^ part)
    file[to : to + 8] = struct.pack("<Q", siphash24(key, bytes(file[at : at + size])))


def resealed(file: bytearray, block: int) -> bytearray:
    end = len(file)
    index = struct.unpack_from("<Q", file, end - 64)[0]
    blocks = (end - 96 - index) // 32
    start = struct.unpack_from("<Q", file, index + 32 * block + 16)[0]
    stop = struct.unpack_from("<Q", file, index + 32 * block + 48)[0] if block + 1 < blocks else index
    sealed(file, start + 8, stop - start - 8, block, start)
    file[index + 32 * block + 24 : index + 32 * block + 32] = file[start : start + 8]
    return reindexed(file)


def reindexed(file: bytearray) -> bytearray:
    end = len(file)
    index = struct.unpack_from("<Q", file, end - 64)[0]
    sealed(file, index, end - 96 - index, 2**64 - 3, end - 40)
    sealed(file, end - 96, 88, 2**64 - 2, end - 8)
    return file
