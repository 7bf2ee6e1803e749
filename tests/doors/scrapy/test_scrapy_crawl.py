"""Whole crawls: every page once, in one run or in several, by one process or by more."""

import asyncio

from aiohttp import web
from crawler_lab import leads_to, page

from sieve_lab import states

SITE = {f"/{n}": leads_to(*(f"/{(n * 3 + k) % 40}" for k in range(6)), f"/{(n + 1) % 40}") for n in range(40)}


def urls(site, numbers=range(40)):
    return {f"{site.url}/{n}" for n in numbers}


def test_every_page_is_processed_once_and_done_in_the_store(scrapy_run, serve, sieve):
    site = serve(SITE)
    ended = scrapy_run(start=f"{site.url}/0")
    assert (0, "finished") == (ended.status, ended.reason)
    assert dict.fromkeys(urls(site), 1) == ended.times
    assert {"done": 40} == states(sieve)
    assert [] == sieve.verify(deep=True)


def test_the_stats_are_those_that_scrapy_users_know(scrapy_run, serve):
    site = serve(SITE)
    stats = scrapy_run(start=f"{site.url}/0").stats
    links = 40 * 7
    assert {"enqueued": 40, "enqueued/urlsieve": 40, "dequeued": 40, "dequeued/urlsieve": 40} == {
        name.removeprefix("scheduler/"): value for name, value in stats.items() if name.startswith("scheduler/")
    }
    assert links + 1 - 40 == stats["dupefilter/filtered"]
    assert 40 == stats["urlsieve/settled/done"]


def test_a_second_run_asks_only_for_the_start_page_again(scrapy_run, serve, sieve):
    site = serve(SITE)
    scrapy_run(start=f"{site.url}/0")
    scrapy_run(start=f"{site.url}/0")
    assert {"/0": 2, **{f"/{n}": 1 for n in range(1, 40)}} == dict(site.asked)
    assert {"done": 40} == states(sieve)


def test_a_store_in_memory_serves_one_run(scrapy_run, serve):
    site = serve(SITE)
    ended = scrapy_run(start=f"{site.url}/0", URLSIEVE_STORE="memory:")
    assert dict.fromkeys(urls(site), 1) == ended.times


def test_cli_09_three_processes_share_the_work_and_all_end(scrapy_run, serve, sieve):
    runs = []

    async def when_all_are_up(_):
        while sum(note == "up" for note in runs[0].notes()) < 3:
            await asyncio.sleep(0.05)
        return page(*(f"/{k}" for k in range(1, 6)))

    def slow(*links):  # so that the crawl lasts longer than a spider that found nothing may take to look again
        async def answer(_):
            await asyncio.sleep(0.2)
            return page(*links)

        return answer

    pages = {f"/{n}": slow(*(f"/{n * 5 + k}" for k in range(1, 6) if n * 5 + k < 150)) for n in range(150)}
    site = serve(pages | {"/0": when_all_are_up})
    body = """
    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url)
        self.note("up")

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, self.parse)
        self.note(response.url)
    """
    runs += [scrapy_run.begin(body, start=f"{site.url}/0", CONCURRENT_REQUESTS=4) for _ in range(3)]
    ended = [run.end() for run in runs]
    assert ["finished"] * 3 == [run.reason for run in ended]
    assert {"up": 3} | dict.fromkeys(urls(site, range(150)), 1) == ended[-1].times
    assert all(run.stats.get("response_received_count", 0) > 0 for run in ended)
    assert {"done": 150} == states(sieve)


def test_a_url_pushed_from_outside_goes_to_the_spiders_parse(scrapy_run, serve, sieve):
    site = serve(SITE)
    sieve.push([f"{site.url}/7"], meta={"batch": 3}, priority=5)
    body = """
    def parse(self, response):
        self.note([response.url, response.meta["urlsieve_meta"], response.request.priority])
    """
    ended = scrapy_run(body)
    assert [[f"{site.url}/7", {"batch": 3}, 5]] == ended.notes
    assert {"done": 1} == states(sieve)


def test_larger_priorities_are_fetched_sooner(scrapy_run, serve):
    site = serve({f"/{n}": leads_to() for n in range(40)})
    body = """
    async def start(self):
        for n in range(40):
            yield scrapy.Request(f"{self.start_urls[0]}/{n}", priority=n)

    def parse(self, response):
        self.note(response.request.priority)
    """
    ended = scrapy_run(body, start=site.url, CONCURRENT_REQUESTS=1, URLSIEVE_PREFETCH=1)
    assert 40 == len(ended.notes)
    # all are offered within a few milliseconds; what was taken before that may be out of order
    assert sorted(ended.notes[8:], reverse=True) == ended.notes[8:]


def test_a_download_slot_of_the_users_own_is_kept_and_is_no_group_of_the_store(scrapy_run, serve, sieve):
    site = serve({"/": leads_to()})
    body = """
    async def start(self):
        yield scrapy.Request(self.start_urls[0] + "/", meta={"download_slot": "slow lane"})

    def parse(self, response):
        self.note(response.meta["download_slot"])
    """
    assert ["slow lane"] == scrapy_run(body, start=site.url).notes
    assert [site.url.removeprefix("http://")] == [row.name for row in sieve.groups()]


def test_a_site_on_which_everything_fails_once_is_crawled_all_the_same(scrapy_run, serve, sieve):
    """The retries have a lower priority, as Scrapy has it; they take part in what is fetched ahead and do not pile up."""
    asked = set()

    def once(request):
        if request.path in asked:
            return page()
        asked.add(request.path)
        return web.Response(status=503)

    site = serve({f"/{n}": once for n in range(150)})
    body = """
    async def start(self):
        for n in range(150):
            yield scrapy.Request(f"{self.start_urls[0]}/{n}")

    def parse(self, response):
        self.note(response.url)
    """
    ended = scrapy_run(body, start=site.url, CONCURRENT_REQUESTS=4, RETRY_PRIORITY_ADJUST=-1)
    assert dict.fromkeys(urls(site, range(150)), 1) == ended.times
    assert ({"done": 150}, 150) == (states(sieve), ended.stats["urlsieve/under_same_lease"])
    firsts = [path for _, path, _ in site.log]
    between = [firsts.index(path, at + 1) - at for at, path in enumerate(firsts) if path not in firsts[:at]]
    assert max(between) < 40  # a retry comes soon: nothing waits in memory for the end of the crawl


def test_a_duplicate_that_only_the_store_knows_is_told_as_dropped(scrapy_run, serve, sieve):
    site = serve({"/": leads_to("/b"), "/b": leads_to()})
    sieve.mark([f"{site.url}/b"])
    body = """
    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.dropped, signal=scrapy.signals.request_dropped)
        return spider

    def dropped(self, request):
        self.note(request.url)

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, self.parse)
    """
    ended = scrapy_run(body, start=f"{site.url}/")
    assert ([f"{site.url}/b"], 1) == (ended.notes, ended.stats["dupefilter/filtered"])


def test_two_spiders_in_one_process_share_a_store(scrapy_run, serve, sieve):
    site = serve(SITE)
    ended = scrapy_run(start=f"{site.url}/0", crawlers=2)
    assert urls(site) == set(ended.times)
    assert {"done": sieve.stats().accepted} == states(sieve)
    # the start page is asked for by both, whatever the other has done with it
    assert {1} == {many for url, many in ended.times.items() if url != f"{site.url}/0"}
