"""Sites in the ledger: their names, and limits on how many URLs are accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from urlsieve.stores.embedded import budgets
from urlsieve.stores.embedded.ledger import Transaction

#: Site halves this process knows to have a row; asking the ledger again costs one look-up each.
MOST_REMEMBERED = 16_384


def site_id(key: bytes) -> int:
    """The site half of a fingerprint as the row's id."""
    return int.from_bytes(key[:8], "little", signed=True)


class Sites:
    """Makes rows for sites met for the first time. Remembers which are there for as long as nothing is forgotten or purged."""

    def __init__(self, domain_of: Callable[[str], str]) -> None:
        self.domain_of = domain_of
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
        budgets.name_sites(tx, new, self.domain_of)
        if len(unsure) <= MOST_REMEMBERED - len(self._there):
            tx.after_commit.append(lambda: self._there.update(unsure.values()))


class Limits:
    """Limits by hand on accepted URLs of the sites of these fingerprints, and the counts that limits need. Usually there are none of
    either, and then it is false."""

    def __init__(self, tx: Transaction, keys: Iterable[bytes]) -> None:
        self._tx = tx
        rows: list[tuple[int, int, int]] = []
        if tx.value("limits"):
            ids = list({site_id(key) for key in keys})
            rows = tx.rows("SELECT id, lim, accepted FROM site WHERE id IN", ids, "AND lim IS NOT NULL")
        self._left: dict[int, int] = {number: limit - accepted for number, limit, accepted in rows}
        self._taken: dict[int, int] = {}
        self._counting = tx.value("budgets") > 0

    def __bool__(self) -> bool:
        return bool(self._left) or self._counting

    def allow(self, key: bytes) -> bool:
        return self._left.get(site_id(key), 1) > 0

    def taken(self, key: bytes) -> None:
        number = site_id(key)
        if number in self._left:
            self._left[number] -= 1
        if self:
            self._taken[number] = self._taken.get(number, 0) + 1

    def write(self, now: float | None) -> None:
        """now: None where it is not the day's work."""
        if self._taken:
            values = [(self._taken[number], number) for number in self._left if number in self._taken]
            self._tx.executemany("UPDATE site SET accepted = accepted + ? WHERE id = ?", values)
            if self._counting:
                budgets.accepted(self._tx, self._taken)
                if now is not None:
                    budgets.of_today(self._tx, now, urls=sum(self._taken.values()))
            self._taken = {}


def lower(tx: Transaction, by_site: Mapping[int, int]) -> None:
    """So many accepted ones of each site are gone."""
    values = [(many, number) for number, many in by_site.items()]
    tx.executemany("UPDATE site SET accepted = accepted - ? WHERE id = ? AND lim IS NOT NULL", values)
    budgets.accepted(tx, {number: -many for number, many in by_site.items()})
