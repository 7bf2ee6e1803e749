"""Settings, and stores that cannot be used: what is wrong is said at the start, and the spider does not run."""

import time

import pytest
from crawler_lab import leads_to

import urlsieve
from sieve_lab import states

TYPOS = {
    "URLSIEVE_STORES": "URLSIEVE_STORE",
    "URLSIEVE_LEASES": "URLSIEVE_LEASE",
    "URLSIEVE_PRE_FETCH": "URLSIEVE_PREFETCH",
    "URLSIEVE_IDLEWAIT": "URLSIEVE_IDLE_WAIT",
}


@pytest.mark.parametrize("typo", TYPOS)
def test_cli_05_a_misspelt_setting_is_an_error_that_names_the_nearest(scrapy_run, typo):
    ended = scrapy_run(start="http://a.example/", **{typo: 1})
    assert 1 == ended.status
    assert f"{typo} is no setting of urlsieve: did you mean {TYPOS[typo]}?" in ended.log


WRONG = {
    "no store": ({"URLSIEVE_STORE": ...}, "URLSIEVE_STORE is not set"),
    "an empty store": ({"URLSIEVE_STORE": ""}, "URLSIEVE_STORE is not set"),
    "a number for a store": ({"URLSIEVE_STORE": 7}, "URLSIEVE_STORE must be text, not int"),
    "words for seconds": ({"URLSIEVE_LEASE": "long"}, "URLSIEVE_LEASE must be a number, not 'long'"),
    "too short a lease": ({"URLSIEVE_LEASE": 0}, "URLSIEVE_LEASE must be a number of seconds, at least 0.1, not 0"),
    "half a request": ({"URLSIEVE_PREFETCH": 0.5}, "URLSIEVE_PREFETCH must be a whole number, at least 1, not 0.5"),
    "an unknown durability": ({"URLSIEVE_DURABILITY": "eternal"}, "durability must be one of full, normal, not 'eternal'"),
    "an unknown kind of store": ({"URLSIEVE_STORE": "ftp://a.example/"}, "ftp"),
    "another reactor": (
        {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
        "urlsieve's scheduler needs Scrapy's asyncio reactor",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_setting_that_makes_no_sense_is_an_error_at_the_start(scrapy_run, case):
    settings, message = WRONG[case]
    ended = scrapy_run(start="http://a.example/", **settings)
    assert 1 == ended.status
    assert message in ended.log


def test_numbers_may_come_as_text_as_the_command_line_gives_them(scrapy_run, serve):
    site = serve({"/": leads_to()})
    ended = scrapy_run(start=f"{site.url}/", URLSIEVE_LEASE="5", URLSIEVE_PREFETCH="2", URLSIEVE_IDLE_WAIT="0.5")
    assert (0, 1) == (ended.status, len(ended.notes))


def test_a_store_of_another_profile_is_refused_by_name(scrapy_run, store):
    urlsieve.open(store, profile="exact").close()
    ended = scrapy_run(start="http://a.example/", URLSIEVE_PROFILE="safe")
    assert 1 == ended.status
    assert "profile" in ended.log


@pytest.mark.parametrize("filter_", [None, "urlsieve.doors.scrapy.DupeFilter"])
def test_sec_03_the_password_of_a_store_reaches_no_log(scrapy_run, filter_):
    alone = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "DUPEFILTER_CLASS": filter_} if filter_ else {}
    address = "redis://someone:S3cretWord@127.0.0.1:1/0?job=x&connect_timeout=1&patience=1"
    ended = scrapy_run(start="http://a.example/", URLSIEVE_STORE=address, LOG_LEVEL="DEBUG", **alone)
    assert 1 == ended.status
    assert "127.0.0.1:1" in ended.log
    assert "S3cretWord" not in ended.log


def test_a_duplicate_filter_that_is_not_used_is_said(scrapy_run, serve):
    site = serve({"/": leads_to()})
    ended = scrapy_run(start=f"{site.url}/", DUPEFILTER_CLASS="scrapy.dupefilters.BaseDupeFilter")
    assert "DUPEFILTER_CLASS is not used" in ended.log


@pytest.mark.parametrize(("wait", "fetched"), [(0, False), (60, True)])
def test_the_spider_stays_for_what_is_due_soon_enough(scrapy_run, serve, sieve, wait, fetched):
    site = serve({"/": leads_to()})
    sieve.revisit([f"{site.url}/"], at=time.time() + 6)
    ended = scrapy_run(URLSIEVE_IDLE_WAIT=wait)
    assert ("finished", int(fetched)) == (ended.reason, len(ended.notes))
    assert ({"done": 1} if fetched else {"delayed": 1}) == states(sieve)
    assert fetched or "1 requests stay in the store" in ended.log


def test_a_spider_that_waits_for_ever_takes_what_is_pushed_later(scrapy_run, serve, sieve):
    site = serve({"/": leads_to()})
    running = scrapy_run.begin(URLSIEVE_IDLE_WAIT="forever")
    time.sleep(2)
    sieve.push(f"{site.url}/")
    running.wait_for_notes(1)
    assert running.process.poll() is None


def test_cli_07_urls_added_by_a_handler_of_spider_idle_are_crawled(scrapy_run, serve):
    """On the Scrapy of URLSIEVE_SCRAPY_PYTHON, if that is set: so each supported one can be tried."""
    site = serve({"/": leads_to(), "/late": leads_to()})
    body = """
    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.idle, signal=scrapy.signals.spider_idle)
        return spider

    late = False

    def idle(self):
        if not self.late:
            self.late = True
            self.crawler.engine.crawl(scrapy.Request(self.start_urls[0] + "late"))
            raise scrapy.exceptions.DontCloseSpider

    def parse(self, response):
        self.note(response.url)
    """
    ended = scrapy_run(body, start=f"{site.url}/", before="import scrapy.exceptions")
    assert [f"{site.url}/", f"{site.url}/late"] == ended.notes


SLOW = """
import itertools, threading, time
import urlsieve
import urlsieve.doors.scrapy.desk as desk

calls = itertools.count()

class Slow:
    '''A store that takes its time: every call waits, as one far away does.'''
    def __init__(self, sieve):
        self.sieve, self.canonicalizer = sieve, sieve.canonicalizer
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.sieve.close()
    def __getattr__(self, name):
        method = getattr(self.sieve, name)
        def slowly(*args, **kwargs):
            assert threading.current_thread() is not threading.main_thread(), name
            time.sleep(2.0 if next(calls) % 8 == 3 else 0.05)
            return method(*args, **kwargs)
        return slowly

class urlsieve_slow:
    @staticmethod
    def open(*args, **kwargs):
        time.sleep(0.5)
        return Slow(urlsieve.open(*args, **kwargs))

desk.urlsieve = urlsieve_slow
"""


@pytest.mark.slow
def test_a_slow_store_never_holds_up_the_event_loop(scrapy_run, serve, sieve):
    """Some calls take 2 s, and one from the loop's own thread is an error; the rest of the bound is for a busy machine."""
    site = serve({f"/{n}": leads_to(*(f"/{(n * 3 + k) % 20}" for k in range(5)), f"/{(n + 1) % 20}") for n in range(20)})
    body = """
    async def start(self):
        import asyncio
        async def tick():
            last = time.perf_counter()
            while True:
                await asyncio.sleep(0.005)
                now = time.perf_counter()
                self.longest = max(self.longest, now - last)
                last = now
        self.ticking = asyncio.create_task(tick())
        yield scrapy.Request(self.start_urls[0])

    longest = 0.0

    def closed(self, reason):
        self.note(self.longest)

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, self.parse)
    """
    ended = scrapy_run(body, start=f"{site.url}/0", before=SLOW)
    assert {"done": 20} == states(sieve)
    (longest,) = ended.notes
    assert longest < 1.0


FAILING = SLOW.replace(
    "            time.sleep(2.0 if next(calls) % 8 == 3 else 0.05)\n",
    "            if name == 'push':\n                Slow.calls += 1\n                if FROM <= Slow.calls < TO:\n"
    "                    raise urlsieve.StoreUnavailable('the store is on holiday')\n",
).replace("class urlsieve_slow", "    calls = 0\n\nclass urlsieve_slow")


def test_a_store_that_is_away_for_a_while_loses_nothing(scrapy_run, serve, sieve):
    site = serve({f"/{n}": leads_to(f"/{n + 1}", f"/{n + 2}") for n in range(30)} | {"/30": leads_to(), "/31": leads_to()})
    before = FAILING.replace("FROM", "3").replace("TO", "8")
    ended = scrapy_run(start=f"{site.url}/0", before=before)
    assert ("finished", 32) == (ended.reason, len(ended.notes))
    assert "The store does not answer; it is asked again: the store is on holiday" in ended.log
    assert 5 == ended.stats["urlsieve/store_errors"]
    assert {"done": 32} == states(sieve)


def test_a_store_that_stays_away_closes_the_spider_and_its_pages_come_back(scrapy_run, serve, sieve):
    site = serve({f"/{n}": leads_to(f"/{n + 1}") for n in range(10)} | {"/10": leads_to()})
    before = FAILING.replace("FROM", "3").replace("TO", "1000000")
    options = {"start": f"{site.url}/0", "URLSIEVE_LEASE": 1.0}
    ended = scrapy_run(before=before, URLSIEVE_PATIENCE=0.5, **options)
    assert "urlsieve_store_error" == ended.reason
    assert "has failed: the store is on holiday" in ended.log
    ended = scrapy_run(**options)
    assert "finished" == ended.reason
    assert {"done": 11} == states(sieve)
