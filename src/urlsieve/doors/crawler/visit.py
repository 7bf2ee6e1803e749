"""One lease in, its outcome out: robots.txt, the request, redirects hop by hop, links. What a worker does with a URL.

Redirects. A hop on the same host is followed in the same lease (whose group nobody else serves meanwhile) unless its target
is already known; then, or on another host, the target goes to the queue with the source's depth and is fetched when its own
host's turn comes. Start pages (depth 0) differ in one point: they are asked for again in every round, so their target is,
too.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import urlsieve
from urlsieve import Lease, Outcome, URLItem
from urlsieve.aio import AsyncSieve
from urlsieve.doors.crawler import links
from urlsieve.doors.crawler.fetch import REDIRECTS, Fetcher, FetchFailed, NotForUs, Response
from urlsieve.doors.crawler.robots import Robots, Ruling

MOST_REDIRECTS = 10
#: A longer pause between two requests to one host is not slept through with a lease in hand: the group waits in the store.
LONGEST_PAUSE = 5.0


@dataclass(frozen=True, slots=True)
class Scope:
    """`max_depth`: None is no limit. `same_site`: links to other sites than the page's and `sites` are left out."""

    max_depth: int | None = None
    same_site: bool = False
    sites: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Visited:
    """`fetched`: the page itself was asked for. `links`: how many the page had; `left_out` how many of them, by reason."""

    outcome: Outcome
    fetched: bool = False
    links: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    size: int = 0


