"""Fingerprints or a site in; they are no longer seen, their queue entries and leases are gone, the counts fit."""

from __future__ import annotations

from collections.abc import Sequence

from urlsieve.model import Offers, Policy
from urlsieve.stores.embedded import budgets, packed, queue, seen
from urlsieve.stores.embedded.groups import load, refresh, save
from urlsieve.stores.embedded.ledger import Transaction
from urlsieve.stores.embedded.sites import lower
from urlsieve.stores.embedded.sites import site_id as site_id_of

_DONE = ("accepted", "done")
_WITHOUT_ROW = {
    seen.KNOWN: ("known",),
    seen.DONE_WITHOUT_TEXT: _DONE,
    seen.DEAD_WITHOUT_TEXT: ("accepted", "dead"),
}


def forget(tx: Transaction, offers: Offers, policy: Policy, now: float) -> int:
    """How many of them were seen, under one fingerprint or another."""
    keys = seen.split(offers.fingerprints)
    found = seen.find(tx, list(dict.fromkeys(keys)))
    total = drop(tx, list(found.items()), policy, now)
    if offers.earlier:
        others = {one.fingerprint: keys[i] for i, names in offers.earlier.items() for one in names}
        older = {key: entry for key, entry in seen.find(tx, list(others)).items() if key not in found}
        drop(tx, list(older.items()), policy, now)
        total += len({others[key] for key in older} - set(found))
    return total


def purge(tx: Transaction, site_id: int, policy: Policy, now: float) -> int:
    total = 0
    for pairs in seen.of_site(tx, site_id):
        total += drop(tx, pairs, policy, now)
    if total:
        tx.execute("UPDATE site SET accepted = 0 WHERE id = ?", (site_id,))
        gone = tx.execute("DELETE FROM site WHERE id = ? AND lim IS NULL", (site_id,)).rowcount
        tx.count("sites", -gone)
        if gone:
            budgets.forget_site(tx, site_id)
    return total


def drop(tx: Transaction, pairs: Sequence[tuple[bytes, int]], policy: Policy, now: float) -> int:
    if not pairs:
        return 0
    accepted_of: dict[int, int] = {}
    for fp, entry in pairs:
        for name in _DONE if entry <= seen.PACKED else _WITHOUT_ROW.get(entry, ("accepted",)):
            tx.count(name, -1)
        if entry != seen.KNOWN:
            site = site_id_of(fp)
            accepted_of[site] = accepted_of.get(site, 0) + 1
    ids = [entry for _, entry in pairs if entry > 0]
    spots = queue.locate(tx, ids)
    queues, leases = queue.remove(tx, spots.values())
    tx.count("done", len(spots) - len(ids))
    for table in ("text", "extra"):
        tx.change(f"DELETE FROM {table} WHERE id IN", ids)
    packed.free(tx, (entry for _, entry in pairs))
    seen.remove(tx, [fp for fp, _ in pairs])
    lower(tx, accepted_of)
    groups = load(tx, leases)
    for group_id, group in groups.items():
        group.leased -= leases[group_id]
    save(tx, groups.values(), policy, now)
    refresh(tx, queues, policy, now)
    tx.count("generation")
    return len(pairs)
