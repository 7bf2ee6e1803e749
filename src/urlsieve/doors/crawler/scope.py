"""A page's links in, those that the crawl follows out, and how many it leaves out for which reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import urlsieve
from urlsieve import Lease
from urlsieve.doors.crawler.patterns import Patterns

#: Links of a page that are left out for one reason and handed over as examples, at most.
MOST_EXAMPLES = 100
#: How a reason to leave a link out is called among the store's rejections; what is not here is counted in the report only.
REJECTED_AS = {"site": "scope", "scope": "scope", "depth": "depth"}


@dataclass(frozen=True, slots=True)
class Sorted:
    """`left_out` by reason: depth, nofollow, site, scope. `examples`: some of those, for people to look at."""

    kept: list[str]
    left_out: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)


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
            return Sorted([], {"depth": len(links)}, {"depth": list(links[-MOST_EXAMPLES:])}) if links else Sorted([])
        inside = {lease.site, self._site(url), *self.sites} if self.same_site else set()
        keys = self.canonicalizer.canonicalize_many(list(links))
        kept: list[str] = []
        left_out: dict[str, list[str]] = {}
        for i, link in enumerate(links):
            key = keys[i]
            if self.obey_nofollow and link in nofollow:
                left_out.setdefault("nofollow", []).append(link)
            elif key is None:
                kept.append(link)  # it is rejected anyway: the store does that and counts it
            elif self.same_site and keys.site(i) not in inside:
                left_out.setdefault("site", []).append(link)
            elif self.patterns is not None and not self.patterns.allow(key):
                left_out.setdefault("scope", []).append(link)
            else:
                kept.append(link)
        counts = {reason: len(those) for reason, those in left_out.items()}
        return Sorted(kept, counts, {reason: those[-MOST_EXAMPLES:] for reason, those in left_out.items()})

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


def refused(left_out: Mapping[str, int], examples: Mapping[str, Sequence[str]]) -> tuple[tuple[str, int, Sequence[str]], ...]:
    """What the store counts among its rejections, with some of the links."""
    return tuple((REJECTED_AS[reason], many, examples.get(reason, ())) for reason, many in left_out.items() if reason in REJECTED_AS)
