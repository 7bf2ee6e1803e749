"""Handles of one site or one politeness group: its settings, and what workers share about it."""

from __future__ import annotations

from collections.abc import Callable

from urlsieve import checks
from urlsieve.errors import ConfigError
from urlsieve.model import GroupRow, SiteRow
from urlsieve.stores.protocol import Store


class GroupHandle:
    """Who shares one turn. Setting an attribute takes effect at the next pop of any worker."""

    def __init__(self, store: Store, name: str, group_id: int, clock: Callable[[], float]) -> None:
        self._store, self.name, self._group, self._id, self._clock = store, name, name, group_id, clock

    @property
    def row(self) -> GroupRow | None:
        """None: no URL of it was ever queued and nothing was set."""
        return self._store.group(self._group, self._id, counted=True)

    @property
    def delay(self) -> float | None:
        """Seconds between two turns; None: the policy's."""
        row = self._store.group(self._group, self._id)
        return None if row is None else row.delay

    @delay.setter
    def delay(self, seconds: float | None) -> None:
        self._update(delay=checks.optional("delay", seconds, least=0))

    @property
    def concurrency(self) -> int | None:
        """Most leases out at the same time; None: the policy's."""
        row = self._store.group(self._group, self._id)
        return None if row is None else row.concurrency

    @concurrency.setter
    def concurrency(self, most: int | None) -> None:
        self._update(concurrency=checks.optional("concurrency", most, least=1, whole=True))

    def block(self, until: float) -> None:
        """Nothing is given before `until` (epoch seconds). Never shortens a block: `unblock` ends one."""
        self._update(blocked_until=float(checks.number("until", until)))

    def unblock(self) -> None:
        """Ends a block, also one that the site's answers caused. A URL that was delayed keeps its own due time."""
        self._update(unblocked=True)

    def pause(self) -> None:
        self._update(paused=True)

    def resume(self) -> None:
        self._update(paused=False)

    def blob(self, key: str, value: bytes | None = None, *, ttl: float = 86400.0) -> bytes | None:
        """One shared copy, at most 512 KiB (robots.txt, a cookie): with `value` it is set for `ttl` seconds, without it is read."""
        key = checks.text("key", key) or ""
        if value is None:
            return self._store.blob(self.name, key, self._clock())
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise ConfigError(f"a blob is bytes, not {type(value).__name__}")
        self._store.set_blob(self.name, key, bytes(value), self._clock(), float(checks.number("ttl", ttl, above=0)))
        return value

    def _update(self, **change: object) -> None:
        self._store.update_group(self._group, self._id, self._clock(), **change)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class SiteHandle(GroupHandle):
    """A site by its name. Its delay, concurrency, block and pause are those of the group that its fetches go by."""

    def __init__(self, store: Store, group: str, group_id: int, clock: Callable[[], float], *, site: str, site_id: int) -> None:
        super().__init__(store, group, group_id, clock)
        self.name, self._site_id = site, site_id

    @property
    def counts(self) -> SiteRow | None:
        return self._store.site(self.name, self._site_id)

    @property
    def limit(self) -> int | None:
        """Most URLs accepted of this site; the others are rejected with "limit"."""
        return self._store.limit(self.name, self._site_id)

    @limit.setter
    def limit(self, most: int | None) -> None:
        self._store.update_site(self.name, self._site_id, limit=checks.optional("limit", most, least=0, whole=True))
