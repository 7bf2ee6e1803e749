"""The sieve's verbs, awaitable: what `urlsieve.open` takes goes in, an AsyncSieve comes out.

Every verb of one AsyncSieve runs on one thread of its own, in the order of the calls, so the event loop never waits for a
disk and the store sees one thread. An operation that has begun is finished even if the task that awaits it is cancelled; one
that has not begun is not started. A batch popped for a cancelled task is given back with `release`: no URL waits for a lease
that nobody holds.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import urlsieve
from urlsieve import arguments
from urlsieve.arguments import Ticket
from urlsieve.errors import StoreFull, StoreUnavailable
from urlsieve.model import Entry, EntryInfo, GroupRow, Lease, Level, Outcome, Policy, Settled, SiteRow, URLItem

if TYPE_CHECKING:
    from urlsieve.answers import Compacted, Failed, Finding, Imported, Leases, Rejected, Report, Stats, Why
    from urlsieve.canon import Explanation, Rules
    from urlsieve.canon.proposals import Proposals
    from urlsieve.canon.rulebook import Book
    from urlsieve.explaining import Known
    from urlsieve.ruling import Applied
    from urlsieve.sieve import Sieve

T = TypeVar("T")
URLs = str | bytes | URLItem | Iterable[str | bytes | URLItem]

#: Seconds between two looks of `wait`: short at first, then never longer than this.
LONGEST_LOOK = 0.25
#: Items of a listing that one step in the thread brings.
SLICE = 1000


def open(address: str, **options: Any) -> Opening:
    """As `urlsieve.open`, which see for the options and the errors. `await` it and close what comes, or use it with `async with`."""
    return Opening(address, options)


class Opening:
    """A sieve that is being opened: awaitable, and an async context manager."""

    def __init__(self, address: str, options: dict[str, Any]) -> None:
        self._address, self._options = address, options
        self._sieve: AsyncSieve | None = None

    def __await__(self) -> Generator[Any, None, AsyncSieve]:
        return self._open().__await__()

    async def _open(self) -> AsyncSieve:
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="urlsieve")
        opening = partial(urlsieve.open, self._address, **self._options)
        try:
            sieve = await asyncio.get_running_loop().run_in_executor(executor, opening)
        except BaseException:
            executor.shutdown(wait=False)
            raise
        return AsyncSieve(sieve, executor)

    async def __aenter__(self) -> AsyncSieve:
        self._sieve = await self._open()
        return self._sieve

    async def __aexit__(self, *exc: object) -> None:
        if self._sieve is not None:
            await self._sieve.close()


class AsyncSieve:
    """A Sieve whose verbs are coroutines. One event loop; close it in the loop that opened it."""

    def __init__(self, sieve: Sieve, executor: ThreadPoolExecutor) -> None:
        self._sieve = sieve
        self._executor = executor
        self._closed = False

    async def __aenter__(self) -> AsyncSieve:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Twice is fine. Waits for what is under way."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._finish(self._executor.submit(self._sieve.close))
        finally:
            self._executor.shutdown(wait=False)

    @property
    def address(self) -> str:
        return self._sieve.address

    @property
    def canonicalizer(self) -> urlsieve.Canonicalizer:
        """The store's own; pure, so it needs no await."""
        return self._sieve.canonicalizer

    # -- the flow ------------------------------------------------------------------------------------------

    async def push(self, urls: URLs, **options: Any) -> Report:
        return await self._call(self._sieve.push, urls, **options)

    async def pop(self, limit: int = 1, *, lease: float = 60.0, groups: Sequence[str] | None = None) -> Leases:
        """If the awaiting task is cancelled, what was popped goes back (attempt not counted)."""
        return await self._call(self._sieve.pop, limit, lease=lease, groups=groups, undo=self._give_back)

    async def extend(self, leases: Any, seconds: float = 60.0) -> Any:
        return await self._call(self._sieve.extend, leases, seconds)

    async def done(self, lease: Any, **outcome: Any) -> Any:
        return await self._call(self._sieve.done, lease, **outcome)

    async def fail(self, lease: Any, reason: str, **outcome: Any) -> Any:
        return await self._call(self._sieve.fail, lease, reason, **outcome)

    async def skip(self, lease: Any, reason: str) -> Any:
        return await self._call(self._sieve.skip, lease, reason)

    async def release(self, lease: Any, *, not_before: float | None = None, group_until: float | None = None) -> Any:
        return await self._call(self._sieve.release, lease, not_before=not_before, group_until=group_until)

    async def settle(self, outcomes: Iterable[tuple[Lease | str, Outcome]]) -> list[Settled]:
        return await self._call(self._sieve.settle, list(outcomes))

    @asynccontextmanager
    async def keepalive(self, leases: Ticket | Sequence[Ticket], seconds: float = 60.0) -> AsyncIterator[list[Ticket]]:
        """Extends the leases to `seconds` from now, every third of that, until the block is left. Yields a list that grows by
        those that turn out to be lost. While the store does not answer it is asked again: what it had extended holds until then."""
        batch = arguments.tickets(leases)[1]
        lost: list[Ticket] = []
        failure: list[Exception] = []  # the last beat's, if it had one

        # a fresh lease needs nothing yet, one that has waited in a buffer does, and of a token nobody knows
        deadlines = [lease.deadline if isinstance(lease, Lease) else 0.0 for lease in batch]
        left = min(deadlines, default=0.0) - self.now()

        async def beat() -> None:
            await asyncio.sleep(min(seconds / 3, max(0.0, left - seconds * 2 / 3)))
            while batch:
                try:
                    flags = await self.extend(list(batch), seconds)
                    failure.clear()
                except (StoreUnavailable, StoreFull) as error:
                    failure[:] = [error]
                    flags = [True] * len(batch)
                lost.extend(lease for lease, kept in zip(batch, flags, strict=True) if not kept)
                batch[:] = [lease for lease, kept in zip(batch, flags, strict=True) if kept]
                await asyncio.sleep(seconds / 3)

        task = asyncio.create_task(beat())
        try:
            yield lost
        finally:
            task.cancel()
            # an error of the store in the background is not swallowed: it is raised here
            await asyncio.wait([task])
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error
            if failure:
                raise failure[0]

    # -- questions and operation ---------------------------------------------------------------------------

    async def seen(self, urls: Any) -> list[bool]:
        return await self._call(self._sieve.seen, urls)

    async def mark(self, urls: URLs, *, known: bool = False) -> Report:
        return await self._call(self._sieve.mark, urls, known=known)

    async def revisit(self, urls: URLs, at: float | None = None) -> Report:
        return await self._call(self._sieve.revisit, urls, at)

    async def forget(self, urls: Any) -> int:
        return await self._call(self._sieve.forget, urls)

    async def purge(self, site: str) -> int:
        return await self._call(self._sieve.purge, site)

    async def why(self, site_or_url: str) -> Why:
        return await self._call(self._sieve.why, site_or_url)

    async def unique(self, day: str | None = None) -> float:
        return await self._call(self._sieve.unique, day)

    async def overlap(self, day: str, other: str) -> tuple[float, float]:
        return await self._call(self._sieve.overlap, day, other)

    async def explain(self, url_a: str | bytes, url_b: str | bytes | None = None, *, base: str | None = None) -> Explanation:
        return await self._call(self._sieve.explain, url_a, url_b, base=base)

    async def known(self, url: str | bytes, *, base: str | None = None, variant: bytes = b"") -> Known:
        return await self._call(self._sieve.known, url, base=base, variant=variant)

    async def rules(self) -> Rules | None:
        return await self._call(lambda: self._sieve.rules)

    async def rules_history(self) -> Book:
        return await self._call(self._sieve.rules_history)

    async def proposals(self) -> Proposals:
        return await self._call(self._sieve.proposals)

    async def proposed_rules(self) -> str:
        return await self._call(self._sieve.proposed_rules)

    async def apply_rules(self, rules: Rules | str | os.PathLike[str] | None, *, by: str = "", dry_run: bool = False) -> Applied:
        return await self._call(self._sieve.apply_rules, rules, by=by, dry_run=dry_run)

    async def confirm_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        return await self._call(self._sieve.confirm_rule, match, by=by, evidence=evidence)

    async def suspend_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        return await self._call(self._sieve.suspend_rule, match, by=by, evidence=evidence)

    async def resume_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        return await self._call(self._sieve.resume_rule, match, by=by, evidence=evidence)

    async def info(self, url: str | bytes, *, variant: bytes = b"") -> EntryInfo:
        return await self._call(self._sieve.info, url, variant=variant)

    async def stats(self) -> Stats:
        return await self._call(self._sieve.stats)

    async def failed(self, **which: Any) -> list[Failed]:
        return await self._call(lambda: list(self._sieve.failed(**which)))

    async def rejected(self, reason: str | None = None) -> list[Rejected]:
        return await self._call(lambda: list(self._sieve.rejected(reason)))

    async def retry(self, chosen: Iterable[Failed] | None = None, **which: Any) -> int:
        return await self._call(self._sieve.retry, chosen, **which)

    async def backup(self, place: str | os.PathLike[str]) -> None:
        await self._call(self._sieve.backup, place)

    async def compact(self) -> Compacted:
        return await self._call(self._sieve.compact)

    async def verify(self, *, deep: bool = False) -> list[str]:
        return await self._call(self._sieve.verify, deep=deep)

    async def doctor(self) -> list[Finding]:
        return await self._call(self._sieve.doctor)

    async def entries(self, states: Iterable[str] | None = None) -> AsyncIterator[Entry]:
        """As a loop: `async for entry in sieve.entries()`; other verbs go on between two slices."""
        async for entry in self._slices(lambda: self._sieve.entries(states)):
            yield entry

    async def admit(self, entries: Iterable[Entry]) -> Report:
        return await self._call(self._sieve.admit, list(entries))

    async def export(self, *, states: Iterable[str] | None = None, secret: bool = True) -> AsyncIterator[bytes]:
        async for line in self._slices(lambda: self._sieve.export(states=states, secret=secret)):
            yield line

    async def import_lines(self, lines: Iterable[bytes], **options: Any) -> Imported:
        return await self._call(self._sieve.import_lines, lines, **options)

    async def import_fingerprints(self, kind: str, digests: Iterable[bytes], *, name: str | None = None) -> int:
        return await self._call(self._sieve.import_fingerprints, kind, digests, name=name)

    async def imported(self) -> list[Level]:
        return await self._call(self._sieve.imported)

    async def drop_imported(self, name: str) -> bool:
        return await self._call(self._sieve.drop_imported, name)

    async def _slices(self, source: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
        items = await self._call(source)
        while part := await self._call(lambda: list(islice(items, SLICE))):
            for item in part:
                yield item

    async def set_policy(self, **changes: Any) -> None:
        await self._call(self._sieve.set_policy, **changes)

    async def policy(self) -> Policy:
        return await self._call(lambda: self._sieve.policy)

    async def sites(self) -> list[SiteRow]:
        return await self._call(lambda: list(self._sieve.sites()))

    async def groups(self) -> list[GroupRow]:
        return await self._call(lambda: list(self._sieve.groups()))

    def site(self, name: str) -> AsyncHandle:
        return AsyncHandle(self, lambda: self._sieve.site(name))

    def group(self, name: str) -> AsyncHandle:
        return AsyncHandle(self, lambda: self._sieve.group(name))

    def group_of(self, name: str) -> AsyncHandle:
        return AsyncHandle(self, lambda: self._sieve.group_of(name))

    def now(self) -> float:
        return self._sieve.now()

    async def wait(self, timeout: float, *, groups: Sequence[str] | None = None) -> bool:
        """True as soon as something may be popped, False after `timeout` seconds. Other verbs go on meanwhile."""
        deadline = time.monotonic() + timeout
        pause = 0.01
        while True:
            # a look of no length: a wait inside the thread would hold up every other verb of this sieve
            if await self._call(self._sieve.wait, 0.0, groups=groups):
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 2, LONGEST_LOOK)

    # -- the thread ----------------------------------------------------------------------------------------

    async def _call(self, function: Callable[..., T], *args: Any, undo: Callable[[T], object] | None = None, **kwargs: Any) -> T:
        if self._closed:
            raise urlsieve.StoreUnavailable(f"{self._sieve.address} was closed: open it again")
        return await self._finish(self._executor.submit(partial(function, *args, **kwargs)), undo)

    async def _finish(self, future: Future[T], undo: Callable[[T], object] | None = None) -> T:
        waiter = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(waiter)
        except asyncio.CancelledError:
            if not future.cancel() and undo is not None:
                # one thread, in order: by the time this runs the future has its result, and close() comes after it
                self._executor.submit(self._undo, future, undo)
            # nobody waits for it any more: an error of it is nobody's, and asyncio need not complain
            waiter.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            raise

    @staticmethod
    def _undo(future: Future[T], undo: Callable[[T], object]) -> None:
        if future.exception() is None:
            undo(future.result())

    def _give_back(self, leases: Leases) -> None:
        if leases:
            self._sieve.release(leases)


