"""Servers that are wrong, slow or hostile; and what is sent to all of them."""

import asyncio
import time

import pytest
from aiohttp import web
from crawler_lab import HTML, leads_to, page, raw

from urlsieve.doors.crawler.fetch import Fetcher, FetchFailed, Limits, NotForUs

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"


def typed(body, content_type):
    return lambda _: web.Response(body=body, headers={"Content-Type": content_type})


def test_html_under_a_wrong_type_is_parsed_and_binaries_under_a_right_one_are_not(serve, crawl):
    html = b"<!doctype html><a href=/found%d>x</a>"
    types = ["application/octet-stream", "text/plain; charset=utf-8", "image/png", "text/html charset=utf-8", "nonsense", "application/xml"]
    site = serve({f"/{i}": typed(html % i, kind) for i, kind in enumerate(types)} | {f"/found{i}": leads_to() for i in range(len(types))})
    site.pages["/pdf"] = typed(b"%PDF-1.7 <a href=/no>x</a>" + bytes(range(256)), "text/html")
    site.pages["/zip"] = typed(b"PK\x03\x04<a href=/no>x</a>", "text/html; charset=utf-8")
    site.pages["/"] = lambda _: page(*(f"/{i}" for i in range(len(types))), "/pdf", "/zip")
    result = crawl(site.url + "/")
    assert {f"/found{i}" for i in range(len(types))} == {path for path in site.asked if "found" in path}
    assert {"type": 2} == result.report["skipped"]
    assert 0 == site.asked["/no"]


def test_a_long_binary_is_left_after_its_first_bytes(serve, crawl):
    sent = []

    async def film(request):
        response = web.StreamResponse(headers={"Content-Type": "video/mp4", "Content-Length": "500000000"})
        await response.prepare(request)
        try:
            for _ in range(500):
                await response.write(b"\0\0\0\x18ftypmp42" + b"\0" * 1_000_000)
                sent.append(1)
        except ConnectionError:
            pass
        return response

    async def untold(request):
        response = web.StreamResponse(headers={"Content-Type": "video/mp4"})
        await response.prepare(request)
        try:
            for _ in range(500):
                await response.write(b"\0\0\0\x18ftypmp42" + b"\0" * 1_000_000)
                sent.append(1)
        except ConnectionError:
            pass
        return response

    site = serve({"/": leads_to("/film", "/untold"), "/film": film, "/untold": untold})
    result = crawl(site.url + "/")
    assert {"size": 1, "type": 1} == result.report["skipped"]
    assert len(sent) < 50


def test_a_page_is_read_in_the_encoding_that_it_says_itself(serve, crawl):
    body = "<meta charset=windows-1251><a href='/s?q=я'>x</a>".encode("cp1251")
    utf16 = "<a href='/t?q=я'>x</a>".encode("utf-16")
    site = serve(
        {"/": typed(body, "text/html"), "/u": typed(utf16, "text/html; charset=iso-8859-1"), "/s": leads_to("/u"), "/t": leads_to()}
    )
    crawl(site.url + "/")
    assert {"/": 1, "/s?q=%FF": 1, "/u": 1, "/t?q=%D1%8F": 1} == dict(site.asked)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (raw(HEAD + b"Content-Length: 1000\r\n\r\n<html>"), "body"),
        (raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n<html>"), "Invalid character in chunk size"),
        (raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n6\r\n<html>"), "body"),
        (raw(b"not even HTTP\r\n\r\n"), "Bad status line"),
        (raw(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"), "ClientResponseError"),
        (raw(b""), "ServerDisconnectedError"),
        (raw(b"\x15\x03\x01\x00\x02\x02\x28"), ""),
    ],
)
def test_a_lying_server_costs_three_attempts_and_a_reason(serve, crawl, sieve, answer, reason):
    site = serve({"/": leads_to("/bad", "/good"), "/bad": answer, "/good": leads_to()})
    result = crawl(site.url + "/")
    # a connection kept from the page before may have been closed meanwhile: the client then asks once more by itself
    assert 3 <= site.asked["/bad"] <= 6
    assert 1 == site.asked["/good"]
    info = sieve.info(site.url + "/bad")
    assert "dead" == info.state
    assert reason in info.reason
    assert "\n" not in info.reason
    assert "http://" not in info.reason
    assert 0 == result.status


def test_more_than_the_content_length_is_not_read(serve, crawl):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 17\r\n\r\n"
    site = serve({"/": raw(head + b"<a href=/in>x</a>", b"<a href=/out>x</a>", pause=0.1), "/in": leads_to()})
    crawl(site.url + "/")
    assert {"/": 1, "/in": 1} == dict(site.asked)


async def fetch(url, **options):
    async with Fetcher("test/1", allow_private=True, **options) as fetcher:
        return await fetcher.get(url)


@pytest.mark.parametrize("limits", [Limits(read=0.3), Limits(total=1.0)])
def test_a_server_that_drips_is_given_up_in_time(serve, limits):
    pause = 1.0 if limits.read < 1 else 0.1
    site = serve({"/": raw(HEAD + b"\r\n", *[b"<" for _ in range(100)], pause=pause)})
    started = time.monotonic()
    with pytest.raises(FetchFailed, match="timeout"):
        asyncio.run(fetch(site.url + "/", limits=limits))
    assert time.monotonic() - started < 3


def test_a_server_that_never_answers_is_given_up_in_time(serve):
    async def never(_):
        await asyncio.sleep(5)
        return page()

    site = serve({"/": never})
    with pytest.raises(FetchFailed, match="timeout"):
        asyncio.run(fetch(site.url + "/", limits=Limits(read=0.3)))


def test_endless_html_is_left_at_the_limit(serve):
    async def endless(request):
        response = web.StreamResponse(headers=HTML)
        await response.prepare(request)
        try:
            while True:
                await response.write(b"<a href=/x>x</a>" * 4096)
        except ConnectionError:
            pass
        return response

    site = serve({"/": endless})
    with pytest.raises(NotForUs, match="size"):
        asyncio.run(fetch(site.url + "/", limits=Limits(size=1_000_000)))


def test_languages_are_asked_for_of_pages_and_robots_txt_alike(serve, worker):
    heard = []

    def answer(request):
        heard.append(request.headers.get("Accept-Language"))
        return page() if request.path == "/" else web.Response(text="")

    site = serve({"/": answer, "/robots.txt": answer})
    worker(site.url + "/", "--delay", "0", "--accept-language", "de, en;q=0.5").end()
    assert ["de, en;q=0.5"] * 2 == heard


def test_by_default_no_language_is_asked_for(serve, crawl):
    heard = []

    def answer(request):
        heard.append(request.headers.get("Accept-Language"))
        return page()

    crawl(serve({"/": answer}).url + "/")
    assert [None] == heard
