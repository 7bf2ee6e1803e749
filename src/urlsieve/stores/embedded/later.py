"""Tables that a ledger gets when it first needs them, in any store of this schema: most stores never do, and those of before have none.

The number that says how many rows a table ever had (a counter of its name) is 0 as long as there is no table: nobody looks for it then.
"""

from __future__ import annotations

from urlsieve.stores.embedded.ledger import Transaction

_TABLES = {
    # The newest URLs refused or skipped, by what they are counted under in `tally`; seq: the newest has the largest.
    "example": (
        "CREATE TABLE IF NOT EXISTS example (name TEXT NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, url BLOB NOT NULL, via TEXT, "
        "depth INTEGER NOT NULL, PRIMARY KEY (name, seq)) WITHOUT ROWID",
    ),
    # Since the rules have limits: what each site has used; domain: the registrable one.
    "used": (
        "CREATE TABLE IF NOT EXISTS used (site INTEGER PRIMARY KEY, domain TEXT, urls INTEGER NOT NULL DEFAULT 0, "
        "pages INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)",
        "CREATE INDEX IF NOT EXISTS used_domain ON used (domain)",
    ),
    # While a change of rules is swept: fingerprints where entries came by it; forgets: from a site that it takes back.
    "arrived": ("CREATE TABLE IF NOT EXISTS arrived (fp BLOB PRIMARY KEY, forgets INTEGER NOT NULL) WITHOUT ROWID",),
    # Groups whose next turn is late because a budget is spent; turn: when it would be otherwise.
    "asleep": ("CREATE TABLE IF NOT EXISTS asleep (grp INTEGER PRIMARY KEY, why TEXT NOT NULL, until REAL NOT NULL, turn REAL NOT NULL)",),
}


def take(tx: Transaction, table: str, many: int) -> int:
    """The first of `many` numbers for new rows; the table is there then."""
    if not tx.value(table):
        for statement in _TABLES[table]:
            tx.execute(statement)
    return tx.take(table, many)
