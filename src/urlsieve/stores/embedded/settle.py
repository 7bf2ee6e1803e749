"""Changes in, flags out: compare-and-set of leased entries on their tokens, and of groups on their versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from urlsieve.model import Change, GroupRow, HealthChange, Klass, OfferRow, Policy, Row, State
from urlsieve.stores.embedded import seen
from urlsieve.stores.embedded.groups import Arrivals, ensure, load, refresh, save, save_settings
from urlsieve.stores.embedded.ledger import Transaction
from urlsieve.stores.embedded.offer import insert
from urlsieve.stores.embedded.sites import Sites

_LEASED = (
    "SELECT e.id, e.token, e.fp, e.url, e.grp, e.priority, e.depth, e.attempt, e.class, e.deadline, e.via, e.meta, e.variant, "
    "e.excused, e.failed_at, e.again FROM entry e WHERE e.state = 1 AND e.id IN"
)


_STATE_NAMES = tuple(state.name.lower() for state in State)


class Conflict(Exception):  # noqa: N818 - not an error: the caller decides again
    """A group's health, or a wish to have the URL again, came in between."""


def entry_of(token: str) -> int | None:
    """The row a token speaks of; None for what is no token of ours."""
    parts = token.split("-")
    try:
        number = int(parts[1], 16) if len(parts) == 4 else None
    except ValueError:
        return None
    return number if number is not None and 0 < number < 2**63 else None


