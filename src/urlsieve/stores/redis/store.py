"""The Redis store: the protocol's operations, each one script per shard, pipelined."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from urlsieve.errors import ConfigError, StoreUnavailable
from urlsieve.frontier.budget import Usage
from urlsieve.model import (
    Change,
    Counts,
    Entry,
    EntryInfo,
    GroupRow,
    Header,
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
from urlsieve.stores.protocol import Evidence, Leased, Offered, Ruled, Sweep, Swept, Witnessed
from urlsieve.stores.redis import address as addresses
from urlsieve.stores.redis import budgets, doctor, drop, imported, look, moving, pack, settle, verify, witness
from urlsieve.stores.redis import sweep as sweeping
from urlsieve.stores.redis.job import MOST_TRIES, Job
from urlsieve.stores.redis.lease import Rounds
from urlsieve.stores.redis.offer import offer
from urlsieve.stores.redis.wire import Argument, Call

MOST_BLOB = 512 * 1024
#: Waiters look at least this often (seconds): a worker killed between its step and the sign of it leaves no sign.
LONGEST_BLIND = 1.0


class RedisStore:
    """See `urlsieve.stores.protocol.Store` for what each operation promises. What one shard does in a call is one step; a batch over
    several shards is several."""

    def __init__(self, job: Job, header: Header, clock: Callable[[], float], home: int) -> None:
        self._job, self._clock = job, clock
        self.header = header
        self.address = job.where
        self._rounds = Rounds(job, home)

    @classmethod
    def bind(
        cls,
        text: str,
        *,
        header: Header,
        policy: Policy,
        domains: Callable[[str], Callable[[str], str]],
        create: bool = True,
        durability: str | None = None,
        clock: Callable[[], float] = time.time,
        callers_clock: bool = False,
        home: int = 0,
    ) -> RedisStore:
        """Opens the job; makes it with this header and policy if it is missing and `create`.

        domains: the text of a pinned suffix list in, the function from a host to its registrable domain out. clock: the caller's, whose
        times come and go; callers_clock: it is also the one to go by, else the server's is. home: any number; the shard to begin with.
        """
        job = Job(addresses.parse(text), callers_clock=callers_clock)
        try:
            doctor.refuse_unsafe(job, durability)
            bound = job.bind(header, policy, domains, create=create)
            return cls(job, bound, clock, home)
        except BaseException:
            job.wire.close()
            raise

    # -- policy and rules

    def policy(self, *, fresh: bool = True) -> Policy:
        if fresh:
            self._job.read()
        else:
            self._job.wire.check()
        return self._job.policy

    def set_policy(self, **change: Any) -> None:
        self._job.set_policy(change)

    def rules(self) -> Ruled:
        return self._job.rules()[0]

    def replace_rules(self, book: str, expected: int, now: float, sweep: Sweep | None = None) -> Swept | None:
        if sweep is not None:
            return sweeping.begin(self._job, sweep, book, expected, self._clock_from(now))
        if not self._job.replace_rules(book, expected, swept=True):
            return None
        self._job.read()
        self._job.tell()
        return Swept()

    def sweep_rules(self, sweep: Sweep, generation: int, now: float) -> Swept:
        return sweeping.finish(self._job, sweep, generation, self._clock_from(now))

    def _clock_from(self, now: float) -> Callable[[], float]:
        """The caller's clock while a long step goes on: each script compares it with the server's. One to go by stands still."""
        if self._job.clock == b"1":
            return lambda: now
        asked = time.monotonic()
        return lambda: now + time.monotonic() - asked

    def sweep_size(self, sweep: Sweep) -> Swept:
        return sweeping.size(self._job, sweep)

    def together(self, one: str, other: str) -> bool:
        return self._job.shards.of(one) == self._job.shards.of(other)

    # -- the flow

    def offer(self, offers: Offers, mode: Mode, generation: int, now: float) -> Offered:
        self._job.wire.check()
        return offer(self._job, offers, mode, generation, now)

    def reckon(self) -> None:
        budgets.reckon(self._job, self._now)

    def used(self, sites: Mapping[str, int], now: float, *, whole: bool = True) -> Usage:
        return budgets.used(self._job, sites, now, whole=whole)

    def contains(self, offers: Offers, generation: int | None = None) -> bytes:
        self._job.wire.check()
        return look.contains(self._job, offers, generation)

    def lease(
        self, limit: int, ttl: float, now: float, *, chance: bytes, groups: Sequence[str] | None = None, group_ids: Sequence[int] = ()
    ) -> Leased:
        if groups is None:
            given = self._rounds.lease(limit, ttl, now, chance[:8])
        else:
            given = self._rounds.by_name(limit, ttl, now, chance[:8], groups, group_ids)
        return given._replace(generation=self._job.rgen)

    def extend(self, tokens: Sequence[str], ttl: float, now: float) -> bytes:
        self._job.wire.check()
        return settle.extend(self._job, tokens, ttl, now)

    def load(self, tokens: Sequence[str], *, whole: bool = True) -> tuple[list[Row | None], dict[int, GroupRow]]:
        self._job.wire.check()
        return settle.load(self._job, tokens, whole, self._now)

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
        self._job.wire.check()
        return settle.settle(self._job, changes, health, now, clean=clean, generation=generation, witnessed=witnessed)

    def evidence(self, least: float = 0.0) -> Iterator[Evidence]:
        self._job.wire.check()
        return witness.read(self._job, least)

    def fold_evidence(self, seen: Evidence, text: bytes) -> bool:
        return witness.fold(self._job, seen, text)

    def forget(self, offers: Offers, now: float, generation: int | None = None) -> int:
        return drop.forget(self._job, offers, generation, now)

    def purge(self, site: str, site_id: int, now: float) -> int:
        return drop.purge(self._job, self._job.shards.of(site), pack.half_of(site_id), now)

    # -- sites and groups

    def sites(self) -> Iterator[SiteRow]:
        return look.sites(self._job)

    def site(self, name: str, site_id: int) -> SiteRow | None:
        return look.site(self._job, name, pack.half_of(site_id))

    def limit(self, name: str, site_id: int) -> int | None:
        return look.limit(self._job, name, pack.half_of(site_id))

    def groups(self) -> Iterator[GroupRow]:
        return look.groups(self._job, self._now)

    def group(self, name: str, group_id: int, *, counted: bool = False) -> GroupRow | None:
        return look.group(self._job, name, pack.half_of(group_id), counted, self._now)

    def update_site(self, name: str, site_id: int, **change: Any) -> None:
        limit = change.pop("limit")
        if change:
            raise ConfigError(f"a site has no setting {next(iter(change))!r}")
        domain = self._job.shards.domain_of(name) if self._job.shards.reckons else ""
        self._job.one(self._job.shards.of(name), "site", [pack.half_of(site_id), name, "" if limit is None else limit, domain], self._now)

    def update_group(self, name: str, group_id: int, now: float, **change: Any) -> None:
        arguments: list[Argument] = [pack.half_of(group_id), name]
        for field, value in change.items():
            if field not in ("delay", "concurrency", "paused", "blocked_until", "unblocked"):
                raise ConfigError(f"a group has no setting {field!r}")
            arguments += (field, "" if value is None else int(value) if isinstance(value, (bool, int)) else repr(value))
        self._job.one(self._job.shards.of(name), "group", arguments, now, sign=True)

    def blob(self, name: str, key: str, now: float) -> bytes | None:
        value: bytes | None = self._job.one(self._job.shards.of(name), "blob", [_blob(name, key), b""], now).values[0]
        return value

    def set_blob(self, name: str, key: str, value: bytes | None, now: float, ttl: float) -> None:
        if value is not None and len(value) > MOST_BLOB:
            raise ConfigError(f"the blob {key!r} of {name} has {len(value)} bytes; at most {MOST_BLOB} are kept")
        arguments: list[Argument] = [_blob(name, key), b"" if value is None else value, "" if value is None else repr(float(ttl))]
        self._job.one(self._job.shards.of(name), "blob", arguments, now)

    # -- imported levels

    def imported(self) -> list[Level]:
        return imported.levels(self._job)

    def add_imported(self, level: Level, digests: bytes) -> int:
        return imported.add(self._job, level, digests, self._raise_generation)

    def in_imported(self, name: str, digests: bytes) -> bytes:
        return imported.ask(self._job, name, digests)

    def imported_digests(self, name: str) -> Iterator[bytes]:
        return imported.digests(self._job, name)

    def forget_imported(self, name: str, digests: bytes) -> int:
        return imported.forget(self._job, name, digests)

    def drop_imported(self, name: str) -> bool:
        return imported.drop(self._job, name, self._raise_generation)

    def _raise_generation(self) -> None:
        """Every worker reads the rules again, and with them which levels there are."""
        for _ in range(MOST_TRIES):
            ruled = self.rules()
            if self.replace_rules(ruled.book, ruled.generation, self._now) is not None:
                return
            if not ruled.swept:  # somebody is at it: that comes first
                time.sleep(0.1)
        raise StoreUnavailable(f"the rules of {self.address} change too often: try again")

    # -- locks

    def lock(self, name: str, owner: str, ttl: float, now: float) -> tuple[int | None, str]:
        arguments: list[Argument] = ["lock", name, owner, repr(float(ttl)), repr(now), self._job.clock]
        ((token, holder),) = self._job.wire.ask([Call("job", self._job.key, arguments)])
        return None if token is None else int(token), holder.decode()

    def unlock(self, name: str, token: int) -> bool:
        return bool(self._job.wire.ask([Call("job", self._job.key, ("unlock", name, token))])[0])

    # -- looking

    def info(self, site: str, fingerprint: bytes) -> EntryInfo:
        return look.info(self._job, site, fingerprint, self._now)

    def entries(self, now: float, states: frozenset[State | None] | None = None) -> Iterator[Entry]:
        return moving.entries(self._job, now, states)

    def admit(
        self,
        entries: Sequence[Entry],
        now: float,
        *,
        skipped: Mapping[str, int] = MappingProxyType({}),
        groups: Mapping[int, str] = MappingProxyType({}),
        generation: int | None = None,
    ) -> bytes:
        return moving.admit(self._job, entries, now, skipped, groups, generation)

    def ready(self, now: float, groups: Sequence[str] | None = None, group_ids: Sequence[int] = ()) -> tuple[bool, float | None]:
        return look.ready(self._job, now, groups, group_ids)

    def counts(self, now: float) -> Counts:
        return look.counts(self._job, now)

    def refused(self) -> list[Refused]:
        return look.refused(self._job)

    def verify(self, deep: bool = False) -> list[str]:
        return verify.verify(self._job, deep=deep)

    def doctor(self) -> list[tuple[str, str, str]]:
        return doctor.doctor(self._job)

    def backup(self, place: str) -> None:
        raise ConfigError(
            f"the store {self.address} is backed up by its server (BGSAVE, or a copy of its append-only file); "
            "export copies its URLs to a file"
        )

    def compact(self) -> tuple[int, int]:
        raise ConfigError(f"the store {self.address} has its seen set in the server's memory: there is nothing to merge")

    def changed(self) -> object:
        (sign,) = self._job.wire.ask([Call("", "", ("GET", self._job.signs))])
        return sign, int(time.monotonic() / LONGEST_BLIND)

    @property
    def _now(self) -> float:
        """For questions that bring no time of their own."""
        return self._clock()

    def close(self) -> None:
        self._job.wire.close()


def _blob(name: str, key: str) -> bytes:
    """No name ends where another's key begins."""
    return b"%d:%s:%s" % (len(name.encode()), name.encode(), key.encode())
