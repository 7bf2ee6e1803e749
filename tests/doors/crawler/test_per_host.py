"""Several requests to one host at the same time, no more than allowed, over all workers; and the delay between them."""

import asyncio
import time
from itertools import pairwise

from aiohttp import web
from crawler_lab import leads_to, moved_to, page


class Busy:
    """An answer that takes its time and knows how many others are under way."""

    def __init__(self, seconds):
        self.seconds, self.now, self.most = seconds, 0, 0

    async def __call__(self, _):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.seconds)
        self.now -= 1
        return page()


def of_twelve(busy):
    return {"/": lambda _: page(*(f"/{i}" for i in range(12)))} | {f"/{i}": busy for i in range(12)}


def test_one_at_a_time_is_the_default(serve, crawl):
    busy = Busy(0.02)
    site = serve(of_twelve(busy))
    crawl(site.url + "/")
    assert (1, 13) == (busy.most, sum(site.asked.values()))


def test_as_many_as_allowed_are_asked_for_at_once_and_no_more(serve, crawl):
    busy = Busy(0.3)
    site = serve(of_twelve(busy))
    crawl(site.url + "/", per_host=3)
    assert (3, 13) == (busy.most, sum(site.asked.values()))


def test_the_total_holds_over_hosts(serve, crawl):
    busy = Busy(0.2)
    sites = [serve(of_twelve(busy)) for _ in range(3)]
    crawl(*(site.url + "/" for site in sites), per_host=12, concurrency=4)
    assert 4 == busy.most


def test_the_number_holds_over_all_workers_of_a_store(serve, worker):
    busy = Busy(0.2)
    site = serve(of_twelve(busy))
    workers = [worker(site.url + "/", "--delay", "0", "--per-host", "2") for _ in range(3)]
    assert [0, 0, 0] == [process.end().status for process in workers]
    assert (2, 13) == (busy.most, sum(site.asked.values()))


def test_the_delay_lies_between_any_two_requests_all_the_same(serve, crawl):
    pages = {f"/{i}": moved_to(f"/to{i}") for i in range(4)} | {f"/to{i}": leads_to() for i in range(4)}
    site = serve(pages | {"/": leads_to(*(f"/{i}" for i in range(4)))})
    site.pages["/robots.txt"] = lambda _: web.Response(text="")
    crawl(*(f"{site.url}/{path}" for path in ("", "a", "b", "c")), per_host=4, delay=0.4)
    assert 4 == sum(site.asked[f"/to{i}"] for i in range(4))
    # from sending to sending; a busy machine delivers some late, and two that were sent together would be none apart
    assert min(after - before for before, after in pairwise(site.times())) >= 0.2


def test_slow_pages_overlap_under_a_delay(serve, crawl):
    busy = Busy(1.0)
    site = serve({"/": leads_to("/1", "/2", "/3", "/4")} | {f"/{i}": busy for i in range(1, 5)})
    started = time.monotonic()
    crawl(site.url + "/", per_host=4, delay=0.1)
    assert busy.most > 1
    assert time.monotonic() - started < 30
