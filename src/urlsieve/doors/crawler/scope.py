"""A page's links in, those that the crawl follows out, and how many it leaves out for which reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import urlsieve
from urlsieve import Lease
from urlsieve.doors.crawler.patterns import Patterns

#: How a reason to leave a link out is called among the store's rejections; what is not here is counted in the report only.
REJECTED_AS = {"site": "scope", "scope": "scope", "depth": "depth"}


@dataclass(frozen=True, slots=True)
class Sorted:
    """`left_out` by reason: depth, nofollow, site, scope."""

    kept: list[str]
    left_out: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which links are followed. The start pages themselves are always fetched, and so is what waits in the store already.

    `max_depth`: None is no limit. `same_site`: only to the page's own site and `sites`. `patterns`: None lets everything in.
    `obey_nofollow`: links marked so are left out.
    """

    canonicalizer: urlsieve.Canonicalizer
    max_depth: int | None = None
    same_site: bool = False
    sites: frozenset[str] = frozenset()
    patterns: Patterns | None = None
    obey_nofollow: bool = False

    def sort(self, links: Sequence[str], lease: Lease, *, url: str, depth: int, nofollow: frozenset[str] = frozenset()) -> Sorted:
        """`url`, `depth`: where the page was found in the end, and its steps from the start; `nofollow`: what the page marks so."""
        if self.max_depth is not None and depth >= self.max_depth:
            return Sorted([], {"depth": len(links)} if links else {})
        inside = {lease.site, self._site(url), *self.sites} if self.same_site else set()
        keys = self.canonicalizer.canonicalize_many(list(links))
        kept: list[str] = []
        left_out: Counter[str] = Counter()
        for i, link in enumerate(links):
            key = keys[i]
            if self.obey_nofollow and link in nofollow:
                left_out["nofollow"] += 1
            elif key is None:
                kept.append(link)  # it is rejected anyway: the store does that and counts it
            elif self.same_site and keys.site(i) not in inside:
                left_out["site"] += 1
            elif self.patterns is not None and not self.patterns.allow(key):
                left_out["scope"] += 1
            else:
                kept.append(link)
        return Sorted(kept, dict(left_out))

    def reads_sitemaps_of(self, url: str, lease: Lease) -> bool:
        """A sitemap that another one names is read where pages of its host may be in scope, and on the other's own host."""
        keys = self.canonicalizer.canonicalize_many([url])
        if keys[0] is None or keys.site(0) == lease.site:
            return keys[0] is not None
        if self.same_site and keys.site(0) not in self.sites:
            return False
        return self.patterns is None or self.patterns.allow_host(keys[0])

    def leaves_out(self, target: str, lease: Lease) -> str | None:
        """Why a redirect's target is not gone to; None: it is."""
        keys = self.canonicalizer.canonicalize_many([target])
        key = keys[0]
        if key is None:
            return None  # the store refuses it, and says why
        if self.same_site and keys.site(0) not in (lease.site, *self.sites):
            return "site"
        return "scope" if self.patterns is not None and not self.patterns.allow(key) else None

    def _site(self, url: str) -> str:
        return self.canonicalizer.canonicalize_many([url]).site(0)


def refused(left_out: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """What the store counts among its rejections."""
    counts: Counter[str] = Counter()
    for reason, many in left_out.items():
        if reason in REJECTED_AS:
            counts[REJECTED_AS[reason]] += many
    return tuple(counts.items())
