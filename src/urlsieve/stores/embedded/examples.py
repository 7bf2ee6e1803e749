"""URLs that were refused or skipped go in; the newest of each reason are kept, and come out newest first."""

from __future__ import annotations

from collections.abc import Iterable

from urlsieve.model import MOST_EXAMPLES, Example, Refused
from urlsieve.stores.embedded import later
from urlsieve.stores.embedded.ledger import Ledger, Transaction


def keep(tx: Transaction, examples: Iterable[Example], now: float) -> None:
    """After they were counted: their names are those of the counts."""
    rows: dict[str, list[Example]] = {}
    for one in examples:
        rows.setdefault(tx.tallied(one.kind, one.reason), []).append(one)
    for name, those in rows.items():
        newest = those[-MOST_EXAMPLES:]
        seq = later.take(tx, "example", len(newest))
        values = [(name, seq + i, now, one.url, one.via, one.depth) for i, one in enumerate(newest)]
        tx.executemany("INSERT INTO example (name, seq, at, url, via, depth) VALUES (?, ?, ?, ?, ?, ?)", values)
        old = "SELECT seq FROM example WHERE name = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2"
        tx.execute(f"DELETE FROM example WHERE name = ?1 AND seq <= ({old})", (name, MOST_EXAMPLES))


def newest(ledger: Ledger) -> list[Refused]:
    with ledger.look() as tx:
        if not tx.value("example"):
            return []
        rows = tx.execute("SELECT name, at, url, via, depth FROM example ORDER BY seq DESC").fetchall()
    return [Refused(*row) for row in rows]
