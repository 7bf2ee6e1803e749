"""The namespace of `urlsieve crawl` in, an exit status out: 0, 2 (no usable start page), 130 when interrupted."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from argparse import Namespace

import urlsieve
import urlsieve.aio
from urlsieve.aio import AsyncSieve
from urlsieve.errors import ConfigError

DELAY = 1.0
FACTOR = 5.0  # next turn of a host not before five times as long as its last answer took
CONCURRENCY = 16
INTERRUPTED = 130
USAGE = 2


def run(namespace: Namespace) -> int:
    """Attributes: urls, store, max_pages, max_depth, same_site, delay, allow_private, concurrency, user_agent, json[, lease]."""
    try:
        import aiohttp  # noqa: F401
        import protego  # noqa: F401
        import selectolax  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"`urlsieve crawl` needs {error.name}: pip install 'urlsieve[crawler]'") from error
    return asyncio.run(_crawl(namespace))


async def _crawl(namespace: Namespace) -> int:
    from urlsieve.doors.crawler.fetch import Fetcher
    from urlsieve.doors.crawler.report import Progress, Tally, print_report
    from urlsieve.doors.crawler.robots import Robots
    from urlsieve.doors.crawler.visit import Scope, Visitor
    from urlsieve.doors.crawler.worker import Worker

    tally = Tally()
    progress = Progress(tally)
    stopping = _stop_on_signals(progress)
    delay = DELAY if namespace.delay is None else namespace.delay

    def told(group: str, seconds: float) -> None:
        tally.delays[group] = seconds
        progress.note(f"{group} asks for {seconds:g} s between two requests (robots.txt); it gets them")

    # one URL of a host at a time: so a lease is the host's turn, with its robots.txt and its redirects
    options = {"delay": delay, "concurrency": 1}
    async with await urlsieve.aio.open(namespace.store or "memory:", **options) as sieve:
        await sieve.set_policy(factor=FACTOR)
        if not await _start(sieve, namespace.urls, progress):
            return USAGE
        agent = namespace.user_agent or f"urlsieve/{urlsieve.__version__}"
        async with Fetcher(agent, allow_private=namespace.allow_private) as fetcher:
            robots = Robots(sieve, fetcher, delay, told)
            starts = sieve.canonicalizer.canonicalize_many(namespace.urls)
            sites = frozenset(starts.site(i) for i in range(len(starts)) if starts[i] is not None)
            scope = Scope(namespace.max_depth, namespace.same_site, sites)
            visitor = Visitor(sieve, fetcher, robots, scope, delay, stopping)
            worker = Worker(
                sieve,
                visitor,
                tally,
                progress,
                stopping,
                concurrency=namespace.concurrency or CONCURRENCY,
                max_pages=namespace.max_pages,
                lease=getattr(namespace, "lease", None) or 60.0,
            )
            await worker.run()
        if tally.skipped["address"]:
            progress.note(f"{tally.skipped['address']:,} pages are not on public addresses: --allow-private permits them")
        print_report(tally, (await sieve.stats()).as_dict(), as_json=namespace.json)
    return INTERRUPTED if tally.ended == "interrupted" else 0


async def _start(sieve: AsyncSieve, urls: list[str], progress: object) -> bool:
    """Push the start pages and say what was there before. False: none can be used and nothing waits."""
    from urlsieve.doors.crawler.report import Progress

    assert isinstance(progress, Progress)
    report = await sieve.push(urls)
    for url, verdict in zip(urls, report.verdicts, strict=True):
        if verdict.startswith("rejected:"):
            progress.note(f"start page refused ({verdict.partition(':')[2]}): {_shown(url)}")
    stats = await sieve.stats()
    waiting = stats.pending + stats.delayed + stats.leased
    if report.rejected == len(urls) and not waiting:
        return False
    if not waiting:
        progress.note(
            f"nothing to do: every start page was taken before ({stats.done:,} URLs done in this store, skipped ones included). "
            f"For a new round: urlsieve push --mode again --store {shlex.quote(sieve.address)} (the start pages on standard input)"
        )
    elif stats.done:
        progress.note(f"going on: {stats.done:,} URLs done before, {waiting:,} waiting")
    return True


def _shown(url: str) -> str:
    """Without user info, and short."""
    scheme, slashes, rest = url[:300].partition("://")
    authority, slash, path = rest.partition("/")
    if "@" in authority:
        authority = "***@" + authority.rpartition("@")[2]
    return ascii(scheme + slashes + authority + slash + path)[1:-1]


def _stop_on_signals(progress: object) -> asyncio.Event:
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
