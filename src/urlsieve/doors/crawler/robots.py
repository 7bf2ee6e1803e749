"""A URL in, what its host's robots.txt says about it out. One copy per host, in the store, for all workers.

2xx: as written. 4xx: everything is allowed. 429 and 5xx: nothing for a while, longer each time; after `PATIENCE` times it is
taken as a no until the copy expires. No answer at all raises FetchFailed: the page would fare no better, and the store's
rules for failures apply. A Crawl-delay (or Request-rate) raises the group's delay, fractions kept; it never lowers it below
the crawl's own.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from protego import Protego

from urlsieve.aio import AsyncSieve
from urlsieve.doors.crawler.fetch import Fetcher, Response

TTL = 86400.0
#: What is kept of a robots.txt: the size every crawler must read at least (RFC 9309), and below a blob's limit.
MOST = 500_000
HOPS = 5
#: First wait after a server error, doubling, and how many waits before the error counts as a no.
FIRST_WAIT = 60.0
PATIENCE = 5
LONGEST_DELAY = 86400.0
CACHED = 1000


@dataclass(frozen=True, slots=True)
class Ruling:
    """`until`: ask again then, nothing is known now. `delay`: what the host asks for. `fetched`: a request was just made."""

    allowed: bool
    until: float | None = None
    delay: float | None = None
    fetched: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """A robots.txt as the store keeps it: an HTTP status, its text, when it expires, how often in a row the server failed."""

    status: int
    text: str
    expires: float
    failures: int = 0

    def dump(self) -> bytes:
        head = json.dumps([self.status, self.expires, self.failures])
        return head.encode() + b"\n" + self.text.encode()

    @classmethod
    def load(cls, blob: bytes) -> Copy:
        head, _, text = blob.partition(b"\n")
        status, expires, failures = json.loads(head)
        return cls(status, text.decode(), expires, failures)


@dataclass(slots=True)
class Robots:
    """`delay` is the crawl's own. `told(group, seconds)` is called when a host asks for more than that."""

    sieve: AsyncSieve
    fetcher: Fetcher
    delay: float
    told: Callable[[str, float], None]
    _copies: OrderedDict[str, tuple[Copy, Protego | None]] = field(default_factory=OrderedDict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def rule(self, url: str, *, site: str, group: str) -> Ruling:
        """`url` in its exact form. Raises FetchFailed or NotForUs("address") when its robots.txt cannot be had."""
        origin = _origin(url)
        async with self._locks.setdefault(origin, asyncio.Lock()):
            known = self._copies.get(origin)
            fetched = False
            if known is None or known[0].expires <= time.time():
                copy, fetched = await self._shared(origin, site)
                known = (copy, _parse(copy))
                self._remember(origin, known)
                await self._slow_down(known[1], group)
        copy, rules = known
        if rules is not None:
            return Ruling(rules.can_fetch(url, self.fetcher.user_agent), delay=self._asked(rules), fetched=fetched)
        if 400 <= copy.status < 500 and copy.status != 429:
            return Ruling(True, fetched=fetched)
        if copy.failures > PATIENCE:
            return Ruling(False, fetched=fetched)
        return Ruling(False, until=copy.expires, fetched=fetched)

    def sitemaps(self, url: str) -> list[str]:
        """What the robots.txt of this URL's host names, after `rule` was asked about it."""
        known = self._copies.get(_origin(url))
        return list(known[1].sitemaps) if known is not None and known[1] is not None else []

    async def _shared(self, origin: str, site: str) -> tuple[Copy, bool]:
        """The store's copy while it is fresh, else a new one, which becomes the store's."""
        blob = self.sieve.site(site)
        key = f"robots {origin}"
        stored = await blob.blob(key)
        old = Copy.load(stored) if stored is not None else None
        if old is not None and old.expires > time.time():
            return old, False
        copy = _judge(await self._fetch(origin), old)
        # kept beyond its expiry: the next worker must know how often the server failed in a row
        await blob.blob(key, copy.dump(), ttl=TTL * 2)
        return copy, True

    async def _fetch(self, origin: str) -> Response:
        url = f"{origin}/robots.txt"
        for _ in range(HOPS + 1):
            response = await self.fetcher.get(url, html=False, cut=MOST)
            if response.location is None:
                return response
            url = urljoin(url, response.location)
            if not url.startswith(("http://", "https://")):
                break
        return Response(404)  # too many redirects: there is none

    async def _slow_down(self, rules: Protego | None, group: str) -> None:
        """The group's delay is the longest of the crawl's, the host's wish, and what an operator set."""
        handle = self.sieve.group(group)
        current = await handle.get("delay")
        asked = self._asked(rules) if rules is not None else None
        if asked is not None and asked > self.delay:
            self.told(group, asked)
        wanted = max(self.delay, asked or 0.0, current or 0.0)
        if wanted > (self.delay if current is None else current):
            await handle.set(delay=wanted)

    def _asked(self, rules: Protego) -> float | None:
        seconds = rules.crawl_delay(self.fetcher.user_agent)
        rate = rules.request_rate(self.fetcher.user_agent)
        wishes = [seconds] if seconds is not None else []
        if rate is not None and rate.requests > 0:
            wishes.append(rate.seconds / rate.requests)
        wishes = [min(wish, LONGEST_DELAY) for wish in wishes if wish > 0 and not math.isnan(wish)]
        return max(wishes) if wishes else None

    def _remember(self, origin: str, known: tuple[Copy, Protego | None]) -> None:
        self._copies[origin] = known
        self._copies.move_to_end(origin)
        while len(self._copies) > CACHED:
            forgotten, _ = self._copies.popitem(last=False)
            if (lock := self._locks.get(forgotten)) is not None and not lock.locked():
                del self._locks[forgotten]


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _judge(response: Response, old: Copy | None) -> Copy:
    now = time.time()
    if response.status == 429 or response.status >= 500:
        failures = old.failures + 1 if old is not None else 1
        wait = max(FIRST_WAIT * 2 ** (failures - 1), response.retry_after or 0.0)
        return Copy(response.status, "", now + (TTL if failures > PATIENCE else min(wait, TTL)), failures)
    if 200 <= response.status < 300:
        text = response.body.decode("utf-8-sig", errors="replace")
        # replacement characters are longer than what they replace: what is kept must fit a blob
        return Copy(response.status, text.encode()[:MOST].decode(errors="ignore"), now + TTL)
    return Copy(404 if response.status < 400 else response.status, "", now + TTL)


def _parse(copy: Copy) -> Protego | None:
    return Protego.parse(copy.text) if 200 <= copy.status < 300 else None
