"""Changes in, flags out: compare-and-set of leased entries on their tokens, and of groups on their versions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from urlsieve.model import LONGEST_EXAMPLE, MOST_EXAMPLES, Change, Example, GroupRow, HealthChange, Klass, OfferRow, Policy, Row, State
from urlsieve.stores.counting import STATE_NAMES
from urlsieve.stores.embedded import budgets, examples, queue, seen
from urlsieve.stores.embedded.groups import Arrivals, ensure, load, refresh, save, save_settings
from urlsieve.stores.embedded.lease import token_parts
from urlsieve.stores.embedded.ledger import Transaction
from urlsieve.stores.embedded.queue import Spot
from urlsieve.stores.embedded.sites import Limits, Sites, site_id

_LEASED = (
    "SELECT id, counter, chance, grp, priority, again, seq, since, attempt, class, deadline, excused, failed_at "
    "FROM held WHERE state = 1 AND id IN"
)
_LEASED_SHORT = "SELECT id, counter, chance, grp, priority, again, seq, since FROM held WHERE state = 1 AND id IN"


class Conflict(Exception):
    """A group's health, or a wish to have the URL again, came in between."""


def entry_of(text: str) -> int:
    """The row a token speaks of; 0 for what is no token of ours."""
    parts = text.split("-", 2)
    try:
        entry = int(parts[1], 16) if len(parts) == 3 else 0
    except ValueError:
        return 0
    return entry if 0 < entry < 2**63 else 0


def current(tx: Transaction, tokens: Iterable[str], select: str = _LEASED_SHORT) -> dict[str, tuple[Any, ...]]:
    """token → its row, for those that are current."""
    wanted = {text: entry for text in tokens if (entry := entry_of(text))}
    rows = {row[0]: row for row in tx.rows(select, list(wanted.values()))}
    found = {}
    calls: dict[tuple[int, int], tuple[str, str]] = {}  # leases of one call differ in the row only
    for text, entry in wanted.items():
        row = rows.get(entry)
        if row is None:
            continue
        call = row[1:3]
        if call not in calls:
            calls[call] = token_parts(*call)
        before, after = calls[call]
        if text == f"{before}{entry:x}{after}":
            found[text] = row
    return found


def load_rows(tx: Transaction, tokens: Sequence[str], whole: bool) -> tuple[list[Row | None], dict[int, GroupRow]]:
    have = current(tx, tokens, _LEASED)
    groups = load(tx, {row[3] for row in have.values()})
    texts: dict[int, tuple[bytes, str | bytes, int]] = {}
    sites: dict[int, str] = {}
    if whole:
        ids = [row[0] for row in have.values()]
        texts = {row[0]: row[1:] for row in tx.rows("SELECT id, fp, url, depth FROM text WHERE id IN", ids)}
        sites = dict(tx.rows("SELECT id, name FROM site WHERE id IN", list({site_id(text[0]) for text in texts.values()})))
    rows = {}
    for text, row in have.items():
        entry, _, _, group, priority, again, _, _, attempt, klass, deadline, excused, failed_at = row
        fp, url, depth = texts[entry] if whole else (b"", "", 0)
        site = sites[site_id(fp)] if whole else ""
        known = (text, fp, url, site, groups[group].name, group, priority, depth, attempt, _KLASSES[klass], deadline)
        rows[text] = Row._make((*known, None, None, b"", excused, failed_at, again))
    return [rows.get(text) for text in tokens], {gid: group.value() for gid, group in groups.items()}


_KLASSES = tuple(Klass)
#: Seconds by which the sum of two times may differ from what it was.
_ROUNDING = 0.001


def extend(tx: Transaction, tokens: Sequence[str], deadline: float) -> bytes:
    have = current(tx, tokens)
    tx.executemany("UPDATE held SET deadline = max(deadline, ?) WHERE id = ?", [(deadline, row[0]) for row in have.values()])
    return bytes(text in have for text in tokens)


