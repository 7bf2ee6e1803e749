"""Check-and-add of fingerprints: which of a batch are new, and from now on none is. The embedded store's seen set against SQLite, LMDB,
RocksDB, a Python set and a Bloom filter.

Each set is filled in batches and then asked with a part of known keys. Ours is a transaction of the store's ledger for each batch, with
durability `normal` (what a power cut may take are the newest transactions), like SQLite in WAL mode with synchronous=NORMAL, RocksDB with
its log not synced, and LMDB without sync; LMDB with sync is measured beside them. The set and the filter are in memory, and the filter is
wrong about one new key in a hundred. On disk: all files of the folder, of ours the whole ledger too.
"""

import argparse
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from bench.report import OUT, emit, machine

import urlsieve
from urlsieve.stores.embedded import seen

BATCHES, KNOWN, SITES = (1_000, 10_000), (0, 50, 85, 99), 10_000
FILL, ROUNDS = 10_000, 3


class Peer(Protocol):
    def add(self, keys: list[bytes]) -> int:
        """How many were new."""

    def close(self) -> None: ...


class Ours:
    def __init__(self, place: Path) -> None:
        self._sieve = urlsieve.open(str(place), durability="normal")
        self._store = self._sieve._store

    def add(self, keys: list[bytes]) -> int:
        with self._store._marking() as tx:
            found = seen.entries(tx, b"".join(keys))
            new = [key for key, entry in zip(keys, found, strict=True) if entry < seen.LEAST]
            seen.add(tx, new, [seen.KNOWN] * len(new))
        return len(new)

    def close(self) -> None:
        self._sieve.close()


class Sqlite:
    def __init__(self, place: Path) -> None:
        place.mkdir(exist_ok=True)
        self._db = sqlite3.connect(place / "a.db", isolation_level=None)
        self._db.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE IF NOT EXISTS seen (key BLOB PRIMARY KEY) WITHOUT ROWID"
        )

    def add(self, keys: list[bytes]) -> int:
        before = self._db.total_changes
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("INSERT OR IGNORE INTO seen VALUES (?)", ((key,) for key in keys))
        self._db.execute("COMMIT")
        return self._db.total_changes - before

    def close(self) -> None:
        self._db.close()


class Lmdb:
    def __init__(self, place: Path, *, sync: bool) -> None:
        import lmdb

        self._env = lmdb.open(str(place), map_size=1 << 38, sync=sync)

    def add(self, keys: list[bytes]) -> int:
        with self._env.begin(write=True) as txn:
            return sum(txn.put(key, b"", overwrite=False) for key in keys)

    def close(self) -> None:
        self._env.close()


class Rocks:
    def __init__(self, place: Path) -> None:
        import rocksdict

        self._make = rocksdict.WriteBatch
        self._db = rocksdict.Rdict(str(place), rocksdict.Options(raw_mode=True))

    def add(self, keys: list[bytes]) -> int:
        found: Any = self._db[list[Any](keys)]
        new = [key for key, value in zip(keys, found, strict=True) if value is None]
        batch = self._make(raw_mode=True)
        for key in new:
            batch.put(key, b"")
        self._db.write(batch)
        return len(new)

    def close(self) -> None:
        self._db.close()


class InMemory:
    def __init__(self) -> None:
        self._keys: set[bytes] = set()

    def add(self, keys: list[bytes]) -> int:
        before = len(self._keys)
        self._keys.update(keys)
        return len(self._keys) - before

    def close(self) -> None:
        pass


class Bloom:
    def __init__(self, capacity: int) -> None:
        from rbloom import Bloom as Filter

        self._filter = Filter(capacity, 0.01)

    def add(self, keys: list[bytes]) -> int:
        new = [key for key in keys if key not in self._filter]
        self._filter.update(new)
        return len(new)

    def close(self) -> None:
        pass


def makers(folder: Path, count: int) -> dict[str, Callable[[], Peer]]:
    return {
        "ours": lambda: Ours(folder / "ours"),
        "sqlite": lambda: Sqlite(folder / "sqlite"),
        "lmdb nosync": lambda: Lmdb(folder / "lmdb-nosync", sync=False),
        "lmdb sync": lambda: Lmdb(folder / "lmdb-sync", sync=True),
        "rocksdb": lambda: Rocks(folder / "rocksdb"),
        "set": InMemory,
        "rbloom": lambda: Bloom(2 * count),
    }


