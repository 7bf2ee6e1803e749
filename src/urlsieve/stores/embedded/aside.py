"""Texts, blocks and bare fingerprints of one store in; another store beside it, with the same entries under another header, out.

Entries keep their numbers, so that the queue, and the tokens of leases, are taken over as they are (adopting.py). Until then each counts
as done. Entries that become one under the new header are `twins`: all stay until it is known what state each is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from urlsieve.model import Policy
from urlsieve.stores.embedded import disk, files, making, packed, seen
from urlsieve.stores.embedded.framing import Text
from urlsieve.stores.embedded.imported import Imported
from urlsieve.stores.embedded.ledger import Ledger, Transaction
from urlsieve.stores.embedded.merging import Merging
from urlsieve.stores.embedded.runs import LEVEL
from urlsieve.stores.embedded.sites import Sites
from urlsieve.stores.protocol import Kept, Keyed, Rekeying


class Row(NamedTuple):
    """A row of text of the old store, with its variant."""

    id: int
    fp: bytes
    url: str | bytes
    grp: int
    priority: int
    depth: int
    variant: bytes


class Aside:
    """The store that is being made."""

    def __init__(
        self, place: Path, plan: Rekeying, policy: Policy, group_of: Callable[[int], int], domain_of: Callable[[str], str]
    ) -> None:
        """group_of: the id of a group of the old store → its id here; domain_of: of a site's name."""
        self.place, self.plan, self._group_of = place, plan, group_of
        disk.make_new_folder(place)
        disk.make_new_folder(place / files.RUNS)
        making.write(place / files.LEDGER, plan.header, policy)
        shelf = making.shelf_of(plan.header, place)
        self.ledger = Ledger(str(place / files.LEDGER), where=str(place), lock=files.NoLock(), durable=False, patience=30.0)
        self.ledger.seen = seen.Seen(shelf, str(place))
        self._merging = Merging(self.ledger, shelf)
        self.imported = Imported(self.ledger, making.shelf_of(plan.header, place, LEVEL))
        self.sites = Sites(domain_of)
        self.twins: dict[bytes, set[int]] = {}
        self.refused: dict[int, str] = {}  # rows of text that are no URLs here: they go when the queue is there
        self.refused_packed: dict[str, int] = {}
        self.merged = 0

    def close(self) -> None:
        self._merging.close()
        if self.ledger.close():
            self.ledger.seen.close()
            self.imported.close()

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self.ledger.write() as tx:
            yield tx
        if tx.journaled:
            self._merging.after(tx.journaled)

    # -- in

    def rows(self, rows: Sequence[Row], waiting: Callable[[Sequence[int]], Iterable[int]]) -> None:
        """waiting(ids): those that are not done. One whose text does not account for its fingerprint is taken only if it waits."""
        keyed = self.plan.keyed([Kept(row.fp, row.url, row.variant) for row in rows])
        strange = {row.id for row, key in zip(rows, keyed, strict=True) if self.plan.exact and row.fp not in key.olds}
        left_out = strange - set(waiting(list(strange))) if strange else set()
        bare = [row.fp for row, key in zip(rows, keyed, strict=True) if row.id in strange or key.refused]
        taken = [(row, key) for row, key in zip(rows, keyed, strict=True) if row.id not in left_out]
        with self.writing() as tx:
            found = [(row.id, row.fp if key.refused else key.fingerprint, row) for row, key in taken]
            tx.executemany(
                "INSERT INTO text (id, fp, url, grp, priority, depth) VALUES (?, ?, ?, ?, ?, ?)",
                [(number, bytearray(fp), row.url, self._group_of(row.grp), row.priority, row.depth) for number, fp, row in found],
            )
            self.refused.update((row.id, key.refused) for row, key in taken if key.refused)
            self._mark(tx, [(fp, number) for number, fp, _ in found], [key for _, key in taken if not key.refused])
        self.bare(bare)

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
                self.refused_packed[key.refused] = self.refused_packed.get(key.refused, 0) + 1
                bare += [named[slot]] if slot in named else []
            elif slot in named or not self.plan.exact:
                kept[slot] = texts[slot]._replace(group_id=self._group_of(texts[slot].group_id))
                pairs.append((key.fingerprint, entry))
                keys.append(key)
        with self.writing() as tx:
            packed.put(tx, number, kept)
            self._mark(tx, pairs, keys)
        self.bare(bare)

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
                self.twins.setdefault(fp, {first}).add(entry)
        seen.add(tx, list(fresh), list(fresh.values()))
        tx.count("seen", len(pairs) - len(fresh))
        for name in ("accepted", "done"):
            tx.count(name, len(pairs))

    def bare(self, fingerprints: Sequence[bytes]) -> None:
        """Of the old header: asked as an imported level from now on."""
        if fingerprints:
            self.imported.add(self.plan.level, b"".join(fingerprints))

    # -- out again

    def fingerprints_of(self, entries: Sequence[int]) -> dict[int, bytes]:
        """Of those entries that are here."""
        with self.ledger.look() as tx:
            found: dict[int, bytes] = dict(tx.rows("SELECT id, fp FROM text WHERE id IN", [entry for entry in entries if entry > 0]))
            there = [entry for entry in entries if entry <= seen.PACKED and packed.is_live(tx.db, entry)]
            texts = packed.read(tx, there)
        keyed = self.plan.keyed([Kept(b"", text.url, text.variant) for text in texts.values()])
        return {**found, **{entry: key.fingerprint for entry, key in zip(texts, keyed, strict=True)}}

    def remove(self, entries: Sequence[int]) -> None:
        """They are forgotten in the old store."""
        here = self.fingerprints_of(entries)
        with self.writing() as tx:
            for entry, fp in here.items():
                self._unmark(tx, fp, entry, None)
            self._delete(tx, here)
            for name in ("accepted", "done"):
                tx.count(name, -len(here))

    def without_text(self, found: Sequence[tuple[bytes, int, int]]) -> None:
        """(old fingerprint, entry, what it is now): done or dead without text."""
        here = self.fingerprints_of([entry for _, entry, _ in found])
        self.bare([fp for fp, entry, _ in found if entry not in here])  # its text went before it was read
        with self.writing() as tx:
            for _, entry, now in found:
                if entry not in here:
                    continue
                if now in self.twins.get(here[entry], ()):  # the same is said of another already: one of two goes now
                    self.merged += 1
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
            if now is not None:
                rest.add(now)
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
        for number in ids:
            self.refused.pop(number, None)
