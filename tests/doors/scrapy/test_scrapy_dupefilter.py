"""The duplicate filter alone, under Scrapy's own scheduler."""

from crawler_lab import leads_to

from sieve_lab import states

ALONE = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "DUPEFILTER_CLASS": "urlsieve.doors.scrapy.DupeFilter"}
SITE = {f"/{n}": leads_to(*(f"/{(n * 3 + k) % 20}?utm_source=x{n}" for k in range(4)), f"/{(n + 1) % 20}") for n in range(20)}
BODY = """
    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url)

    def parse(self, response):
        self.note(response.url)
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, self.parse)
            yield response.follow(href, self.parse_post, method="POST", body="a")

    def parse_post(self, response):
        self.note("POST")
"""


def test_the_filter_remembers_over_runs_what_the_first_has_asked_for(scrapy_run, serve, sieve):
    site = serve({**SITE, "/20": leads_to()})
    first = scrapy_run(BODY, start=f"{site.url}/0", **ALONE)
    asked = len(first.notes)
    assert {"done": asked} == states(sieve)
    assert first.stats["dupefilter/filtered"] == 2 * 5 * sum(note != "POST" for note in first.notes) + 1 - asked
    second = scrapy_run(BODY, start=f"{site.url}/0", **ALONE)
    assert asked == len(second.notes)
    third = scrapy_run(BODY, start=f"{site.url}/20", **ALONE)
    assert asked + 1 == len(third.notes)


def test_what_no_store_takes_is_filtered_within_the_run(scrapy_run, sieve):
    body = """
    async def start(self):
        yield scrapy.Request("data:,a")
        yield scrapy.Request("data:,a")
        yield scrapy.Request("data:,b")

    def parse(self, response):
        self.note(response.text)
    """
    ended = scrapy_run(body, **ALONE)
    assert ["a", "b"] == sorted(ended.notes)
    assert (3, 1) == (ended.stats["urlsieve/rejected/scheme"], ended.stats["dupefilter/filtered"])
    assert 0 == sieve.stats().seen


def test_cli_05_a_misspelt_setting_is_an_error_here_too(scrapy_run):
    ended = scrapy_run(start="http://a.example/", URLSIEVE_LEASSE=1, **ALONE)
    assert 1 == ended.status
    assert "URLSIEVE_LEASSE is no setting of urlsieve: did you mean URLSIEVE_LEASE?" in ended.log
