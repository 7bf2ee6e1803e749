"""kill -9 at random moments, Ctrl-C, and a store that fails: no request is lost, and none is repeated without need."""

import asyncio
import os
import random
import signal
import time

import pytest
from crawler_lab import leads_to, page

from sieve_lab import states

#: A spider that is killed; ./dev test with URLSIEVE_KILLS=50 is the long form.
KILLS = int(os.environ.get("URLSIEVE_KILLS", "10"))
PAGES = max(300, 40 * KILLS)
CONCURRENT = 8

SPIDER = """
    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url)

    def parse(self, response):
        links = response.css("a::attr(href)").getall()
        for href in links[1:]:
            yield response.follow(href, self.parse)
        for href in links[:1]:
            yield scrapy.Request(response.urljoin(href), self.parse, method="POST", body="again")
        self.note([response.request.method, response.url])
"""


def site_of(count: int) -> dict:
    def answer(n):
        async def slow(_):
            await asyncio.sleep(random.uniform(0.0, 0.05))
            return page(*(f"/{(n * 3 + k) % count}" for k in range(5)), f"/{(n + 1) % count}")

        return slow

    return {f"/{n}": answer(n) for n in range(count)}


@pytest.mark.crash
@pytest.mark.slow
def test_cra_01_spiders_killed_at_random_moments_lose_no_request(scrapy_run, serve, sieve):
    site = serve(site_of(PAGES // 2))
    options = {"start": f"{site.url}/0", "URLSIEVE_LEASE": 1.0, "URLSIEVE_MAX_ATTEMPTS": 1000, "CONCURRENT_REQUESTS": CONCURRENT}
    chance = random.Random(KILLS)
    for _ in range(KILLS):
        before = len(site.log)
        running = scrapy_run.begin(SPIDER, LOG_LEVEL="ERROR", **options)
        deadline = time.monotonic() + 30
        while len(site.log) == before and running.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.6))
        running.process.send_signal(signal.SIGKILL)
        running.process.communicate()
    ended = scrapy_run(SPIDER, **options)
    assert "finished" == ended.reason
    noted = set(map(tuple, ended.notes))
    wanted = {("GET", f"{site.url}/{n}") for n in range(PAGES // 2)}
    wanted |= {("POST", f"{site.url}/{n * 3 % (PAGES // 2)}") for n in range(PAGES // 2)}
    assert set() == wanted - noted
    assert set() == noted - wanted
    assert {"done": len(wanted)} == states(sieve)
    assert [] == sieve.verify(deep=True)
    # at a kill at most what was being worked on is processed again: noted, and not yet settled
    assert len(ended.notes) - len(wanted) <= KILLS * 4 * CONCURRENT


@pytest.mark.crash
def test_a_request_that_was_only_in_memory_comes_back_with_its_page(scrapy_run, serve, sieve):
    hold = []

    async def slow(_):
        hold.append(1)
        await asyncio.sleep(5 if len(hold) == 1 else 0)
        return page()

    site = serve({"/": leads_to(), "/slow": slow})
    body = """
    def parse(self, response):
        self.note("page")
        yield scrapy.Request(response.urljoin("/slow"), lambda response: self.note("its request"))
    """
    options = {"start": f"{site.url}/", "URLSIEVE_LEASE": 1.0}
    running = scrapy_run.begin(body, **options)
    deadline = time.monotonic() + 30
    while not hold and time.monotonic() < deadline:
        time.sleep(0.01)
    assert {"leased": 1} == states(sieve)
    running.process.kill()
    running.process.communicate()
    without_start = """
    async def start(self):
        return
        yield
    """
    ended = scrapy_run(without_start + body, **options)
    assert ["page", "page", "its request"] == ended.notes
    assert {"done": 2} == states(sieve)


def test_ctrl_c_gives_back_what_was_not_processed(scrapy_run, serve, sieve):
    site = serve(site_of(200))
    running = scrapy_run.begin(start=f"{site.url}/0", CONCURRENT_REQUESTS=4)
    running.wait_for_notes(20)
    running.process.send_signal(signal.SIGINT)
    ended = running.end()
    assert "shutdown" == ended.reason
    found = states(sieve)
    assert 0 == found.get("leased", 0)
    assert len(ended.notes) == found["done"]
    assert 0 < found["pending"]
    assert all(lease.attempt == 1 for lease in sieve.pop(100))  # what was given back was not counted


def test_a_spider_that_closes_itself_gives_back_the_rest(scrapy_run, serve, sieve):
    site = serve(site_of(200))
    ended = scrapy_run(start=f"{site.url}/0", CLOSESPIDER_PAGECOUNT=10)
    assert "closespider_pagecount" == ended.reason
    found = states(sieve)
    assert (0, len(ended.notes)) == (found.get("leased", 0), found["done"])
    scrapy_run(start=f"{site.url}/0")
    assert {"done": 200} == states(sieve)


def test_a_long_download_keeps_its_lease(scrapy_run, serve, sieve):
    async def slow(_):
        await asyncio.sleep(2.5)
        return page()

    site = serve({"/": slow})
    ended = scrapy_run(start=f"{site.url}/", URLSIEVE_LEASE=0.6)
    assert 1 == len(ended.notes)
    assert {"/": 1} == dict(site.asked)
    assert "urlsieve/leases_lost" not in ended.stats
    assert {"done": 1} == states(sieve)


def test_links_are_accepted_before_their_page_is_done(scrapy_run, serve, sieve):
    """The callback waits in the middle of its output: its page stays leased, though its first links are in the store and fetched."""
    site = serve({"/": leads_to(), "/b": leads_to()})
    body = """
    async def parse(self, response):
        import asyncio
        yield response.follow("/b", self.parse_b)
        while True:
            await asyncio.sleep(0.05)

    def parse_b(self, response):
        self.note("b")
    """
    running = scrapy_run.begin(body, start=f"{site.url}/")
    running.wait_for_notes(1)
    deadline = time.monotonic() + 10
    while states(sieve) != {"leased": 1, "done": 1} and time.monotonic() < deadline:
        time.sleep(0.02)
    assert ("leased", "done") == (sieve.info(f"{site.url}/").state, sieve.info(f"{site.url}/b").state)
