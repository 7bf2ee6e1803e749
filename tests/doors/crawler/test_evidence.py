"""What pages say about themselves: links and evidence, and never a decision."""

import json
import os
import signal

import pytest
from aiohttp import web
from crawler_lab import HTML, leads_to, until

from urlsieve.doors.crawler.evidence import Evidence
from urlsieve.doors.crawler.links import extract


def said(html, url="http://example.com/dir/page"):
    return extract(html.encode(), url=url)


def answer(html):
    return lambda _: web.Response(text=html, headers=HTML)


def test_canonical_and_hreflang_are_links_in_the_pages_order():
    page = said(
        "<link rel=canonical href=/c><link rel=stylesheet href=/no><link rel='alternate' hreflang=de href=/de><a href=/a>x</a>"
        "<link rel=alternate type=application/rss+xml href=/feed><LINK REL='ALTERNATE nofollow' HREFLANG='x-default' HREF='../'>"
    )
    assert [f"http://example.com{path}" for path in ("/c", "/de", "/a", "/")] == page.links
    assert "http://example.com/c" == page.canonical
    assert (("de", "http://example.com/de"), ("x-default", "http://example.com/")) == page.alternates


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<link rel=canonical href=''>", None),
        ("<link rel=canonical>", None),
        ("<link rel=canonical href='javascript:void(0)'>", None),
        ("<link rel=canonical href='http://['><link rel=canonical href=/b>", "http://example.com/b"),
        ("<link rel=canonical href=/a><link rel=canonical href=/b>", "http://example.com/a"),
        ("<base href=http://other.example/x/><link rel=canonical href=a>", "http://other.example/x/a"),
        ("<link rel=canonical href='#part'>", "http://example.com/dir/page"),
    ],
)
def test_the_first_canonical_that_is_a_url_counts(html, expected):
    assert expected == said(html).canonical


def test_a_wrong_canonical_merges_and_drops_nothing(serve, crawl, sieve):
    """A template that names the home page, and one that names a page that is gone, on every page."""
    canonical = "<link rel=canonical href=/><link rel=canonical href=/gone>"
    pages = {f"/{i}": answer(f"{canonical}<a href=/{i + 1}>x</a>") for i in range(5)}
    site = serve(pages | {"/": answer(f"{canonical}<a href=/0>x</a>"), "/5": leads_to()})
    result = crawl(site.url + "/")
    assert dict.fromkeys(["/", "/0", "/1", "/2", "/3", "/4", "/5", "/gone"], 1) == dict(site.asked)
    assert {"canonical": 1, "canonical_elsewhere": 5} == result.report["said"]
    assert [] == sieve.verify(deep=True)


def test_canonical_and_alternates_are_fetched_in_scope_only(serve, crawl):
    other = serve({"/": leads_to()}, host="127.0.0.2")
    site = serve({"/": answer(f"<link rel=canonical href={other.url}/><link rel=alternate hreflang=fr href=/fr>"), "/fr": leads_to()})
    result = crawl(site.url + "/", same_site=True)
    assert {"/": 1, "/fr": 1} == dict(site.asked)
    assert [] == other.log
    assert {"site": 1} == result.report["left_out"]


def test_the_evidence_file_has_a_line_for_each_page_that_says_something(serve, crawl, tmp_path):
    file = tmp_path / "evidence.jsonl"
    site = serve({"/a": answer("<link rel=canonical href=/b><link rel=alternate hreflang=de href=/de>")})
    site.pages |= {"/": leads_to("/old", "/b"), "/b": leads_to(), "/de": leads_to()}
    site.pages["/old"] = lambda _: web.Response(status=301, headers={"Location": "/a"})
    for _ in range(2):
        crawl(site.url + "/", evidence=str(file), store="memory:")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    record = {"url": site.url + "/old", "final_url": site.url + "/a", "canonical": site.url + "/b", "hreflang": [["de", site.url + "/de"]]}
    assert [record, record] == lines


def test_lastmod_of_the_sitemap_is_evidence_too(serve, crawl, tmp_path):
    file = tmp_path / "evidence.jsonl"
    site = serve({"/a": leads_to()})
    site.pages["/map.xml"] = answer(f"<urlset><url><loc>{site.url}/a</loc><lastmod>2026-11-01</lastmod></url></urlset>")
    crawl(from_sitemap=[site.url + "/map.xml"], evidence=str(file))
    assert [{"url": site.url + "/a", "lastmod": "2026-11-01"}] == [json.loads(line) for line in file.read_text().splitlines()]


def test_no_password_gets_into_the_evidence_file(tmp_path):
    file = tmp_path / "evidence.jsonl"
    with Evidence(str(file)) as evidence:
        evidence.write({"url": "http://u:secret@e.com/", "hreflang": (("de", "http://u:secret@e.com/de"),)})
    assert {"url": "http://***@e.com/", "hreflang": [["de", "http://***@e.com/de"]]} == json.loads(file.read_text())


def test_odd_text_is_one_line_of_json(tmp_path):
    file = tmp_path / "evidence.jsonl"
    with Evidence(str(file)) as evidence:
        evidence.write({"url": "http://e.com/\udcff\u2028\n", "lastmod": '"'})
    [line] = file.read_text().splitlines()
    assert {"url": "http://e.com/\udcff\u2028\n", "lastmod": '"'} == json.loads(line)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_under_the_evidence_ends_the_crawl_and_loses_no_page(serve, worker, sieve):
    site = serve({"/": answer("<link rel=canonical href=/>"), "/a": leads_to()})
    result = worker(site.url + "/", "--delay", "0", "--evidence", "/dev/full").end()
    assert 3 == result.status
    assert "make room" in result.errors
    assert ("pending", 0) == (sieve.info(site.url + "/").state, sieve.info(site.url + "/").attempt)
    assert [] == sieve.verify(deep=True)


def test_a_killed_crawl_leaves_no_page_without_its_line(serve, worker, tmp_path):
    file = tmp_path / "evidence.jsonl"
    pages = {f"/{i}": answer(f"<link rel=canonical href=/c{i}><a href=/{i + 1}>x</a>") for i in range(30)}
    site = serve(pages | {f"/c{i}": leads_to() for i in range(30)})
    arguments = [site.url + "/0", "--delay", "0", "--lease", "1", "--evidence", str(file)]
    for enough in (5, 20):
        killed = worker(*arguments)
        until(lambda enough=enough: sum(site.asked.values()) >= enough)
        killed.send(signal.SIGKILL)
        killed.end()
    assert 0 == worker(*arguments).end().status
    lines = [json.loads(line)["url"] for line in file.read_text().splitlines()]
    assert {f"{site.url}/{i}" for i in range(30)} == set(lines)
    assert len(lines) <= 32
