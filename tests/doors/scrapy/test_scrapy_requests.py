"""What becomes of single requests: methods and bodies, dont_filter, retries, redirects, errors, what cannot be written down."""

import json

import pytest
from aiohttp import web
from crawler_lab import leads_to, moved_to, page

import urlsieve
from sieve_lab import states


def ask(*requests: str) -> str:
    """A spider that starts with these requests and notes what it gets."""
    lines = "\n".join(f"        yield {request}" for request in requests)
    return f"""
    async def start(self):
        root = self.start_urls[0]
{lines}

    def parse(self, response, **given):
        self.note([response.url.removeprefix(self.start_urls[0]), response.request.method, response.request.body.decode(), given])
    """


def flaky(*statuses: int):
    """Answers with these, then well."""
    left = list(statuses)

    def answer(_):
        return web.Response(status=left.pop(0)) if left else page()

    return answer


def test_two_posts_to_one_url_are_two_entries(scrapy_run, serve, sieve):
    site = serve({"/": leads_to()})
    posts = [f"scrapy.Request(root + '/', method='POST', body={body!r})" for body in ("a=1", "a=2", "a=1")]
    ended = scrapy_run(ask("scrapy.Request(root + '/')", *posts), start=site.url)
    assert {("GET", ""), ("POST", "a=1"), ("POST", "a=2")} == {(method, body) for _, method, body, _ in ended.notes}
    assert 3 == len(ended.notes)
    assert 1 == ended.stats["dupefilter/filtered"]
    assert {"done": 3} == states(sieve)


def test_the_users_own_variant_makes_another_request(scrapy_run, serve, sieve):
    site = serve({"/": leads_to()})
    requests = [f"scrapy.Request(root + '/', meta={{'urlsieve_variant': {name!r}}})" for name in ("en", "de", "en")]
    ended = scrapy_run(ask(*requests, "scrapy.Request(root + '/', meta={'urlsieve_variant': 7})"), start=site.url)
    assert 2 == len(ended.notes)
    assert "meta['urlsieve_variant'] must be text or bytes, not int" in ended.log
    assert 1 == ended.stats["urlsieve/rejected/invalid_request"]


def test_a_request_that_makes_no_sense_to_the_store_is_dropped_alone(scrapy_run, serve, sieve):
    site = serve({"/": leads_to(), "/b": leads_to(), "/c": leads_to()})
    odd = "scrapy.Request(root + '/b', priority=2**70)"
    ended = scrapy_run(ask("scrapy.Request(root + '/')", odd, "scrapy.Request(root + '/c')"), start=site.url)
    assert ({"/", "/c"}, "finished") == ({path for path, *_ in ended.notes}, ended.reason)
    assert "makes no sense to the store: priority is out of range" in ended.log
    assert 1 == ended.stats["urlsieve/rejected/invalid_request"]


def test_dont_filter_asks_again_for_what_is_done(scrapy_run, serve, sieve):
    site = serve({"/": leads_to()})
    for number in (1, 2):
        ended = scrapy_run(ask(f"scrapy.Request(root + '/', dont_filter=True, cb_kwargs={{'n': {number}}})"), start=site.url)
    assert [{"n": 1}, {"n": 2}] == [given for *_, given in ended.notes]
    assert 1 == sieve.stats().accepted


def test_requests_that_must_not_be_filtered_are_all_processed_if_they_differ(scrapy_run, serve, sieve):
    site = serve({"/": leads_to()})
    requests = [f"scrapy.Request(root + '/', dont_filter=True, cb_kwargs={{'n': {n}}})" for n in range(5)]
    for _ in range(2):
        ended = scrapy_run(ask(*requests), start=site.url)
    assert [0, 0, 1, 1, 2, 2, 3, 3, 4, 4] == sorted(given["n"] for *_, given in ended.notes)
    assert {"done": sieve.stats().accepted} == states(sieve)


def test_a_page_may_ask_for_itself_again(scrapy_run, serve, sieve):
    site = serve({"/": leads_to()})
    body = """
    def parse(self, response, n=0):
        self.note(n)
        if n < 3:
            yield response.request.replace(dont_filter=True, cb_kwargs={"n": n + 1})
    """
    ended = scrapy_run(body, start=f"{site.url}/")
    assert [0, 1, 2, 3] == ended.notes
    assert {"done": 1} == states(sieve)
    assert 3 == ended.stats["urlsieve/under_same_lease"]


