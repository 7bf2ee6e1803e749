"""Fingerprints that are offered go in; how many different ones there were, in all and each day, comes out, about right.

Every worker counts in memory and merges what it has into the store now and then, one after the other. What a worker met in the last seconds
before it was killed may be missing.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from urlsieve.errors import ConfigError, UrlsieveError
from urlsieve.stores.protocol import Store

if TYPE_CHECKING:
    from urlsieve.sketch import HyperLogLog

log = logging.getLogger("urlsieve")

#: Names that no site or group has: the sketches lie among the blobs.
PLACE, ALL = "\0unique", "all"
DAY = 86_400.0
#: How long a day's sketch is kept, and the one of all; how long a worker counts before it saves, in seconds.
DAY_KEPT, ALL_KEPT, PAUSE = 400 * DAY, 20 * 365 * DAY, 10.0
#: For how long somebody who saves may keep the others out, and how long these wait, in seconds.
LOCK, LOCK_KEPT, LONGEST_WAIT = "unique", 5.0, 6.0


class Unique:
    """One opener's count; its threads may share it."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._days: dict[str, HyperLogLog] = {}
        self._changed: set[str] = set()
        self._saved, self._pid = clock(), os.getpid()
        self._lock = threading.RLock()

    def add(self, fingerprints: bytes) -> None:
        """What was offered just now. When saving fails the log is told, and no more: what was offered is in the store."""
        if not fingerprints:
            return
        now = self._clock()
        today = day_of(now)
        with self._lock:
            if self._of(today).add(fingerprints):
                self._changed.add(today)
            if not 0 <= now - self._saved < PAUSE and self._changed:
                self.save()

    def _of(self, day: str) -> HyperLogLog:
        found = self._days.get(day)
        if found is None:
            from urlsieve.sketch import HyperLogLog

            found = self._days[day] = HyperLogLog()
        return found

    def save(self) -> None:
        """Merges what was met since into the store."""
        now, self._saved = self._clock(), self._clock()
        changed, self._changed = self._changed, set()
        try:
            with self._alone(now):
                for day in sorted(changed):
                    self._merge(day, self._days[day], now, DAY_KEPT)
                    self._merge(ALL, self._days[day], now, ALL_KEPT)
        except UrlsieveError as error:
            self._changed |= changed
            log.info("the count of different URLs was not saved: %s", error)
        for day in [day for day in self._days if day not in self._changed and day != day_of(now)]:
            del self._days[day]

    @contextmanager
    def _alone(self, now: float) -> Iterator[None]:
        """Two that read, merge and write at once would lose what one of them met. Who is kept waiting for too long goes on all the same."""
        owner, token, end = f"{os.getpid()}-{id(self):x}", None, time.monotonic() + LONGEST_WAIT
        while token is None and time.monotonic() < end:
            token = self._store.lock(LOCK, owner, LOCK_KEPT, now)[0]
            if token is None:
                time.sleep(random.uniform(0.005, 0.03))
        try:
            yield
        finally:
            if token is not None:
                self._store.unlock(LOCK, token)

    def close(self) -> None:
        """Saves, unless there is nothing, or the store is another process's since a fork."""
        if self._changed and os.getpid() == self._pid:
            with self._lock:
                self.save()
                self._changed.clear()

    def _merge(self, name: str, mine: HyperLogLog, now: float, kept: float) -> None:
        merged = self._stored(name, now) | mine
        self._store.set_blob(PLACE, name, merged.to_bytes(), now, kept)

    def _stored(self, name: str, now: float) -> HyperLogLog:
        from urlsieve.sketch import HyperLogLog

        data = self._store.blob(PLACE, name, now)
        return HyperLogLog() if data is None else HyperLogLog.from_bytes(data)

    def sketch(self, day: str | None = None) -> HyperLogLog:
        """Of one day (YYYY-MM-DD, UTC), or of all: the store's, and what this opener has not saved yet."""
        name = ALL if day is None else checked_day(day)
        found = self._stored(name, self._clock())
        with self._lock:
            for theirs, mine in self._days.items():
                if day is None or theirs == name:
                    found.merge(mine)
        return found


def day_of(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).date().isoformat()


def checked_day(day: object) -> str:
    try:
        if isinstance(day, str) and datetime.strptime(day, "%Y-%m-%d").date().isoformat() == day:
            return day
    except ValueError:
        pass
    raise ConfigError(f"a day is YYYY-MM-DD, not {day!r}")
