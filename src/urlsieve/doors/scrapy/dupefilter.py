"""A request in, whether it was seen before out, with Scrapy's own scheduler: for those who only want the memory.

Scrapy asks and needs the answer at once. So a store on this machine's disk fits; one behind a network holds up the event loop for a round
trip per request: use the Scheduler there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy.utils.request import fingerprint

import urlsieve
from urlsieve.doors.scrapy import options
from urlsieve.doors.scrapy.identity import variant_of
from urlsieve.doors.scrapy.telling import logger, shown
from urlsieve.errors import ConfigError, UrlsieveError, mask_userinfo
from urlsieve.model import URLItem

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler


class DupeFilter:
    """DUPEFILTER_CLASS = "urlsieve.doors.scrapy.DupeFilter". What was seen is marked as done in the store, and never queued there."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._elsewhere: set[bytes] = set()
        self._sieve: urlsieve.Sieve | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open(self) -> None:
        """Raises what `urlsieve.open` raises, and ConfigError for settings that are missing, unknown or senseless. One mark is one
        transaction, so it is not flushed to the disk unless URLSIEVE_DURABILITY says so."""
        chosen = options.read(self._crawler.settings)
        address = chosen.store
        if "://" in address:
            logger.warning("%s is behind a network: each request waits for its answer. The Scheduler does not wait", mask_userinfo(address))
        self._sieve = urlsieve.open(address, **{"durability": "normal", **chosen.opening})

    def request_seen(self, request: Request) -> bool:
        """Never raises: Scrapy would lose more than this request. While the store does not answer only this run's memory tells."""
        assert self._sieve is not None, "the duplicate filter is not open"
        try:
            (verdict,) = self._sieve.mark([URLItem(request.url, variant=variant_of(request))]).verdicts
        except ConfigError as error:
            logger.error("Request %s is dropped: %s", shown(request), error)
            self._inc("urlsieve/rejected/invalid_request")
            return True
        except UrlsieveError as error:
            logger.error("The store does not tell whether %s was seen: %s", shown(request), error)
            self._inc("urlsieve/store_errors")
            return self._seen_in_this_run(request)
        if not verdict.startswith("rejected"):
            return verdict == "seen"
        # not for this store (file:, data:, a trap …): what Scrapy makes of it is its own matter, twice it is not asked for
        self._inc(f"urlsieve/rejected/{verdict.partition(':')[2]}")
        return self._seen_in_this_run(request)

    def _seen_in_this_run(self, request: Request) -> bool:
        key = fingerprint(request)
        seen = key in self._elsewhere
        self._elsewhere.add(key)
        return seen

    def log(self, request: Request, spider: Spider) -> None:
        logger.debug("Filtered duplicate request: %s", shown(request), extra={"spider": spider})
        self._inc("dupefilter/filtered")

    def close(self, reason: str) -> None:
        if self._sieve is not None:
            self._sieve.close()

    def _inc(self, name: str) -> None:
        stats: Any = self._crawler.stats
        stats.inc_value(name)
