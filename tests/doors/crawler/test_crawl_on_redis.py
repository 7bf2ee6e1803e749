"""The crawler with its URLs in a Redis server: the same pages, once each, over all workers and whatever kills them."""

import signal

import pytest
from aiohttp import web
from crawler_lab import Process, leads_to, until

import redis_server
import urlsieve


@pytest.fixture(scope="module")
def server():
    server = redis_server.RedisServer().start()
    yield server
    server.close()


@pytest.fixture
def job(server, request):
    return server.address(job=request.node.name[:60])


@pytest.fixture
def start(job):
    """start(argument, …) → a running `urlsieve crawl` on the job."""
    processes = []

    def run(*arguments):
        processes.append(Process(*arguments, "--store", job, "--delay", "0"))
        return processes[-1]

    yield run
    for process in processes:
        process.close()


def site_of(serve, count):
    paths = [f"/{i}" for i in range(count)]
    site = serve({"/": leads_to(*paths, "/out/of/scope")} | {path: leads_to("/", "/extra") for path in paths} | {"/extra": leads_to()})
    listed = "".join(f"<url><loc>{site.url}{path}</loc><lastmod>2026-11-30</lastmod></url>" for path in [*paths, "/listed"])
    site.pages["/robots.txt"] = lambda _: web.Response(text=f"Sitemap: {site.url}/map.xml")
    site.pages["/map.xml"] = lambda _: web.Response(text=f"<urlset>{listed}</urlset>")
    site.pages["/listed"] = leads_to()
    return site, {"/", "/extra", "/listed", "/map.xml", *paths}


def test_three_workers_fetch_each_page_once(serve, start, job):
    site, expected = site_of(serve, 30)
    workers = [start(site.url + "/", "--from-sitemap", "auto", "--scope", "!/out/", "--per-host", "4") for _ in range(3)]
    assert [0, 0, 0] == [process.end().status for process in workers]
    assert dict.fromkeys(expected, 1) == dict(site.asked)
    with urlsieve.open(job) as sieve:
        assert (1, 0, 0) == (sieve.stats().rejected["scope"], sieve.stats().pending, sieve.stats().leased)
        assert [] == sieve.verify(deep=True)


def test_killed_workers_lose_nothing(serve, start, job):
    site, expected = site_of(serve, 40)
    arguments = [site.url + "/", "--from-sitemap", "auto", "--scope", "!/out/", "--lease", "1"]
    for enough in (3, 15, 30):
        killed = start(*arguments)
        until(lambda enough=enough: sum(site.asked.values()) >= enough)
        killed.send(signal.SIGKILL)
        killed.end()
    assert 0 == start(*arguments).end().status
    assert expected == set(site.asked)
    assert sum(site.asked.values()) <= len(expected) + 3
    with urlsieve.open(job) as sieve:
        assert [] == sieve.verify(deep=True)
