"""The queue's rows of one ledger in; the same rows in another, under its ids of groups, out.

First part by part, while others change them; then, when nobody writes, what is different: rows are compared where they lie, by SQLite
alone, and only those that changed are written. Comparing everything is some times as fast as copying it, and needs no word from who
changed it.
The other ledger is attached as `old`; `making_same` has the ids of its groups and theirs here.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from urlsieve.stores.embedded.ledger import scalar

#: Rows of a part.
PART = 50_000


class Table(NamedTuple):
    """key: what names a row. group: the column with the id of a group, "": none."""

    name: str
    key: tuple[str, ...]
    group: str = ""


#: Goes by group, and may be missing.
_ASLEEP = Table("asleep", ("grp",), "grp")
TABLES = (
    Table("grp", ("id",), "id"),
    Table("pending", ("grp", "class", "np", "seq"), "grp"),
    Table("held", ("id",), "grp"),
    Table("moved", ("id",)),
    Table("extra", ("id",)),
    Table("blob", ("name", "key")),
    _ASLEEP,
)


def tables(db: sqlite3.Connection) -> list[Table]:
    """Those that the old ledger has; each is here then."""
    found = [table for table in TABLES if scalar(db, "SELECT 1 FROM old.sqlite_master WHERE type = 'table' AND name = ?", (table.name,))]
    for table in found:
        make_table(db, table.name)
    return found


def make_table(db: sqlite3.Connection, name: str) -> None:
    """As it is in the old ledger, if it is not here."""
    if not scalar(db, "SELECT 1 FROM main.sqlite_master WHERE name = ?", (name,)):
        db.execute(scalar(db, "SELECT sql FROM old.sqlite_master WHERE type = 'table' AND name = ?", (name,)))
        for (index,) in db.execute(_INDEXES, (name,)).fetchall():
            db.execute(index)


_INDEXES = "SELECT sql FROM old.sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"


def learn_groups(db: sqlite3.Connection) -> None:
    """Groups that are new in the old ledger. `named`: a function from names to ids here."""
    db.execute("INSERT INTO main.making_same SELECT id, named(name) FROM old.grp WHERE id NOT IN (SELECT o FROM main.making_same)")


class _Words(NamedTuple):
    """Of statements about a table: its columns, what each is here, where from, and its key as it is here, in whose order it is read."""

    columns: list[str]
    values: list[str]
    source: str
    key: list[str]

    @classmethod
    def of(cls, db: sqlite3.Connection, table: Table) -> _Words:
        columns = [row[1] for row in db.execute(f"PRAGMA main.table_info({table.name})")]
        values = ["s.n" if name == table.group else f"o.{name}" for name in columns]
        key = [values[columns.index(name)] for name in table.key]
        source = f"old.{table.name} o"
        if key[0] == "s.n":
            source = f"main.making_same s CROSS JOIN {source} ON o.{table.group} = s.o"
        elif table.group:
            source = f"{source} CROSS JOIN main.making_same s ON s.o = o.{table.group}"
        return cls(columns, values, source, key)

    def insert(self, table: Table) -> str:
        return f"INSERT OR REPLACE INTO main.{table.name} ({', '.join(self.columns)}) SELECT {', '.join(self.values)} FROM {self.source}"

    def compared(self, how: str) -> str:
        """The key, > or <= one given as parameters; its first column twice, for SQLite looks that one up."""
        marks = ", ".join(f"?{i}" for i in range(1, len(self.key) + 1))
        return f"{self.key[0]} {how[0]}= ?1 AND ({', '.join(self.key)}) {how} ({marks})"


def copy_part(db: sqlite3.Connection, table: Table, after: list[int | str] | None) -> list[int | str] | None:
    """Rows after that key (None: from the first), as it is here; the key after which to go on, None: it was the last part."""
    words = _Words.of(db, table)
    beyond = "1" if after is None else words.compared(">")
    order = f"ORDER BY {', '.join(words.key)}"
    db.execute(f"{words.insert(table)} WHERE {beyond} {order} LIMIT {PART}", after or ())
    if db.execute("SELECT changes()").fetchone()[0] < PART:
        return None
    last = db.execute(f"SELECT {', '.join(words.key)} FROM {words.source} WHERE {beyond} {order} LIMIT 1 OFFSET {PART - 1}", after or ())
    return list(last.fetchone())


def make_same(db: sqlite3.Connection, table: Table) -> None:
    """The rows here are those of the old ledger, whatever was here before."""
    words = _Words.of(db, table)
    same = " AND ".join(
        f"n.{name} {'=' if name in table.key else 'IS'} {value}" for name, value in zip(words.columns, words.values, strict=True)
    )
    db.execute(f"{words.insert(table)} WHERE NOT EXISTS (SELECT 1 FROM main.{table.name} n WHERE {same}) ORDER BY {', '.join(words.key)}")
    # each of theirs is here now: where there are as many here, there are no others
    if _count(db, f"main.{table.name}") == _count(db, f"old.{table.name}"):
        return
    if table.name == "pending":
        _drop_others_by_group(db)
    else:
        theirs = f"SELECT {', '.join(words.key)} FROM {words.source}"
        db.execute(f"DELETE FROM main.{table.name} WHERE ({', '.join(table.key)}) NOT IN ({theirs})")


def _drop_others_by_group(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TEMP TABLE more AS SELECT m.grp FROM (SELECT grp, count(*) many FROM main.pending GROUP BY grp) m LEFT JOIN "
        "(SELECT grp, count(*) many FROM old.pending GROUP BY grp) k ON k.grp = (SELECT o FROM main.making_same WHERE n = m.grp) "
        "WHERE m.many IS NOT k.many"
    )
    db.execute(
        "DELETE FROM main.pending WHERE grp IN (SELECT grp FROM temp.more) AND NOT EXISTS "
        "(SELECT 1 FROM main.making_same s JOIN old.pending o ON o.grp = s.o AND o.class = main.pending.class AND o.np = main.pending.np "
        "AND o.seq = main.pending.seq WHERE s.n = main.pending.grp)"
    )
    db.execute("DROP TABLE temp.more")


def _count(db: sqlite3.Connection, table: str) -> int:
    return int(scalar(db, f"SELECT count(*) FROM {table}"))
