"""Sites in the ledger: their names, and limits on how many URLs are accepted."""

from __future__ import annotations

from collections.abc import Iterable

from urlsieve.stores.embedded.ledger import Transaction

#: Site halves this process knows to have a row; asking the ledger again costs one look-up each.
MOST_REMEMBERED = 16_384


def site_id(key: bytes) -> int:
    """The site half of a fingerprint as the row's id."""
    return int.from_bytes(key[:8], "little", signed=True)


class Sites:
    """Makes rows for sites met for the first time. Remembers which are there for as long as nothing is forgotten or purged."""

    def __init__(self) -> None:
        self._there: set[bytes] = set()
        self._generation = -1

    def add(self, tx: Transaction, names: dict[bytes, str]) -> None:
        """`names`: site half → name."""
        generation = tx.value("generation")
        if generation != self._generation or len(self._there) == MOST_REMEMBERED:
            self._there, self._generation = set(), generation
        unsure = {site_id(half): half for half in names if half not in self._there}
        if not unsure:
            return
        have = {row[0] for row in tx.rows("SELECT id FROM site WHERE id IN", list(unsure))}
        new = [(number, names[half]) for number, half in unsure.items() if number not in have]
        tx.executemany("INSERT INTO site (id, name) VALUES (?, ?)", new)
        tx.count("sites", len(new))
        if len(unsure) <= MOST_REMEMBERED - len(self._there):
            tx.after_commit.append(lambda: self._there.update(unsure.values()))


class Limits:
    """Limits on accepted URLs of the sites of these fingerprints; usually there are none, and then it is false."""

    def __init__(self, tx: Transaction, keys: Iterable[bytes]) -> None:
        self._tx = tx
        rows: list[tuple[int, int, int]] = []
        if tx.value("limits"):
            ids = list({site_id(key) for key in keys})
            rows = tx.rows("SELECT id, lim, accepted FROM site WHERE id IN", ids, "AND lim IS NOT NULL")
        self._left: dict[int, int] = {number: limit - accepted for number, limit, accepted in rows}
        self._taken: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._left)

    def allow(self, key: bytes) -> bool:
        return self._left.get(site_id(key), 1) > 0

    def taken(self, key: bytes) -> None:
        number = site_id(key)
        if number in self._left:
            self._left[number] -= 1
            self._taken[number] = self._taken.get(number, 0) + 1

    def write(self) -> None:
        if self._taken:
            values = [(many, number) for number, many in self._taken.items()]
            self._tx.executemany("UPDATE site SET accepted = accepted + ? WHERE id = ?", values)
