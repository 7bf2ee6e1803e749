"""Lines about fetched pages in, the same lines out: a log that lets its older half go when it is full.

Counters: `witness` numbers the rows, `witnessed` has the bytes, `witness folds` counts whatever is done to the log besides adding.
"""

from __future__ import annotations

from collections.abc import Sequence

from urlsieve.stores.embedded.ledger import Transaction, scalar
from urlsieve.stores.protocol import MOST_EVIDENCE, Evidence, Witnessed


def add(tx: Transaction, witnessed: Sequence[Witnessed]) -> None:
    lines = b"".join(one.line for one in witnessed)
    if not lines:
        return
    tx.execute("CREATE TABLE IF NOT EXISTS witness (id INTEGER PRIMARY KEY, lines BLOB NOT NULL)")
    tx.execute("INSERT INTO witness (id, lines) VALUES (?, ?)", (tx.take("witness"), lines))
    tx.count("witnessed", len(lines))
    if tx.value("witnessed") > MOST_EVIDENCE:
        _make_room(tx)


def _make_room(tx: Transaction) -> None:
    left = 0
    for number, size in tx.execute("SELECT id, length(lines) FROM witness ORDER BY id DESC").fetchall():
        left += size
        if left > MOST_EVIDENCE // 2:
            tx.execute("DELETE FROM witness WHERE id <= ?", (number,))
            break
    tx.count("witnessed", _size(tx) - tx.value("witnessed"))
    tx.count("witness folds")


def _size(tx: Transaction) -> int:
    return scalar(tx.db, "SELECT sum(length(lines)) FROM witness") or 0


def read(tx: Transaction, least: float) -> Evidence | None:
    if tx.value("witnessed") <= least * MOST_EVIDENCE:
        return None
    rows = tx.execute("SELECT lines FROM witness ORDER BY id").fetchall()
    return Evidence(0, MOST_EVIDENCE, tx.value("witness folds"), b"".join(lines for (lines,) in rows))


def fold(tx: Transaction, seen: Evidence, text: bytes) -> bool:
    if tx.value("witness folds") != seen.version:
        return False
    size, last = 0, 0
    for number, length in tx.execute("SELECT id, length(lines) FROM witness ORDER BY id").fetchall():
        if size == len(seen.text):
            break
        size, last = size + length, number
    tx.execute("DELETE FROM witness WHERE id <= ?", (last,))
    if text:
        tx.execute("INSERT INTO witness (id, lines) VALUES (?, ?)", (last, text))
    tx.count("witnessed", len(text) - size)
    tx.count("witness folds")
    return True
