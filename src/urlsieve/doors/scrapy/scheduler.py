"""Scrapy's scheduler interface, answered at once; the store is asked by the desk's thread."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, Spider, signals
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.request import fingerprint
from twisted.internet.defer import Deferred, succeed

from urlsieve.checks import BIGGEST
from urlsieve.doors.scrapy import options, taps, wire
from urlsieve.doors.scrapy.desk import LONG_WAIT, Desk, Round
from urlsieve.doors.scrapy.hands import Hands, Root, Work
from urlsieve.doors.scrapy.identity import variant_of
from urlsieve.doors.scrapy.offering import Offer
from urlsieve.doors.scrapy.outcome import REDIRECTED, outcome_of
from urlsieve.doors.scrapy.recent import Recent
from urlsieve.doors.scrapy.telling import Telling, logger, shown
from urlsieve.doors.scrapy.waiting import Kept, Waiting
from urlsieve.errors import ConfigError, InvalidURL, UrlsieveError, mask_userinfo
from urlsieve.model import Lease, Outcome
from urlsieve.sieve import Sieve

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

#: Seconds that a store which does not answer may hold up the end of the spider.
GRACE = 10.0
#: Why the spider was closed, when the store was.
STORE_ERROR = "urlsieve_store_error"
#: Settings of DUPEFILTER_CLASS that promise nothing else than the store does.
USUAL_FILTERS = ("scrapy.dupefilters.RFPDupeFilter", "urlsieve.doors.scrapy.DupeFilter")


class Scheduler:
    """SCHEDULER = "urlsieve.doors.scrapy.Scheduler". One per crawler; every call comes from the crawler's event loop."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._hands, self._waiting, self._recent = Hands(), Waiting(), Recent(time.monotonic)
        self._successors: dict[Request, Work] = {}
        self._elsewhere: set[bytes] = set()  # fingerprints of what no store takes: unwritable, or of other schemes
        self._asides: dict[Offer, Root | None] = {}
        self._asked = 0
        self._idle_upto: int | None = None
        self._broken = self._closed = False
        self._desk: Desk
        self._open = False
        self._ended: Deferred[None] = Deferred()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    # -- Scrapy's side

    def open(self, spider: Spider) -> Deferred[None]:
        """Fires when the store is open; fails with what is wrong with it. ConfigError for settings that are missing, unknown or senseless:
        here and not in from_crawler, because of an error there Scrapy tells nothing."""
        self._spider, self._telling = spider, Telling(self._crawler.stats, spider)
        self._options = chosen = options.read(self._crawler.settings)
        if self._crawler.settings.get("DUPEFILTER_CLASS") not in USUAL_FILTERS:
            logger.warning("DUPEFILTER_CLASS is not used: the store tells which requests were seen")
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            raise ConfigError("urlsieve's scheduler needs Scrapy's asyncio reactor: leave TWISTED_REACTOR as it is by default") from None
        self._opened: Deferred[None] = Deferred()
        self._wake = taps.attach(self._crawler, self)
        self._crawler.signals.connect(self._spider_error, signal=signals.spider_error)
        self._desk = Desk(
            chosen.store,
            chosen.opening,
            lease=chosen.lease,
            idle_wait=chosen.idle_wait,
            patience=chosen.patience,
            opened=lambda found: self._post(self._on_open, found),
            tell=lambda done: self._post(self._on_round, done),
            ended=lambda error: self._post(self._on_end, error),
        )
        self._desk.start()
        self._open = True
        return self._opened

    def close(self, reason: str) -> Deferred[None]:
        """Fires when what was done is settled and what was not is given back."""
        self._closed = True
        alone = self._waiting.kept_alone()
        if alone:
            logger.warning("%d requests that could not be written to the store are dropped with the spider", alone)
            self._telling.count("urlsieve/dropped_at_close", alone)
        if not self._open:
            return succeed(None)
        self._desk.close(GRACE)
        return self._ended

    def has_pending_requests(self) -> bool:
        """Here, on the desk, or in the store and due soon."""
        if self._broken or not self._open:
            return False
        if self._hands.works and taps.is_idle(self._crawler):
            self._end_orphans()
        return len(self._waiting) > 0 or self._idle_upto != self._desk.submitted

    def enqueue_request(self, request: Request) -> bool:
        """False: it was dropped here and now. True: it will be offered to the store, which may still know it: then `request_dropped` is
        sent when it says so. Never raises: Scrapy would lose more than this request."""
        replaced = self._successors.pop(request, None)
        try:
            return self._enqueue(request, replaced or self._current(), replaced is not None)
        except UrlsieveError as error:
            self._telling.error("Request %s is dropped: %s", shown(request), error)
            self._telling.count("urlsieve/rejected/invalid_request")
            return False

    def next_request(self) -> Request | None:
        taps.CURRENT.set(None)  # what starts from here is nobody's output
        if self._closed or self._broken:
            return None
        self._ask()
        while (found := self._waiting.next()) is not None:
            if isinstance(found, Kept):
                self._hands.begin(found.request, found.root, stands=found.stands, mark=found.mark)
                self._telling.moved("dequeued", "memory")
                return found.request
            request = self._read(found)
            if request is not None:
                self._hands.begin(request, found, stands=True)
                self._telling.moved("dequeued", "urlsieve")
                return request
        return None

    # -- in

    def _enqueue(self, request: Request, origin: Work | None, replaces: bool) -> bool:
        variant = variant_of(request)
        if origin is not None and (replaces or request.dont_filter) and self._stands_for(request, variant, origin):
            # a retry, or a redirect to another spelling: the lease is ours until this one is done
            origin.succeeded = origin.succeeded or replaces
            self._keep(request, origin.root, stands=True)
            self._telling.count("urlsieve/under_same_lease")
            return True
        try:
            fingerprint = self._canonicalizer.fingerprint(request.url, variant=variant)
        except InvalidURL as refused:
            return self._refused(request, refused.reason, origin)
        if not request.dont_filter and fingerprint in self._recent:
            self._telling.filtered(request)
            return False
        try:
            written = wire.write(request, self._spider, with_url=request.dont_filter)
        except wire.Unwritable as why:
            self._complain(request, str(why))
            return self._aside(request, fingerprint, origin, self._offer(request, fingerprint, variant, None))
        self._recent.add(fingerprint)
        self._desk.offer(self._offer(request, fingerprint, variant, written))
        return True

    def _stands_for(self, request: Request, variant: bytes, origin: Work) -> bool:
        """Whether it asks for the same as the leased request from which it came."""
        if origin.root is None or not origin.stands:
            return False
        before = origin.request
        try:
            print_of = self._canonicalizer.fingerprint
            return print_of(request.url, variant=variant) == print_of(before.url, variant=variant_of(before))
        except InvalidURL:
            return False

    def _offer(self, request: Request, fingerprint: bytes, variant: bytes, written: dict[str, Any] | None) -> Offer:
        depth, referer = request.meta.get("depth"), request.headers.get("Referer")
        return Offer(
            request,
            fingerprint,
            url=request.url,
            variant=variant,
            priority=request.priority,
            depth=depth if type(depth) is int and 0 < depth < BIGGEST else 0,
            via=referer.decode("latin-1") if referer else None,
            written=written,
            again=request.dont_filter,
        )

    def _refused(self, request: Request, reason: str, origin: Work | None) -> bool:
        """URLs that no store takes. Those of other schemes (file:, data:) are Scrapy's business all the same."""
        if reason == "scheme":
            return self._aside(request, fingerprint(request), origin, None)
        self._telling.once(logging.WARNING, reason, "Request %s is dropped: its URL is refused as %r", shown(request), reason)
        self._telling.count(f"urlsieve/rejected/{reason}")
        return False

    def _complain(self, request: Request, why: str) -> None:
        self._telling.count("scheduler/unserializable")
        message = (
            "Request %s cannot be written to the store: %s. It waits in memory, for this process only; after a crash it comes back with "
            "the page it was found on. The same is said once"
        )
        self._telling.once(logging.ERROR, why, message, shown(request), why)

    def _aside(self, request: Request, fingerprint: bytes, origin: Work | None, question: Offer | None) -> bool:
        """Into memory, under the lease of the page that led to it, if one did. Filtered within this process, and by the store if that can
        know it: then it is asked first."""
        root = origin.root if origin is not None else None
        if request.dont_filter:
            self._keep(request.copy(), root, stands=False)  # a spider may yield the same object twice
            return True
        if fingerprint in self._elsewhere:
            self._telling.filtered(request)
            return False
        self._elsewhere.add(fingerprint)
        if question is None:
            self._keep(request, root, stands=False)
            return True
        if root is not None:
            root.users += 1
        self._asides[question] = root
        self._desk.offer(question)
        return True

    def _on_aside(self, question: Offer, known: bool) -> None:
        """The store has answered."""
        root = self._asides.pop(question)
        if not known:
            self._keep(question.request, root, stands=False, mark=replace(question, done=True))
        if root is not None:
            self._settle(self._hands.leave(root, None))

    def _keep(self, request: Request, root: Root | None, *, stands: bool, mark: Offer | None = None) -> None:
        if root is None:
            self._telling.count("urlsieve/not_durable")
        self._waiting.keep(Kept(request, root, stands, mark))
        self._telling.moved("enqueued", "memory")

    # -- out

    def _ask(self) -> None:
        ahead, wanted = self._waiting.ahead + self._asked, self._options.prefetch
        if ahead <= wanted // 2:
            self._asked += wanted - ahead
            self._desk.want(wanted - ahead)

    def _read(self, root: Root) -> Request | None:
        lease = root.lease
        try:
            return wire.read(lease.url, lease.meta, lease.priority, self._spider)
        except wire.Unreadable as why:
            self._telling.once(logging.ERROR, str(why), "A request for %s cannot be read from the store: %s", mask_userinfo(lease.url), why)
            self._telling.count("urlsieve/unreadable")
            self._settle(self._hands.leave(root, Outcome("fail", reason=f"unreadable: {why}")))
            return None

    # -- what the taps tell

    def work_of(self, request: Request) -> Work | None:
        return self._hands.works.get(request)

    def replaced(self, work: Work, successor: Request) -> None:
        work.replaced = True
        self._successors[successor] = work
        self._loop.call_soon(self._end_replaced, work, successor)

    def _end_replaced(self, work: Work, successor: Request) -> None:
        self._successors.pop(successor, None)  # it is still there if some component dropped it
        self._settle(self._hands.end(work, None if work.succeeded else REDIRECTED))

    def processed(self, work: Work, result: Response | Failure) -> None:
        outcome = outcome_of(work, result)
        if work.mark is not None and not work.ended and outcome.kind == "done":
            self._desk.offer(work.mark)
        self._settle(self._hands.end(work, outcome))

    def _end_orphans(self) -> None:
        """The engine has nothing in hand, so nobody will tell what became of these: some component has taken our taps away. Their leases
        must not be held for ever."""
        for work in [work for work in self._hands.works.values() if not work.replaced]:
            self._telling.error("What became of request %s was never told: it counts as failed", shown(work.request))
            self._telling.count("urlsieve/orphans")
            self._settle(self._hands.end(work, Outcome("fail", reason="never told")))

    def _spider_error(self, failure: Failure) -> None:
        work = taps.CURRENT.get()
        if work is not None:
            work.error = f"{type(failure.value).__name__} in the callback"

    def _current(self) -> Work | None:
        """Whose output this is, if that is still being processed."""
        work = taps.CURRENT.get()
        return work if work is not None and not work.ended else None

    def _settle(self, ending: tuple[Lease, Outcome] | None) -> None:
        if ending is not None:
            self._desk.settle(*ending)

    # -- what the desk tells

    def _post(self, call: Callable[[Any], None], value: object) -> None:
        """From the desk's thread into the loop."""
        try:
            self._loop.call_soon_threadsafe(call, value)
        except RuntimeError:  # the loop is closed: the process is ending without us, and leases come back by themselves
            logger.debug("the event loop has ended before the store was closed")

    def _on_open(self, found: Sieve | Exception) -> None:
        if isinstance(found, Exception):
            self._broken = True
            self._ended.callback(None)
            self._opened.errback(found)
            return
        self._canonicalizer = found.canonicalizer
        self._opened.callback(None)

    def _on_round(self, done: Round) -> None:
        if done.trouble:
            self._telling.count("urlsieve/store_errors")
            self._telling.once(logging.WARNING, done.trouble, "The store does not answer; it is asked again: %s", done.trouble)
        for offer, verdict in done.offered:
            self._on_verdict(offer, verdict)
        for state, many in done.settled.items():
            self._telling.count(f"urlsieve/settled/{state}", many)
        for token in done.lost:
            self._on_lost(token)
        self._asked -= len(done.leases)
        for lease in done.leases:
            self._waiting.lease(self._hands.take(lease))
        if done.idle:
            self._on_idle(done)
        elif done.left and done.waits > LONG_WAIT:
            message = (
                "Nothing can be fetched for %.0f s; %d requests wait: retries, hosts that asked for it, what other spiders are working on, "
                "or what one that was killed had in hand"
            )
            self._telling.now_and_then(logging.INFO, "waits", message, done.waits, done.left)
        if done.leases or done.idle:
            self._wake()

    def _on_verdict(self, offer: Offer, verdict: str) -> None:
        if verdict == "marked":
            return
        if offer in self._asides:
            self._on_aside(offer, verdict != "aside")
        if verdict == "aside":
            self._wake()
            return
        if verdict in ("new", "requeued", "raised"):
            self._telling.moved("enqueued", "urlsieve")
            return
        if verdict == "seen":
            self._telling.filtered(offer.request)
        else:
            reason = verdict.partition(":")[2]
            self._recent.discard(offer.fingerprint)
            self._telling.once(logging.WARNING, verdict, "Request %s is dropped: the store refuses it as %r", shown(offer.request), reason)
            self._telling.count(f"urlsieve/rejected/{reason}")
        if not self._closed:
            self._crawler.signals.send_catch_log(signals.request_dropped, request=offer.request, spider=self._spider)

    def _on_lost(self, token: str) -> None:
        self._telling.count("urlsieve/leases_lost")
        root = self._hands.roots.get(token)
        if root is not None and self._waiting.drop(root):
            self._hands.roots.pop(token, None)

    def _on_idle(self, done: Round) -> None:
        if done.left and self._idle_upto != done.upto:
            wait = self._options.idle_wait
            logger.info("%d requests stay in the store: none is due within %s seconds (URLSIEVE_IDLE_WAIT)", done.left, wait)
        self._idle_upto = done.upto

    def _on_end(self, error: Exception | None) -> None:
        if error is not None:
            self._broken = True
            where = mask_userinfo(self._options.store)
            fault = None if isinstance(error, UrlsieveError) else error  # then it is one of ours, and the trace says where
            message = "The store %s has failed: %s. The spider closes; what was not settled comes back"
            self._telling.error(message, where, error, exc_info=fault)
            if not self._closed:
                self._loop.create_task(self._give_up())
        self._ended.callback(None)

    async def _give_up(self) -> None:
        engine: Any = self._crawler.engine
        if hasattr(engine, "close_spider_async"):
            await engine.close_spider_async(reason=STORE_ERROR)
        else:  # Scrapy 2.13
            await maybe_deferred_to_future(engine.close_spider(self._spider, reason=STORE_ERROR))
