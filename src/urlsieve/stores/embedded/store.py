"""The embedded store: the protocol's operations, each one transaction of the ledger."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from urlsieve.errors import ConfigError, StoreCorrupt, StoreMismatch, StoreUnavailable
from urlsieve.frontier.health import until
from urlsieve.model import (
    Change,
    Counts,
    Entry,
    EntryInfo,
    GroupRow,
    Header,
    Health,
    HealthChange,
    Mode,
    Offers,
    Policy,
    Row,
    SiteRow,
    State,
)
from urlsieve.stores.embedded import drop, files, groups, look, moving, offer, seen, settle
from urlsieve.stores.embedded.lease import Leasing, finish, next_at
from urlsieve.stores.embedded.ledger import PAGE_SIZE, Ledger, Transaction, scalar, snapshot, translate
from urlsieve.stores.embedded.sites import Sites
from urlsieve.stores.embedded.tidy import tidy
from urlsieve.stores.embedded.verify import verify
from urlsieve.stores.protocol import OUTDATED, Leased, Offered

SCHEMA = 1
APPLICATION_ID = 0x75726C73  # "urls"
MOST_BLOB = 512 * 1024


class EmbeddedStore:
    """See `urlsieve.stores.protocol.Store` for what each operation promises."""

    def __init__(self, ledger: Ledger, address: str, directory: Path | None) -> None:
        self._ledger = ledger
        self._directory = directory
        self.address = address
        self._sites = Sites()
        self._policy_text = ""
        self._policy = Policy()
        try:
            self.header = self._read_header()
        except BaseException:
            ledger.close()
            raise

    @classmethod
    def bind(
        cls, address: str, *, header: Header, policy: Policy, create: bool = True, durable: bool = True, patience: float = 30.0
    ) -> EmbeddedStore:
        """Opens the store; makes it with this header and policy if it is missing and `create`. Two at once make it once."""
        if address == "memory:":
            ledger = Ledger(":memory:", where="in memory", lock=files.NoLock(), durable=False, patience=patience)
            with ledger.read() as db:
                _fill(db, header, policy)
            return cls(ledger, address, None)
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
                        _make(directory, header, policy)
                finally:
                    lock.release()
            _check_file(directory / files.LEDGER)
            ledger = Ledger(str(directory / files.LEDGER), where=str(directory), lock=lock, durable=durable, patience=patience)
        except BaseException:
            lock.close()
            raise
        store = cls(ledger, address, directory)
        store._notice_restart()
        return store

    def _read_header(self) -> Header:
        with self._ledger.read() as db:
            text = scalar(db, "SELECT value FROM meta WHERE name = 'header'")
        try:
            known = json.loads(text)
            known["secret"] = int(known["secret"], 16)
            return Header(**known)
        except (TypeError, ValueError, KeyError) as error:
            raise StoreCorrupt(f"the header of the store {self.address} cannot be read ({error}): restore a backup") from error

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

    def rules(self) -> tuple[int, str]:
        with self._ledger.read() as db:
            generation = scalar(db, "SELECT n FROM counter WHERE name = 'rules_generation'")
            return generation or 0, scalar(db, "SELECT value FROM meta WHERE name = 'rules'")

    def replace_rules(self, text: str, expected: int) -> bool:
        with self._ledger.write() as tx:
            if tx.value("rules_generation") != expected:
                return False
            tx.execute("UPDATE meta SET value = ? WHERE name = 'rules'", (text,))
            tx.count("rules_generation")
            return True

    # -- the flow

    def offer(self, offers: Offers, mode: Mode, generation: int, now: float) -> Offered:
        with self._ledger.write() as tx:
            if generation < tx.value("rules_generation"):
                return Offered(b"", True)
            policy = self._policy_in(tx.db)
            return Offered(offer.offer(tx, offers, mode, policy=policy, now=now + tx.waited, sites=self._sites))

    def contains(self, offers: Offers) -> bytes:
        keys = seen.split(offers.fingerprints)
        with self._ledger.read() as db:
            found = seen.find(db, keys)
        return bytes(key in found for key in keys)

    def lease(
        self, limit: int, ttl: float, now: float, *, chance: bytes, groups: Sequence[str] | None = None, group_ids: Sequence[int] = ()
    ) -> Leased:
        with self._ledger.write(durable=False) as tx:
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
            return Leased(rows, later, reaped)

    def extend(self, tokens: Sequence[str], ttl: float, now: float) -> bytes:
        with self._ledger.write(durable=False) as tx:
            return settle.extend(tx, tokens, now + tx.waited + ttl)

    def load(self, tokens: Sequence[str], *, whole: bool = True) -> tuple[list[Row | None], dict[int, GroupRow]]:
        with self._ledger.read() as db, snapshot(db):
            return settle.load_rows(Transaction(db), tokens, whole)

    def settle(self, changes: Sequence[Change], health: Sequence[HealthChange], now: float, *, clean: bool = False) -> bytes:
        try:
            with self._ledger.write() as tx:
                return settle.Settling(tx, self._policy_in(tx.db), now + tx.waited, self._sites).run(changes, health, clean)
        except settle.Conflict:
            return bytes((OUTDATED,)) * len(changes)

    def forget(self, offers: Offers, now: float) -> int:
        with self._ledger.write() as tx:
            return drop.forget(tx, seen.split(offers.fingerprints), self._policy_in(tx.db), now)

    def purge(self, site: str, site_id: int, now: float) -> int:
        with self._ledger.write() as tx:
            return drop.purge(tx, site_id, self._policy_in(tx.db), now)

    # -- sites and groups

    def sites(self) -> Iterator[SiteRow]:
        return look.sites(self._ledger)

    def site(self, name: str, site_id: int) -> SiteRow | None:
        with self._ledger.read() as db, snapshot(db):
            return look.site(db, site_id)

    def limit(self, name: str, site_id: int) -> int | None:
        with self._ledger.read() as db:
            limit: int | None = scalar(db, "SELECT lim FROM site WHERE id = ?", (site_id,))
            return limit

    def groups(self) -> Iterator[GroupRow]:
        return look.groups(self._ledger)

    def group(self, name: str, group_id: int, *, counted: bool = False) -> GroupRow | None:
        with self._ledger.read() as db, snapshot(db):
            return look.group(db, group_id, counted=counted)

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
                accepted = scalar(tx.db, "SELECT count(*) FROM seen WHERE fp > ? AND fp < ? AND entry <> -1", (half, half + b"\xff" * 9))
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
        with self._ledger.read() as db, snapshot(db):
            return look.info(Transaction(db), fingerprint)

    def entries(self, now: float, states: frozenset[State | None] | None = None) -> Iterator[Entry]:
        return moving.entries(self._ledger, states)

    def admit(self, entries: Sequence[Entry], now: float, *, skipped: Mapping[str, int] = MappingProxyType({})) -> bytes:
        with self._ledger.write() as tx:
            return moving.admit(tx, entries, skipped, policy=self._policy_in(tx.db), now=now + tx.waited, sites=self._sites)

    def ready(self, now: float, groups: Sequence[str] | None = None, group_ids: Sequence[int] = ()) -> tuple[bool, float | None]:
        with self._ledger.read() as db, snapshot(db):
            return look.ready(Transaction(db), now, None if groups is None else group_ids)

    def counts(self, now: float) -> Counts:
        size = files.size_of(self._directory) if self._directory else self._memory_size()
        with self._ledger.read() as db, snapshot(db):
            return look.counts(db, size)

    def _memory_size(self) -> int:
        with self._ledger.read() as db:
            return int(scalar(db, "PRAGMA page_count")) * int(scalar(db, "PRAGMA page_size"))

    def verify(self, deep: bool = False) -> list[str]:
        with self._ledger.read() as db, snapshot(db):
            return verify(db, deep=deep)

    def doctor(self) -> list[tuple[str, str, str]]:
        """(ok | warn | error, what, advice) about the place and the engine."""
        findings = [("ok", f"SQLite {sqlite3.sqlite_version}, schema {SCHEMA}", "")]
        if self._directory is None:
            return [*findings, ("warn", "the store is in memory", "it ends with this process")]
        findings.append(("ok", f"file system {files.file_system_of(self._directory) or 'unknown'}", ""))
        space = os.statvfs(self._directory)
        free = space.f_bavail * space.f_frsize
        if free < 1 << 24:
            findings.append(("error", f"{free >> 20} MiB free", "make room: a full disk refuses new URLs and outcomes"))
        elif free < 1 << 30:
            findings.append(("warn", f"{free >> 20} MiB free", "make room: a full disk refuses new URLs"))
        else:
            findings.append(("ok", f"{free >> 30} GiB free", ""))
        wal = self._directory / f"{files.LEDGER}-wal"
        if wal.exists() and wal.stat().st_size > 1 << 28:
            findings.append(("warn", f"the write-ahead log has {wal.stat().st_size >> 20} MiB", "a long read keeps it from shrinking"))
        return findings

    def changed(self) -> object:
        return self._ledger.changed()

    def close(self) -> None:
        self._ledger.close()


def _fill(db: sqlite3.Connection, header: Header, policy: Policy) -> None:
    """An empty database becomes a ledger."""
    known = asdict(header)
    known["secret"] = f"{header.secret:032x}"
    schema = resources.files("urlsieve.stores.embedded").joinpath("schema.sql").read_text(encoding="utf-8")
    db.executescript(schema)
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO meta (name, value) VALUES (?, ?)",
        [
            ("header", json.dumps(known)),
            ("policy", json.dumps(asdict(policy))),
            ("rules", ""),
            ("boot", files.boot_id()),
        ],
    )
    db.execute("INSERT INTO counter (name, n) VALUES ('epoch', 1)")
    db.execute("COMMIT")


def _make(directory: Path, header: Header, policy: Policy) -> None:
    """Made aside and published whole, so that a kill leaves either no store or a complete one. The caller has the lock."""
    for old in directory.glob("new-*"):
        old.unlink()
    new = directory / f"new-{os.getpid()}.db"
    try:
        with closing(sqlite3.connect(new, isolation_level=None)) as db:
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {SCHEMA}")
            db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
            db.execute("PRAGMA synchronous = FULL")
            _fill(db, header, policy)
            db.execute("PRAGMA journal_mode = WAL")
        files.publish(new, directory)
    except sqlite3.Error as error:
        raise translate(error, str(directory)) from error
    except OSError as error:
        raise StoreUnavailable(f"cannot make the store {directory}: {error.strerror}") from error


def _check_file(ledger: Path) -> None:
    """Whose file it is and of which version, from its first 100 bytes, before SQLite may touch it."""
    try:
        with ledger.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise StoreUnavailable(f"cannot read {ledger}: {error.strerror}") from error
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0") or int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise StoreCorrupt(f"{ledger} is not a ledger (its first bytes are damaged): restore a backup, or remove the store to start anew")
    version = int.from_bytes(head[60:64], "big")
    if version > SCHEMA:
        raise StoreMismatch(f"{ledger} has schema {version}; this version of urlsieve knows {SCHEMA}: use a newer one", "schema")
    if version < SCHEMA:
        raise StoreMismatch(f"{ledger} has schema {version}, older than {SCHEMA}, and this version cannot upgrade it", "schema")
