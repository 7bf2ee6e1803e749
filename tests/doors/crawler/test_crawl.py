"""What the crawler does with a site, seen from the site's own log."""

import gzip
import time

import pytest
from aiohttp import web
from crawler_lab import HTML, leads_to, page, redirect


def test_every_page_is_fetched_once_however_its_links_are_written(serve, crawl, sieve):
    site = serve({"/": lambda _: page("/a?x=1&y=2", "/a?y=2&x=1", "/a?x=1&y=2&utm_source=mail", "./a?x=1&y=2#top", "/b/../%61?x=1&y=2")})
    site.pages["/a"] = lambda _: page("/", f"HTTP://127.1:{site.port}/", "/deep")
    site.pages["/deep"] = lambda _: page()
    result = crawl(site.url + "/")
    assert 0 == result.status
    assert "empty" == result.report["ended"]
    assert {"/": 1, "/a?x=1&y=2": 1, "/deep": 1} == dict(site.asked)
    assert 3 == result.report["pages"]
    assert [] == sieve.verify(deep=True)


def test_the_url_is_asked_for_as_it_was_found_not_in_canonical_form(serve, crawl):
    site = serve({"/": lambda _: page("/a?B=1&A=2&utm_source=x"), "/a": lambda _: page()})
    crawl(site.url + "/")
    assert 1 == site.asked["/a?B=1&A=2&utm_source=x"]


def test_links_are_resolved_against_base(serve, crawl):
    site = serve({"/list/": lambda _: page("one", base="/books/"), "/books/one": lambda _: page()})
    crawl(site.url + "/list/")
    assert {"/list/": 1, "/books/one": 1} == dict(site.asked)


def test_a_query_is_sent_in_the_encoding_of_its_page(serve, crawl):
    def gbk(_):
        return web.Response(body='<a href="/s?q=中文">x</a>'.encode("gbk"), headers={"Content-Type": "text/html; charset=gbk"})

    site = serve({"/": gbk, "/s": lambda _: page()})
    crawl(site.url + "/")
    assert 1 == site.asked["/s?q=%D6%D0%CE%C4"]


def test_max_depth_counts_from_the_start_pages(serve, crawl):
    site = serve({f"/{i}": leads_to(f"/{i + 1}") for i in range(9)})
    result = crawl(site.url + "/0", max_depth=2)
    assert {"/0": 1, "/1": 1, "/2": 1} == dict(site.asked)
    assert {"depth": 1} == result.report["left_out"]


def test_same_site_leaves_other_sites_out(serve, crawl):
    other = serve({"/": lambda _: page()})
    site = serve({"/": lambda _: page("/a", other.url + "/"), "/a": lambda _: page()})
    result = crawl(site.url + "/", same_site=True)
    assert {"/": 1, "/a": 1} == dict(site.asked)
    assert [] == other.log
    assert {"site": 1} == result.report["left_out"]


def test_max_pages_stops_there_and_nothing_stays_leased(serve, crawl, sieve):
    site = serve({"/": lambda _: page(*(f"/{i}" for i in range(20)))} | {f"/{i}": lambda _: page() for i in range(20)})
    result = crawl(site.url + "/", max_pages=5)
    assert (0, "max_pages", 5) == (result.status, result.report["ended"], result.report["pages"])
    assert 5 == sum(site.asked.values())
    stats = sieve.stats()
    assert (16, 0, 5) == (stats.pending, stats.leased, stats.done)
    crawl(site.url + "/")
    assert dict.fromkeys(["/", *(f"/{i}" for i in range(20))], 1) == dict(site.asked)


def test_a_second_crawl_of_a_finished_store_says_so_and_fetches_nothing(serve, crawl):
    site = serve({"/": lambda _: page()})
    crawl(site.url + "/")
    again = crawl(site.url + "/")
    assert 0 == again.status
    assert 1 == site.asked["/"]
    assert "nothing to do" in again.errors
    assert "1 URLs done" in again.errors


def test_a_start_page_that_is_no_url_is_named_and_ends_in_status_2(crawl):
    result = crawl("mailto:someone@example.com")
    assert 2 == result.status
    assert "start page refused (scheme)" in result.errors


def test_a_start_page_without_a_scheme_is_answered_with_how_to_write_it(crawl):
    result = crawl("example.com/a")
    assert 2 == result.status
    assert "start page refused (relative): example.com/a; write https://example.com/a" in result.errors


def test_a_refused_start_page_is_shown_without_its_password(crawl):
    assert "secret" not in crawl("ftp://user:secret@example.com/").errors


@pytest.mark.parametrize(("status", "state"), [(404, "done"), (410, "done"), (403, "dead"), (500, "dead")])
def test_the_status_decides_what_becomes_of_a_page(serve, crawl, sieve, status, state):
    site = serve({"/": status})
    assert 0 == crawl(site.url + "/").status
    assert state == sieve.info(site.url + "/").state
    assert (3 if status == 500 else 1) == site.asked["/"]


