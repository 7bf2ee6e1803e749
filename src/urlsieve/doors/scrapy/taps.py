"""A running engine in; word of what becomes of each request out.

Scrapy has no signal for "this response has been wholly processed", nor for a failure that nobody handled, so three methods of its
downloader and scraper are watched: their calls and results pass through unchanged. This is the only place that knows them: `attach`
refuses a Scrapy that does not have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from scrapy import Request
from scrapy.http import Response

from urlsieve.errors import ConfigError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from urlsieve.doors.scrapy.hands import Work

#: Whose output is being processed: every task that Scrapy starts for a response inherits it.
CURRENT: ContextVar[Work | None] = ContextVar("urlsieve_work", default=None)


class Listener(Protocol):
    """Who is told."""

    def work_of(self, request: Request) -> Work | None: ...

    def replaced(self, work: Work, successor: Request) -> None:
        """The download ended in another request (a redirect, a retry), which the engine schedules in this same turn of the loop."""

    def processed(self, work: Work, result: Response | Failure) -> None:
        """Callback or errback are done, and so are all items that came of it."""


def attach(crawler: Crawler, listener: Listener) -> Callable[[], None]:
    """Starts watching; gives what wakes the engine. ConfigError if this Scrapy cannot be watched."""
    engine: Any = crawler.engine
    parts = {"downloader": ("fetch",), "scraper": ("enqueue_scrape", "call_spider_async")}
    for part, names in parts.items():
        _need(getattr(engine, part, None), f"engine.{part}", names)
    slot = getattr(engine, "_slot", None)
    _need(getattr(slot, "nextcall", None), "the engine's slot", ("schedule",))
    _watch_fetch(engine.downloader, listener)
    _watch_scrape(engine.scraper, listener)
    _watch_call(engine.scraper, listener)

    def wake() -> None:
        slot = engine._slot
        if slot is not None:
            slot.nextcall.schedule()

    return wake


def is_idle(crawler: Crawler) -> bool:
    """Whether the engine is working on no request."""
    engine: Any = crawler.engine
    slot = engine.scraper.slot
    return not engine.downloader.active and (slot is None or slot.is_idle())


def _need(part: object, name: str, methods: Iterable[str]) -> None:
    for method in methods:
        if not callable(getattr(part, method, None)):
            import scrapy

            raise ConfigError(f"Scrapy {scrapy.__version__} has no {method} at {name}: use Scrapy 2.13 or newer, or a newer urlsieve")


def _watch_fetch(downloader: Any, listener: Listener) -> None:
    fetch = downloader.fetch

    def watched(request: Request, *rest: Any, **options: Any) -> Deferred[Any]:
        deferred: Deferred[Any] = fetch(request, *rest, **options)

        def look(result: Any) -> Any:
            work = listener.work_of(request)
            if work is not None and not work.scraping and isinstance(result, Request):  # a callback may download its own request again
                listener.replaced(work, result)
            return result

        return deferred.addCallback(look)

    downloader.fetch = watched


def _watch_scrape(scraper: Any, listener: Listener) -> None:
    enqueue = scraper.enqueue_scrape

    def watched(result: Any, request: Request, *rest: Any, **options: Any) -> Deferred[Any]:
        work = listener.work_of(request)
        if work is not None:
            work.scraping = True
        before = CURRENT.set(work)
        try:
            deferred: Deferred[Any] = enqueue(result, request, *rest, **options)
        finally:
            CURRENT.reset(before)
        if work is None:
            return deferred

        def end(passed: Any) -> Any:
            listener.processed(work, result)
            return passed

        return deferred.addBoth(end)

    scraper.enqueue_scrape = watched


def _watch_call(scraper: Any, listener: Listener) -> None:
    call = scraper.call_spider_async

    async def watched(result: Any, request: Request, *rest: Any, **options: Any) -> Any:
        output = await call(result, request, *rest, **options)
        work = listener.work_of(request)
        if work is not None:
            work.handled = True
        return output

    scraper.call_spider_async = watched
