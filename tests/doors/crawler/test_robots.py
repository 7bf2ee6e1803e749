"""robots.txt: one copy for all workers, obeyed, and what happens when there is none."""

import asyncio
import signal
import time

import pytest
from aiohttp import web
from crawler_lab import page, until

import urlsieve.aio
from urlsieve.doors.crawler.fetch import Fetcher, FetchFailed
from urlsieve.doors.crawler.robots import PATIENCE, Copy, Robots


def robots(text):
    return lambda _: web.Response(text=text)


def fetched(site):
    return sum(1 for _, path, _ in site.log if path == "/robots.txt")


def rulings(store, url, *, times=1, agent="test/1", delay=0.0):
    """Ask a fresh Robots `times` times; the group's delay afterwards."""

    async def ask():
        async with await urlsieve.aio.open(store) as sieve, Fetcher(agent, allow_private=True) as fetcher:
            found = []
            group = url.partition("//")[2].partition("/")[0]
            for _ in range(times):
                robots = Robots(sieve, fetcher, delay, lambda *_: None)
                found.append(await robots.rule(url, site=group, group=group))
            return found, await sieve.group(group).get("delay")

    return asyncio.run(ask())


def test_a_forbidden_page_is_never_asked_for_and_counted(serve, crawl, sieve):
    site = serve({"/": lambda _: page("/private/a", "/open"), "/open": lambda _: page()})
    site.pages["/robots.txt"] = robots("User-agent: *\nDisallow: /private/\n")
    result = crawl(site.url + "/")
    assert {"/": 1, "/open": 1} == dict(site.asked)
    assert {"robots": 1} == result.report["skipped"]
    assert 2 == result.report["pages"]
    assert {"robots": 1} == dict(sieve.stats().skipped)


def test_the_rules_for_our_own_name_win(serve, crawl):
    site = serve({"/": lambda _: page(), "/robots.txt": robots("User-agent: *\nAllow: /\n\nUser-agent: mybot\nDisallow: /\n")})
    crawl(site.url + "/", user_agent="mybot/2.0")
    assert {} == dict(site.asked)


def test_three_workers_fetch_it_once(serve, worker):
    paths = [f"/{i}" for i in range(12)]
    site = serve({"/": lambda _: page(*paths), "/robots.txt": robots("")} | dict.fromkeys(paths, lambda _: page()))
    processes = [worker(site.url + "/", "--delay", "0.1", "--user-agent", f"w{i}") for i in range(3)]
    assert [0, 0, 0] == [process.end().status for process in processes]
    assert 1 == fetched(site)
    assert dict.fromkeys(["/", *paths], 1) == dict(site.asked)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_without_a_robots_txt_everything_is_allowed(serve, store, status):
    site = serve({"/robots.txt": status})
    assert rulings(store, site.url + "/")[0][0].allowed


@pytest.mark.parametrize("status", [429, 500, 503])
def test_after_a_server_error_nothing_is_known_for_a_while_and_workers_share_that(serve, store, status):
    site = serve({"/robots.txt": status})
    before = time.time()
    first, second = rulings(store, site.url + "/", times=2)[0]
    assert (False, False) == (first.allowed, second.allowed)
    assert first.until is not None
    assert first.until >= before + 60
    assert first.until == second.until
    assert 1 == fetched(site)


def test_while_it_cannot_be_had_the_page_is_given_back_and_its_group_waits(serve, worker, sieve):
    site = serve({"/": lambda _: page(), "/robots.txt": 503})
    process = worker(site.url + "/", "--delay", "0")
    group = site.url.partition("//")[2]
    until(lambda: sieve.group(group).row is not None and sieve.group(group).row.health.blocked_until > time.time() + 30)
    process.send(signal.SIGINT)
    result = process.end()
    assert 130 == result.status
    assert {} == dict(site.asked)
    info = sieve.info(site.url + "/")
    assert ("delayed", 0) == (info.state, info.attempt)


