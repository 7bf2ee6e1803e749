"""What one writes by hand instead: plain SQLite, INSERT OR IGNORE into a seen table, and a queue table for what was new.

WAL and synchronous=FULL as in our durable store; the text of the URL is the key: no canonical form, no sites, no politeness, no
fencing. These are the peers of `bench/embedded.py`.
"""

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

SCHEMA = """
CREATE TABLE seen(url TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE queue(id INTEGER PRIMARY KEY, url TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 0, deadline REAL);
CREATE INDEX waiting ON queue(id) WHERE state = 0;
"""


class PlainQueue:
    """A seen table and a first-in-first-out queue with deadlines in one SQLite file."""

    def __init__(self, folder: Path, *, queue: bool = True) -> None:
        self.db = sqlite3.connect(folder / "plain.db", isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.executescript(SCHEMA)
        self.queue = queue

    def push(self, urls: Sequence[str]) -> int:
        """One transaction per batch; the number of new URLs."""
        db = self.db
        db.execute("BEGIN IMMEDIATE")
        new = [url for url in urls if db.execute("INSERT OR IGNORE INTO seen VALUES (?)", (url,)).rowcount]
        if self.queue:
            db.executemany("INSERT INTO queue(url) VALUES (?)", ((url,) for url in new))
        db.execute("COMMIT")
        return len(new)

    def pop(self, limit: int) -> list[tuple[int, str]]:
        """The oldest waiting ones, leased for a minute."""
        oldest = "SELECT id FROM queue WHERE state = 0 ORDER BY id LIMIT ?"
        sql = f"UPDATE queue SET state = 1, deadline = ? WHERE id IN ({oldest}) RETURNING id, url"
        self.db.execute("BEGIN IMMEDIATE")
        rows = self.db.execute(sql, (time.time() + 60, limit)).fetchall()
        self.db.execute("COMMIT")
        return rows

    def done(self, rows: Sequence[tuple[int, str]]) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany("DELETE FROM queue WHERE id = ? AND state = 1", ((row[0],) for row in rows))
        self.db.execute("COMMIT")

    def close(self) -> None:
        self.db.close()
