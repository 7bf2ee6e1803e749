"""Fingerprints or a site in; they are no longer seen, their queue entries and leases are gone, the counts fit."""

from __future__ import annotations

from collections.abc import Sequence

from urlsieve.model import Klass, Policy, State
from urlsieve.stores.embedded import seen
from urlsieve.stores.embedded.groups import load, refresh, save
from urlsieve.stores.embedded.ledger import Transaction

_WITHOUT_ROW = {
    seen.KNOWN: ("known",),
    seen.DONE_WITHOUT_TEXT: ("accepted", "done"),
    seen.DEAD_WITHOUT_TEXT: ("accepted", "dead"),
}


def forget(tx: Transaction, keys: Sequence[bytes], policy: Policy, now: float) -> int:
    """How many of them were seen."""
    return drop(tx, list(seen.find(tx.db, list(dict.fromkeys(keys))).items()), policy, now)


def purge(tx: Transaction, site_id: int, policy: Policy, now: float) -> int:
    total = 0
    for pairs in seen.of_site(tx.db, site_id):
        total += drop(tx, pairs, policy, now)
    if total:
        tx.execute("UPDATE site SET accepted = 0 WHERE id = ?", (site_id,))
        gone = tx.execute("DELETE FROM site WHERE id = ? AND lim IS NULL", (site_id,)).rowcount
        tx.count("sites", -gone)
    return total


def drop(tx: Transaction, pairs: Sequence[tuple[bytes, int]], policy: Policy, now: float) -> int:
    if not pairs:
        return 0
    accepted_of: dict[int, int] = {}
    for fp, entry in pairs:
        for name in _WITHOUT_ROW.get(entry, ("accepted",)):
            tx.count(name, -1)
        if entry != seen.KNOWN:
            site = int.from_bytes(fp[:8], "little", signed=True)
            accepted_of[site] = accepted_of.get(site, 0) + 1
    ids = [entry for _, entry in pairs if entry > 0]
    queues: set[int] = set()
    leases: dict[int, int] = {}
    queued = tx.rows("SELECT state, class, grp FROM queue WHERE id IN", ids)
    tx.count("done", len(queued) - len(ids))
    for state, klass, group_id in queued:
        tx.count(State(state).name.lower(), -1)
        if state == State.PENDING:
            tx.count(f"pending.{Klass(klass).name.lower()}", -1)
            queues.add(group_id)
        elif state == State.LEASED:
            leases[group_id] = leases.get(group_id, 0) + 1
    for table in ("queue", "text"):
        tx.executemany(f"DELETE FROM {table} WHERE id = ?", [(entry,) for entry in ids])
    seen.remove(tx, [fp for fp, _ in pairs])
    tx.executemany(
        "UPDATE site SET accepted = accepted - ? WHERE id = ? AND lim IS NOT NULL", [(many, site) for site, many in accepted_of.items()]
    )
    groups = load(tx, leases)
    for group_id, group in groups.items():
        group.leased -= leases[group_id]
    save(tx, groups.values(), policy, now)
    refresh(tx, queues, policy, now)
    tx.count("generation")
    return len(pairs)
