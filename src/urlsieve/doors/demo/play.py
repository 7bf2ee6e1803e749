"""The play: a site and a folder in, the evidence of two rounds out. One worker is killed in the middle of the first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urlsieve
from urlsieve.doors.demo.judge import Evidence, orphaned
from urlsieve.doors.demo.processes import Site, Worker
from urlsieve.doors.demo.world import World

DELAY = 0.04  # seconds between two requests to one host
LEASE = 5.0  # seconds; short, so that what the killed worker held comes back while one watches
ATTEMPTS = 6  # more than the kill and the flaky page can use up together
BACKOFF = 0.3
LONGEST_ROUND = 120.0
PAUSE = 0.5  # seconds between the request for the slow page and the kill

Say = Callable[[str], None]


@dataclass(slots=True)
class Play:
    """`folder` gets store, log and nothing else. `say` takes one line of narrative."""

    folder: Path
    say: Say
    workers: list[Worker] = field(default_factory=list)
    site: Site | None = None
    _waiting_for_slow: threading.Event = field(default_factory=threading.Event)
    _slow_agent: str = ""

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def run(self) -> tuple[World, list[Evidence]]:
        """Both rounds. Leaves no process behind, whatever happens."""
        try:
            self.site = Site(self._heard, self.folder / "site.jsonl")
            world = self.site.world
            links = sum(len(page.links) for page in world.pages.values())
            self.say(f"a made site: 5 hosts on this machine, English and Chinese, {links:,} links in every spelling")
            with urlsieve.open(self.store, delay=DELAY, concurrency=1, max_attempts=ATTEMPTS, backoff=BACKOFF) as sieve:
                return world, [self._first(world, self.site, sieve), self._second(world, self.site, sieve)]
        finally:
            for worker in self.workers:
                worker.stop()
            if self.site is not None:
                self.site.stop()

    def _heard(self, event: dict[str, Any]) -> None:
        """From the site's thread: somebody asks for the slow page."""
        if event["get"] != "slow":
            return
        if self._waiting_for_slow.is_set():
            self.say(f"the dead worker's leases are over: {event['agent']} fetches the slow page")
        else:
            self._slow_agent = event["agent"]
            self._waiting_for_slow.set()

    def _first(self, world: World, site: Site, sieve: urlsieve.Sieve) -> Evidence:
        started = self._begin(1, world, site, sieve)
        first, second = self._hire(world), self._hire(world)
        self.say(f"two workers start: {first.agent} and {second.agent}")
        if not self._waiting_for_slow.wait(LONGEST_ROUND):
            raise RuntimeError("nobody asked for the slow page: the crawl stands still")
        time.sleep(PAUSE)
        victim = first if first.agent == self._slow_agent else second
        victim.kill()
        asked = site.log.by(victim.agent)
        held = [name for name in asked if name in world.pages and sieve.info(world.url(name)).state == "leased"]
        self.say(f"{sum(site.log.pages.values())} pages served; {victim.agent} waits for a slow page: kill -9")
        third = self._hire(world)
        self.say(f"it held {len(held)} leases, which end after {LEASE:g} s; {third.agent} takes its place")
        orphans = orphaned(world, asked, held)
        return self._end(1, world, site, sieve, [worker for worker in self.workers if not worker.killed], orphans, started)

    def _second(self, world: World, site: Site, sieve: urlsieve.Sieve) -> Evidence:
        started = self._begin(2, world, site, sieve)
        workers = [self._hire(world), self._hire(world)]
        self.say(f"two workers start: {workers[0].agent} and {workers[1].agent}")
        return self._end(2, world, site, sieve, workers, frozenset(), started)

    def _begin(self, number: int, world: World, site: Site, sieve: urlsieve.Sieve) -> float:
        site.begin(number)
        report = sieve.push([world.url(name) for name in world.starts], mode="again")
        self.say(f"round {number}: {len(world.starts)} start pages pushed again ({report.new} new, {report.requeued} brought back)")
        return time.monotonic()

    def _hire(self, world: World) -> Worker:
        options = ["--allow-private", "--delay", str(DELAY), "--max-depth", str(world.max_depth), "--lease", str(LEASE)]
        worker = Worker(len(self.workers) + 1, self.store, [world.url(name) for name in world.starts], options)
        self.workers.append(worker)
        return worker

    def _end(
        self,
        number: int,
        world: World,
        site: Site,
        sieve: urlsieve.Sieve,
        workers: list[Worker],
        orphans: frozenset[str],
        started: float,
    ) -> Evidence:
        """When all workers have ended by themselves: what the store and the site say."""
        pages = 0
        for worker in workers:
            report = worker.end(LONGEST_ROUND)
            pages += report["pages"]
            if report["lost_leases"]:
                self.say(f"{worker.agent} was too slow for {report['lost_leases']} leases (a busy machine)")
        seconds = time.monotonic() - started
        self.say(f"round {number} is over: nothing is left for anybody, the workers ended by themselves")
        known = sieve.seen(spellings(world, number))
        return Evidence(number, site.log, sieve.stats().as_dict(), known, orphans, sieve.verify(deep=True), seconds)


def spellings(world: World, number: int) -> list[str]:
    """Every different way in which a page that was read writes a link, made absolute; the start pages, too."""
    found = dict.fromkeys(world.url(name) for name in world.starts)
    depths = world.reachable(number)
    for name, depth in depths.items():
        page = world.pages[name]
        if page.kind not in ("page", "slow", "flaky") or depth >= world.max_depth:
            continue
        here = f"http://{page.place.host}:{page.place.port}{page.base or page.place.plain()}"
        # in the page's encoding, as the browser on it would; the store is then asked, not this
        exact = urlsieve.Canonicalizer(profile="exact", encoding=page.charset)
        for key in exact.canonicalize_many([href for href, _ in page.shown(number)], base=here):
            if key is None:
                raise RuntimeError(f"the made page {name} has a link that is no URL")
            found[key] = None
    return list(found)