@dataclass(slots=True)
class Visitor:
    """`stopping` ends pauses early: the lease is then given back."""

    sieve: AsyncSieve
    fetcher: Fetcher
    robots: Robots
    scope: Scope
    delay: float
    stopping: asyncio.Event
    _exact: urlsieve.Canonicalizer = field(default_factory=lambda: urlsieve.Canonicalizer(profile="exact"))

    async def visit(self, lease: Lease) -> Visited:
        """Never raises for what a server does; errors of the store go through."""
        try:
            return await self._chain(lease)
        except NotForUs as no:
            return Visited(Outcome("skip", reason=no.reason), fetched=no.reason != "address")
        except FetchFailed as failure:
            return Visited(Outcome("fail", reason=str(failure)), fetched=True)

    async def _chain(self, lease: Lease) -> Visited:
        """From the lease's URL along its redirects to an answer that is none."""
        url = source = self._exact.canonicalize(_as_given(lease.url))
        hops: list[str] = []
        while True:
            ruling = await self.robots.rule(url, site=lease.site, group=lease.group)
            pause = max(self.delay, ruling.delay or 0.0)
            early = await self._not_now(ruling, pause, first=not hops)
            if early is not None:
                return await self._ended(early, hops)
            response = await self._request(url, lease, hops)
            target = self._target(response, url)
            if target is None:
                return self._answer(lease, url, hops, response)
            earlier = int(lease.meta.get("redirects", 0)) if isinstance(lease.meta, dict) else 0
            if target in (*hops, source) or earlier + len(hops) >= MOST_REDIRECTS:
                return await self._ended(Visited(Outcome("skip", reason="redirects"), fetched=True), hops)
            if not await self._goes_on_here(target, source, lease, hops, pause):
                return await self._handed_over(target, lease, hops, response, earlier + len(hops) + 1)
            hops.append(target)
            url = target
            if not await self._pause(pause):
                return Visited(Outcome("release"))

    async def _not_now(self, ruling: Ruling, pause: float, *, first: bool) -> Visited | None:
        """None: go on. Else the outcome: robots.txt forbids it, or cannot be known now, or the host wants a long pause first."""
        if ruling.until is not None:
            return Visited(Outcome("release", not_before=ruling.until, group_until=ruling.until))
        if not ruling.allowed:
            return Visited(Outcome("skip", reason="robots"))
        if not ruling.fetched or pause <= 0:
            return None
        if first and pause > LONGEST_PAUSE:
            return Visited(Outcome("release", group_until=time.time() + pause))
        return None if await self._pause(pause) else Visited(Outcome("release"))

    async def _request(self, url: str, lease: Lease, hops: list[str]) -> Response:
        """One request; a page that had validators last time is asked whether it changed."""
        headers = {}
        if lease.previous is not None and not hops:
            if lease.previous.etag:
                headers["If-None-Match"] = lease.previous.etag
            if lease.previous.last_modified:
                headers["If-Modified-Since"] = lease.previous.last_modified
        try:
            return await self.fetcher.get(url, headers=headers)
        except NotForUs:
            await self._record(hops)
            raise

    def _target(self, response: Response, url: str) -> str | None:
        """Where a redirect leads, in exact form; None: it is no redirect, or leads nowhere a crawler goes."""
        if response.location is None:
            return None
        # header bytes beyond ASCII are what a browser takes for UTF-8
        location = response.location.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        target: str | None = self._exact.canonicalize_many([location], base=url)[0]
        return target

    async def _goes_on_here(self, target: str, source: str, lease: Lease, hops: list[str], pause: float) -> bool:
        key, *chain = self.sieve.canonicalizer.canonicalize_many([target, source, *hops])
        if key in chain:
            return True  # another spelling of what we hold: as a link it would be "seen" and never fetched
        if _host(target) != _host(source) or pause > LONGEST_PAUSE:
            return False
        return lease.depth == 0 or not (await self.sieve.seen([target]))[0]

    async def _handed_over(self, target: str, lease: Lease, hops: list[str], response: Response, count: int) -> Visited:
        """The source is done; its target waits for its own turn, or was there before."""
        item = URLItem(target, priority=lease.priority, depth=lease.depth, via=lease.url, meta={"redirects": count})
        outside = self.scope.same_site and lease.depth > 0 and self._site(target) not in (lease.site, *self.scope.sites)
        if lease.depth == 0:
            await self.sieve.push([item], mode="again")
        outcome = Outcome(
            "done",
            status=response.status,
            final_url=hops[-1] if hops else None,
            redirects=tuple(hops[:-1]),
            links=() if outside or lease.depth == 0 else (item,),
            elapsed=response.elapsed,
        )
        return Visited(outcome, fetched=True, links=1, left_out={"site": 1} if outside else {})

    def _answer(self, lease: Lease, url: str, hops: list[str], response: Response) -> Visited:
        """The last response of the chain as an outcome."""
        status = response.status
        if status in REDIRECTS:
            return Visited(Outcome("skip", reason="redirects"), fetched=True)  # without a usable Location
        if status >= 400:
            reason = f"status {status}"
            outcome = Outcome("fail", reason=reason, status=status, retry_after=response.retry_after, elapsed=response.elapsed)
            return Visited(outcome, fetched=True)
        found = links.extract(response.body, url=url, charset=response.charset) if response.body else []
        kept, left_out = self._in_scope(found, lease, url)
        outcome = Outcome(
            "done",
            status=status,
            final_url=url if hops else None,
            redirects=tuple(hops[:-1]),
            links=tuple(kept),
            etag=response.etag,
            last_modified=response.last_modified,
            elapsed=response.elapsed,
        )
        return Visited(outcome, fetched=True, links=len(found), left_out=left_out, size=len(response.body))

    def _in_scope(self, found: list[str], lease: Lease, url: str) -> tuple[list[str], dict[str, int]]:
        scope = self.scope
        if scope.max_depth is not None and lease.depth >= scope.max_depth:
            return [], {"depth": len(found)} if found else {}
        if not scope.same_site or not found:
            return found, {}
        keys = self.sieve.canonicalizer.canonicalize_many(found)
        inside = {lease.site, self._site(url), *scope.sites}
        # what is rejected anyway has no site and is left to the store, which counts it
        kept = [link for i, link in enumerate(found) if keys[i] is None or keys.site(i) in inside]
        return kept, {"site": len(found) - len(kept)} if len(kept) < len(found) else {}

    async def _ended(self, visited: Visited, hops: list[str]) -> Visited:
        if visited.outcome.kind == "skip":
            await self._record(hops)
        return visited

    async def _record(self, hops: list[str]) -> None:
        """A skipped source has no place for its hops, which were asked for all the same: they are done, too."""
        if hops:
            await self.sieve.mark(hops)

    def _site(self, url: str) -> str | None:
        site: str | None = self.sieve.canonicalizer.canonicalize_many([url]).site(0)
        return site

    async def _pause(self, seconds: float) -> bool:
        """False: the worker is stopping."""
        if seconds <= 0:
            return not self.stopping.is_set()
        try:
            async with asyncio.timeout(seconds):
                await self.stopping.wait()
        except TimeoutError:
            return True
        return False


def _as_given(url: str) -> str | bytes:
    """Bytes that are no UTF-8 come out of the sieve as surrogates; they are to be asked for as they were."""
    return url if url.isascii() else url.encode("utf-8", "surrogateescape")


def _host(url: str) -> str:
    """host[:port], the port left out where it is the scheme's own: URLs that share it share a group."""
    parts = urlsplit(url)
    port = parts.port if parts.port != {"http": 80, "https": 443}.get(parts.scheme) else None
    return f"{parts.hostname}:{port}"