def test_cra_17_a_retry_stays_one_entry_under_one_lease(scrapy_run, serve, sieve):
    site = serve({"/": flaky(503, 503), "/b": flaky(500)})
    ended = scrapy_run(ask("scrapy.Request(root + '/')", "scrapy.Request(root + '/b')"), start=site.url)
    assert ["/", "/b"] == sorted(path for path, *_ in ended.notes)
    assert (3, 3) == (ended.stats["retry/count"], ended.stats["urlsieve/under_same_lease"])
    assert {"done": 2} == states(sieve)
    assert {"/": 3, "/b": 2} == dict(site.asked)


def test_what_fails_after_all_retries_is_tried_again_later_and_then_dead_with_its_reason(scrapy_run, serve, sieve):
    site = serve({"/": lambda _: web.Response(status=500)})
    ended = scrapy_run(ask("scrapy.Request(root + '/')"), start=site.url, RETRY_TIMES=1, URLSIEVE_MAX_ATTEMPTS=2)
    assert ([], "finished") == (ended.notes, ended.reason)
    assert {"/": 4} == dict(site.asked)
    assert {"dead": 1} == states(sieve)
    assert "status 500" == sieve.info(f"{site.url}/").reason


def test_a_server_that_is_not_there_is_a_failure_too(scrapy_run, sieve):
    ended = scrapy_run(start="http://127.0.0.1:9/", RETRY_ENABLED=False, URLSIEVE_MAX_ATTEMPTS=1)
    assert "finished" == ended.reason
    assert {"dead": 1} == states(sieve)
    assert "Error" in sieve.info("http://127.0.0.1:9/").reason


@pytest.mark.parametrize(("status", "state"), [(404, "done"), (403, "dead")])
def test_a_final_status_that_nobody_handles_ends_the_request(scrapy_run, serve, sieve, status, state):
    site = serve({"/": status})
    assert [] == scrapy_run(start=f"{site.url}/").notes
    assert {state: 1} == states(sieve)


def test_a_status_that_the_callback_handles_is_done(scrapy_run, serve, sieve):
    site = serve({"/": 403})
    body = """
    handle_httpstatus_list = [403]

    def parse(self, response):
        self.note(response.status)
    """
    assert [403] == scrapy_run(body, start=f"{site.url}/").notes
    assert {"done": 1} == states(sieve)


def test_an_errback_that_takes_the_failure_makes_it_done(scrapy_run, serve, sieve):
    site = serve({"/": 403, "/b": 403})
    body = """
    async def start(self):
        for path, errback in (("/", self.take), ("/b", self.refuse)):
            yield scrapy.Request(self.start_urls[0] + path, errback=errback)

    def take(self, failure):
        self.note(failure.value.response.status)

    def refuse(self, failure):
        raise failure.value
    """
    assert [403] == scrapy_run(body, start=site.url).notes
    assert ("done", "dead") == (sieve.info(f"{site.url}/").state, sieve.info(f"{site.url}/b").state)


@pytest.mark.parametrize(
    "body", ["def parse(self, response):\n    raise ValueError('no')", "def parse(self, response):\n    yield {}\n    1 / 0"]
)
def test_a_page_whose_callback_raises_is_not_done(scrapy_run, serve, sieve, body):
    site = serve({"/": leads_to()})
    scrapy_run(body, start=f"{site.url}/", URLSIEVE_MAX_ATTEMPTS=2)
    assert {"/": 2} == dict(site.asked)
    assert {"dead": 1} == states(sieve)
    assert sieve.info(f"{site.url}/").reason.endswith("Error in the callback")


def test_robots_txt_makes_a_request_skipped_and_the_robots_request_is_none_of_ours(scrapy_run, serve, sieve):
    site = serve(
        {"/robots.txt": lambda _: web.Response(text="User-agent: *\nDisallow: /no"), "/": leads_to("/no", "/yes"), "/yes": leads_to()}
    )
    scrapy_run(start=f"{site.url}/", ROBOTSTXT_OBEY=True)
    assert {"/": 1, "/yes": 1} == dict(site.asked)
    assert {"robots.txt": 1} == dict(sieve.stats().skipped)
    assert {"done": 3} == states(sieve)


