"""Offers in, verdicts out: mark and enqueue in the caller's transaction."""

from __future__ import annotations

from urlsieve.model import Klass, Mode, OfferRow, Offers, Policy, State, Verdict
from urlsieve.stores.embedded import seen
from urlsieve.stores.embedded.groups import Arrivals
from urlsieve.stores.embedded.ledger import Transaction

INSERT = (
    "INSERT INTO entry (id, seq, fp, grp, state, class, priority, added, due, depth, url, via, meta, variant, settled) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
#: Above the high-water mark priorities up to this are refused at once, larger ones at HEADROOM times the mark.
LOW_PRIORITY, HEADROOM = 0, 1.25

_SEEN, _NEW, _RAISED, _REQUEUED = (int(v) for v in (Verdict.SEEN, Verdict.NEW, Verdict.RAISED, Verdict.REQUEUED))


def offer(tx: Transaction, offers: Offers, mode: Mode, *, policy: Policy, now: float) -> bytes:
    return _Offering(tx, offers, mode, policy, now).run()


class _Offering:
    """One batch on its way: what is to be written collects here and is written at the end."""

    def __init__(self, tx: Transaction, offers: Offers, mode: Mode, policy: Policy, now: float) -> None:
        self.tx, self.mode, self.policy, self.now, self.keep_urls = tx, mode, policy, now, policy.keep_urls
        self.row = offers.row
        self.keys = seen.split(offers.fingerprints)
        self.rejected = offers.rejected
        self.verdicts = bytearray(len(self.keys))
        self.arrivals = Arrivals()
        self.entries: list[tuple[object, ...]] = []
        self.marks: list[tuple[bytes, int]] = []
        self.sites: dict[int, str] = {}
        self.room = _Room(tx, policy)
        self.limits = _Limits(tx)

    def run(self) -> bytes:
        tx, mode = self.tx, self.mode
        found = seen.find(tx.db, self.keys)
        fresh: set[bytes] = set()
        old: dict[bytes, int] = {}
        for i, key in enumerate(self.keys):
            if key in found:
                if mode in (Mode.RAISE, Mode.AGAIN):
                    old.setdefault(key, i)
            elif key not in fresh and self._take(i, key):
                fresh.add(key)
        if old:
            self._known(old, found)
        for reason, many in self.rejected.items():
            tx.count(f"rejected.{reason}", many)
        self._write()
        return bytes(self.verdicts)

    def _take(self, i: int, key: bytes) -> bool:
        row = self.row(i)
        site_id = int.from_bytes(key[:8], "little", signed=True)
        if self.mode is Mode.MARK_KNOWN:
            self.marks.append((key, seen.KNOWN))
            self.tx.count("known")
        else:
            refused = self._refused(row, site_id)
            if refused is not None:
                self.verdicts[i] = refused
                self.tx.count(f"rejected.{Verdict(refused).name.lower()}")
                return False
            self._enter(row, key, site_id)
        self.sites[site_id] = row.site
        self.verdicts[i] = _NEW
        return True

    def _refused(self, row: OfferRow, site_id: int) -> int | None:
        if not self.limits.allow(site_id):
            return int(Verdict.LIMIT)
        if self.mode is not Mode.MARK_DONE and not self.room.allow(row.priority):
            return int(Verdict.FULL)
        self.limits.taken(site_id)
        return None

    def _enter(self, row: OfferRow, key: bytes, site_id: int) -> None:
        tx = self.tx
        tx.count("accepted")
        if self.mode is Mode.MARK_DONE:
            tx.count("done")
            if not self.keep_urls:
                self.marks.append((key, seen.DONE_WITHOUT_TEXT))
                return
            state, due, settled = State.DONE, None, self.now
            self.arrivals.name(row.group_id, row.group)
        else:
            state, due = (State.DELAYED, row.due) if row.due is not None and row.due > self.now else (State.PENDING, None)
            settled = None
            self.room.taken()
            if state is State.PENDING:
                self.arrivals.add(row.group_id, Klass.NEW, row.priority, row.group)
                tx.count("pending")
                tx.count("pending.new")
            else:
                self.arrivals.name(row.group_id, row.group)
                tx.count("delayed")
        entry = tx.take("entry")
        self.entries.append(
            (
                entry,
                entry,
                key,
                row.group_id,
                int(state),
                int(Klass.NEW),
                row.priority,
                self.now,
                due,
                row.depth,
                row.url,
                row.via,
                row.meta,
                row.variant or None,
                settled,
            )
        )
        self.marks.append((key, entry))

    def _known(self, old: dict[bytes, int], found: dict[bytes, int]) -> None:
        """RAISE and AGAIN on what is seen already; the first of equals decides."""
        by_entry = {found[key]: key for key in old if found[key] > 0}
        rows = self.tx.rows("SELECT id, state, class, priority, due, grp FROM entry WHERE id IN", list(by_entry))
        states = {row[0]: row[1:] for row in rows}
        for key, i in old.items():
            entry = found[key]
            if entry > 0:
                self.verdicts[i] = self._lift_or_requeue(i, key, entry, *states[entry])
            elif self.mode is Mode.AGAIN:
                self.verdicts[i] = self._revive(i, key, entry)

    def _lift_or_requeue(
        self, i: int, key: bytes, entry: int, state: int, klass: int, priority: int, due: float | None, group_id: int
    ) -> int:
        row = self.row(i)
        if state in (State.PENDING, State.DELAYED):
            return self._lift(row, entry, state, klass, priority, due, group_id)
        if self.mode is not Mode.AGAIN:
            return _SEEN
        if state == State.LEASED:
            self.tx.execute("UPDATE entry SET again = 1 WHERE id = ?", (entry,))
            return _REQUEUED
        klass = int(Klass.RETRY if state == State.DEAD else Klass.REVISIT)
        self._requeue(row, entry, klass, group_id, "dead" if state == State.DEAD else "done")
        return _REQUEUED

    def _lift(self, row: OfferRow, entry: int, state: int, klass: int, priority: int, due: float | None, group_id: int) -> int:
        """Priority only upwards, due only earlier; with nothing due the URL is wanted now."""
        wanted = row.due if row.due is not None and row.due > self.now else None
        sooner = state == State.DELAYED and (wanted is None or (due is not None and wanted < due))
        if row.priority <= priority and not sooner:
            return _SEEN
        priority = max(priority, row.priority)
        if state == State.DELAYED and sooner and wanted is None:
            self.tx.execute("UPDATE entry SET state = 0, due = NULL, priority = ? WHERE id = ?", (priority, entry))
            self.tx.count("delayed", -1)
            self._queued(klass)
        elif state == State.DELAYED:
            self.tx.execute("UPDATE entry SET priority = ?, due = ? WHERE id = ?", (priority, wanted if sooner else due, entry))
            return _RAISED
        else:
            self.tx.execute("UPDATE entry SET priority = ? WHERE id = ?", (priority, entry))
        self.arrivals.add(group_id, klass, priority)
        return _RAISED

    def _queued(self, klass: int) -> None:
        self.tx.count("pending")
        self.tx.count(f"pending.{Klass(klass).name.lower()}")

    def _requeue(self, row: OfferRow, entry: int, klass: int, group_id: int, was: str) -> None:
        """A row that is there: its text stays as first found; attempts start anew."""
        later = row.due is not None and row.due > self.now
        self.tx.execute(
            "UPDATE entry SET state = ?, due = ?, class = ?, priority = ?, attempt = 0, excused = 0, again = 0, failed_at = NULL, "
            "reason = NULL, settled = NULL, depth = ?, via = ?, meta = ?, added = ?, seq = ? WHERE id = ?",
            (
                int(State.DELAYED if later else State.PENDING),
                row.due if later else None,
                klass,
                row.priority,
                row.depth,
                row.via,
                row.meta,
                self.now,
                self.tx.take("entry"),
                entry,
            ),
        )
        self.tx.count(was, -1)
        if later:
            self.tx.count("delayed")
        else:
            self._queued(klass)
            self.arrivals.add(group_id, klass, row.priority)

    def _revive(self, i: int, key: bytes, entry: int) -> int:
        """Seen, but without a row: the text is the offer's."""
        row = self.row(i)
        if entry == seen.KNOWN:
            self.tx.count("known", -1)
            self.tx.count("accepted")
            self.limits.taken(int.from_bytes(key[:8], "little", signed=True))
        else:
            self.tx.count("dead" if entry == seen.DEAD_WITHOUT_TEXT else "done", -1)
        klass = Klass.RETRY if entry == seen.DEAD_WITHOUT_TEXT else Klass.REVISIT
        later = row.due is not None and row.due > self.now
        number = self.tx.take("entry")
        values = (
            number,
            number,
            key,
            row.group_id,
            int(State.DELAYED if later else State.PENDING),
            int(klass),
            row.priority,
            self.now,
            row.due if later else None,
            row.depth,
            row.url,
            row.via,
            row.meta,
            row.variant or None,
            None,
        )
        self.entries.append(values)
        seen.assign(self.tx, [(number, key)])
        if later:
            self.tx.count("delayed")
            self.arrivals.name(row.group_id, row.group)
        else:
            self._queued(int(klass))
            self.arrivals.add(row.group_id, int(klass), row.priority, row.group)
        return _REQUEUED

    def _write(self) -> None:
        tx = self.tx
        if self.sites:
            add_sites(tx, self.sites)
        if self.marks:
            seen.add(tx, self.marks)
        if self.entries:
            tx.executemany(INSERT, self.entries)
        self.limits.write()
        self.arrivals.write(tx, self.policy, self.now)


def add_sites(tx: Transaction, sites: dict[int, str]) -> None:
    have = {row[0] for row in tx.rows("SELECT id FROM site WHERE id IN", list(sites))}
    new = [(site_id, name) for site_id, name in sites.items() if site_id not in have]
    tx.executemany("INSERT INTO site (id, name) VALUES (?, ?)", new)
    tx.count("sites", len(new))


class _Room:
    """The high-water mark: low priorities are refused first."""

    def __init__(self, tx: Transaction, policy: Policy) -> None:
        self._mark = policy.high_water
        self._waiting = 0 if self._mark is None else tx.value("pending") + tx.value("delayed")

    def allow(self, priority: int) -> bool:
        if self._mark is None:
            return True
        return self._waiting < (self._mark if priority <= LOW_PRIORITY else self._mark * HEADROOM)

    def taken(self) -> None:
        self._waiting += 1


class _Limits:
    """Sites that have a limit on accepted URLs; usually none, and then nothing is asked."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        rows = tx.execute("SELECT id, lim, accepted FROM site WHERE lim IS NOT NULL")
        self._left = {site_id: limit - accepted for site_id, limit, accepted in rows}
        self._taken: dict[int, int] = {}

    def allow(self, site_id: int) -> bool:
        return self._left.get(site_id, 1) > 0

    def taken(self, site_id: int) -> None:
        if site_id in self._left:
            self._left[site_id] -= 1
            self._taken[site_id] = self._taken.get(site_id, 0) + 1

    def write(self) -> None:
        if self._taken:
            self._tx.executemany(
                "UPDATE site SET accepted = accepted + ? WHERE id = ?", [(many, site_id) for site_id, many in self._taken.items()]
            )
