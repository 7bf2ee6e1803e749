"""Scrapy's requests in, a store that keeps them: a scheduler that never loses one, and a duplicate filter.

    SCHEDULER = "urlsieve.doors.scrapy.Scheduler"
    URLSIEVE_STORE = "crawl"

How it hangs together: `scheduler` answers Scrapy at once from what `desk` has fetched ahead; `desk` is the one thread that talks to the
store; `taps` tells when a response has been wholly processed; `hands` keeps account of what is out, so that a lease is settled only then;
`wire` turns requests into JSON and back; `identity` says which requests are the same, `offering` what becomes of a request that was seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urlsieve.doors.scrapy.dupefilter import DupeFilter as DupeFilter
    from urlsieve.doors.scrapy.scheduler import Scheduler as Scheduler

__all__ = ["DupeFilter", "Scheduler"]


def __getattr__(name: str) -> object:
    if name == "Scheduler":
        from urlsieve.doors.scrapy.scheduler import Scheduler

        return Scheduler
    if name == "DupeFilter":
        from urlsieve.doors.scrapy.dupefilter import DupeFilter

        return DupeFilter
    raise AttributeError(f"module 'urlsieve.doors.scrapy' has no attribute {name!r}")