def test_a_redirect_is_done_when_its_target_is_accepted(scrapy_run, serve, sieve):
    site = serve({"/": moved_to("/new"), "/new": leads_to(), "/also": moved_to("/new")})
    ended = scrapy_run(ask("scrapy.Request(root + '/')", "scrapy.Request(root + '/also')"), start=site.url)
    assert ["/new"] == [path for path, *_ in ended.notes]
    assert {"/": 1, "/also": 1, "/new": 1} == dict(site.asked)
    assert {"done": 3} == states(sieve)


def test_a_redirect_to_another_spelling_of_itself_is_followed_under_the_same_lease(scrapy_run, serve, sieve):
    seen = []

    def answer(request):
        seen.append(request.headers.get("Cookie"))
        if len(seen) > 1:
            return page()
        return web.Response(status=302, headers={"Location": "/a?x=1&y=2#", "Set-Cookie": "a=1"})

    site = serve({"/a": answer})
    ended = scrapy_run(ask("scrapy.Request(root + '/a?x=1&y=2')"), start=site.url)
    assert 1 == len(ended.notes)
    assert [None, "a=1"] == seen
    assert {"done": 1} == states(sieve)


def test_a_redirect_loop_ends(scrapy_run, serve, sieve):
    site = serve({"/": moved_to("/")})
    scrapy_run(start=f"{site.url}/", REDIRECT_MAX_TIMES=3)
    assert {"/": 4} == dict(site.asked)
    assert {"redirects": 1} == dict(sieve.stats().skipped)


UNWRITABLE = {
    "a lambda": ("callback=lambda response: self.parse_it(response)", "callback is not a method of the spider"),
    "an object": ("self.parse_it, meta={'a': [object()]}", "meta['a'][0] is an object, which JSON cannot keep"),
    "a function": ("self.parse_it, cb_kwargs={'hook': print}", "cb_kwargs['hook'] is a builtin_function_or_method"),
    "too much": ("self.parse_it, cb_kwargs={'hook': 'x' * 600_000}", "characters as JSON; at most 524288"),
}


@pytest.mark.parametrize("case", UNWRITABLE)
def test_what_cannot_be_written_down_is_said_and_processed_from_memory(scrapy_run, serve, sieve, case):
    arguments, message = UNWRITABLE[case]
    site = serve({"/": leads_to(), "/b": leads_to(), "/c": leads_to()})
    body = f"""
    def parse(self, response):
        for path in ("/b", "/c", "/b"):
            yield scrapy.Request(response.urljoin(path), {arguments})

    def parse_it(self, response, hook=None):
        self.note(response.url)
    """
    ended = scrapy_run(body, start=f"{site.url}/")
    assert {f"{site.url}/b": 1, f"{site.url}/c": 1} == ended.times
    assert message in ended.log
    assert 3 == ended.stats["scheduler/unserializable"]
    assert (2, 2) == (ended.stats["scheduler/enqueued/memory"], ended.stats["scheduler/dequeued/memory"])
    assert "urlsieve/not_durable" not in ended.stats
    assert {"done": 3} == states(sieve)
    again = scrapy_run(body, start=f"{site.url}/")
    assert ended.notes == again.notes  # done is done, in the next run too
    assert {"done": 3} == states(sieve)


def test_a_request_that_cannot_be_written_and_has_no_page_is_counted_as_not_durable(scrapy_run, serve):
    site = serve({"/": leads_to()})
    ended = scrapy_run(ask("scrapy.Request(root + '/', lambda response: self.note(1))"), start=site.url)
    assert ([1], 1) == (ended.notes, ended.stats["urlsieve/not_durable"])


def test_what_cannot_be_written_and_must_not_be_filtered_is_processed_each_time(scrapy_run, serve):
    site = serve({"/": leads_to(), "/b": leads_to()})
    body = """
    def parse(self, response):
        request = scrapy.Request(response.urljoin("/b"), lambda response: self.note(1), dont_filter=True)
        yield request
        yield request
    """
    assert [1, 1] == scrapy_run(body, start=f"{site.url}/").notes


