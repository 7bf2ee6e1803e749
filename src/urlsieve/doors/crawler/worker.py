"""A sieve in, its URLs fetched out: pops what may be fetched, visits it, settles it, until nothing is left for anybody.

This is the whole of a worker: pop, keep the lease alive, settle; release what is not finished when it must stop.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from urlsieve import Lease, Outcome
from urlsieve.aio import AsyncSieve
from urlsieve.doors.crawler.evidence import Evidence
from urlsieve.doors.crawler.report import Progress, Tally
from urlsieve.doors.crawler.visit import Visitor
from urlsieve.doors.crawler.visited import Visited
from urlsieve.errors import UrlsieveError

#: Seconds a stopping worker gives the requests that are under way.
GRACE = 5.0
#: Longest time between two looks at a queue that gives nothing: others may have settled the last URL.
LONGEST_IDLE = 1.0
#: Seconds of standing still that are worth a line.
LONG_WAIT = 30.0


@dataclass(slots=True)
class Worker:
    """`concurrency`: URLs in flight; `max_pages`: settled fetches of this process (None: no limit); `lease` in seconds."""

    sieve: AsyncSieve
    visitor: Visitor
    tally: Tally
    progress: Progress
    stopping: asyncio.Event
    concurrency: int = 16
    max_pages: int | None = None
    lease: float = 60.0
    evidence: Evidence | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _stop: asyncio.Task[object] | None = None
    _told_until: float = 0.0

    async def run(self) -> None:
        """Sets tally.ended. An error of the store ends the crawl and is raised; what is in hand is given back first."""
        self._stop = asyncio.create_task(self.stopping.wait())
        try:
            self.tally.ended = await self._loop()
            await self._drain(GRACE)
        except BaseException:
            await self._drain(0.0)
            raise
        finally:
            self._stop.cancel()
            self.progress.clear()

    async def _loop(self) -> str:
        while not self.stopping.is_set():
            leases, next_at = await self._pop()
            for lease in leases:
                self._tasks.add(asyncio.create_task(self._handle(lease)))
            if not leases and not self._tasks:
                if self.max_pages is not None and self.tally.pages >= self.max_pages:
                    return "max_pages"
                if await self._nothing_left(next_at):
                    return "empty"
            if not leases:
                await self._idle(next_at)
            self._collect()
        return "interrupted"

    async def _pop(self) -> tuple[list[Lease], float | None]:
        room = self.concurrency - len(self._tasks)
        if self.max_pages is not None:
            # never more than may still be settled: so there is nothing to give back at the end
            room = min(room, self.max_pages - self.tally.pages - len(self._tasks))
        if room <= 0:
            return [], None
        leases = await self.sieve.pop(room, lease=self.lease)
        return leases, leases.next_at

    async def _handle(self, lease: Lease) -> None:
        """Visit and settle. Cancelled, it gives the lease back."""
        try:
            async with self.sieve.keepalive(lease, self.lease):
                visited = await self.visitor.visit(lease)
        except asyncio.CancelledError:
            visited = Visited(Outcome("release"))
        if self.evidence is not None and visited.evidence:
            try:
                self.evidence.write(visited.evidence)
            except UrlsieveError:
                await self.sieve.settle([(lease, Outcome("release"))])
                raise
        settled = await self.sieve.settle([(lease, visited.outcome)])
        self.tally.add(visited, settled[0].state)
        if visited.note is not None:
            self.progress.note(visited.note)

    def _collect(self) -> None:
        """Forget finished tasks; an error in one of them is the worker's."""
        finished = {task for task in self._tasks if task.done()}
        self._tasks -= finished
        for task in finished:
            task.result()

    async def _nothing_left(self, next_at: float | None) -> bool:
        """Not for this worker and not for any other: what another holds may still bring links, or come back."""
        stats = await self.sieve.stats()
        if next_at is not None and next_at > max(self._told_until, time.time() + LONG_WAIT):
            self._told_until = next_at + LONG_WAIT
            self.progress.note(
                f"nothing may be fetched for {next_at - time.time():,.0f} s: hosts asked for that, retries wait, "
                "or leases of another worker (perhaps a dead one) are still out"
            )
        self.progress.show(0, stats.pending + stats.delayed, None if next_at is None else max(0.0, next_at - time.time()))
        if next_at is None and stats.budgets is not None and not stats.leased and stats.pending + stats.delayed:
            self.progress.note("what still waits has no budget left: `urlsieve why SITE` says which; a later crawl goes on with it")
            return True
        return stats.pending + stats.leased + stats.delayed == 0

    async def _idle(self, next_at: float | None) -> None:
        """Until a task ends, the worker is stopped, or something may be popped."""
        if self._tasks and self.progress.due:
            stats = await self.sieve.stats()
            self.progress.show(len(self._tasks), stats.pending + stats.delayed, None)
        timeout = LONGEST_IDLE if next_at is None else min(LONGEST_IDLE, max(0.01, next_at - time.time()))
        waiting: set[asyncio.Task[Any]] = {*self._tasks, self._stop} if self._stop else {*self._tasks}
        ready = None
        if len(self._tasks) < self.concurrency and not self._at_limit():
            ready = asyncio.create_task(self.sieve.wait(timeout))
            waiting.add(ready)
        await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if ready is not None:
            ready.cancel()
            await asyncio.wait([ready])
            if not ready.cancelled():
                ready.result()

    def _at_limit(self) -> bool:
        return self.max_pages is not None and self.tally.pages + len(self._tasks) >= self.max_pages

    async def _drain(self, grace: float) -> None:
        """Let what is under way finish, then cancel the rest: their leases go back, the attempt not counted."""
        if self._tasks and grace > 0:
            await asyncio.wait(self._tasks, timeout=grace)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        errors = [task.exception() for task in self._tasks if not task.cancelled()]
        self._tasks.clear()
        for error in errors:
            if error is not None and grace > 0:  # without grace there is an error already, and this is its echo
                raise error