class Settling:
    """One batch of changes in one transaction."""

    def __init__(self, tx: Transaction, policy: Policy, now: float, sites: Sites) -> None:
        self.tx, self.policy, self.now, self.sites = tx, policy, now, sites
        self.arrivals = Arrivals()
        self.out: dict[int, int] = {}  # leases that ended, by group
        self.turns: dict[int, float] = {}
        self.unused: dict[int, tuple[int, float]] = {}  # lease → its group, and for how long it was
        self.states = dict.fromkeys(State, 0)
        self.done: list[int] = []
        self.back: list[Spot] = []
        self.other: list[tuple[Any, ...]] = []
        self.fetched: list[tuple[int, Change]] = []
        self.asleep: dict[int, tuple[str, float]] = {}
        self.skipped: deque[tuple[str, int]] = deque(maxlen=MOST_EXAMPLES)

    def run(self, changes: Sequence[Change], health: Sequence[HealthChange], clean: bool) -> bytes:
        """Raises Conflict where the decision was made on what is no longer so."""
        self._health(health)
        have = current(self.tx, [change.token for change in changes])
        flags = bytearray(len(changes))
        for i, change in enumerate(changes):
            row = have.pop(change.token, None)  # a token given twice settles once
            if row is None:
                continue
            if row[5] != change.again:
                raise Conflict
            self._apply(change, row)
            flags[i] = 1
        self._write(clean)
        for i, change in enumerate(changes):
            if change.targets and flags[i]:
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
        entry, group_id, state = row[0], row[3], change.state
        self.out[group_id] = self.out.get(group_id, 0) + 1
        self.states[state] += 1
        if change.next_turn < 0:
            self.unused[entry] = group_id, -change.next_turn
        elif change.next_turn:
            self.turns[group_id] = max(self.turns.get(group_id, 0.0), change.next_turn + self.tx.waited)
        if change.counted is not None:
            self.tx.tally("skipped", change.counted)
            self.skipped.append((change.counted, entry))
        if change.pages or change.size:
            self.fetched.append((entry, change))
        if state is State.DONE:
            self.done.append(entry)
            return
        if state is State.PENDING:
            if change.reason is not None:
                self.asleep[group_id] = change.reason, change.next_turn + self.tx.waited
            place = (group_id, int(change.klass), row[4], row[6], row[7], change.attempt, change.excused, change.failed_at)
            self.back.append(Spot(entry, State.PENDING, *place))
            return
        settled = self.now if state is State.DEAD else None
        values = (int(state), change.due, int(change.klass), change.attempt, change.excused, change.failed_at, change.reason)
        self.other.append((*values, settled, entry))

    def _write(self, clean: bool) -> None:
        tx = self.tx
        groups = load(tx, self.out)
        for group_id, group in groups.items():
            h = group.health
            if clean and (group.delay is not None or h.failures or h.blocks):
                raise Conflict
            group.leased -= self.out[group_id]
            group.next_turn = max(group.next_turn, self.turns.get(group_id, 0.0))
        for entry, deadline in tx.rows("SELECT id, deadline FROM held WHERE id IN", list(self.unused)):
            group_id, seconds = self.unused[entry]
            group = groups[group_id]
            if group.next_turn <= deadline - seconds + group.delay_under(self.policy) + _ROUNDING:
                group.next_turn = 0.0  # it had come before
        tx.count("leased", -sum(self.states.values()))
        for state in (State.DONE, State.DELAYED, State.DEAD):
            tx.count(STATE_NAMES[state], self.states[state])
        if self.skipped:
            examples.keep(tx, _skipped(tx, self.skipped), self.now)
        if self.fetched:
            budgets.fetched(tx, self.fetched, self.now)
        budgets.sleep(tx, self.asleep, self.now)
        queue.let_go(tx, self.done)
        end(tx, self.done, self.policy.keep_urls)
        if self.back:
            queue.let_go(tx, [spot.id for spot in self.back])
            queue.put_pending(tx, self.back, self.arrivals)
        if self.other:
            tx.executemany(
                "UPDATE held SET state = ?, due = ?, class = ?, attempt = ?, excused = ?, failed_at = ?, reason = ?, settled = ?, "
                "again = NULL WHERE id = ?",
                self.other,
            )
        save(tx, groups.values(), self.policy, self.now, same_heads=True)
        self.arrivals.write(tx, self.policy, self.now)