def test_a_callback_may_download_its_own_request_again(scrapy_run, serve, sieve):
    site = serve({"/": flaky(200, 302), "/b": leads_to()})
    body = """
    async def parse(self, response):
        from scrapy.utils.defer import maybe_deferred_to_future
        engine = self.crawler.engine
        if hasattr(engine, "download_async"):
            await engine.download_async(response.request)
        yield response.follow("/b", self.parse_b)

    def parse_b(self, response):
        self.note("b")
    """
    assert ["b"] == scrapy_run(body, start=f"{site.url}/").notes
    assert {"done": 2} == states(sieve)


def test_urls_of_other_schemes_are_processed_from_memory(scrapy_run, tmp_path, sieve):
    (tmp_path / "page.html").write_text("<a href='data:,hello'>x</a>")
    body = """
    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield scrapy.Request(href)
            yield scrapy.Request(href)
        self.note(response.url)
    """
    ended = scrapy_run(body, start=(tmp_path / "page.html").as_uri())
    assert [(tmp_path / "page.html").as_uri(), "data:,hello"] == ended.notes
    assert 0 == sieve.stats().accepted


def test_sec_03_secrets_in_a_url_do_not_reach_our_lines_of_the_log(scrapy_run, serve, sieve):
    site = serve({"/": leads_to()})
    url = site.url.replace("http://", "http://user:hunter2@") + "/?" + "x" * 70_000
    ended = scrapy_run(ask(f"scrapy.Request({url!r})"), start=site.url, URLLENGTH_LIMIT=0)
    assert "is dropped: its URL is refused as 'too_long'" in ended.log
    assert "hunter2" not in ended.log


def test_a_request_comes_back_as_it_was_pushed(scrapy_run, serve, sieve):
    site = serve({"/": leads_to(), "/echo": lambda request: web.Response(text=json.dumps(dict(request.headers)))})
    body = """
    async def start(self):
        yield scrapy.http.JsonRequest(
            self.start_urls[0] + "/echo", data={"a": [1, "é"]}, headers={"X-One": [b"1", b"2"]}, cookies={"c": "d"}, priority=3,
            meta={"cookiejar": 1, "t": (1, b"\\xff"), "item": Thing(name="n")}, cb_kwargs={"when": datetime(2026, 1, 2)}, flags=["f"],
            callback=self._reached, errback=self.parse)

    def _reached(self, response, when):
        request = response.request
        self.note([type(request).__name__, request.method, request.body.decode(), request.priority, request.flags,
                   repr(request.meta["t"]), repr(dict(request.meta["item"])), when.isoformat(), request.errback.__name__])
        self.note([request.headers.getlist("X-One")[1].decode(), response.json()["Cookie"], response.json()["Content-Type"]])

    def parse(self, response):
        pass
    """
    before = "from datetime import datetime\nclass Thing(scrapy.Item):\n    name = scrapy.Field()"
    ended = scrapy_run(body, start=site.url, before=before)
    assert [
        ["JsonRequest", "POST", '{"a": [1, "\\u00e9"]}', 3, ["f"], "(1, b'\\xff')", "{'name': 'n'}", "2026-01-02T00:00:00", "parse"],
        ["2", "c=d", "application/json"],
    ] == ended.notes


def test_a_request_whose_method_is_gone_is_said_and_ends_on_the_failed_list(scrapy_run, serve, sieve):
    site = serve({"/": leads_to()})
    with urlsieve.open(scrapy_run.store) as other:
        other.push(f"{site.url}/", meta={"scrapy": 1, "callback": "parse_that"})
    ended = scrapy_run(URLSIEVE_MAX_ATTEMPTS=1)
    assert "the spider 'test' has no method 'parse_that'" in ended.log
    assert {"dead": 1} == states(sieve)
    assert 1 == ended.stats["urlsieve/unreadable"]


def test_a_component_that_takes_our_taps_away_makes_no_spider_that_never_ends(scrapy_run, serve, sieve):
    site = serve({"/": leads_to()})
    body = """
    async def start(self):
        del self.crawler.engine.scraper.enqueue_scrape
        yield scrapy.Request(self.start_urls[0])

    def parse(self, response):
        self.note(1)
    """
    ended = scrapy_run(body, start=f"{site.url}/", URLSIEVE_MAX_ATTEMPTS=1)
    assert ([1], "finished", 1) == (ended.notes, ended.reason, ended.stats["urlsieve/orphans"])
    assert "was never told: it counts as failed" in ended.log
    assert "never told" == sieve.info(f"{site.url}/").reason
