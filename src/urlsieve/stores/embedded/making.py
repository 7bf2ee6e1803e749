"""A store's directory becomes a store, whole or not at all, and is recognised as one."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import asdict
from importlib import resources
from pathlib import Path

from urlsieve._kernel._core import siphash24
from urlsieve.errors import StoreCorrupt, StoreMismatch, StoreUnavailable
from urlsieve.model import Header, Policy
from urlsieve.stores.embedded import disk, files
from urlsieve.stores.embedded.ledger import PAGE_SIZE, scalar, translate
from urlsieve.stores.embedded.runs import RUN, Folder, Memory, Shelf

SCHEMA = 3
APPLICATION_ID = 0x75726C73  # "urls"


def fill(db: sqlite3.Connection, header: Header, policy: Policy) -> None:
    """An empty database becomes a ledger."""
    known = asdict(header)
    known["secret"] = f"{header.secret:032x}"
    schema = resources.files("urlsieve.stores.embedded").joinpath("schema.sql").read_text(encoding="utf-8")
    db.executescript(schema)
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO meta (name, value) VALUES (?, ?)",
        [
            ("header", json.dumps(known)),
            ("policy", json.dumps(asdict(policy))),
            ("rules", ""),
            ("boot", files.boot_id()),
        ],
    )
    db.execute("INSERT INTO counter (name, n) VALUES ('epoch', 1)")
    db.execute("COMMIT")


def read_header(db: sqlite3.Connection, where: str) -> Header:
    text = scalar(db, "SELECT value FROM meta WHERE name = 'header'")
    try:
        known = json.loads(text)
        known["secret"] = int(known["secret"], 16)
        return Header(**known)
    except (TypeError, ValueError, KeyError) as error:
        raise StoreCorrupt(f"the header of the store {where} cannot be read ({error}): restore a backup") from error


def shelf_of(header: Header, directory: Path | None, suffix: str = RUN) -> Shelf:
    """Where this store's runs (or those of its imported levels) lie. They carry a mark of its secret, so that another store's are not taken
    for its own."""
    owner = siphash24(header.secret.to_bytes(16, "little"), b"urlsieve runs")
    return Memory(owner) if directory is None else Folder(directory / files.RUNS, owner, suffix)


def make(directory: Path, header: Header, policy: Policy) -> None:
    """Made aside and published whole, so that a kill leaves either no store or a complete one. The caller has the lock."""
    new = directory / f"new-{os.getpid()}.db"
    try:
        files.remove_leftovers(directory)
        write(new, header, policy)
        files.publish(new, directory)
    except sqlite3.Error as error:
        raise translate(error, str(directory)) from error
    except OSError as error:
        raise StoreUnavailable(f"cannot make the store {directory}: {error.strerror}") from error


def write(new: Path, header: Header, policy: Policy) -> None:
    """The file of an empty ledger."""
    with closing(sqlite3.connect(new, isolation_level=None)) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {SCHEMA}")
        db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        db.execute("PRAGMA synchronous = FULL")
        fill(db, header, policy)
        db.execute("PRAGMA journal_mode = WAL")


def schema_of(ledger: Path) -> int:
    """Whose file it is and of which version, from its first 100 bytes, before SQLite may touch it. StoreMismatch if it is newer."""
    try:
        head = disk.head(ledger, 100)
    except OSError as error:
        raise StoreUnavailable(f"cannot read {ledger}: {error.strerror}") from error
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0") or int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise StoreCorrupt(f"{ledger} is not a ledger (its first bytes are damaged): restore a backup, or remove the store to start anew")
    version = int.from_bytes(head[60:64], "big")
    if version > SCHEMA:
        raise StoreMismatch(f"{ledger} has schema {version}; this version of urlsieve knows {SCHEMA}: use a newer one", "schema")
    return version


def check_file(ledger: Path) -> None:
    """It can be opened as it is."""
    version = schema_of(ledger)
    if version < SCHEMA:
        raise StoreMismatch(f"{ledger} has schema {version}, older than {SCHEMA}: {_ADVICE} {ledger.parent}`", "schema")


def check_whole(db: sqlite3.Connection, where: str) -> None:
    if mark_of(db) is not None:
        raise StoreMismatch(f"the store {where} is being upgraded, or that was interrupted: {_ADVICE} {where}`", "schema")


def mark_of(db: sqlite3.Connection) -> str | None:
    """The schema it is upgraded from, while it is."""
    mark: str | None = scalar(db, "SELECT value FROM meta WHERE name = 'upgrading'")
    return mark


_ADVICE = "stop its workers and run `urlsieve upgrade --store"
