"""Offers in, verdicts out: mark and enqueue in the caller's transaction."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from urlsieve.frontier.admit import class_of_return, is_full, lift
from urlsieve.model import LONGEST_EXAMPLE, MOST_EXAMPLES, Example, Klass, Mode, OfferRow, Offers, Policy, State, Verdict
from urlsieve.stores.embedded import budgets, examples, packed, queue, seen
from urlsieve.stores.embedded.framing import Text
from urlsieve.stores.embedded.groups import Arrivals
from urlsieve.stores.embedded.ledger import Transaction, scalar
from urlsieve.stores.embedded.queue import Spot
from urlsieve.stores.embedded.sites import Limits, Sites, site_id

_SEEN, _NEW, _RAISED, _REQUEUED = (int(v) for v in (Verdict.SEEN, Verdict.NEW, Verdict.RAISED, Verdict.REQUEUED))


def offer(tx: Transaction, offers: Offers, mode: Mode, *, policy: Policy, now: float, sites: Sites) -> bytes:
    """One verdict per offer. The first of equals decides."""
    entries = seen.entries(tx, offers.fingerprints)
    keys = seen.split(offers.fingerprints)
    if offers.earlier or offers.elsewhere:
        keys, entries = _by_other_names(tx, offers, keys, entries, sites)
    verdicts = bytearray(len(keys))
    fresh: dict[bytes, int] = {}
    for i in [i for i, entry in enumerate(entries) if entry < seen.LEAST]:
        fresh.setdefault(keys[i], i)  # the first of equals stays
    arrivals = Arrivals()
    if fresh:
        _take(tx, offers, fresh, mode, verdicts, arrivals, policy=policy, now=now, sites=sites)
    if mode in (Mode.RAISE, Mode.AGAIN) and len(fresh) < len(keys):
        first: dict[bytes, int] = {}
        for i, (key, entry) in enumerate(zip(keys, entries, strict=True)):
            if entry >= seen.LEAST:
                first.setdefault(key, i)
        found = {key: entries[i] for key, i in first.items()}
        _Known(tx, mode, arrivals, now, policy, sites).handle(
            offers, list(first.items()), offers.rows(list(first.values())), found, verdicts
        )
    _answer_equals(tx, keys, verdicts)
    for reason, many in offers.rejected.items():
        tx.tally("rejected", reason, many)
    examples.keep(tx, offers.examples, now)
    arrivals.write(tx, policy, now)
    return bytes(verdicts)


def seen_earlier(tx: Transaction, offers: Offers) -> dict[int, tuple[bytes, int]]:
    """Position → the fingerprint it was seen under, and its entry: for those seen under an earlier one."""
    if not offers.earlier:
        return {}
    every = seen.find(tx, list({one.fingerprint: None for names in offers.earlier.values() for one in names}))
    found = {}
    for i, names in offers.earlier.items():
        hits = [(one.fingerprint, every[one.fingerprint]) for one in names if one.fingerprint in every]
        if hits:  # one that is an entry before one that is only known
            found[i] = next((hit for hit in hits if hit[1] != seen.KNOWN), hits[0])
    return found


def _by_other_names(
    tx: Transaction, offers: Offers, keys: list[bytes], entries: Sequence[int], sites: Sites
) -> tuple[list[bytes], list[int]]:
    """What was seen under an earlier fingerprint goes by that one here; its own is marked as known, as is what was seen elsewhere."""
    keys, entries = list(keys), list(entries)
    own = {keys[i]: hit for i, hit in seen_earlier(tx, offers).items() if entries[i] < seen.LEAST or entries[i] == seen.KNOWN}
    known = {keys[i] for i in offers.elsewhere if entries[i] < seen.LEAST}
    marks: dict[bytes, int] = {}
    for i, key in enumerate(keys):
        if key not in own and key not in known:
            continue
        if entries[i] < seen.LEAST:
            marks.setdefault(key, i)
            entries[i] = seen.KNOWN
        if key in own and own[key][1] != seen.KNOWN:
            keys[i], entries[i] = own[key]
    if marks:
        names = [row.site for row in offers.rows(list(marks.values()))]
        sites.add(tx, {key[:8]: name for key, name in zip(marks, names, strict=True)})
        seen.add(tx, list(marks), [seen.KNOWN] * len(marks))
        tx.count("known", len(marks))
    return keys, entries


_REFUSALS = {int(Verdict.FULL): "full", int(Verdict.LIMIT): "limit", int(Verdict.BUDGET): "budget"}


def _answer_equals(tx: Transaction, keys: list[bytes], verdicts: bytearray) -> None:
    """Equals of one that was refused are refused too, not seen."""
    if not any(verdicts.count(code) for code in _REFUSALS):
        return
    refused = {key: code for key, code in zip(keys, verdicts, strict=True) if code in _REFUSALS}
    for i, key in enumerate(keys):
        if verdicts[i] == _SEEN and key in refused:
            verdicts[i] = refused[key]
            tx.tally("rejected", _REFUSALS[refused[key]])


def _take(
    tx: Transaction,
    offers: Offers,
    fresh: dict[bytes, int],
    mode: Mode,
    verdicts: bytearray,
    arrivals: Arrivals,
    *,
    policy: Policy,
    now: float,
    sites: Sites,
) -> None:
    """What was not seen: marked, and queued unless the mode only marks."""
    if mode is not Mode.MARK_KNOWN:
        gate = _Gate(tx, mode, policy, fresh, offers)
        if not gate.is_open():
            fresh = _allowed(gate, offers, fresh, verdicts, now, sites)
    keys, at = list(fresh), list(fresh.values())
    for i in at:
        verdicts[i] = _NEW
    if mode is Mode.MARK_KNOWN:
        tx.count("known", len(keys))
    else:
        tx.count("accepted", len(keys))
        if mode is Mode.MARK_DONE:
            tx.count("done", len(keys))
    number = tx.take("entry", len(keys))
    ids = range(number, number + len(keys))
    if mode is Mode.NEW and offers.columns is not None:
        columns = offers.columns(at)
        sites.add(tx, dict(zip([key[:8] for key in keys], columns.site, strict=True)))
        queue.insert_columns(tx, ids, keys, columns, arrivals, now)
        seen.add(tx, keys, ids)
        return
    rows = offers.rows(at)
    sites.add(tx, {key[:8]: row.site for key, row in zip(keys, rows, strict=True)})
    if mode is Mode.MARK_KNOWN:
        seen.add(tx, keys, [seen.KNOWN] * len(keys))
    elif mode is Mode.MARK_DONE and not policy.keep_urls:
        seen.add(tx, keys, [seen.DONE_WITHOUT_TEXT] * len(keys))
    else:
        queue.insert_text(tx, zip(ids, keys, rows, strict=True))
        seen.add(tx, keys, ids)
        if mode is Mode.MARK_DONE:
            queue.keep_variants(tx, zip(ids, rows, strict=True))
            tx.finished += ids
            for row in rows:
                arrivals.name(row.group_id, row.group)
        else:
            queue.enqueue(tx, list(zip(ids, rows, strict=True)), Klass.NEW, arrivals, now, at_end=False)


class _Gate:
    """Limits of sites and the high-water mark: what is accepted for the first time must pass. Usually open, and then nothing is asked."""

    def __init__(self, tx: Transaction, mode: Mode, policy: Policy, keys: Iterable[bytes], offers: Offers) -> None:
        self.tx, self.offers = tx, offers
        self.budgets: budgets.Gate | None = None
        self.limits = Limits(tx, keys)
        self.refused: deque[Example] = deque(maxlen=MOST_EXAMPLES)
        self.mark = None if mode is Mode.MARK_DONE else policy.high_water
        self.waiting = 0 if self.mark is None else tx.value("pending") + tx.value("delayed")

    def is_open(self) -> bool:
        return self.mark is None and not self.limits and self.offers.limits is None

    def look(self, names: Mapping[int, str], sites: Sites, now: float) -> None:
        """Before the first is judged. names: of their sites, by id."""
        if self.offers.limits is not None:
            self.budgets = budgets.Gate(self.tx, names, sites.domain_of, now)

    def refuses(self, key: bytes, row: OfferRow, at: int) -> int | None:
        """The verdict that refuses it; None lets it in, counted. at: its position."""
        verdict = self._verdict(key, row, at)
        if verdict is not None:
            reason = _REFUSALS[verdict]
            self.tx.tally("rejected", reason)
            self.refused.append(Example("rejected", reason, row.url[:LONGEST_EXAMPLE], row.via and row.via[:LONGEST_EXAMPLE], row.depth))
            return verdict
        self.waiting += 1
        self.limits.taken(key)
        if self.budgets is not None:
            self.budgets.taken(site_id(key))
        return None

    def _verdict(self, key: bytes, row: OfferRow, at: int) -> int | None:
        if not self.limits.allow(key):
            return int(Verdict.LIMIT)
        if self.budgets is not None and self.offers.limits is not None:
            word = self.budgets.refuses(site_id(key), self.offers.limits(at))
            if word is not None:
                return int(Verdict.LIMIT if word == "limit" else Verdict.BUDGET)
        return int(Verdict.FULL) if is_full(row.priority, self.waiting, self.mark) else None

    def write(self, now: float) -> None:
        self.limits.write(now if self.offers.limits is not None else None)
        examples.keep(self.tx, self.refused, now)


def _allowed(gate: _Gate, offers: Offers, fresh: dict[bytes, int], verdicts: bytearray, now: float, sites: Sites) -> dict[bytes, int]:
    kept = {}
    rows = offers.rows(list(fresh.values()))
    gate.look({site_id(key): row.site for key, row in zip(fresh, rows, strict=True)}, sites, now)
    for (key, i), row in zip(fresh.items(), rows, strict=True):
        refused = gate.refuses(key, row, i)
        if refused is None:
            kept[key] = i
        else:
            verdicts[i] = refused
    gate.write(now)
    return kept


class _Known:
    """RAISE and AGAIN on what is seen already."""

    def __init__(self, tx: Transaction, mode: Mode, arrivals: Arrivals, now: float, policy: Policy, sites: Sites) -> None:
        self.tx, self.mode, self.arrivals, self.now = tx, mode, arrivals, now
        self.policy, self.sites = policy, sites

    def handle(
        self, offers: Offers, old: list[tuple[bytes, int]], rows: list[OfferRow], found: dict[bytes, int], verdicts: bytearray
    ) -> None:
        spots = queue.locate(self.tx, [found[key] for key, _ in old if found[key] > 0])
        self.gate = _Gate(self.tx, self.mode, self.policy, (key for key, _ in old), offers)
        self.gate.look({site_id(key): row.site for (key, _), row in zip(old, rows, strict=True)}, self.sites, self.now)
        if self.mode is Mode.AGAIN:
            self.texts = packed.read(self.tx, found.values())
            packed.free(self.tx, self.texts)
        for (key, i), row in zip(old, rows, strict=True):
            entry = found[key]
            spot = spots.get(entry)
            if spot is not None:
                verdicts[i] = self._undone(row, spot)
            elif self.mode is Mode.AGAIN:
                verdicts[i] = self._revive(row, key, entry, i)
        self.gate.write(self.now)

    def _undone(self, row: OfferRow, spot: Spot) -> int:
        if spot.state in (State.PENDING, State.DELAYED):
            return self._lift(row, spot)
        if self.mode is not Mode.AGAIN:
            return _SEEN
        if spot.state is State.LEASED:
            wanted = row.due if row.due is not None and row.due > self.now else 0.0
            sql = "UPDATE held SET again = min(coalesce(again, ?1), ?1), priority = max(priority, ?2) WHERE id = ?3"
            self.tx.execute(sql, (wanted, row.priority, spot.id))
        else:  # dead: its text stays as first found, its attempts start anew
            queue.let_go(self.tx, [spot.id])
            self.tx.count("dead", -1)
            self._enqueue(spot.id, row, class_of_return(State.DEAD))
        return _REQUEUED

    def _lift(self, row: OfferRow, spot: Spot) -> int:
        new = lift(spot.state, spot.priority, spot.due, new_priority=row.priority, new_due=row.due, now=self.now)
        if new is None:
            return _SEEN
        if spot.state is State.PENDING:
            queue.take_pending(self.tx, [spot])
            queue.put_pending(self.tx, [spot._replace(priority=new.priority)], self.arrivals)
            self.arrivals.discount(spot.klass)
        elif new.due is not None:
            self.tx.execute("UPDATE held SET priority = ?, due = ? WHERE id = ?", (new.priority, new.due, spot.id))
        else:
            queue.let_go(self.tx, [spot.id])
            self.tx.count("delayed", -1)
            arrived = spot._replace(priority=new.priority, seq=self.tx.take("entry"), since=self.now)
            queue.put_pending(self.tx, [arrived], self.arrivals)
        return _RAISED

    def _enqueue(self, entry: int, row: OfferRow, klass: Klass) -> None:
        """In the group of its text: that is where the fetch goes."""
        grp, name = self.tx.execute("SELECT t.grp, g.name FROM text t JOIN grp g ON g.id = t.grp WHERE t.id = ?", (entry,)).fetchone()
        row = row._replace(group_id=grp, group=name)
        queue.enqueue(self.tx, [(entry, row)], klass, self.arrivals, self.now, at_end=True)

    def _as_first_found(self, row: OfferRow, text: Text) -> OfferRow:
        name = scalar(self.tx.db, "SELECT name FROM grp WHERE id = ?", (text.group_id,))
        return row._replace(url=text.url, group_id=text.group_id, group=name, variant=text.variant)

    def _revive(self, row: OfferRow, key: bytes, entry: int, at: int) -> int:
        """Seen, but not in the queue: done, known, or dead long ago. Where its text is kept it stays as first found."""
        klass = class_of_return(State.DONE)
        if entry == seen.KNOWN:
            refused = self.gate.refuses(key, row, at)
            if refused is not None:
                return refused
            self.tx.count("known", -1)
            self.tx.count("accepted")
        elif entry == seen.DEAD_WITHOUT_TEXT:
            klass = class_of_return(State.DEAD)
            self.tx.count("dead", -1)
        else:
            self.tx.count("done", -1)
        if entry > 0:
            self._enqueue(entry, row, klass)
        else:
            if entry in self.texts:
                row = self._as_first_found(row, self.texts[entry])
            number = self.tx.take("entry")
            queue.insert_text(self.tx, [(number, key, row)])
            queue.enqueue(self.tx, [(number, row)], klass, self.arrivals, self.now, at_end=True)
            seen.assign(self.tx, [(number, key)])
        return _REQUEUED
