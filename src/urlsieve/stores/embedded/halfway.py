"""How far a store aside is, and what it is made from: written with every step of it, read by who goes on.

It stands in tables of the new store's own ledger, so that a step and its mark are one; they go in the last step. The old ledger has a mark
too (`rekeying`): a backup of it does not, so that one that is restored is not taken for the one that this was made from.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from urlsieve.errors import UrlsieveError
from urlsieve.model import Header
from urlsieve.stores.embedded import disk, files, making
from urlsieve.stores.embedded.ledger import Ledger, scalar
from urlsieve.stores.embedded.moments import Moment
from urlsieve.stores.embedded.runs import FIRST, Folder
from urlsieve.stores.protocol import Rekeying

#: Another number: how far it is is written in another way.
FORMAT = 1
#: The folder, beside the new ledger, of the moment that it is made from.
THEN = "then"
MARK = "rekeying"
_TABLES = """
CREATE TABLE making (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- What has been followed of changes after the moment, as records of old fingerprints.
CREATE TABLE making_since (id INTEGER PRIMARY KEY, records BLOB NOT NULL);
-- Entries that became one under the new header.
CREATE TABLE making_twin (fp BLOB NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (fp, entry)) WITHOUT ROWID;
-- Rows of text that are no URLs under the new header, and why; rows that were left out.
CREATE TABLE making_refused (id INTEGER PRIMARY KEY, why TEXT NOT NULL);
CREATE TABLE making_left (id INTEGER PRIMARY KEY);
-- Ids of groups there and here.
CREATE TABLE making_same (o INTEGER PRIMARY KEY, n INTEGER NOT NULL);
CREATE UNIQUE INDEX making_same_n ON making_same (n);
"""
_NAMES = ("making", "making_since", "making_twin", "making_refused", "making_left", "making_same")


@dataclass
class At:
    """bare: where to go on among fingerprints without text, in hex; None: through. last, number: the last row and block that are here.
    done: entries with text. merged, refused: see Rekeyed, of those that are decided. levels: name → (its files, where to go on; None:
    through). queue: table → the key after which to go on; None: through. closing: the last step was begun, and nothing can be
    followed any more."""

    bare: str | None = FIRST.hex()
    last: int = 0
    number: int = 0
    done: int = 0
    merged: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    levels: dict[str, tuple[list[str], str | None]] = field(default_factory=dict)
    queue: dict[str, list[int | str] | None] = field(default_factory=dict)
    closing: bool = False


@dataclass(frozen=True)
class Origin:
    """What it is made from and for."""

    format: int
    mark: str
    random: bool  # the secret was drawn: any other would do
    level: tuple[str, str, str]  # name, kind, about


def begin(place: Path, plan: Rekeying, mark: str, moment: Moment) -> None:
    """The ledger is there. Once this is written it can be gone on with."""
    origin = Origin(FORMAT, mark, plan.random, (plan.level.name, plan.level.kind, plan.level.about))
    with closing(sqlite3.connect(place / files.LEDGER, isolation_level=None)) as db:
        db.executescript(_TABLES)
        db.execute("BEGIN")
        _put(db, "origin", asdict(origin))
        save_moment(db, moment)
        save(db, At())
        db.execute("COMMIT")


def end(db: sqlite3.Connection) -> None:
    for name in _NAMES:
        db.execute(f"DROP TABLE {name}")


def save(db: sqlite3.Connection, at: At) -> None:
    _put(db, "at", asdict(at))


def save_moment(db: sqlite3.Connection, moment: Moment) -> None:
    kept = {"names": moment.names, "last_text": moment.last_text, "rules_generation": moment.rules_generation, "grown": moment.grown}
    _put(db, "moment", kept)
    db.execute("DELETE FROM making_since")


def load(db: sqlite3.Connection) -> At:
    return At(**_get(db, "at"))


def load_moment(db: sqlite3.Connection, shelf: Folder) -> Moment:
    kept = _get(db, "moment")
    names = tuple(kept["names"])
    return Moment(names, tuple(map(shelf.open, names)), kept["last_text"], kept["rules_generation"], kept["grown"])


def _put(db: sqlite3.Connection, name: str, value: object) -> None:
    db.execute("INSERT OR REPLACE INTO making (name, value) VALUES (?, ?)", (name, json.dumps(value)))


def _get(db: sqlite3.Connection, name: str) -> Any:
    return json.loads(scalar(db, "SELECT value FROM making WHERE name = ?", (name,)))


# -- whether it can be gone on with


def marked(ledger: Ledger) -> str:
    """The old ledger has a new mark, durably."""
    mark = secrets.token_hex(16)
    with ledger.write(synced=True) as tx:
        tx.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (MARK, mark))
    return mark


def drawn(place: Path) -> Header | None:
    """The header of a store that lies half made in `place`, if its secret was drawn. What cannot be read is said by `unfit`."""
    try:
        with closing(_reading(place)) as db:
            return making.read_header(db, str(place)) if Origin(**_get(db, "origin")).random else None
    except (sqlite3.Error, UrlsieveError, TypeError, ValueError):
        return None


def unfit(place: Path, plan: Rekeying, ledger: Ledger) -> str:
    """Why what lies in `place` cannot be gone on with; "": it can."""
    try:
        if making.schema_of(place / files.LEDGER) != making.SCHEMA:
            return "another version of urlsieve had begun it"
        with closing(_reading(place)) as db:
            return _unfit(db, place, plan, ledger)
    except (sqlite3.Error, UrlsieveError, TypeError, ValueError):
        return "what it had written cannot be read"


def _unfit(db: sqlite3.Connection, place: Path, plan: Rekeying, ledger: Ledger) -> str:
    found = _get(db, "origin")
    if found.get("format") != FORMAT:
        return "another version of urlsieve had begun it"
    origin, moment = Origin(**found), _get(db, "moment")
    with ledger.look() as tx:
        mark = scalar(tx.db, "SELECT value FROM meta WHERE name = ?", (MARK,))
        grown = {name: tx.value(name) for name in moment["grown"]}
        generation = tx.value("rules_generation")
    if mark != origin.mark or any(grown[name] < many for name, many in moment["grown"].items()):
        return "the store has been replaced since"
    if generation != moment["rules_generation"]:
        return "the rules or imported levels have changed since"
    if making.read_header(db, str(place)) != plan.header or tuple(origin.level) != (plan.level.name, plan.level.kind, plan.level.about):
        return "it was for another profile, secret or canonical form"
    if load(db).closing:
        return "it was killed in its last step"
    if any(not (place / THEN / files.RUNS / name).is_file() for name in moment["names"]):
        return "files of it are missing"
    return ""


def _reading(place: Path) -> sqlite3.Connection:
    if not (place / files.LEDGER).is_file():
        raise sqlite3.OperationalError("there is none")
    return sqlite3.connect(place / files.LEDGER, isolation_level=None)


def forget_moments(place: Path, moment: Moment) -> None:
    """Files of earlier ones."""
    for path in (place / THEN / files.RUNS).iterdir():
        if path.name not in moment.names:
            disk.remove(path)
