"""The seen set: fingerprints in, what the ledger knows of each out. The seam behind which the set may live elsewhere.

Fingerprints are handed to SQLite as bytearrays: the driver looks for an adapter of every bytes object, and that costs more than the row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from urlsieve.stores.embedded.ledger import Ledger, Transaction, chunks

#: Values of seen.entry that are not the id of a row.
DONE_WITHOUT_TEXT, KNOWN, DEAD_WITHOUT_TEXT = 0, -1, -2


def split(fingerprints: bytes) -> list[bytes]:
    """One block of 16 bytes each, as a list."""
    return [fingerprints[at : at + 16] for at in range(0, len(fingerprints), 16)]


def find(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, int]:
    """fingerprint → entry, for those that are seen."""
    found: dict[bytes, int] = {}
    for marks, part in chunks(keys):
        found.update(db.execute(f"SELECT fp, entry FROM seen WHERE fp IN ({marks})", [bytearray(key) for key in part]))
    return found


def add(tx: Transaction, keys: Sequence[bytes], entries: Sequence[int]) -> None:
    """Fingerprints that are not seen. Written in their order, which is the order of the tree."""
    pairs = sorted(zip(keys, entries, strict=True))
    tx.executemany("INSERT INTO seen (fp, entry) VALUES (?, ?)", ((bytearray(key), entry) for key, entry in pairs))
    tx.count("seen", len(pairs))


def assign(tx: Transaction, pairs: Sequence[tuple[int, bytes]]) -> None:
    """(entry, fingerprint) of fingerprints that are seen."""
    tx.executemany("UPDATE seen SET entry = ? WHERE fp = ?", pairs)


def remove(tx: Transaction, keys: Sequence[bytes]) -> None:
    tx.executemany("DELETE FROM seen WHERE fp = ?", [(key,) for key in keys])
    tx.count("seen", -len(keys))


def of_site(db: sqlite3.Connection, site_id: int, batch: int = 10_000) -> Iterator[list[tuple[bytes, int]]]:
    """All (fingerprint, entry) of one site, in order, batch by batch; each batch is its own short read."""
    prefix = site_id.to_bytes(8, "little", signed=True)
    last = prefix  # shorter than any fingerprint of the site, so before all of them
    end = prefix + b"\xff" * 9
    while True:
        rows = db.execute("SELECT fp, entry FROM seen WHERE fp > ? AND fp < ? ORDER BY fp LIMIT ?", (last, end, batch)).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        yield rows


def scan(ledger: Ledger, batch: int = 1000) -> Iterator[list[tuple[bytes, int]]]:
    """All (fingerprint, entry), in order, batch by batch; no read is open between two of them."""
    last = b""
    while True:
        with ledger.read() as db:
            rows = db.execute("SELECT fp, entry FROM seen WHERE fp > ? ORDER BY fp LIMIT ?", (last, batch)).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        yield rows
