"""The namespace of `urlsieve crawl` in, an exit status out: 0, 2 (no usable start page), 130 when interrupted."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import time
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import urlsieve
import urlsieve.aio
from urlsieve.aio import AsyncSieve
from urlsieve.errors import ConfigError, mask_userinfo

if TYPE_CHECKING:
    from urlsieve.doors.crawler.evidence import Evidence
    from urlsieve.doors.crawler.report import Progress, Tally
    from urlsieve.doors.crawler.scope import Scope

DELAY = 1.0
FACTOR = 5.0  # next turn of a host not before five times as long as its last answer took
CONCURRENCY = 16
LEASE = 60.0
INTERRUPTED = 130
USAGE = 2
#: Instead of a sitemap's URL: those that the robots.txt of the start pages' hosts name.
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Options:
    """What `urlsieve crawl` is given. Seconds; None: the default. `scope`: patterns; `from_sitemap`: URLs, or AUTO."""

    urls: tuple[str, ...]
    store: str | None = None
    max_pages: int | None = None
    max_depth: int | None = None
    same_site: bool = False
    scope: tuple[str, ...] = ()
    obey_nofollow: bool = False
    from_sitemap: tuple[str, ...] = ()
    delay: float | None = None
    concurrency: int | None = None
    per_host: int | None = None
    lease: float | None = None
    user_agent: str | None = None
    accept_language: str | None = None
    evidence: str | None = None
    allow_private: bool = False
    json: bool = False

    @property
    def pause(self) -> float:
        """Between two requests to one host."""
        return DELAY if self.delay is None else self.delay

    @classmethod
    def of(cls, namespace: Namespace) -> Options:
        """What the namespace does not have is as by default."""
        known = {field.name for field in fields(cls)}
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in vars(namespace).items()
            if name in known and value is not None
        }
        return cls(**given)


def run(namespace: Namespace) -> int:
    """Attributes: those of Options; `urls` must be there."""
    try:
        import aiohttp  # noqa: F401
        import protego  # noqa: F401
        import selectolax  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"`urlsieve crawl` needs {error.name}: pip install 'urlsieve[crawler]'") from error
    return asyncio.run(_crawl(Options.of(namespace)))


async def _crawl(options: Options) -> int:
    from urlsieve.doors.crawler.evidence import Evidence
    from urlsieve.doors.crawler.report import Progress, Tally, print_report

    tally = Tally()
    progress = Progress(tally)
    stopping = _stop_on_signals()
    # by default one URL of a host at a time: so a lease is the host's turn, with its robots.txt and its redirects
    policy = {"delay": options.pause, "concurrency": options.per_host or 1}
    with ExitStack() as files:
        _scope(options, urlsieve.Canonicalizer())  # a pattern that is none must not leave a store behind
        evidence = files.enter_context(Evidence(options.evidence)) if options.evidence else None
        async with await urlsieve.aio.open(options.store or "memory:", **policy) as sieve:
            scope = _scope(options, sieve.canonicalizer)
            await sieve.set_policy(factor=FACTOR)
            if not await _start(sieve, options, progress):
                return USAGE
            await _fetch(sieve, options, scope, stopping, tally, progress, evidence)
            print_report(tally, (await sieve.stats()).as_dict(), as_json=options.json)
    return INTERRUPTED if tally.ended == "interrupted" else 0


async def _fetch(
    sieve: AsyncSieve,
    options: Options,
    scope: Scope,
    stopping: asyncio.Event,
    tally: Tally,
    progress: Progress,
    evidence: Evidence | None,
) -> None:
    """Until nothing is left, or it is told to stop."""
    from urlsieve.doors.crawler.fetch import Fetcher
    from urlsieve.doors.crawler.pace import Pace
    from urlsieve.doors.crawler.robots import Robots
    from urlsieve.doors.crawler.visit import Visitor
    from urlsieve.doors.crawler.worker import Worker

    def told(group: str, seconds: float) -> None:
        tally.delays[group] = seconds
        progress.note(f"{group} asks for {seconds:g} s between two requests (robots.txt); it gets them")

    agent = options.user_agent or f"urlsieve/{urlsieve.__version__}"
    concurrency, lease = options.concurrency or CONCURRENCY, options.lease or LEASE
    async with Fetcher(agent, allow_private=options.allow_private, accept_language=options.accept_language) as fetcher:
        robots = Robots(sieve, fetcher, options.pause, told)
        pace = Pace() if (options.per_host or 1) > 1 else None
        visitor = Visitor(sieve, fetcher, robots, scope, options.pause, stopping, pace)
        await Worker(sieve, visitor, tally, progress, stopping, concurrency, options.max_pages, lease, evidence).run()
    if tally.skipped["address"]:
        progress.note(
            f"{tally.skipped['address']:,} pages are not on public addresses: --allow-private permits them, once they are "
            "asked for again (urlsieve push --mode again)"
        )


def _scope(options: Options, canonicalizer: urlsieve.Canonicalizer) -> Scope:
    from urlsieve.doors.crawler.patterns import Patterns
    from urlsieve.doors.crawler.scope import Scope

    starts = canonicalizer.canonicalize_many([*options.urls, *(url for url in options.from_sitemap if url != AUTO)])
    return Scope(
        canonicalizer,
        max_depth=options.max_depth,
        same_site=options.same_site,
        sites=frozenset(starts.site(i) for i in range(len(starts)) if starts[i] is not None),
        patterns=Patterns(options.scope, canonicalizer) if options.scope else None,
        obey_nofollow=options.obey_nofollow,
    )


async def _start(sieve: AsyncSieve, options: Options, progress: Progress) -> bool:
    """Push start pages and sitemaps and say what was there before. False: none can be used and nothing waits."""
    from urlsieve.doors.crawler.listing import sitemaps

    roots = _sitemaps(options)
    reports = [await sieve.push(list(options.urls)), await sieve.push(sitemaps(roots, time.time()))]
    rejected = 0
    for what, urls, report in zip(("start page", "sitemap"), (options.urls, roots), reports, strict=True):
        rejected += report.rejected
        for url, verdict in zip(urls, report.verdicts, strict=True):
            if verdict.startswith("rejected:"):
                reason, shown = verdict.partition(":")[2], ascii(mask_userinfo(url)[:300])[1:-1]
                hint = f"; write https://{shown} if that is meant" if reason == "relative" else ""
                progress.note(f"{what} refused ({reason}): {shown}{hint}")
    stats = await sieve.stats()
    waiting = stats.pending + stats.delayed + stats.leased
    if rejected == len(options.urls) + len(roots) and not waiting:
        return False
    if not waiting:
        today = ", its sitemaps read today" if roots else ""
        progress.note(
            f"nothing to do: every start page was taken before ({stats.done:,} URLs done in this store, skipped ones included{today}). "
            f"For a new round: urlsieve push --mode again --store {shlex.quote(sieve.address)} (the start pages on standard input)"
        )
    elif stats.done:
        progress.note(f"going on: {stats.done:,} URLs done before, {waiting:,} waiting")
    return True


def _sitemaps(options: Options) -> list[str]:
    """What to read; AUTO becomes the robots.txt of every start page's host."""
    roots = dict.fromkeys(url for url in options.from_sitemap if url != AUTO)
    if AUTO in options.from_sitemap:
        for key in urlsieve.canonicalize_many(list(options.urls), profile="exact"):
            if key is not None:
                scheme, _, rest = key.partition("://")
                roots[f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}/robots.txt"] = None
    return list(roots)


def _stop_on_signals() -> asyncio.Event:
    """First signal: drain. Second: the process ends at once; its leases come back when they expire."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if stopping.is_set():
            os._exit(INTERRUPTED)
        stopping.set()
        print("\nurlsieve crawl: stopping: finishing what is under way (again to stop at once)", file=sys.stderr, flush=True)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    return stopping
