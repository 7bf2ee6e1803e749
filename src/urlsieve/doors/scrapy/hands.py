"""What is out: leases, and the requests that are being worked on in their name; an outcome for each lease comes out when the last is done.

A lease has more than one user when Scrapy retries its request (the copy is worked on under the same lease), and when its page leads to a
request that cannot be written down: then the page stays ours until that request is done too, so that a crash brings back the page, and with
it the request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from urlsieve.model import Lease, Outcome

if TYPE_CHECKING:
    from scrapy import Request

    from urlsieve.doors.scrapy.offering import Offer


@dataclass(slots=True, eq=False)
class Root:
    """One lease. `outcome`: what the last request that stood for it came to."""

    lease: Lease
    users: int = 0
    outcome: Outcome | None = None


@dataclass(slots=True, eq=False)
class Work:
    """One request that the engine has. `stands`: it is the leased request itself, or its retry. `handled`: the spider was given the
    answer, or its errback took the failure. `error`: what its callback raised. `succeeded`: another request stands for the lease now.
    `mark`: what the store is told when it is done. `scraping`: the download is over.
    `replaced`: it ended in another request."""

    request: Request
    root: Root | None
    stands: bool = True
    handled: bool = False
    error: str | None = None
    succeeded: bool = False
    mark: Offer | None = None
    scraping: bool = False
    replaced: bool = False
    ended: bool = False


@dataclass(slots=True)
class Hands:
    """Everything that was taken and is not settled."""

    works: dict[Request, Work] = field(default_factory=dict)
    roots: dict[str, Root] = field(default_factory=dict)  # by token

    def take(self, lease: Lease) -> Root:
        root = self.roots[lease.token] = Root(lease)
        return root

    def begin(self, request: Request, root: Root | None, *, stands: bool, mark: Offer | None = None) -> Work:
        """The engine gets it. Its root has counted it when it was queued."""
        work = self.works[request] = Work(request, root, stands, mark=mark)
        return work

    def end(self, work: Work, outcome: Outcome | None) -> tuple[Lease, Outcome] | None:
        """What is to be settled now, if this was the last. `outcome` None: another request stands for the lease from now on."""
        if work.ended:
            return None
        work.ended = True
        self.works.pop(work.request, None)
        if work.root is None:
            return None
        return self.leave(work.root, outcome if work.stands else None)

    def leave(self, root: Root, outcome: Outcome | None) -> tuple[Lease, Outcome] | None:
        if outcome is not None:
            root.outcome = outcome
        root.users -= 1
        if root.users > 0:
            return None
        self.roots.pop(root.lease.token, None)
        return root.lease, root.outcome or Outcome("release")