def test_a_page_that_fails_twice_is_fetched_the_third_time(serve, crawl, sieve):
    def flaky(_):
        return web.Response(status=503) if site.asked["/"] < 3 else page("/next")

    site = serve({"/": flaky, "/next": lambda _: page()})
    crawl(site.url + "/")
    assert {"/": 3, "/next": 1} == dict(site.asked)
    assert "done" == sieve.info(site.url + "/").state


def test_what_is_no_html_is_skipped_by_type(serve, crawl, sieve):
    site = serve({"/": lambda _: web.Response(body=b"%PDF", content_type="application/pdf")})
    result = crawl(site.url + "/")
    assert {"type": 1} == result.report["skipped"]
    assert "done" == sieve.info(site.url + "/").state


def test_without_a_content_type_the_first_byte_decides(serve, crawl):
    def bare(text):
        async def answer(request):
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(text)
            return response

        return answer

    site = serve({"/": lambda _: page("/html", "/text")})

    async def untyped(request, text):
        request.transport.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + text)
        request.transport.close()
        return web.Response()

    site.pages["/html"] = lambda request: untyped(request, b"<html><a href=/found></a>")
    site.pages["/text"] = lambda request: untyped(request, b"see /lost")
    site.pages["/found"] = lambda _: page()
    result = crawl(site.url + "/")
    assert 1 == site.asked["/found"]
    assert {"type": 1} == result.report["skipped"]


def test_a_body_over_the_limit_is_skipped_by_size_told_or_not(serve, crawl):
    async def endless(request):
        response = web.StreamResponse(headers=HTML)
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            for _ in range(2000):
                await response.write(b" " * 65536)
        except ConnectionError:
            pass
        return response

    async def told(request):
        response = web.StreamResponse(headers=HTML | {"Content-Length": str(10**9)})
        await response.prepare(request)
        try:
            await response.write(b" " * 10)
        except ConnectionError:
            pass
        return response

    site = serve({"/": lambda _: page("/endless", "/told"), "/endless": endless, "/told": told})
    result = crawl(site.url + "/")
    assert {"size": 2} == result.report["skipped"]
    assert {"/": 1, "/endless": 1, "/told": 1} == dict(site.asked)


def test_a_small_compressed_body_that_grows_over_the_limit_is_skipped(serve, crawl):
    bomb = gzip.compress(b" " * 30_000_000)
    site = serve({"/": lambda _: web.Response(body=bomb, headers=HTML | {"Content-Encoding": "gzip"})})
    assert {"size": 1} == crawl(site.url + "/").report["skipped"]


def test_a_body_that_cannot_be_decoded_fails(serve, crawl, sieve):
    site = serve({"/": lambda _: web.Response(body=b"this is no gzip", headers=HTML | {"Content-Encoding": "gzip"})})
    result = crawl(site.url + "/")
    assert 3 == site.asked["/"]
    assert "dead" == sieve.info(site.url + "/").state
    assert all(reason.startswith("body") for reason in result.report["failures"])


def test_a_server_that_is_not_there_ends_in_dead_urls_not_in_a_crash(serve, crawl, sieve):
    site = serve({})
    gone = site.url
    site.stop()
    try:
        result = crawl(gone + "/")
        assert 0 == result.status
        assert "dead" == sieve.info(gone + "/").state
        assert all(reason.startswith("connect") for reason in result.report["failures"])
    finally:
        site.start()


def test_429_with_retry_after_blocks_the_host_and_nobody_dies_of_it(serve, crawl, sieve):
    paths = [f"/{i}" for i in range(20)]
    refused = []

    def throttled(_):
        if not refused:
            refused.append(time.monotonic())
            return web.Response(status=429, headers={"Retry-After": "2"})
        return page()

    site = serve({"/": lambda _: page(*paths)} | dict.fromkeys(paths, throttled))
    result = crawl(site.url + "/")
    after = [at for at in site.times() if at > refused[0]]
    assert min(after) >= refused[0] + 2
    assert 22 == sum(site.asked.values())
    stats = sieve.stats()
    assert (21, 0) == (stats.done, stats.dead)
    assert 0 == result.report["dead"]


def test_redirects_of_other_hosts_wait_for_their_own_turn(serve, crawl):
    other = serve({"/": lambda _: page()})
    site = serve({"/": lambda _: page("/go"), "/go": lambda _: redirect(other.url + "/")})
    result = crawl(site.url + "/")
    assert {"/": 1, "/go": 1} == dict(site.asked)
    assert {"/": 1} == dict(other.asked)
    assert 3 == result.report["pages"]
