"""The one thread that talks to the store: requests and outcomes in, leases and what became of everything out.

Scrapy's calls are synchronous and its loop must not wait for a disk or a network, so they only leave things here. Each round of the
thread takes all that lies there and does it in an order that loses nothing: leases are extended when it is time, then the requests are
offered, then leases are settled (a page's links are accepted before the page is done), then new ones are taken. What the store does not
take now, because it does not answer, stays and is tried again; nothing is settled before what came before it is accepted.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import urlsieve
from urlsieve.doors.scrapy.offering import Offer, Offering
from urlsieve.errors import StoreFull, StoreUnavailable
from urlsieve.model import Lease, Outcome
from urlsieve.sieve import Sieve

#: Seconds: between two looks at a store that has nothing, and between two tries at one that does not answer.
SHORTEST_LOOK, LONGEST_LOOK, LONGEST_TRY = 0.02, 0.5, 5.0
#: Seconds that a round waits for company: one flush of the disk then serves several pages.
LINGER = 0.005
#: Seconds of standing still that are worth a line in the log.
LONG_WAIT = 10.0
#: Leases extended in one step.
EXTENDED_AT_ONCE = 1000


@dataclass(slots=True)
class Round:
    """What one round brought. `offered`: each request's verdict, in order; `settled`: states, counted; `lost`: tokens. `idle`: nothing is
    left that is due soon, as of submission number `upto`; `left`: what is left all the same; `waits`: seconds until some of it is due."""

    offered: list[tuple[Offer, str]] = field(default_factory=list)
    settled: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    upto: int = 0
    idle: bool = False
    left: int = 0
    waits: float = 0.0
    trouble: str | None = None


@dataclass(slots=True)
class _Tray:
    """What lies on the desk."""

    offers: list[Offer] = field(default_factory=list)
    settles: list[tuple[Lease, Outcome]] = field(default_factory=list)


class Desk:
    """`tell` is called in the thread with each Round that brought something, `opened` once with the sieve or an error, `ended` once, with
    the error that ended it or None."""

    def __init__(
        self,
        address: str,
        opening: Mapping[str, Any],
        *,
        lease: float,
        idle_wait: float | None,
        patience: float,
        opened: Callable[[Sieve | Exception], None],
        tell: Callable[[Round], None],
        ended: Callable[[Exception | None], None],
    ) -> None:
        self._address, self._opening = address, opening
        self._ttl, self._idle_wait, self._patience = lease, idle_wait, patience
        self._opened, self._tell, self._ended = opened, tell, ended
        self._changed = threading.Condition()
        self._tray = _Tray()
        self._wanted = self._submitted = 0
        self._closing: float | None = None  # until when, on the monotonic clock
        self._out: dict[str, Lease] = {}
        self._thread = threading.Thread(target=self._run, name="urlsieve-desk", daemon=True)

    def start(self) -> None:
        self._thread.start()

    # -- from the loop: nothing here waits

    def offer(self, offer: Offer) -> None:
        with self._changed:
            self._tray.offers.append(offer)
            self._submitted += 1
            self._changed.notify()

    def settle(self, lease: Lease, outcome: Outcome) -> None:
        with self._changed:
            self._tray.settles.append((lease, outcome))
            self._submitted += 1
            self._changed.notify()

    def want(self, more: int) -> None:
        """So many leases more."""
        with self._changed:
            self._wanted += more
            self._changed.notify()

    @property
    def submitted(self) -> int:
        return self._submitted

    def close(self, grace: float) -> None:
        """What lies here is still done, for `grace` seconds at most if the store does not answer."""
        with self._changed:
            self._closing = time.monotonic() + grace
            self._changed.notify()

    # -- the thread

    def _run(self) -> None:
        try:
            sieve = urlsieve.open(self._address, **self._opening)
        except Exception as error:  # noqa: BLE001 - it is handed to the spider's opening, which fails with it
            self._opened(error)
            return
        self._opened(sieve)
        problem: Exception | None = None
        try:
            with sieve:
                self._serve(sieve)
        except Exception as error:  # noqa: BLE001 - it is handed to the spider, which closes for it
            problem = error
        self._ended(problem)

    def _serve(self, sieve: Sieve) -> None:
        offering = Offering(sieve)
        pending = _Tray()
        look, pause, extend_at = SHORTEST_LOOK, 0.0, time.monotonic() + self._ttl / 3
        failing_since: float | None = None
        while True:
            last = self._await(extend_at, look, pause)
            upto = self._collect(pending)
            done = Round(upto=upto)
            try:
                if time.monotonic() >= extend_at:
                    self._extend(sieve, done)
                    extend_at = time.monotonic() + self._ttl / 3
                self._work(sieve, offering, pending, done)
                if not last:
                    self._lease(sieve, done)
                failing_since, pause = None, 0.0
            except (StoreUnavailable, StoreFull) as error:
                now = time.monotonic()
                failing_since = failing_since or now
                pause = min(LONGEST_TRY, max(0.1, 2 * pause))
                done.trouble = str(error)
                if now - failing_since > self._patience or (self._closing is not None and now > self._closing):
                    raise
            look = SHORTEST_LOOK if done.leases or done.offered or done.settled else min(LONGEST_LOOK, 2 * look)
            self._report(done)
            if last and not (pending.offers or pending.settles):
                break
        if self._out:  # fetched ahead, or not finished: untouched, and the next one's at once
            sieve.release(list(self._out.values()))

    def _report(self, done: Round) -> None:
        if done.offered or done.settled or done.lost or done.leases or done.idle or done.trouble or done.waits > LONG_WAIT:
            self._tell(done)

    def _await(self, extend_at: float, look: float, pause: float) -> bool:
        """Until there is something to do. True: this is the last round."""
        with self._changed:
            if pause:
                before = self._closing
                self._changed.wait_for(lambda: self._closing is not before, pause)
                return self._closing is not None
            timeout = max(0.0, extend_at - time.monotonic())
            if self._wanted > 0:
                self._changed.wait_for(self._has_news, min(timeout, look))
            else:
                self._changed.wait_for(lambda: self._has_news() or self._wanted > 0, timeout)
            if self._closing is None and self._has_news():
                self._changed.wait_for(lambda: self._closing is not None, LINGER)
            return self._closing is not None

    def _has_news(self) -> bool:
        return bool(self._tray.offers or self._tray.settles or self._closing is not None)

    def _collect(self, pending: _Tray) -> int:
        """What lies here, behind what is still pending. One step: whatever a page brought is here if its outcome is."""
        with self._changed:
            pending.offers += self._tray.offers
            pending.settles += self._tray.settles
            self._tray = _Tray()
            return self._submitted

    def _work(self, sieve: Sieve, offering: Offering, pending: _Tray, done: Round) -> None:
        while pending.offers:
            part = pending.offers[: offering.MOST]
            done.offered += offering.take(part)
            del pending.offers[: len(part)]
        if pending.settles:
            settled = sieve.settle(pending.settles)
            for lease, _ in pending.settles:
                self._out.pop(lease.token, None)
            pending.settles.clear()
            for answer in settled:
                done.settled[answer.state] = done.settled.get(answer.state, 0) + 1

    def _extend(self, sieve: Sieve, done: Round) -> None:
        leases = list(self._out.values())
        for at in range(0, len(leases), EXTENDED_AT_ONCE):
            part = leases[at : at + EXTENDED_AT_ONCE]
            for lease, flag in zip(part, sieve.extend(part, self._ttl), strict=True):
                if not flag:
                    self._out.pop(lease.token, None)
                    done.lost.append(lease.token)

    def _lease(self, sieve: Sieve, done: Round) -> None:
        if self._wanted <= 0:
            return
        leases = sieve.pop(self._wanted, lease=self._ttl)
        with self._changed:
            self._wanted -= len(leases)
        done.leases = list(leases)
        self._out.update((lease.token, lease) for lease in leases)
        if leases or self._out:
            return
        stats = sieve.stats()
        done.left = stats.pending + stats.leased + stats.delayed
        done.waits = math.inf if leases.next_at is None else max(0.0, leases.next_at - time.time())
        done.idle = self._idle_wait is not None and (not done.left or done.waits > self._idle_wait)
