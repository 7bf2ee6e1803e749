"""The kernel's map and sorted runs alone, in batches of 1,000 hits or misses, against a Python dict and a SQLite B-tree; and bytes a key.

A million keys on ten thousand sites with sequential values. The map and the dict are in memory; the run and the SQLite file are on disk,
and after the first round in the page cache.
"""

import argparse
import mmap
import random
import shutil
import sqlite3
import struct
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.report import OUT, emit, interleaved, machine

from urlsieve._kernel import ABSENT, FingerprintMap, Run, RunWriter, merge_records

BATCH = 1_000
NONE = struct.pack("<q", ABSENT) * BATCH
SCHEMA = "CREATE TABLE seen(site INTEGER, url INTEGER, value INTEGER, PRIMARY KEY(site, url)) WITHOUT ROWID"


def keys_of(count: int, sites: int, chance: random.Random) -> list[bytes]:
    names = [chance.randbytes(8) for _ in range(sites)]
    return [chance.choice(names) + chance.randbytes(8) for _ in range(count)]


def rate(batches: list[list[bytes]], look_up: Callable[[list[bytes]], object]) -> float:
    """Keys per second; the batches of the kernel are joined before, as its callers have them."""
    start = time.perf_counter()
    for batch in batches:
        look_up(batch)
    return BATCH * len(batches) / (time.perf_counter() - start)


def joined_rate(batches: list[list[bytes]], look_up: Callable[[bytes, bytearray], object]) -> float:
    joined = [(b"".join(batch), bytearray(NONE)) for batch in batches]
    start = time.perf_counter()
    for keys, values in joined:
        look_up(keys, values)
    return BATCH * len(batches) / (time.perf_counter() - start)


def sqlite_of(path: Path, records: dict[bytes, int]) -> sqlite3.Connection:
    db = sqlite3.connect(path)
    db.execute(SCHEMA)
    db.executemany("INSERT INTO seen VALUES (?, ?, ?)", ((*struct.unpack("<qq", key), value) for key, value in sorted(records.items())))
    db.commit()
    return db


def in_sqlite(db: sqlite3.Connection, batch: list[bytes]) -> list[object]:
    return [db.execute("SELECT value FROM seen WHERE site = ? AND url = ?", struct.unpack("<qq", key)).fetchone() for key in batch]


def emit_lookups(
    case: str, batches: list[list[bytes]], records: dict[bytes, int], table: FingerprintMap, run: Run, db: sqlite3.Connection
) -> None:
    measured = interleaved(
        {
            "map": lambda: joined_rate(batches, lambda keys, _: table.get_many(keys)),
            "dict": lambda: rate(batches, lambda batch: [records.get(key) for key in batch]),
            "run": lambda: joined_rate(batches, run.get_many),
            "sqlite": lambda: rate(batches[: len(batches) // 5], partial(in_sqlite, db)),
        },
        3,
    )
    emit("runs", f"map, {case}", ours=measured["map"], peer=measured["dict"], peer_name="dict", unit="keys/s")
    emit("runs", f"run, {case}", ours=measured["run"], peer=measured["sqlite"], peer_name="sqlite", unit="keys/s")


def measure(folder: Path, count: int) -> None:
    chance = random.Random(1)
    held = keys_of(count, count // 100, chance)
    records = dict(zip(held, range(count), strict=True))
    table = FingerprintMap()
    table.set_many(b"".join(key + struct.pack("<q", value) for key, value in records.items()))
    writer, in_order = RunWriter(owner=1), table.sorted_records()
    (folder / "a.run").write_bytes(writer.add(in_order) + writer.finish())
    db = sqlite_of(folder / "a.db", records)
    with (folder / "a.run").open("rb") as file:
        run = Run(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), owner=1)
    hits = [chance.choices(held, k=BATCH) for _ in range(count // BATCH // 2)]
    emit_lookups("hits", hits, records, table, run, db)
    misses = [[key[:8] + chance.randbytes(8) for key in batch] for batch in hits]
    emit_lookups("misses", misses, records, table, run, db)
    size, peer_size = ((folder / name).stat().st_size / count for name in ("a.run", "a.db"))
    emit("runs", "on disk", ours=size, peer=peer_size, peer_name="sqlite", unit="bytes/key", blocks=run.blocks)
    start = time.perf_counter()
    merge_records([in_order, run], bytes(16), count, tombstones=False)
    emit("runs", "merge of two", ours=count / (time.perf_counter() - start), unit="keys/s")
    db.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the keys")
    quick = parser.parse_args().quick
    machine("runs")
    folder = OUT / "runs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    measure(folder, 100_000 if quick else 1_000_000)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
