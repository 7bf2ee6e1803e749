"""What waits on this side in, the next request out: leases fetched ahead, and requests that only this process can hold.

The retry of a request whose lease is still ours waits behind what was fetched ahead and counts as fetched ahead, so that a site on which
everything fails cannot fill the memory. A request that cannot be written down waits in order of priority.
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

    from urlsieve.doors.scrapy.offering import Offer


@dataclass(frozen=True, slots=True)
class Kept:
    """`root`: the lease under which it is worked on, or whose page it came from; None: nothing brings it back after a crash. `stands`:
    it is the leased request, once more. `mark`: what the store is told when it is done, since it has no entry of it."""

    request: Request
    root: Root | None
    stands: bool
    mark: Offer | None = None


@dataclass(slots=True)
class Waiting:
    _ahead: deque[tuple[Root, Kept | None]] = field(default_factory=deque)
    _kept: list[tuple[int, int, Kept]] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)

    def __len__(self) -> int:
        return len(self._ahead) + len(self._kept)

    @property
    def ahead(self) -> int:
        """How many have a lease of their own."""
        return len(self._ahead)

    def keep(self, kept: Kept) -> None:
        """Its root is used once more until it is done."""
        root = kept.root
        if root is not None:
            root.users += 1
        if root is None or not kept.stands:
            heappush(self._kept, (-kept.request.priority, next(self._numbers), kept))
        elif kept.request.priority > root.lease.priority:
            self._ahead.appendleft((root, kept))
        else:
            self._ahead.append((root, kept))

    def lease(self, root: Root) -> None:
        root.users += 1
        self._ahead.append((root, None))

    def next(self) -> Root | Kept | None:
        """The larger priority; of equals what is kept here before what was leased."""
        if self._kept and (not self._ahead or -self._kept[0][0] >= self._ahead[0][0].lease.priority):
            return heappop(self._kept)[2]
        if not self._ahead:
            return None
        root, kept = self._ahead.popleft()
        return kept or root

    def drop(self, root: Root) -> bool:
        """Its lease is lost and nobody has begun: somebody else gets it."""
        if (root, None) not in self._ahead:
            return False
        self._ahead.remove((root, None))
        return True

    def kept_alone(self) -> int:
        """How many requests are gone when this process ends now."""
        return sum(kept.root is None for _, _, kept in self._kept)
