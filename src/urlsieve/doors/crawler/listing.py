"""A sitemap's lease and its answer in, its outcome out: the pages and further sitemaps that it lists.

Sitemaps wait in the store like pages, so that a killed crawl loses none, all workers share them, and their hosts are asked at
their pace. Their entries differ from a page of the same URL by their variant, which holds the day: every sitemap is read once a day.
A robots.txt is a list of sitemaps; where it names none there may be one at /sitemap.xml.

A sitemap's pages are one step from the start, however deep in indexes it lies. What it says besides (lastmod, hreflang) goes into
their meta as evidence; the rest (priority, changefreq) is nobody's word but the site's, and is passed over.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable

import urlsieve
from urlsieve import Lease, Outcome, URLItem
from urlsieve.doors.crawler import sitemap
from urlsieve.doors.crawler.fetch import Response
from urlsieve.doors.crawler.scope import Scope, refused
from urlsieve.doors.crawler.visited import Visited
from urlsieve.errors import mask_userinfo

_VARIANT = b"sitemap "
#: An index of indexes is not allowed by the protocol, and exists. Deeper is a trap.
MOST_DEPTH = 3
#: Of the sitemaps that one robots.txt names.
MOST_NAMED = 1_000
#: Before the pages, so that there is something to choose from.
PRIORITY = 1
ROBOTS = "/robots.txt"
#: What NotASitemap's reasons say to people.
REFUSED = {
    "type": "it is no sitemap",
    "size": f"it has more than {sitemap.MOST_BYTES:,} bytes",
    "entities": "it declares XML entities, which no sitemap needs",
}
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def sitemaps(urls: Iterable[str], now: float) -> list[URLItem]:
    """What to push to have these sitemaps read today."""
    variant = _VARIANT + time.strftime("%Y-%m-%d", time.gmtime(now)).encode()
    return [URLItem(url, priority=PRIORITY, variant=variant) for url in urls]


def is_sitemap(lease: Lease) -> bool:
    return lease.variant.startswith(_VARIANT)


def is_list_of_sitemaps(lease: Lease, url: str) -> bool:
    return is_sitemap(lease) and url.partition("?")[0].endswith(ROBOTS) and url.count("/") == 3


def named(lease: Lease, url: str, found: list[str], scope: Scope) -> Visited:
    """The lease of a robots.txt, which names `found`."""
    guess = url.removesuffix(ROBOTS) + "/sitemap.xml"
    kept, left_out = _in_scope(_absolute(found[:MOST_NAMED], url) or [guess], lease, scope)
    counts = {"left_out": left_out + max(0, len(found) - MOST_NAMED)}
    return Visited(Outcome("done", links=_children(kept, lease)), sitemap=_some(counts))


async def listed(lease: Lease, url: str, response: Response, scope: Scope) -> Visited:
    """The lease of a sitemap that was fetched from `url`."""
    if response.status in (404, 410):
        return Visited(Outcome("done", status=response.status, elapsed=response.elapsed, size=len(response.body)), sitemap={"missing": 1})
    try:
        # in a thread: 50 MB take seconds, and nothing else would move
        found = await asyncio.to_thread(sitemap.read, response.body)
    except sitemap.NotASitemap as no:
        note = f"{mask_userinfo(url)} is not read: {REFUSED[no.reason]}"
        return Visited(Outcome("skip", reason=f"sitemap {no.reason}"), sitemap={"refused": 1}, note=note)
    pages = {at: page for page, at in zip(found.pages, _absolute([page.url for page in found.pages], url), strict=True)}
    others = dict(zip(_absolute(list(found.alternates), url), found.alternates.values(), strict=True))
    chosen = scope.sort(list(pages | others), lease, url=url, depth=0)
    children, left_out = _in_scope(_absolute(found.children, url), lease, scope)
    items = [URLItem(at, depth=1, meta=_meta(pages.get(at), others.get(at))) for at in chosen.kept]
    outcome = Outcome(
        "done",
        status=response.status,
        links=(*_children(children, lease), *items),
        refused=refused(chosen.left_out, chosen.examples),
        elapsed=response.elapsed,
        size=len(response.body),
    )
    counts = {"read": 1, "urls": len(found.pages), "left_out": left_out, "cut": int(found.cut), "broken": int(found.fault is not None)}
    fault = found.fault or (f"it lists more than {sitemap.MOST_URLS:,} URLs" if found.cut else None)
    return Visited(
        outcome,
        links=len(pages | others),
        left_out=chosen.left_out,
        size=len(response.body),
        sitemap=_some(counts),
        note=fault and f"{mask_userinfo(url)} is read as far as it goes: {fault}",
    )


def _absolute(urls: list[str], base: str) -> list[str]:
    """As found; the relative ones, which the protocol does not know, as a browser would read them."""
    keys = urlsieve.canonicalize_many(urls, base=base, profile="exact")
    return [url if key is None or _ABSOLUTE.match(url) else key for url, key in zip(urls, keys, strict=True)]


def _in_scope(urls: list[str], lease: Lease, scope: Scope) -> tuple[list[str], int]:
    """The sitemaps that are read, and how many are not."""
    distinct = list(dict.fromkeys(urls))
    if lease.depth >= MOST_DEPTH:
        return [], len(distinct)
    kept = [url for url in distinct if scope.reads_sitemaps_of(url, lease)]
    return kept, len(distinct) - len(kept)


def _children(urls: list[str], lease: Lease) -> tuple[URLItem, ...]:
    return tuple(URLItem(url, priority=PRIORITY, depth=lease.depth + 1, variant=lease.variant) for url in urls)


def _meta(page: sitemap.Listed | None, hreflang: str | None) -> dict[str, str] | None:
    said = {"lastmod": page.lastmod if page is not None else None, "hreflang": hreflang}
    return {name: word for name, word in said.items() if word} or None


def _some(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
