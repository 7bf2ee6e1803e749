"""Texts, blocks and bare fingerprints of one store in; another store beside it, with the same entries under another header, out.

Entries keep their numbers, so that the queue, and the tokens of leases, are taken over as they are (adopting.py). Until then each counts
as done. Entries that become one under the new header are `twins`: all stay until it is known what state each is in.

Every step is a transaction that also says how far it is (halfway.py). What goes into the imported level is a step of its own, and comes
first: it may be done twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from urlsieve._kernel._core import FingerprintMap
from urlsieve.model import Policy
from urlsieve.stores.embedded import disk, files, halfway, making, packed, seen
from urlsieve.stores.embedded.framing import Text
from urlsieve.stores.embedded.imported import Imported
from urlsieve.stores.embedded.ledger import Ledger, Transaction
from urlsieve.stores.embedded.merging import Merging
from urlsieve.stores.embedded.moments import Change, Moment, has_text, is_bare
from urlsieve.stores.embedded.runs import LEVEL, Folder
from urlsieve.stores.embedded.sites import Sites
from urlsieve.stores.protocol import Kept, Keyed, Rekeying

#: Entries after which a step is durable; what a power cut takes of later ones is done again.
DURABLE = 100_000


class Row(NamedTuple):
    """A row of text of the old store, with its variant."""

    id: int
    fp: bytes
    url: str | bytes
    grp: int
    priority: int
    depth: int
    variant: bytes


def make(place: Path, plan: Rekeying, policy: Policy) -> None:
    """An empty store in a new folder."""
    disk.make_new_folder(place)
    for folder in (place / files.RUNS, place / halfway.THEN, place / halfway.THEN / files.RUNS):
        disk.make_new_folder(folder)
        disk.sync(folder.parent)
    disk.sync(place.parent)
    making.write(place / files.LEDGER, plan.header, policy)


class Aside:
    """The store that is being made."""

    def __init__(self, place: Path, plan: Rekeying, then: Folder, group_of: Callable[[int], int], domain_of: Callable[[str], str]) -> None:
        """It is there, and begun. then: where the moment lies that it is made from. group_of: the id of a group of the old store → its
        id here; domain_of: of a site's name."""
        self.place, self.plan, self._group_of, self._then = place, plan, group_of, then
        shelf = making.shelf_of(plan.header, place)
        self.ledger = Ledger(str(place / files.LEDGER), where=str(place), lock=files.NoLock(), durable=False, patience=30.0)
        self.ledger.seen = seen.Seen(shelf, str(place))
        self._merging = Merging(self.ledger, shelf)
        self.imported = Imported(self.ledger, making.shelf_of(plan.header, place, LEVEL))
        self.sites = Sites(domain_of)
        self.since = FingerprintMap()
        try:
            self._merging.clean()
            self.imported.clean()
            with self.ledger.read() as db:
                self.at, self.moment = halfway.load(db), halfway.load_moment(db, then)
                for (records,) in db.execute("SELECT records FROM making_since ORDER BY id"):
                    self.since.set_many(records)
                self.twins: dict[bytes, set[int]] = {}
                for fp, entry in db.execute("SELECT fp, entry FROM making_twin"):
                    self.twins.setdefault(bytes(fp), set()).add(entry)
                #: Rows of text that are no URLs here: they go when the queue is there.
                self.refused: dict[int, str] = dict(db.execute("SELECT id, why FROM making_refused"))
        except BaseException:
            self.close()
            raise
        self._durable = self.at.done

    def close(self) -> None:
        self._merging.close()
        if self.ledger.close():
            self.ledger.seen.close()
            self.imported.close()

    @contextmanager
    def writing(self, since: bytes = b"") -> Iterator[Transaction]:
        """A step. since: records of what it has followed."""
        durable = self.at.done - self._durable >= DURABLE
        with self.ledger.write(synced=durable) as tx:
            yield tx
            if since:
                tx.execute("INSERT INTO making_since (records) VALUES (?)", (since,))
            if not self.at.closing:
                halfway.save(tx.db, self.at)
        self.since.set_many(since)
        if durable:
            self._durable = self.at.done
        if tx.journaled:
            self._merging.after(tx.journaled)

    def mark(self) -> None:
        """How far it is, where that is all."""
        with self.writing():
            pass

    def followed(self, moment: Moment) -> None:
        """All that is different at that moment has been; texts up to it are read next."""
        with self.writing() as tx:
            halfway.save_moment(tx.db, moment)
        self.moment = moment
        self.since.clear()
        halfway.forget_moments(self.place, moment)

    # -- in

    def rows(self, rows: Sequence[Row], waiting: Callable[[Sequence[int]], Iterable[int]]) -> None:
        """waiting(ids): those that are not done. One whose text does not account for its fingerprint is taken only if it waits."""
        keyed = self.plan.keyed([Kept(row.fp, row.url, row.variant) for row in rows])
        strange = {row.id for row, key in zip(rows, keyed, strict=True) if self.plan.exact and row.fp not in key.olds}
        left_out = strange - set(waiting(list(strange))) if strange else set()
        self.bare(b"".join(row.fp for row, key in zip(rows, keyed, strict=True) if row.id in strange or key.refused))
        taken = [(row, key) for row, key in zip(rows, keyed, strict=True) if row.id not in left_out]
        with self.writing() as tx:
            found = [(row.id, row.fp if key.refused else key.fingerprint, row) for row, key in taken]
            tx.executemany(
                "INSERT INTO text (id, fp, url, grp, priority, depth) VALUES (?, ?, ?, ?, ?, ?)",
                [(number, bytearray(fp), row.url, self._group_of(row.grp), row.priority, row.depth) for number, fp, row in found],
            )
            refused = {row.id: key.refused for row, key in taken if key.refused}
            tx.executemany("INSERT INTO making_refused (id, why) VALUES (?, ?)", refused.items())
            self.refused.update(refused)
            tx.executemany("INSERT OR IGNORE INTO making_left (id) VALUES (?)", [(number,) for number in left_out])
            tx.change("DELETE FROM making_left WHERE id IN", [row.id for row, _ in taken if row.id in strange])
            self._mark(tx, [(fp, number) for number, fp, _ in found], [key for _, key in taken if not key.refused])

    def block(self, number: int, texts: Mapping[int, Text], size: int, entries_of: Callable[[bytes], Sequence[int]]) -> None:
        """A block of packed texts by slot, of so many slots; under the same number, so that its entries keep theirs.
        entries_of(fingerprints): what the old store had of each when the work began."""
        keyed = dict(zip(texts, self.plan.keyed([Kept(b"", text.url, text.variant) for text in texts.values()]), strict=True))
        olds = [(slot, old) for slot, key in keyed.items() for old in key.olds]
        had = entries_of(b"".join(old for _, old in olds))
        named = {slot: old for (slot, old), entry in zip(olds, had, strict=True) if entry == packed.entry_of(number, slot)}
        pairs, keys, bare = [], [], []
        kept: list[Text | None] = [None] * size
        for slot, key in keyed.items():
            entry = packed.entry_of(number, slot)
            if key.refused:
                self.at.refused[key.refused] = self.at.refused.get(key.refused, 0) + 1
                bare += [named[slot]] if slot in named else []
            elif slot in named or not self.plan.exact:
                kept[slot] = texts[slot]._replace(group_id=self._group_of(texts[slot].group_id))
                pairs.append((key.fingerprint, entry))
                keys.append(key)
        self.bare(b"".join(bare))
        with self.writing() as tx:
            packed.put(tx, number, kept)
            self._mark(tx, pairs, keys)

    def _mark(self, tx: Transaction, pairs: Sequence[tuple[bytes, int]], keyed: Iterable[Keyed]) -> None:
        """Entries with their new fingerprints; the first of equals is the one that is marked."""
        self.sites.add(tx, {key.fingerprint[:8]: key.site for key in keyed})
        there = seen.find(tx, [fp for fp, _ in pairs])
        fresh: dict[bytes, int] = {}
        for fp, entry in pairs:
            first = there.get(fp, fresh.get(fp))
            if first is None:
                fresh[fp] = entry
            elif first != entry:
                self._add_twins(tx, fp, (first, entry))
        seen.add(tx, list(fresh), list(fresh.values()))
        tx.count("seen", len(pairs) - len(fresh))
        for name in ("accepted", "done"):
            tx.count(name, len(pairs))

    def _add_twins(self, tx: Transaction, fp: bytes, entries: Iterable[int]) -> None:
        self.twins.setdefault(fp, set()).update(entries)
        tx.executemany("INSERT OR IGNORE INTO making_twin (fp, entry) VALUES (?, ?)", [(fp, entry) for entry in entries])

    def bare(self, fingerprints: bytes) -> None:
        """Of the old header: asked as an imported level from now on."""
        if fingerprints:
            self.imported.add(self.plan.level, fingerprints)

    # -- out again

    def fingerprints_of(self, entries: Sequence[int]) -> dict[int, bytes]:
        """Of those entries that are here."""
        with self.ledger.look() as tx:
            found: dict[int, bytes] = dict(tx.rows("SELECT id, fp FROM text WHERE id IN", [entry for entry in entries if entry > 0]))
            there = [entry for entry in entries if entry <= seen.PACKED and packed.is_live(tx.db, entry)]
            texts = packed.read(tx, there)
        keyed = self.plan.keyed([Kept(b"", text.url, text.variant) for text in texts.values()])
        return {**found, **{entry: key.fingerprint for entry, key in zip(texts, keyed, strict=True)}}

    def follow(self, changes: Sequence[Change]) -> None:
        """What has changed of what may be here already. What has text now is not taken in: who reads texts meets it."""
        here = self.fingerprints_of([before for _, before, _ in changes if has_text(before)])
        self.bare(b"".join(fp for fp, before, now in changes if is_bare(now) and not is_bare(before) and before not in here))
        self.imported.forget(self.plan.level.name, b"".join(fp for fp, _, now in changes if not is_bare(now)))
        with self.writing(b"".join(seen.record(fp, now) for fp, _, now in changes)) as tx:
            for _, entry, now in changes:
                if entry not in here:
                    continue
                if not is_bare(now) or now in self.twins.get(here[entry], ()):  # the latter: the same is said of another, one of two goes
                    self.at.merged += is_bare(now)
                    self._unmark(tx, here[entry], entry, None)
                    for name in ("accepted", "done"):
                        tx.count(name, -1)
                    continue
                self._unmark(tx, here[entry], entry, now)
                if now == seen.DEAD_WITHOUT_TEXT:
                    tx.count("done", -1)
                    tx.count("dead")
            self._delete(tx, here)

    def _unmark(self, tx: Transaction, fp: bytes, entry: int, now: int | None) -> None:
        rest = self.twins.get(fp)
        if rest is not None:
            rest.discard(entry)
            tx.execute("DELETE FROM making_twin WHERE fp = ? AND entry = ?", (fp, entry))
            if now is not None:
                self._add_twins(tx, fp, (now,))
        if not rest and now is None:
            seen.remove(tx, [fp])
            return
        stays = next(iter(rest)) if rest else now
        assert stays is not None
        seen.assign(tx, [(stays, fp)])
        if now is None:
            tx.count("seen", -1)

    def _delete(self, tx: Transaction, entries: Iterable[int]) -> None:
        every = list(entries)
        ids = [entry for entry in every if entry > 0]
        for table in ("text", "extra"):
            tx.change(f"DELETE FROM {table} WHERE id IN", ids)
        packed.free(tx, every)
        for number in [number for number in ids if number in self.refused]:
            tx.execute("DELETE FROM making_refused WHERE id = ?", (number,))
            del self.refused[number]