class AsyncHandle:
    """A site or a group, awaitable: settings by `get` and `set`, the same verbs as the handle of `Sieve`."""

    def __init__(self, sieve: AsyncSieve, handle: Callable[[], Any]) -> None:
        self._owner = sieve
        self._handle = handle

    async def get(self, setting: str) -> Any:
        """`setting`: delay, concurrency, limit or row."""
        return await self._owner._call(lambda: getattr(self._handle(), setting))

    async def set(self, **settings: Any) -> None:
        """delay=, concurrency=, limit=; None goes back to the policy's."""

        def apply() -> None:
            handle = self._handle()
            for name, value in settings.items():
                setattr(handle, name, value)

        await self._owner._call(apply)

    async def block(self, until: float) -> None:
        await self._owner._call(lambda: self._handle().block(until))

    async def unblock(self) -> None:
        await self._owner._call(lambda: self._handle().unblock())

    async def pause(self) -> None:
        await self._owner._call(lambda: self._handle().pause())

    async def resume(self) -> None:
        await self._owner._call(lambda: self._handle().resume())

    async def blob(self, key: str, value: bytes | None = None, *, ttl: float = 86400.0) -> bytes | None:
        """What is shared under this key (None: nothing, or expired); with `value` it is set for `ttl` seconds."""
        result: bytes | None = await self._owner._call(lambda: self._handle().blob(key, value, ttl=ttl))
        return result