def test_a_server_that_fails_too_often_has_said_no():
    from urlsieve.doors.crawler import robots as module
    from urlsieve.doors.crawler.fetch import Response

    copy = None
    waits = []
    for _ in range(PATIENCE + 1):
        now = time.time()
        copy = module._judge(Response(503), copy)
        waits.append(round(copy.expires - now, -1))
    assert [60, 120, 240, 480, 960, 86400] == waits
    assert PATIENCE + 1 == copy.failures
    assert 0 == module._judge(Response(200), copy).failures


def test_a_host_without_an_answer_is_a_failure_of_the_page(serve, store):
    site = serve({})
    url = site.url
    site.stop()
    try:
        with pytest.raises(FetchFailed, match="connect"):
            rulings(store, url + "/")
    finally:
        site.start()


def test_it_is_followed_over_redirects_and_cut_where_it_is_too_long(serve, store):
    site = serve({"/real": robots("User-agent: *\nDisallow: /a\n" + "#" * 600_000 + "\nDisallow: /b\n")})
    site.pages["/robots.txt"] = lambda _: web.Response(status=301, headers={"Location": "/real"})
    assert [False] == [ruling.allowed for ruling in rulings(store, site.url + "/a")[0]]
    assert [True] == [ruling.allowed for ruling in rulings(store, site.url + "/b")[0]]


def test_a_ring_of_redirects_counts_as_none(serve, store):
    site = serve({"/robots.txt": lambda _: web.Response(status=302, headers={"Location": "/robots.txt"})})
    assert rulings(store, site.url + "/")[0][0].allowed


@pytest.mark.parametrize(
    ("text", "own", "expected"),
    [
        ("User-agent: *\nCrawl-delay: 120\n", 1.0, 120.0),
        ("User-agent: *\nCrawl-delay: 0.5\n", 0.1, 0.5),
        ("User-agent: *\nCrawl-delay: 0.5\n", 2.0, None),
        ("User-agent: *\nRequest-rate: 1/10\n", 1.0, 10.0),
        ("User-agent: *\nCrawl-delay: 1000000000\n", 1.0, 86400.0),
        ("User-agent: *\nCrawl-delay: nan\n", 1.0, None),
        ("User-agent: *\nCrawl-delay: soon\n", 1.0, None),
        ("User-agent: other\nCrawl-delay: 120\n", 1.0, None),
    ],
)
def test_a_crawl_delay_raises_the_groups_and_never_lowers_the_crawls_own(serve, store, text, own, expected):
    """POL-05."""
    site = serve({"/robots.txt": robots(text)})
    assert expected == rulings(store, site.url + "/", delay=own)[1]


def test_a_stored_delay_shorter_than_the_crawls_own_is_raised(serve, store, sieve):
    site = serve({"/robots.txt": robots("")})
    group = site.url.partition("//")[2]
    sieve.group(group).delay = 0.2
    assert 3.0 == rulings(store, site.url + "/", delay=3.0)[1]


def test_a_long_crawl_delay_is_honoured_and_shown(serve, worker, sieve):
    """POL-05: not an error of the URL, not ignored: the host waits in the store, and the operator reads why."""
    site = serve({"/": lambda _: page(), "/robots.txt": robots("User-agent: *\nCrawl-delay: 120\n")})
    group = site.url.partition("//")[2]
    process = worker(site.url + "/", "--delay", "0.1")
    until(lambda: sieve.group(group).row is not None and sieve.group(group).row.health.blocked_until > time.time() + 60)
    process.send(signal.SIGTERM)
    result = process.end()
    assert 130 == result.status
    assert {group: 120.0} == result.report["delays"]
    assert f"{group} asks for 120 s" in result.errors
    assert 120.0 == sieve.group(group).delay
    assert {} == dict(site.asked)
    assert ("pending", 0) == (sieve.info(site.url + "/").state, sieve.info(site.url + "/").attempt)


def test_a_copy_survives_the_store():
    copy = Copy(200, "User-agent: *\nDisallow: /中文\n", 12.5, 3)
    assert copy == Copy.load(copy.dump())