def keys_of(seed: int, count: int) -> Iterator[bytes]:
    """The same ones for the same seed."""
    chance = random.Random(seed)
    names = [random.Random(i).randbytes(8) for i in range(SITES)]
    for _ in range(count):
        yield names[chance.randrange(SITES)] + chance.randbytes(8)


def filled(peer: Peer, count: int) -> float:
    """Keys per second."""
    source, spent = keys_of(1, count), 0.0
    while batch := [key for key, _ in zip(source, range(FILL), strict=False)]:
        start = time.perf_counter()
        peer.add(batch)
        spent += time.perf_counter() - start
    return count / spent


def rate(peer: Peer, held: list[bytes], known: int, size: int, chance: random.Random) -> float:
    batches = []
    for _ in range(max(1, 20_000 // size)):
        some = [
            chance.choice(held) if chance.randrange(100) < known else chance.choice(held)[:8] + chance.randbytes(8) for _ in range(size)
        ]
        batches.append(some)
    start = time.perf_counter()
    for batch in batches:
        peer.add(batch)
    return len(batches) * size / (time.perf_counter() - start)


def bytes_in(place: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in place.rglob("*") if file.is_file())


def reopened(make: Callable[[], Peer], held: list[bytes]) -> float:
    """Milliseconds until the first answer; the files are in the page cache."""
    start = time.perf_counter()
    with closing(make()) as peer:
        peer.add(held[:1])
        return (time.perf_counter() - start) * 1e3


def measure(folder: Path, count: int) -> None:
    source, held = keys_of(1, count), []
    for number, key in enumerate(source):
        if number % max(1, count // 100_000) == 0:
            held.append(key)
    making = makers(folder, count)
    peers = {name: make() for name, make in making.items()}
    case = f"{count / 1e6:g} million keys"
    speeds = {name: filled(peer, count) for name, peer in peers.items()}
    for name in list(peers)[1:]:
        emit("seen", f"{case}, filled", ours=speeds["ours"], peer=speeds[name], peer_name=name, unit="keys/s")
    for size in BATCHES:
        for known in KNOWN:
            chances = {name: random.Random(1_000 * size + known) for name in peers}  # new keys are new in each case
            rates: dict[str, list[float]] = {name: [] for name in peers}
            for _ in range(ROUNDS):
                for name, peer in peers.items():
                    rates[name].append(rate(peer, held, known, size, chances[name]))
            middle = {name: sorted(values)[ROUNDS // 2] for name, values in rates.items()}
            for name in list(peers)[1:]:
                emit(
                    "seen", f"{case}, batch {size}, {known} % known", ours=middle["ours"], peer=middle[name], peer_name=name, unit="keys/s"
                )
    for peer in peers.values():
        peer.close()
    with urlsieve.open(str(folder / "ours")) as sieve:
        total = sieve.stats().seen  # the filling and what was new since
    on_disk = {name: bytes_in(folder / name.replace(" ", "-")) / total for name in peers if (folder / name.replace(" ", "-")).is_dir()}
    for name in list(on_disk)[1:]:
        emit("seen", f"{case}, on disk", ours=on_disk["ours"], peer=on_disk[name], peer_name=name, unit="bytes/key")
    opened = {name: reopened(making[name], held) for name in on_disk}
    for name in list(on_disk)[1:]:
        emit("seen", f"{case}, reopened", ours=opened["ours"], peer=opened[name], peer_name=name, unit="ms")
    with urlsieve.open(str(folder / "ours")) as sieve:
        total, done = sieve.stats().seen, sieve.compact()
    emit("seen", f"{case}, seen set compact", ours=done.after / total, unit="bytes/key", before=done.before / total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1 and 5 million keys; else 10, 50 and 100")
    parser.add_argument("--millions", type=float, nargs="+", help="so many instead")
    namespace = parser.parse_args()
    machine("seen")
    for millions in namespace.millions or ([1, 5] if namespace.quick else [10, 50, 100]):
        folder = OUT / f"seen-{os.getpid()}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            measure(folder, int(millions * 1e6))
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