def _skipped(tx: Transaction, skipped: Iterable[tuple[str, int]]) -> Iterator[Example]:
    """Before their texts may go."""
    select = "SELECT t.id, t.url, e.via, t.depth FROM text t LEFT JOIN extra e ON e.id = t.id WHERE t.id IN"
    texts = {row[0]: row[1:] for row in tx.rows(select, [entry for _, entry in skipped])}
    for reason, entry in skipped:
        url, via, depth = texts[entry]
        yield Example("skipped", reason, url[:LONGEST_EXAMPLE], via and via[:LONGEST_EXAMPLE], depth)


def end(tx: Transaction, entries: Sequence[int], keep_urls: bool) -> None:
    """Done, and out of the queue already: what came along is freed. Text and variant stay, or only the fingerprint does."""
    if keep_urls:
        tx.change("DELETE FROM extra WHERE variant IS NULL AND id IN", entries)
        tx.change("UPDATE extra SET via = NULL, meta = NULL WHERE id IN", entries)
        tx.finished += entries
    else:
        tx.change("DELETE FROM extra WHERE id IN", entries)
        keys = tx.rows("SELECT fp FROM text WHERE id IN", entries)
        seen.assign(tx, [(seen.DONE_WITHOUT_TEXT, key) for (key,) in keys])
        tx.change("DELETE FROM text WHERE id IN", entries)


def record_targets(tx: Transaction, targets: Sequence[tuple[bytes, OfferRow]], policy: Policy, now: float, sites: Sites) -> None:
    """Redirect targets are entries of their own, done: also when they were waiting; a target leased by a worker is left alone."""
    rows = dict(targets)
    found = seen.find(tx, list(rows))
    new = {fp: row for fp, row in rows.items() if fp not in found or found[fp] == seen.KNOWN}
    _record_new(tx, new, found, now, policy.keep_urls, sites)
    spots = queue.locate(tx, [found[fp] for fp in rows if found.get(fp, 0) > 0])
    waiting = [spot for spot in spots.values() if spot.state is not State.LEASED]
    touched, _ = queue.remove(tx, waiting)
    tx.count("done", len(waiting))
    end(tx, [spot.id for spot in waiting], policy.keep_urls)
    buried = [fp for fp in rows if found.get(fp) == seen.DEAD_WITHOUT_TEXT]
    seen.assign(tx, [(seen.DONE_WITHOUT_TEXT, fp) for fp in buried])
    tx.count("dead", -len(buried))
    tx.count("done", len(buried))
    refresh(tx, touched, policy, now)


def _record_new(tx: Transaction, new: dict[bytes, OfferRow], found: dict[bytes, int], now: float, keep_urls: bool, sites: Sites) -> None:
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
        queue.insert_text(tx, [(entry, fp, new[fp]) for fp, entry in marks])
        queue.keep_variants(tx, [(entry, new[fp]) for fp, entry in marks])
        tx.finished += [entry for _, entry in marks]
    seen.assign(tx, [(entry, fp) for fp, entry in marks if fp in found])
    unseen = {fp: entry for fp, entry in marks if fp not in found}
    seen.add(tx, list(unseen), list(unseen.values()))
    limits = Limits(tx, new)  # they are accepted, also beyond the limit: they were fetched
    for fp in new:
        limits.taken(fp)
    limits.write(None)
    tx.count("known", -sum(fp in found for fp in new))
    tx.count("accepted", len(new))
    tx.count("done", len(new))
