"""A store of an older schema in, one of this schema out, step by step; killed in the middle it goes on where it was.

The first step already names the new schema in the file's head, so that an older program refuses the store from then on; a mark in
`meta` says that it is unfinished, and this program refuses it too until it is finished.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from urlsieve._kernel._core import FingerprintMap
from urlsieve.errors import StoreFull, StoreUnavailable
from urlsieve.stores.embedded import files
from urlsieve.stores.embedded.files import FairLock
from urlsieve.stores.embedded.ledger import MOST_FINISHED, scalar, translate
from urlsieve.stores.embedded.making import SCHEMA, mark_of, read_header, schema_of, shelf_of
from urlsieve.stores.embedded.queue import DONE
from urlsieve.stores.embedded.runs import Shelf
from urlsieve.stores.embedded.seen import manifest, record

#: Fingerprints per step: what is done again at most after a kill.
STEP = 1 << 20


def upgrade(directory: Path, *, progress: Callable[[int], object] = lambda done: None, patience: float = 30.0) -> tuple[int, int]:
    """(schema before, schema now). `progress` is told the fingerprints moved so far."""
    if not (directory / files.LEDGER).is_file():
        raise StoreUnavailable(f"there is no store at {directory}: correct the path")
    lock = FairLock(directory)
    try:
        lock.acquire(patience)
        before = schema_of(directory / files.LEDGER)
        try:
            with closing(sqlite3.connect(directory / files.LEDGER, isolation_level=None, timeout=patience)) as db:
                db.execute("PRAGMA synchronous = FULL")
                before = int(mark_of(db) or before)  # one that was killed goes on
                if before == 1:
                    _begin_from_1(db)
                    _name_the_schema(db, directory)
                    _from_1(db, shelf_of(read_header(db, str(directory)), directory), progress)
                if before < SCHEMA:
                    _begin_from_2(db)
                    _name_the_schema(db, directory)
                    _from_2(db)
        except sqlite3.Error as error:
            raise translate(error, str(directory)) from error
        except OSError as error:
            if error.errno in files.FULL:
                raise StoreFull(f"no room to upgrade the store {directory}: make room and run upgrade again, it goes on") from error
            raise StoreUnavailable(f"cannot upgrade the store {directory}: {error.strerror}") from error
        return before, SCHEMA
    finally:
        lock.release()
        lock.close()


def _begin_from_1(db: sqlite3.Connection) -> None:
    """Whoever of the older program still has the store open finds no table `seen` from now on, so that it cannot add to what was moved."""
    db.execute("BEGIN IMMEDIATE")
    if mark_of(db) is None:
        db.execute("CREATE TABLE journal (id INTEGER PRIMARY KEY, checksum BLOB NOT NULL, records BLOB NOT NULL)")
        db.execute("CREATE TABLE run (seq INTEGER PRIMARY KEY, name TEXT NOT NULL, keys INTEGER NOT NULL, size INTEGER NOT NULL)")
        db.execute("INSERT INTO meta (name, value) VALUES ('upgrading', '1'), ('upgraded to', x'')")
        db.execute(f"PRAGMA user_version = {SCHEMA}")
    if scalar(db, "SELECT 1 FROM sqlite_master WHERE name = 'seen'"):
        db.execute("ALTER TABLE seen RENAME TO old_seen")
    db.execute("COMMIT")


def _name_the_schema(db: sqlite3.Connection, directory: Path) -> None:
    """From the log into the file's head, where programs look before they open it."""
    if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        raise StoreUnavailable(f"somebody reads the store {directory}: stop its workers and run upgrade again, it goes on")


def _from_1(db: sqlite3.Connection, shelf: Shelf, progress: Callable[[int], object]) -> None:
    """The table `seen` becomes runs."""
    shelf.remove(shelf.strays({named.name for named in manifest(db)}))  # of a step that was killed
    done = sum(named.keys for named in manifest(db))
    while True:
        last = scalar(db, "SELECT value FROM meta WHERE name = 'upgraded to'")
        rows = db.execute("SELECT fp, entry FROM old_seen WHERE fp > ? ORDER BY fp LIMIT ?", (last, STEP)).fetchall()
        if not rows:
            break
        some = FingerprintMap()
        some.set_many(b"".join(record(fp, entry) for fp, entry in rows))
        made = shelf.write([some.sorted_records()])
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO run (name, keys, size) VALUES (?, ?, ?)", made)
        db.execute("UPDATE meta SET value = ? WHERE name = 'upgraded to'", (rows[-1][0],))
        db.execute("COMMIT")
        done += made.keys
        progress(done)
    db.execute("BEGIN IMMEDIATE")
    db.execute("DROP TABLE old_seen")
    db.execute("INSERT INTO counter (name, n) VALUES ('run', (SELECT coalesce(max(seq), 0) FROM run)), ('manifest', 1)")
    db.execute("UPDATE meta SET value = '2' WHERE name = 'upgrading'")
    db.execute("DELETE FROM meta WHERE name = 'upgraded to'")
    db.execute("COMMIT")


def _begin_from_2(db: sqlite3.Connection) -> None:
    """Whoever of the older program still has the store open finds no table `journal` from now on: it does not know what an entry that
    names a block means, and would take such URLs for new ones."""
    db.execute("BEGIN IMMEDIATE")
    if not scalar(db, "SELECT 1 FROM sqlite_master WHERE name = 'finished'"):
        for statement in _TABLES_OF_3:
            db.execute(statement)
        db.execute("ALTER TABLE journal RENAME TO marks")
        db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('upgrading', '2'), ('upgraded to', 0)")
        db.execute(f"PRAGMA user_version = {SCHEMA}")
    db.execute("COMMIT")


_TABLES_OF_3 = (
    "CREATE TABLE finished (id INTEGER PRIMARY KEY, ids BLOB NOT NULL)",
    "CREATE TABLE packed (block INTEGER PRIMARY KEY, checksum BLOB NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE slots (block INTEGER PRIMARY KEY, live INTEGER NOT NULL, gone BLOB NOT NULL, freed INTEGER NOT NULL)",
    "CREATE INDEX slots_sparse ON slots (block) WHERE freed >= live",
)


def _from_2(db: sqlite3.Connection) -> None:
    """What is done already is listed for whoever packs texts."""
    while True:
        last = scalar(db, "SELECT value FROM meta WHERE name = 'upgraded to'")
        ids = [row[0] for row in db.execute("SELECT id FROM text WHERE id > ? ORDER BY id LIMIT ?", (last, MOST_FINISHED))]
        if not ids:
            break
        db.execute("BEGIN IMMEDIATE")
        done = [row[0] for row in db.execute(f"SELECT t.id FROM text t WHERE t.id BETWEEN ? AND ? AND {DONE}", (ids[0], ids[-1]))]
        db.execute("INSERT INTO finished (ids) SELECT ?1 WHERE length(?1)", (struct.pack(f"<{len(done)}q", *done),))
        db.execute("INSERT INTO counter (name, n) VALUES ('unpacked', ?1) ON CONFLICT (name) DO UPDATE SET n = n + ?1", (len(done),))
        db.execute("UPDATE meta SET value = ? WHERE name = 'upgraded to'", (ids[-1],))
        db.execute("COMMIT")
    db.execute("DELETE FROM meta WHERE name IN ('upgrading', 'upgraded to')")
