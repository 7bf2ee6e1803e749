"""What waits on this side in, the next request out: leases fetched ahead, and requests that only this process can hold.

A request that cannot be written down waits here, in order of priority, and so does the retry of one whose lease is still ours.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from urlsieve.doors.scrapy.hands import Root

if TYPE_CHECKING:
    from scrapy import Request


@dataclass(frozen=True, slots=True)
class Kept:
    """`root`: the lease under which it is worked on, or whose page it came from; None: nothing brings it back after a crash."""

    request: Request
    root: Root | None
    stands: bool


@dataclass(slots=True)
class Waiting:
    leased: deque[Root] = field(default_factory=deque)
    _kept: list[tuple[int, int, Kept]] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)

    def __len__(self) -> int:
        return len(self.leased) + len(self._kept)

    def keep(self, kept: Kept) -> None:
        """Its root is used once more until it is done."""
        if kept.root is not None:
            kept.root.users += 1
        heappush(self._kept, (-kept.request.priority, next(self._numbers), kept))

    def lease(self, root: Root) -> None:
        root.users += 1
        self.leased.append(root)

    def next(self) -> Root | Kept | None:
        """The larger priority; what is kept here before what was leased."""
        if self._kept and (not self.leased or -self._kept[0][0] >= self.leased[0].lease.priority):
            return heappop(self._kept)[2]
        return self.leased.popleft() if self.leased else None

    def drop(self, root: Root) -> bool:
        """Its lease is lost and nobody has begun: somebody else gets it."""
        if root not in self.leased:
            return False
        self.leased.remove(root)
        return True

    def kept_alone(self) -> int:
        """How many requests are gone when this process ends now."""
        return sum(kept.root is None for _, _, kept in self._kept)