def current(tx: Transaction, tokens: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """token → its row, for those that are current."""
    wanted = set(tokens)
    ids = sorted({entry for token in wanted if (entry := entry_of(token)) is not None})
    return {row[1]: row for row in tx.rows(_LEASED, ids) if row[1] in wanted} if ids else {}


def load_rows(tx: Transaction, tokens: Sequence[str]) -> tuple[list[Row | None], dict[int, GroupRow]]:
    have = current(tx, tokens)
    groups = load(tx, {row[4] for row in have.values()})
    site_ids = {int.from_bytes(row[2][:8], "little", signed=True) for row in have.values()}
    sites = dict(tx.rows("SELECT id, name FROM site WHERE id IN", list(site_ids))) if site_ids else {}
    rows: list[Row | None] = []
    for token in tokens:
        row = have.get(token)
        if row is None:
            rows.append(None)
            continue
        _, _, fp, url, grp, priority, depth, attempt, klass, deadline, via, meta, variant, excused, failed_at, again = row
        site = sites[int.from_bytes(fp[:8], "little", signed=True)]
        name = groups[grp].name
        rows.append(
            Row(
                token,
                fp,
                url,
                site,
                name,
                grp,
                priority,
                depth,
                attempt,
                Klass(klass),
                deadline,
                via,
                meta,
                variant or b"",
                excused,
                failed_at,
                bool(again),
            )
        )
    return rows, {gid: group.value() for gid, group in groups.items()}


def extend(tx: Transaction, tokens: Sequence[str], deadline: float) -> bytes:
    have = current(tx, tokens)
    tx.executemany("UPDATE entry SET deadline = ? WHERE id = ?", [(deadline, row[0]) for row in have.values()])
    return bytes(token in have for token in tokens)


class Settling:
    """One batch of changes in one transaction."""

    def __init__(self, tx: Transaction, policy: Policy, now: float, sites: Sites) -> None:
        self.tx, self.policy, self.now, self.sites = tx, policy, now, sites
        self.keep_urls = policy.keep_urls
        self.arrivals = Arrivals()
        self.out: dict[int, int] = {}  # leases that ended, by group
        self.turns: dict[int, float] = {}
        self.done: list[tuple[Any, ...]] = []
        self.reasons: list[tuple[str, int]] = []
        self.gone: list[tuple[int, bytes]] = []
        self.other: list[tuple[Any, ...]] = []

    def run(self, changes: Sequence[Change], health: Sequence[HealthChange]) -> bytes:
        """Raises Conflict before the first write of a change."""
        self._health(health)
        have = current(self.tx, [change.token for change in changes])
        flags = bytearray(len(changes))
        for i, change in enumerate(changes):
            row = have.pop(change.token, None)  # a token given twice settles once
            if row is None:
                continue
            if row[15] and change.state in (State.DONE, State.DEAD):
                raise Conflict
            self._apply(change, row)
            flags[i] = 1
        self._write()
        for i, change in enumerate(changes):
            if flags[i] and change.targets:
                record_targets(self.tx, change.targets, self.policy, self.now, self.sites)
        return bytes(flags)

    def _health(self, health: Sequence[HealthChange]) -> None:
        groups = load(self.tx, [change.group_id for change in health])
        for change in health:
            group = groups[change.group_id]
            if group.health.version != change.expected:
                raise Conflict
            group.health = replace(change.health, version=change.expected + 1)
            save_settings(self.tx, group)
            self.out.setdefault(change.group_id, 0)

    def _apply(self, change: Change, row: tuple[Any, ...]) -> None:
        tx, entry, fp, group_id, priority = self.tx, row[0], row[2], row[4], row[5]
        self.out[group_id] = self.out.get(group_id, 0) + 1
        if change.next_turn:
            self.turns[group_id] = max(self.turns.get(group_id, 0.0), change.next_turn)
        if change.counted is not None:
            tx.count(f"skipped.{change.counted}")
        tx.count("leased", -1)
        if change.state is not State.PENDING:
            tx.count(_STATE_NAMES[change.state])
        if change.state is State.DONE:
            if self.keep_urls:
                self.done.append((self.now, entry))
                if change.reason is not None:
                    self.reasons.append((change.reason, entry))
            else:
                self.gone.append((entry, fp))
            return
        if change.state is State.PENDING:
            self.arrivals.add(group_id, change.klass, priority)
        self.other.append(
            (
                int(change.state),
                change.due,
                int(change.klass),
                change.attempt,
                change.excused,
                change.failed_at,
                change.reason,
                self.now if change.state is State.DEAD else None,
                entry,
            )
        )

    def _write(self) -> None:
        tx = self.tx
        if self.done:
            tx.executemany(
                "UPDATE entry SET state = 3, token = NULL, deadline = NULL, via = NULL, meta = NULL, failed_at = NULL, settled = ? "
                "WHERE id = ?",
                self.done,
            )
        if self.reasons:
            tx.executemany("UPDATE entry SET reason = ? WHERE id = ?", self.reasons)
        if self.gone:
            tx.executemany("DELETE FROM entry WHERE id = ?", [(entry,) for entry, _ in self.gone])
            seen.assign(tx, [(seen.DONE_WITHOUT_TEXT, fp) for _, fp in self.gone])
        if self.other:
            tx.executemany(
                "UPDATE entry SET state = ?, due = ?, class = ?, attempt = ?, excused = ?, failed_at = ?, reason = ?, settled = ?, "
                "token = NULL, deadline = NULL, again = 0 WHERE id = ?",
                self.other,
            )
        groups = load(tx, self.out)
        for group_id, group in groups.items():
            group.leased -= self.out[group_id]
            group.next_turn = max(group.next_turn, self.turns.get(group_id, 0.0))
        save(tx, groups.values(), self.policy, self.now)
        self.arrivals.write(tx, self.policy, self.now)


def record_targets(
    tx: Transaction, targets: Sequence[tuple[bytes, OfferRow]], policy: Policy, now: float, sites: Sites
) -> None:
    """Redirect targets are entries of their own, done: also when they were waiting; a target leased by a worker is left alone."""
    rows = dict(targets)
    found = seen.find(tx.db, list(rows))
    new = {fp: row for fp, row in rows.items() if fp not in found or found[fp] == seen.KNOWN}
    _record_new(tx, new, found, now, policy.keep_urls, sites)
    touched = set()
    ids = {found[fp]: fp for fp in rows if found.get(fp, 0) > 0}
    for entry, state, klass, group_id in list(tx.rows("SELECT id, state, class, grp FROM entry WHERE id IN", list(ids))):
        if state not in (State.PENDING, State.DELAYED, State.DEAD):
            continue
        tx.count(State(state).name.lower(), -1)
        tx.count("done")
        if state == State.PENDING:
            tx.count(f"pending.{Klass(klass).name.lower()}", -1)
            touched.add(group_id)
        if policy.keep_urls:
            tx.execute(
                "UPDATE entry SET state = 3, due = NULL, via = NULL, meta = NULL, reason = NULL, settled = ? WHERE id = ?", (now, entry)
            )
        else:
            tx.execute("DELETE FROM entry WHERE id = ?", (entry,))
            seen.assign(tx, [(seen.DONE_WITHOUT_TEXT, ids[entry])])
    buried = [fp for fp in rows if found.get(fp) == seen.DEAD_WITHOUT_TEXT]
    seen.assign(tx, [(seen.DONE_WITHOUT_TEXT, fp) for fp in buried])
    tx.count("dead", -len(buried))
    tx.count("done", len(buried))
    refresh(tx, touched, policy, now)


def _record_new(
    tx: Transaction, new: dict[bytes, OfferRow], found: dict[bytes, int], now: float, keep_urls: bool, sites: Sites
) -> None:
    if not new:
        return
    sites.add(tx, {fp[:8]: row.site for fp, row in new.items()})
    groups = {row.group_id: row.group for row in new.values()}
    have = load(tx, groups)
    ensure(tx, {gid: name for gid, name in groups.items() if gid not in have})
    marks = [(fp, seen.DONE_WITHOUT_TEXT) for fp in new]
    if keep_urls:
        first = tx.take("entry", len(new))
        marks = [(fp, first + i) for i, fp in enumerate(new)]
        insert(tx, [(entry, fp, new[fp]) for fp, entry in marks], State.DONE, Klass.NEW, Arrivals(), now)
    seen.assign(tx, [(entry, fp) for fp, entry in marks if fp in found])
    seen.add(tx, [(fp, entry) for fp, entry in marks if fp not in found])
    tx.count("known", -sum(fp in found for fp in new))
    tx.count("accepted", len(new))
    tx.count("done", len(new))
