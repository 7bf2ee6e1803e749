"""One lease in, its outcome out: robots.txt, the request, redirects hop by hop, links. What a worker does with a URL.

Redirects. A hop on the same host is followed in the same lease (whose group nobody else serves meanwhile) unless its target
is already known; then, or on another host, the target goes to the queue with the source's depth and is fetched when its own
host's turn comes. A target out of scope is not gone to: the source is done, and nothing is recorded of the target, so that a
wider scope takes it later. Start pages (depth 0) differ in two points: they are asked for again in every round, so their target
is, too; and it is gone to wherever it lies, because who names a start page means the page that it leads to.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import urlsieve
from urlsieve import Lease, Outcome, URLItem
from urlsieve.aio import AsyncSieve
from urlsieve.doors.crawler import links, listing
from urlsieve.doors.crawler.fetch import REDIRECTS, Fetcher, FetchFailed, NotForUs, Response
from urlsieve.doors.crawler.pace import Pace
from urlsieve.doors.crawler.robots import Robots, Ruling
from urlsieve.doors.crawler.scope import Scope, refused
from urlsieve.doors.crawler.sitemap import MOST_BYTES
from urlsieve.doors.crawler.visited import Visited

MOST_REDIRECTS = 10
#: In memory at the same time: each may have 50 MB.
MOST_SITEMAPS = 4
#: A longer pause between two requests to one host is not slept through with a lease in hand: the group waits in the store.
LONGEST_PAUSE = 5.0


@dataclass(slots=True)
class Visitor:
    """`stopping` ends pauses early: the lease is then given back. `pace`: where a host may have several leases out."""

    sieve: AsyncSieve
    fetcher: Fetcher
    robots: Robots
    scope: Scope
    delay: float
    stopping: asyncio.Event
    pace: Pace | None = None
    _sitemaps: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_SITEMAPS))
    _exact: urlsieve.Canonicalizer = field(default_factory=lambda: urlsieve.Canonicalizer(profile="exact"))

    async def visit(self, lease: Lease) -> Visited:
        """Never raises for what a server does; errors of the store go through."""
        try:
            if listing.is_sitemap(lease):
                async with self._sitemaps:
                    visited = await self._chain(lease)
            else:
                visited = await self._chain(lease)
        except NotForUs as no:
            visited = Visited(Outcome("skip", reason=no.reason), fetched=no.reason != "address")
        except FetchFailed as failure:
            visited = Visited(Outcome("fail", reason=str(failure)), fetched=True)
        return replace(visited, fetched=False) if listing.is_sitemap(lease) else visited

    async def _chain(self, lease: Lease) -> Visited:
        """From the lease's URL along its redirects to an answer that is none."""
        url = source = self._exact_of(lease)
        hops: list[str] = []
        record = hops if not listing.is_sitemap(lease) else []  # a sitemap's hops are no pages of the crawl
        while True:
            ruling = await self.robots.rule(url, site=lease.site, group=lease.group)
            pause = max(self.delay, ruling.delay or 0.0)
            if listing.is_list_of_sitemaps(lease, url) and ruling.until is None:
                return listing.named(lease, url, self.robots.sitemaps(url), self.scope)
            early = await self._not_now(ruling, pause, lease, first=not hops)
            if early is not None:
                return await self._ended(early, record)
            response = await self._request(url, lease, record)
            target = self._target(response, url)
            if target is None:
                if listing.is_sitemap(lease) and (response.body or response.status in (404, 410)):
                    return await listing.listed(lease, url, response, self.scope)
                return self._answer(lease, url, record, response)
            earlier = _redirects(lease)
            if target in (*hops, source) or earlier + len(hops) >= MOST_REDIRECTS:
                return await self._ended(Visited(Outcome("skip", reason="redirects"), fetched=True), record)
            if not self._same(target, source, hops):
                why = self._leaves_out(target, lease)
                if why is not None:
                    return self._left_out(why, target, record, response)
                if not await self._goes_on_here(target, source, lease, pause):
                    return await self._handed_over(target, lease, record, response, earlier + len(hops) + 1)
            hops.append(target)
            url = target
            if not await self._pause(pause):
                return Visited(Outcome("release"))

    async def _not_now(self, ruling: Ruling, pause: float, lease: Lease, *, first: bool) -> Visited | None:
        """None: go on. Else the outcome: robots.txt forbids it, or cannot be known now, or the host wants a long pause first."""
        if ruling.until is not None:
            return Visited(Outcome("release", not_before=ruling.until, group_until=ruling.until))
        if not ruling.allowed:
            return Visited(Outcome("skip", reason="robots"))
        if ruling.fetched and first and pause > LONGEST_PAUSE:
            return Visited(Outcome("release", group_until=time.time() + pause))
        wait = pause if ruling.fetched else 0.0
        if self.pace is not None:  # other leases of this host ask it, too
            if ruling.fetched:
                self.pace.turn(lease.group, pause)
            wait = self.pace.turn(lease.group, pause)
        return None if wait <= 0 or await self._pause(wait) else Visited(Outcome("release"))

    async def _request(self, url: str, lease: Lease, hops: list[str]) -> Response:
        """One request; a page that had validators last time is asked whether it changed."""
        headers = {}
        if lease.previous is not None and not hops:
            if lease.previous.etag:
                headers["If-None-Match"] = lease.previous.etag
            if lease.previous.last_modified:
                headers["If-Modified-Since"] = lease.previous.last_modified
        try:
            if listing.is_sitemap(lease):
                return await self.fetcher.get(url, html=False, most=MOST_BYTES)
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

    def _same(self, target: str, source: str, hops: list[str]) -> bool:
        """Another spelling of what we hold: as a link it would be "seen" and never fetched."""
        key, *chain = self.sieve.canonicalizer.canonicalize_many([target, source, *hops])
        return key in chain

    async def _goes_on_here(self, target: str, source: str, lease: Lease, pause: float) -> bool:
        if _host(target) != _host(source) or pause > LONGEST_PAUSE or (self.pace is not None and pause > 0):
            return False
        return lease.depth == 0 or not (await self.sieve.seen([URLItem(target, variant=lease.variant)]))[0]

    def _leaves_out(self, target: str, lease: Lease) -> str | None:
        if lease.depth == 0:
            return None
        if listing.is_sitemap(lease):
            return None if self.scope.reads_sitemaps_of(target, lease) else "site"
        return self.scope.leaves_out(target, lease)

    def _left_out(self, why: str, target: str, hops: list[str], response: Response) -> Visited:
        """The source is done; its target is as unknown as before."""
        outcome = Outcome(
            "done",
            status=response.status,
            final_url=hops[-1] if hops else None,
            redirects=tuple(hops[:-1]),
            refused=refused({why: 1}, {why: [target]}),
            elapsed=response.elapsed,
            size=len(response.body),
        )
        return Visited(outcome, fetched=True, links=1, left_out={why: 1})

    async def _handed_over(self, target: str, lease: Lease, hops: list[str], response: Response, count: int) -> Visited:
        """The source is done; its target waits for its own turn, or was there before."""
        said = lease.meta if isinstance(lease.meta, dict) else {}
        item = URLItem(
            target,
            priority=lease.priority,
            depth=lease.depth,
            via=lease.url,
            meta=said | {"redirects": count},
            variant=lease.variant,
        )
        if lease.depth == 0:  # before its source is done, so that it is not lost
            await self.sieve.push([item], mode="new" if listing.is_sitemap(lease) else "again")
        outcome = Outcome(
            "done",
            status=response.status,
            final_url=hops[-1] if hops else None,
            redirects=tuple(hops[:-1]),
            links=() if lease.depth == 0 else (item,),
            elapsed=response.elapsed,
            size=len(response.body),
        )
        return Visited(outcome, fetched=True, links=1)

    def _answer(self, lease: Lease, url: str, hops: list[str], response: Response) -> Visited:
        """The last response of the chain as an outcome."""
        status = response.status
        if status in REDIRECTS:
            return Visited(Outcome("skip", reason="redirects"), fetched=True)  # without a usable Location
        if status >= 400:
            reason = f"status {status}"
            outcome = Outcome(
                "fail", reason=reason, status=status, retry_after=response.retry_after, elapsed=response.elapsed, size=len(response.body)
            )
            return Visited(outcome, fetched=True)
        page = links.extract(response.body, url=url, charset=response.charset) if response.body else links.Page()
        chosen = self.scope.sort(page.links, lease, url=url, depth=lease.depth, nofollow=page.nofollow)
        outcome = Outcome(
            "done",
            status=status,
            final_url=url if hops else None,
            redirects=tuple(hops[:-1]),
            links=tuple(chosen.kept),
            refused=refused(chosen.left_out, chosen.examples),
            etag=response.etag,
            last_modified=response.last_modified,
            elapsed=response.elapsed,
            size=len(response.body),
        )
        said, evidence = self._said(page, lease, url)
        return Visited(
            outcome,
            fetched=True,
            links=len(page.links),
            left_out=chosen.left_out,
            size=len(response.body),
            said=said,
            evidence=evidence,
        )

    def _said(self, page: links.Page, lease: Lease, url: str) -> tuple[dict[str, int], dict[str, Any]]:
        """What the page and its sitemap say about it: counted, and as a record."""
        lastmod = lease.meta.get("lastmod") if isinstance(lease.meta, dict) else None
        if page.canonical is None and not page.alternates and not lastmod:
            return {}, {}
        said = {"hreflang": 1} if page.alternates else {}
        if page.canonical is not None:
            itself = self._same(page.canonical, lease.url, [url])
            said["canonical" if itself else "canonical_elsewhere"] = 1
        record = {"url": lease.url, "final_url": url if self._exact_of(lease) != url else None, "canonical": page.canonical}
        return said, record | {"hreflang": page.alternates, "lastmod": lastmod}

    async def _ended(self, visited: Visited, hops: list[str]) -> Visited:
        if visited.outcome.kind == "skip":
            await self._record(hops)
        return visited

    async def _record(self, hops: list[str]) -> None:
        """A skipped source has no place for its hops, which were asked for all the same: they are done, too."""
        if hops:
            await self.sieve.mark(hops)

    def _exact_of(self, lease: Lease) -> str:
        """What is asked for."""
        return self._exact.canonicalize(_as_given(lease.url))

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


def _redirects(lease: Lease) -> int:
    """How many led here before this lease. meta may be anybody's: what is no number of ours is none."""
    found = lease.meta.get("redirects") if isinstance(lease.meta, dict) else None
    return found if isinstance(found, int) and 0 < found <= MOST_REDIRECTS else 0


def _as_given(url: str) -> str | bytes:
    """Bytes that are no UTF-8 come out of the sieve as surrogates; they are to be asked for as they were."""
    return url if url.isascii() else url.encode("utf-8", "surrogateescape")


def _host(url: str) -> str:
    """host[:port], the port left out where it is the scheme's own: URLs that share it share a group."""
    parts = urlsplit(url)
    port = parts.port if parts.port != {"http": 80, "https": 443}.get(parts.scheme) else None
    return f"{parts.hostname}:{port}"
