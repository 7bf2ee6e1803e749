"""The embedded store: the protocol's operations, each one transaction of the ledger."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from urlsieve.errors import ConfigError, StoreFull, StoreUnavailable
from urlsieve.frontier.budget import Usage
from urlsieve.frontier.health import until
from urlsieve.model import (
    Asked,
    Change,
    Counts,
    Entry,
    EntryInfo,
    GroupRow,
    Header,
    Health,
    HealthChange,
    Level,
    Mode,
    Offers,
    Policy,
    Refused,
    Row,
    SiteRow,
    State,
)
from urlsieve.stores.embedded import (
    budgets,
    copies,
    drop,
    examples,
    files,
    groups,
    halfway,
    look,
    moving,
    offer,
    rekeying,
    seen,
    settle,
    witness,
)
from urlsieve.stores.embedded import sweep as sweeping
from urlsieve.stores.embedded.imported import Imported, levels
from urlsieve.stores.embedded.lease import Leasing, finish, next_at
from urlsieve.stores.embedded.ledger import Ledger, Transaction, scalar
from urlsieve.stores.embedded.making import SCHEMA, check_file, check_whole, fill, make, read_header, shelf_of
from urlsieve.stores.embedded.merging import Merging
from urlsieve.stores.embedded.packing import Packing
from urlsieve.stores.embedded.runs import LEVEL
from urlsieve.stores.embedded.sites import Sites
from urlsieve.stores.embedded.tidy import tidy
from urlsieve.stores.embedded.verify import verify
from urlsieve.stores.protocol import OUTDATED, Evidence, Leased, Offered, Rekeyed, Rekeying, Ruled, StaleRules, Sweep, Swept, Witnessed

MOST_BLOB = 512 * 1024

#: The text of a pinned suffix list ("": the bundled one) → from a site to its registrable domain.
Domains = Callable[[str], Callable[[str], str]]


class EmbeddedStore:
    """See `urlsieve.stores.protocol.Store` for what each operation promises."""

    def __init__(self, ledger: Ledger, address: str, directory: Path | None, domains: Domains) -> None:
        self._ledger = ledger
        self._directory = directory
        self._domains = domains
        self.address = address
        self._sites = Sites(self._domain_of)
        self._policy_text = ""
        self._policy = Policy()
        try:
            with ledger.read() as db:
                check_whole(db, address)
                self.header = read_header(db, address)
            shelf = shelf_of(self.header, directory)
            ledger.seen = seen.Seen(shelf, address)
            self._merging = Merging(ledger, shelf)
            self._merging.clean()
            self._packing = Packing(ledger, shelf, self._merging)
            self._imported = Imported(ledger, shelf_of(self.header, directory, LEVEL))
            self._imported.clean()
        except BaseException:
            ledger.close()
            raise

    @classmethod
    def bind(
        cls,
        address: str,
        *,
        header: Header,
        policy: Policy,
        domains: Domains,
        create: bool = True,
        durable: bool = True,
        patience: float = 30.0,
    ) -> EmbeddedStore:
        """Opens the store; makes it with this header and policy if it is missing and `create`. Two at once make it once."""
        if address == "memory:":
            ledger = Ledger(":memory:", where="in memory", lock=files.NoLock(), durable=False, patience=patience)
            with ledger.read() as db:
                fill(db, header, policy)
            return cls(ledger, address, None, domains)
        directory = Path(address).absolute()  # the process may move
        try:
            there = files.locate(directory, create=create)
        except OSError as error:
            raise StoreUnavailable(f"cannot look at {directory}: {error.strerror}") from error
        files.refuse_network(directory)
        lock = files.FairLock(directory)
        try:
            if not there:
                lock.acquire(patience)
                try:
                    if not files.locate(directory, create=True):
                        make(directory, header, policy)
                finally:
                    lock.release()
            check_file(directory / files.LEDGER)
            ledger = Ledger(str(directory / files.LEDGER), where=str(directory), lock=lock, durable=durable, patience=patience)
        except BaseException:
            lock.close()
            raise
        store = cls(ledger, address, directory, domains)
        store._notice_restart()
        return store

    def _notice_restart(self) -> None:
        """After a restart of the machine unsynced leases may be gone, and their tokens must not come again: a new epoch."""
        boot = files.boot_id()
        with self._ledger.read() as db:
            if scalar(db, "SELECT value FROM meta WHERE name = 'boot'") == boot:
                return
        with self._ledger.write() as tx:
            if scalar(tx.db, "SELECT value FROM meta WHERE name = 'boot'") != boot:
                tx.execute("UPDATE meta SET value = ? WHERE name = 'boot'", (boot,))
                tx.count("epoch")

    # -- policy and rules

    def policy(self, *, fresh: bool = True) -> Policy:
        with self._ledger.read() as db:
            return self._policy_in(db)

    def _policy_in(self, db: sqlite3.Connection) -> Policy:
        text = scalar(db, "SELECT value FROM meta WHERE name = 'policy'")
        if text != self._policy_text:
            fields = json.loads(text)
            fields["shares"] = tuple(fields["shares"])
            self._policy, self._policy_text = Policy(**fields), text
        return self._policy

    def set_policy(self, **change: Any) -> None:
        with self._ledger.write() as tx:
            policy = replace(self._policy_in(tx.db), **change)
            tx.execute("UPDATE meta SET value = ? WHERE name = 'policy'", (json.dumps(asdict(policy)),))
            if "concurrency" in change:  # who is held out may be let in: looked at again at the next lease
                tx.execute("UPDATE grp SET place = 1 WHERE place = 3 AND paused = 0")

    def rules(self) -> Ruled:
        with self._ledger.look() as tx:
            book = scalar(tx.db, "SELECT value FROM meta WHERE name = 'rules'")
            return Ruled(tx.value("rules_generation"), book, sweeping.mark(tx.db) is None)

    def replace_rules(self, book: str, expected: int, now: float, sweep: Sweep | None = None) -> Swept | None:
        small = sweep is None or sweeping.is_small(self._ledger, sweep)
        with self._marking() as tx:
            if tx.value("rules_generation") != expected or sweeping.mark(tx.db) is not None:
                return None
            policy, then = self._policy_in(tx.db), now + tx.waited
            tx.execute("UPDATE meta SET value = ? WHERE name = 'rules'", (book,))
            tx.count("rules_generation")
            budgets.wake(tx, policy, then)
            if sweep is None:
                return Swept()
            if small:
                return sweeping.at_once(tx, sweep, policy, then, self._sites)
            sweeping.begin(tx, expected + 1)
        return self.sweep_rules(sweep, expected + 1, now)

    def sweep_rules(self, sweep: Sweep, generation: int, now: float) -> Swept:
        return sweeping.finish(self._ledger, self._marking, sweep, generation, self._policy_in, now, self._sites)

    def sweep_size(self, sweep: Sweep) -> Swept:
        with self._ledger.look() as tx:
            return sweeping.size(tx, sweep)

    def together(self, one: str, other: str) -> bool:
        return True

    # -- the flow

    @contextmanager
    def _marking(self, *, durable: bool = True) -> Iterator[Transaction]:
        """A transaction that may add to the journal or to what is done, which is looked after when it is over."""
        with self._ledger.write(durable=durable) as tx:
            yield tx
        if tx.journaled:
            self._merging.after(tx.journaled)
        if tx.finished or tx.freed:
            self._packing.after(len(tx.finished), tx.freed)

    def offer(self, offers: Offers, mode: Mode, generation: int, now: float) -> Offered:
        with self._marking() as tx:
            if generation < tx.value("rules_generation"):
                return Offered(b"", True)
            policy = self._policy_in(tx.db)
            return Offered(offer.offer(tx, offers, mode, policy=policy, now=now + tx.waited, sites=self._sites))

    def _domain_of(self, site: str) -> str:
        return self._domains(self.header.suffixes)(site)

    def reckon(self) -> None:
        with self._ledger.look() as tx:
            if tx.value("budgets"):
                return
        with self._ledger.write() as tx:
            budgets.begin(tx, self._sites.domain_of)

    def used(self, sites: Mapping[str, int], now: float, *, whole: bool = True) -> Usage:
        with self._ledger.look() as tx:
            return budgets.usage(tx, {number: name for name, number in sites.items()}, self._sites.domain_of, now)

    def contains(self, offers: Offers, generation: int | None = None) -> bytes:
        with self._ledger.look() as tx:
            if generation is not None and generation < tx.value("rules_generation"):
                raise StaleRules
            flags = bytearray(entry >= seen.LEAST for entry in seen.entries(tx, offers.fingerprints))
            for i in offers.elsewhere:
                flags[i] = True
            for i in offer.seen_earlier(tx, offers):
                flags[i] = True
            return bytes(flags)

    def lease(
        self, limit: int, ttl: float, now: float, *, chance: bytes, groups: Sequence[str] | None = None, group_ids: Sequence[int] = ()
    ) -> Leased:
        with self._marking(durable=False) as tx:
            now += tx.waited
            policy = self._policy_in(tx.db)
            reaped = tidy(tx, policy, now)
            leasing = Leasing(tx, policy, ttl=ttl, now=now, chance=chance, epoch=tx.value("epoch"))
            if groups is None:
                leasing.by_turn(limit)
            else:
                leasing.by_name(limit, group_ids)
            rows = finish(leasing)
            later = now if len(rows) == limit else next_at(tx, now, group_ids)
            return Leased(rows, later, reaped, tx.value("rules_generation"))

    def extend(self, tokens: Sequence[str], ttl: float, now: float) -> bytes:
        with self._ledger.write(durable=False) as tx:
            return settle.extend(tx, tokens, now + tx.waited + ttl)

    def load(self, tokens: Sequence[str], *, whole: bool = True) -> tuple[list[Row | None], dict[int, GroupRow]]:
        with self._ledger.look() as tx:
            return settle.load_rows(tx, tokens, whole)

    def settle(
        self,
        changes: Sequence[Change],
        health: Sequence[HealthChange],
        now: float,
        *,
        clean: bool = False,
        generation: int | None = None,
        witnessed: Sequence[Witnessed] = (),
    ) -> bytes:
        try:
            with self._marking() as tx:
                if generation is not None and generation < tx.value("rules_generation"):
                    raise settle.Conflict
                witness.add(tx, witnessed)
                return settle.Settling(tx, self._policy_in(tx.db), now + tx.waited, self._sites).run(changes, health, clean)
        except settle.Conflict:
            return bytes((OUTDATED,)) * len(changes)

    def evidence(self, least: float = 0.0) -> Iterator[Evidence]:
        with self._ledger.look() as tx:
            found = witness.read(tx, least)
        if found is not None:
            yield found

    def fold_evidence(self, seen: Evidence, text: bytes) -> bool:
        with self._ledger.write(durable=False) as tx:
            return witness.fold(tx, seen, text)

    def forget(self, offers: Offers, now: float, generation: int | None = None) -> int:
        with self._marking() as tx:
            if generation is not None and generation < tx.value("rules_generation"):
                raise StaleRules
            return drop.forget(tx, offers, self._policy_in(tx.db), now)

    def purge(self, site: str, site_id: int, now: float) -> int:
        with self._marking() as tx:
            return drop.purge(tx, site_id, self._policy_in(tx.db), now)

    # -- sites and groups

    def sites(self) -> Iterator[SiteRow]:
        return look.sites(self._ledger)

    def site(self, name: str, site_id: int) -> SiteRow | None:
        with self._ledger.look() as tx:
            return look.site(tx, site_id)

    def limit(self, name: str, site_id: int) -> int | None:
        with self._ledger.read() as db:
            limit: int | None = scalar(db, "SELECT lim FROM site WHERE id = ?", (site_id,))
            return limit

    def groups(self) -> Iterator[GroupRow]:
        return look.groups(self._ledger)

    def group(self, name: str, group_id: int, *, counted: bool = False) -> GroupRow | None:
        with self._ledger.look() as tx:
            return look.group(tx.db, group_id, counted=counted)

    def update_site(self, name: str, site_id: int, **change: Any) -> None:
        limit = change.pop("limit")
        if change:
            raise ConfigError(f"a site has no setting {next(iter(change))!r}")
        with self._ledger.write() as tx:
            half = site_id.to_bytes(8, "little", signed=True)
            self._sites.add(tx, {half: name})
            had = scalar(tx.db, "SELECT lim IS NOT NULL FROM site WHERE id = ?", (site_id,))
            tx.count("limits", (limit is not None) - had)
            accepted = None
            if limit is not None:
                accepted = seen.count_of_site(tx, site_id)
            tx.execute("UPDATE site SET lim = ?, accepted = ? WHERE id = ?", (limit, accepted, site_id))

    def update_group(self, name: str, group_id: int, now: float, **change: Any) -> None:
        with self._ledger.write() as tx:
            group = groups.load_one(tx.db, group_id)
            if group is None:
                groups.ensure(tx, {group_id: name})
                group = groups.Group(tx.execute(f"{groups.SELECT} = ?", (group_id,)).fetchone())
            for field, value in change.items():
                if field == "blocked_until":
                    group.health = replace(until(group.health, value), version=group.health.version + 1)
                elif field == "unblocked":
                    group.next_turn = 0.0
                    group.health = Health(version=group.health.version + 1, ok_at=group.health.ok_at)
                elif field in ("delay", "concurrency", "paused"):
                    setattr(group, field, value)
                else:
                    raise ConfigError(f"a group has no setting {field!r}")
            groups.save_settings(tx, group)
            groups.save(tx, [group], self._policy_in(tx.db), now)

    def blob(self, name: str, key: str, now: float) -> bytes | None:
        with self._ledger.read() as db:
            value: bytes | None = scalar(db, "SELECT value FROM blob WHERE name = ? AND key = ? AND expires > ?", (name, key, now))
            return value

    def set_blob(self, name: str, key: str, value: bytes | None, now: float, ttl: float) -> None:
        if value is not None and len(value) > MOST_BLOB:
            raise ConfigError(f"the blob {key!r} of {name} has {len(value)} bytes; at most {MOST_BLOB} are kept")
        with self._ledger.write() as tx:
            tx.execute("DELETE FROM blob WHERE name = ? AND key = ?", (name, key))
            tx.execute("DELETE FROM blob WHERE (name, key) IN (SELECT name, key FROM blob WHERE expires <= ? LIMIT 100)", (now,))
            if value is not None:
                tx.execute("INSERT INTO blob (name, key, expires, value) VALUES (?, ?, ?, ?)", (name, key, now + ttl, value))

    # -- imported levels

    def imported(self) -> list[Level]:
        with self._ledger.look() as tx:
            return levels(tx.db)

    def add_imported(self, level: Level, digests: bytes) -> int:
        return self._imported.add(level, digests)

    def in_imported(self, name: str, digests: bytes) -> bytes:
        return self._imported.ask(name, digests)

    def imported_digests(self, name: str) -> Iterator[bytes]:
        return self._imported.digests(name)

    def forget_imported(self, name: str, digests: bytes) -> int:
        return self._imported.forget(name, digests)

    def drop_imported(self, name: str) -> bool:
        return self._imported.drop(name)

    # -- locks

    def lock(self, name: str, owner: str, ttl: float, now: float) -> tuple[int | None, str]:
        with self._ledger.write() as tx:
            row = tx.execute("SELECT owner, token, expires FROM locks WHERE name = ?", (name,)).fetchone()
            if row is not None and row[2] > now and row[0] != owner:
                return None, row[0]
            renewed = row is not None and row[2] > now
            token = row[1] if renewed else tx.take("lock")
            tx.execute("INSERT OR REPLACE INTO locks (name, owner, token, expires) VALUES (?, ?, ?, ?)", (name, owner, token, now + ttl))
            return token, owner

    def unlock(self, name: str, token: int) -> bool:
        with self._ledger.write() as tx:
            return tx.execute("DELETE FROM locks WHERE name = ? AND token = ?", (name, token)).rowcount == 1

    # -- looking

    def info(self, site: str, fingerprint: bytes) -> EntryInfo:
        with self._ledger.look() as tx:
            return look.info(tx, fingerprint)

    def entries(self, now: float, states: frozenset[State | None] | None = None) -> Iterator[Entry]:
        return moving.entries(self._ledger, states)

    def admit(
        self,
        entries: Sequence[Entry],
        now: float,
        *,
        skipped: Mapping[str, int] = MappingProxyType({}),
        groups: Mapping[int, str] = MappingProxyType({}),
        generation: int | None = None,
    ) -> bytes:
        with self._marking() as tx:
            if generation is not None and generation < tx.value("rules_generation"):
                raise StaleRules
            policy = self._policy_in(tx.db)
            return moving.admit(tx, entries, skipped, groups, policy=policy, now=now + tx.waited, sites=self._sites)

    def ready(self, now: float, groups: Sequence[str] | None = None, group_ids: Sequence[int] = ()) -> tuple[bool, float | None]:
        with self._ledger.look() as tx:
            return look.ready(tx, now, None if groups is None else group_ids)

    def counts(self, now: float) -> Counts:
        size = files.size_of(self._directory) if self._directory else self._memory_size()
        with self._ledger.look() as tx:
            return replace(look.counts(tx.db, size), levels=self._asked())

    def _asked(self) -> dict[str, Asked]:
        ours = self._ledger.seen
        levels = {"table": ours.table, "runs": ours.below}
        levels.update((f"imported {name}", asking) for name, asking in self._imported.asking.items())
        return {name: asking.so_far() for name, asking in levels.items()}

    def _memory_size(self) -> int:
        with self._ledger.read() as db:
            return int(scalar(db, "PRAGMA page_count")) * int(scalar(db, "PRAGMA page_size"))

    def refused(self) -> list[Refused]:
        return examples.newest(self._ledger)

    def verify(self, deep: bool = False) -> list[str]:
        with self._ledger.look() as tx:
            return [*verify(tx, deep=deep), *self._imported.problems(tx.db, deep=deep)]

    def doctor(self) -> list[tuple[str, str, str]]:
        findings = [("ok", f"SQLite {sqlite3.sqlite_version}, schema {SCHEMA}", "")]
        with self._ledger.read() as db:
            runs, number = len(seen.manifest(db)), dict(db.execute("SELECT name, n FROM counter"))
        findings.append(("ok", f"{runs} runs of fingerprints, {number.get('journaled', 0)} in the journal", ""))
        findings.append(("ok", f"{number.get('packed', 0)} texts of done URLs compressed, {number.get('unpacked', 0)} not yet", ""))
        for trouble in filter(None, (self._merging.trouble, self._imported.trouble)):
            findings.append(("warn", trouble, "nothing is lost, but the store gets slower until it is mended"))
        if self._packing.trouble is not None:
            findings.append(("warn", self._packing.trouble, "nothing is lost, but the store gets larger until it is mended"))
        for level in self.imported():
            findings.append(("ok", f"imported level {level.name} ({level.kind}): {level.digests} digests", ""))
        if self._directory is None:
            return [*findings, ("warn", "the store is in memory", "it ends with this process")]
        return findings + files.findings(self._directory)

    def backup(self, place: str) -> None:
        if self._directory is None:
            raise ConfigError("a store in memory has no backup: export it")
        copies.backup(self._directory, Path(place).absolute())

    def pack(self) -> bool:
        """Texts of done URLs into compressed blocks, all of them and at once: what else happens in the background, when many are done.
        False: another opener is at it."""
        return self._packing.pack()

    def compact(self) -> tuple[int, int]:
        before = self._seen_bytes()
        try:
            alone = self._merging.compact()
        except OSError as error:
            if error.errno in files.FULL:
                raise StoreFull(f"no room to compact {self.address}: nothing was changed; make room and compact again") from error
            raise StoreUnavailable(f"cannot compact {self.address}: {error.strerror}") from error
        if not alone:
            raise StoreUnavailable(f"{self.address}: another process merges the seen set at this moment; try again when it is done")
        return before, self._seen_bytes()

    def _seen_bytes(self) -> int:
        with self._ledger.read() as db:
            return look.seen_bytes(db)

    def rekey(self, plan: Rekeying, progress: Callable[[int], object]) -> Rekeyed:
        """The store gets another header, in one step at the end. Not to be used afterwards: open it anew."""
        if self._directory is None:
            raise ConfigError("a store in memory cannot be rekeyed: export it, and import it into a store with the other settings")
        with self._ledger.read() as db:
            policy = self._policy_in(db)
        return rekeying.rekey(self._ledger, self._directory, self.header, self._imported, policy, self._domain_of, plan, progress)

    def half_rekeyed(self) -> Header | None:
        """The header that a rekey was interrupted with, if its secret was drawn: the next may go on with it."""
        return None if self._directory is None else halfway.drawn(self._directory / rekeying.PLACE)

    def changed(self) -> object:
        return self._ledger.changed()

    def close(self) -> None:
        try:
            if not self._ledger.closed:
                self._packing.close()
                self._merging.close()
        finally:
            if self._ledger.close():
                self._ledger.seen.close()
                self._imported.close()
