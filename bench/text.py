"""What the kept texts of done URLs take on the disk: in the embedded store, with group and index, against plain rows of SQLite.

A million pages of a crawl-like stream, and a real list; both are marked as done, packed, and then asked for one by one. The bytes are
whole pages of the database (SQLite's dbstat), beside what `stats` says.
"""

import argparse
import gzip
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.embedded import batches, folder
from bench.report import emit, machine

from urlsieve import testing

BENCH = "text"
REAL = Path(__file__).parents[1] / "tests/cases/data/kasztp_urls.txt.gz"
ASKED = 500
TABLES = ("packed", "slots", "slots_sparse", "finished", "text", "extra")
ROWS = "CREATE TABLE text (id INTEGER PRIMARY KEY, url TEXT NOT NULL, grp INTEGER NOT NULL, depth INTEGER NOT NULL)"


def stream(lines: int) -> list[str]:
    """Each line a page of its own."""
    generator = Path(__file__).with_name("urlstream.py")
    made = subprocess.run([sys.executable, generator, str(lines), "--new", "1"], capture_output=True, check=True)
    return made.stdout.decode().splitlines()


def pages_of(db: sqlite3.Connection, tables: Sequence[str]) -> int:
    marks = ",".join("?" * len(tables))
    sql = f"SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE aggregate = TRUE AND name IN ({marks})"
    return int(db.execute(sql, tables).fetchone()[0])


def plain_rows(path: Path, urls: Sequence[str]) -> int:
    """Bytes of the same texts as rows, with a number for the group."""
    groups: dict[str, int] = {}
    db = sqlite3.connect(path / "plain.db")
    db.execute(ROWS)
    rows = ((url, groups.setdefault(url.split("/", 3)[2] if "//" in url else "", len(groups)), 1) for url in urls)
    db.executemany("INSERT INTO text (url, grp, depth) VALUES (?, ?, ?)", rows)
    db.commit()
    size = pages_of(db, ("text",))
    db.close()
    return size


def bench(case: str, urls: Sequence[str]) -> None:
    with folder() as path:
        store = str(path / "store")
        with testing.open(store, clock=testing.VirtualClock(), durability="normal") as sieve:
            for batch in batches(urls, 10_000):
                sieve.mark(batch)
            done = sieve.stats().done
            start, used = time.perf_counter(), time.process_time()
            sieve._store.pack()  # type: ignore[attr-defined]
            seconds, cpu = time.perf_counter() - start, time.process_time() - used
            said = sieve.stats().bytes["text"]
            asked = random.Random(1).sample(list(urls), ASKED)
            began = time.perf_counter()
            for url in asked:
                sieve.info(url)
            each = (time.perf_counter() - began) / len(asked)
            entries = sum(entry.url is not None for entry in sieve.entries())
            listed = time.perf_counter() - began - each * len(asked)
        db = sqlite3.connect(path / "store" / "ledger.db")
        ours = pages_of(db, TABLES)
        db.close()
        if entries != done:
            raise SystemExit(f"bench: {done} URLs are done, the texts of {entries} were listed")
        peer = plain_rows(path, urls)
    length = sum(len(url.encode()) for url in urls) / len(urls)
    emit(BENCH, case, ours=ours / done, peer=peer / len(urls), peer_name="sqlite rows: URL, group, depth", unit="bytes per URL",
         stats=round((said or 0) / done, 2), urls=done, url_bytes=round(length, 1))  # fmt: skip
    emit(BENCH, f"{case}: packing", ours=done / seconds, unit="URLs/s", ours_cpu_us=round(cpu / done * 1e6, 2))
    emit(BENCH, f"{case}: one text", ours=each * 1e6, unit="us")
    emit(BENCH, f"{case}: all entries", ours=entries / listed, unit="URLs/s")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench text", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the stream")
    args = parser.parse_args()
    machine(BENCH)
    bench("stream", stream(100_000 if args.quick else 1_000_000))
    bench("real list", [url for url in gzip.decompress(REAL.read_bytes()).decode().splitlines() if url])
    return 0


if __name__ == "__main__":
    sys.exit(main())
