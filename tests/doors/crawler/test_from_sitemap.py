"""Crawls that begin with a sitemap: every page it lists once, whatever kills the crawl, and nothing that it only pretends."""

import gzip
import signal
import time

import pytest
from aiohttp import web
from crawler_lab import leads_to, moved_to, until

from urlsieve.doors.crawler.listing import MOST_DEPTH, is_sitemap, sitemaps


def xml(*urls, kind="urlset", extra=""):
    """A path's answer: a sitemap of these, resolved by nobody."""
    inner = {"urlset": "url", "sitemapindex": "sitemap"}[kind]
    text = f"<{kind}>" + "".join(f"<{inner}><loc>{url}</loc>{extra}</{inner}>" for url in urls) + f"</{kind}>"
    return lambda _: web.Response(body=text.encode(), content_type="application/xml")


def index(*urls):
    return xml(*urls, kind="sitemapindex")


def robots(*lines):
    return lambda _: web.Response(text="\n".join(lines))


def test_the_pages_of_a_sitemap_are_fetched_and_their_links(serve, crawl, sieve):
    site = serve({"/a": leads_to("/c"), "/b": leads_to(), "/c": leads_to()})
    site.pages["/map.xml"] = xml(site.url + "/a", site.url + "/b", site.url + "/a?utm_source=x")
    result = crawl(from_sitemap=[site.url + "/map.xml"])
    assert {"/map.xml": 1, "/a": 1, "/b": 1, "/c": 1} == dict(site.asked)
    assert (3, {"read": 1, "urls": 3}) == (result.report["pages"], result.report["sitemaps"])
    assert [] == sieve.verify(deep=True)


def test_max_depth_one_fetches_what_is_listed_and_nothing_else_however_deep_the_index(serve, crawl):
    site = serve({"/a": leads_to("/b"), "/b": leads_to()})
    site.pages |= {"/i.xml": index(site.url + "/j.xml"), "/j.xml": index(site.url + "/k.xml"), "/k.xml": xml(site.url + "/a")}
    crawl(from_sitemap=[site.url + "/i.xml"], max_depth=1)
    assert {"/i.xml": 1, "/j.xml": 1, "/k.xml": 1, "/a": 1} == dict(site.asked)


def test_auto_reads_what_robots_txt_names(serve, crawl):
    site = serve({"/": leads_to(), "/a": leads_to(), "/b": leads_to()})
    site.pages["/robots.txt"] = robots("User-agent: *", "Disallow: /b", f"Sitemap: {site.url}/one.xml", "Sitemap: /two.txt")
    site.pages["/one.xml"] = xml(site.url + "/a", site.url + "/b")
    site.pages["/two.txt"] = lambda _: web.Response(text=f"{site.url}/c\n")
    site.pages["/c"] = leads_to()
    result = crawl(site.url + "/", from_sitemap=["auto"])
    assert {"/": 1, "/one.xml": 1, "/two.txt": 1, "/a": 1, "/c": 1} == dict(site.asked)
    assert {"robots": 1} == result.report["skipped"]
    assert 1 == sum(path == "/robots.txt" for _, path, _ in site.log)


def test_auto_tries_the_usual_place_where_robots_txt_names_none(serve, crawl):
    site = serve({"/": leads_to(), "/a": leads_to()})
    site.pages["/sitemap.xml"] = xml(site.url + "/a")
    crawl(site.url + "/", from_sitemap=["auto"])
    assert {"/": 1, "/sitemap.xml": 1, "/a": 1} == dict(site.asked)


def test_auto_without_any_sitemap_is_no_failure(serve, crawl):
    site = serve({"/": leads_to()})
    result = crawl(site.url + "/", from_sitemap=["auto"])
    assert ({"missing": 1}, {}, 0) == (result.report["sitemaps"], result.report["failures"], result.report["dead"])


def test_a_sitemap_that_is_linked_as_a_page_is_read_all_the_same(serve, crawl):
    site = serve({"/": leads_to("/sitemap.xml"), "/a": leads_to()})
    site.pages["/sitemap.xml"] = xml(site.url + "/a")
    result = crawl(site.url + "/")
    assert {"type": 1} == result.report["skipped"]
    crawl(site.url + "/", from_sitemap=["auto"])
    assert {"/": 1, "/sitemap.xml": 2, "/a": 1} == dict(site.asked)


def test_a_second_run_of_the_day_does_not_read_it_again(serve, crawl):
    site = serve({"/a": leads_to()})
    site.pages["/map.xml"] = xml(site.url + "/a")
    crawl(from_sitemap=[site.url + "/map.xml"])
    again = crawl(from_sitemap=[site.url + "/map.xml"])
    assert {"/map.xml": 1, "/a": 1} == dict(site.asked)
    assert "its sitemaps read today" in again.errors


def test_on_the_next_day_it_is_read_again(serve, crawl, sieve):
    site = serve({"/a": leads_to(), "/b": leads_to()})
    site.pages["/i.xml"] = index(site.url + "/map.xml")
    site.pages["/map.xml"] = xml(site.url + "/a")
    sieve.push(sitemaps([site.url + "/i.xml"], time.time() - 86400))
    crawl(site.url + "/a")
    site.pages["/map.xml"] = xml(site.url + "/a", site.url + "/b")
    crawl(from_sitemap=[site.url + "/i.xml"])
    assert {"/i.xml": 2, "/map.xml": 2, "/a": 1, "/b": 1} == dict(site.asked)


def test_indexes_that_name_one_another_end(serve, crawl):
    site = serve({})
    for name, other in (("/i.xml", "/j.xml"), ("/j.xml", "/i.xml")):
        site.pages[name] = index(site.url + name, site.url + other)
    crawl(from_sitemap=[site.url + "/i.xml"])
    assert {"/i.xml": 1, "/j.xml": 1} == dict(site.asked)


def test_indexes_without_end_are_cut_at_a_depth(serve, crawl):
    site = serve({})
    for i in range(9):
        site.pages[f"/{i}.xml"] = index(f"{site.url}/{i + 1}.xml")
    result = crawl(from_sitemap=[site.url + "/0.xml"])
    assert MOST_DEPTH + 1 == len(site.asked)
    assert 1 == result.report["sitemaps"]["left_out"]


def test_gzip_in_any_combination_is_read(serve, crawl):
    site = serve({f"/{i}": leads_to() for i in range(3)})
    body = [f"<urlset><url><loc>{site.url}/{i}</loc></url></urlset>".encode() for i in range(3)]
    site.pages |= {
        "/0.xml.gz": lambda _: web.Response(body=gzip.compress(body[0]), content_type="application/x-gzip"),
        "/1.xml": lambda _: web.Response(body=gzip.compress(body[1]), headers={"Content-Encoding": "gzip"}),
        "/2.xml.gz": lambda _: web.Response(body=gzip.compress(gzip.compress(body[2])), headers={"Content-Encoding": "gzip"}),
    }
    crawl(from_sitemap=[f"{site.url}{path}" for path in ("/0.xml.gz", "/1.xml", "/2.xml.gz")])
    assert {"/0": 1, "/1": 1, "/2": 1} == {path: count for path, count in site.asked.items() if "xml" not in path}


def test_foreign_hosts_in_a_sitemap_obey_scope(serve, crawl):
    other = serve({"/x": leads_to(), "/map.xml": leads_to()}, host="127.0.0.2")
    site = serve({"/docs/a": leads_to(), "/b": leads_to()})
    site.pages["/map.xml"] = xml(site.url + "/docs/a", site.url + "/b", other.url + "/x")
    site.pages["/i.xml"] = index(site.url + "/map.xml", other.url + "/map.xml")
    result = crawl(from_sitemap=[site.url + "/i.xml"], scope=["127.0.0.1/docs/"])
    assert {"/i.xml": 1, "/map.xml": 1, "/docs/a": 1} == dict(site.asked)
    assert [] == other.log
    assert ({"scope": 2}, 1) == (result.report["left_out"], result.report["sitemaps"]["left_out"])


def test_same_site_holds_for_sitemaps_and_what_they_list(serve, crawl):
    other = serve({"/x": leads_to(), "/map.xml": leads_to()})
    site = serve({"/a": leads_to()})
    site.pages["/map.xml"] = xml(site.url + "/a", other.url + "/x")
    site.pages["/i.xml"] = index(site.url + "/map.xml", other.url + "/map.xml")
    crawl(from_sitemap=[site.url + "/i.xml"], same_site=True)
    assert [] == other.log
    assert 1 == site.asked["/a"]


def test_a_redirected_sitemap_is_read_and_its_target_is_no_page(serve, crawl, sieve):
    other = serve({"/a": leads_to()}, host="127.0.0.2")
    other.pages["/far.xml"] = xml(other.url + "/a")
    site = serve({"/map.xml": moved_to("/near.xml"), "/near.xml": moved_to(other.url + "/far.xml")})
    result = crawl(from_sitemap=[site.url + "/map.xml"])
    assert {"/far.xml": 1, "/a": 1} == dict(other.asked)
    assert 1 == result.report["pages"]
    assert [False, False] == sieve.seen([site.url + "/near.xml", other.url + "/far.xml"])


def test_lastmod_and_hreflang_travel_in_meta(serve, crawl, sieve):
    site = serve({"/en": leads_to(), "/de": leads_to()})
    extra = f'<lastmod>2026-11-02</lastmod><xhtml:link rel="alternate" hreflang="de" href="{site.url}/de"/>'
    site.pages["/map.xml"] = xml(site.url + "/en", extra=extra)
    crawl(from_sitemap=[site.url + "/map.xml"], max_pages=1)
    found = []
    until(lambda: found.extend(sieve.pop(9)) or found)
    [lease] = found
    expected = {site.url + "/en": {"lastmod": "2026-11-02"}, site.url + "/de": {"hreflang": "de"}}
    assert (expected[lease.url], 1, site.url + "/map.xml") == (lease.meta, lease.depth, lease.via)


def test_max_pages_counts_pages_and_not_sitemaps(serve, crawl):
    site = serve({f"/{i}": leads_to() for i in range(5)})
    site.pages["/map.xml"] = xml(*(f"{site.url}/{i}" for i in range(5)))
    result = crawl(from_sitemap=[site.url + "/map.xml"], max_pages=2)
    assert ("max_pages", 2) == (result.report["ended"], result.report["pages"])
    assert 3 == sum(site.asked.values())


BOMB = "<!DOCTYPE urlset [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><urlset><url><loc>&b;</loc></url></urlset>"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda _: web.Response(text=BOMB, content_type="application/xml"), "sitemap entities"),
        (leads_to("/a"), "sitemap type"),
        (lambda _: web.Response(text="Once upon a time"), "sitemap type"),
        (lambda _: web.Response(body=gzip.compress(b" " * 60_000_000)), "sitemap size"),
        (lambda _: web.Response(body=gzip.compress(b" " * 60_000_000), headers={"Content-Encoding": "gzip"}), "size"),
    ],
)
def test_what_is_no_sitemap_or_too_large_is_skipped_with_its_reason(serve, crawl, answer, reason):
    site = serve({"/map.xml": answer})
    result = crawl(from_sitemap=[site.url + "/map.xml"])
    assert ({reason: 1}, 0, 1) == (result.report["skipped"], result.report["pages"], sum(site.asked.values()))
    if reason.startswith("sitemap"):
        assert f"{site.url}/map.xml is not read: it " in result.errors


def test_a_broken_sitemap_is_read_as_far_as_it_goes_and_named(serve, crawl):
    site = serve({"/a": leads_to(), "/b": leads_to()})
    site.pages["/map.xml"] = xml(site.url + "/a?x&y", site.url + "/b")
    result = crawl(from_sitemap=[site.url + "/map.xml"])
    assert {"/map.xml": 1, "/a?x&y": 1, "/b": 1} == dict(site.asked)
    assert 1 == result.report["sitemaps"]["broken"]
    assert "/map.xml is read as far as it goes: XML: not well-formed" in result.errors


def test_a_sitemap_of_ten_megabytes_and_more_is_read(serve, crawl):
    site = serve({"/a": leads_to()})
    padding = "<!--" + " " * 12_000_000 + "-->"
    site.pages["/map.xml"] = lambda _: web.Response(text=f"<urlset>{padding}<url><loc>{site.url}/a</loc></url></urlset>")
    crawl(from_sitemap=[site.url + "/map.xml"])
    assert 1 == site.asked["/a"]


def test_a_sitemap_that_fails_is_tried_again(serve, crawl, sieve):
    def flaky(request):
        return web.Response(status=500) if site.asked["/map.xml"] < 2 else xml(site.url + "/a")(request)

    site = serve({"/map.xml": flaky, "/a": leads_to()})
    result = crawl(from_sitemap=[site.url + "/map.xml"])
    assert {"/map.xml": 2, "/a": 1} == dict(site.asked)
    assert 1 == result.report["pages"]


def test_a_sitemap_url_that_is_none_is_named(crawl):
    result = crawl(from_sitemap=["ftp://u:secret@example.com/map.xml"])
    assert 2 == result.status
    assert "sitemap refused (scheme): ftp://***@example.com/map.xml" in result.errors
    assert "secret" not in result.errors


def test_other_variants_in_the_store_are_pages(serve, crawl, sieve):
    from urlsieve import URLItem

    sieve.push(URLItem("http://a.example/", variant=b"POST"))
    [lease] = sieve.pop(1)
    assert not is_sitemap(lease)


def test_killed_in_the_middle_of_sitemaps_nothing_is_lost(serve, worker, sieve):
    import asyncio

    site = serve({f"/{i}/{j}": leads_to() for i in range(8) for j in range(5)})

    def slow(i):
        async def answer(request):
            await asyncio.sleep(0.03)
            return xml(*(f"{site.url}/{i}/{j}" for j in range(5)))(request)

        return answer

    site.pages |= {f"/{i}.xml": slow(i) for i in range(8)}
    site.pages["/i.xml"] = index(*(f"{site.url}/{i}.xml" for i in range(8)))
    arguments = ["--from-sitemap", site.url + "/i.xml", "--delay", "0", "--lease", "1"]
    for enough in (2, 5, 9, 20):
        killed = worker(*arguments)
        until(lambda enough=enough: sum(site.asked.values()) >= enough)
        killed.send(signal.SIGKILL)
        killed.end()
    result = worker(*arguments).end()
    assert (0, "empty") == (result.status, result.report["ended"])
    assert 8 * 5 == sum(path.count("/") == 2 for path in site.asked)
    again = [path for path, count in site.asked.items() if count > 1]
    assert len(again) <= 4, "only what a dead worker held can come again"
    assert [] == sieve.verify(deep=True)


def test_the_report_for_people_speaks_of_sitemaps(serve, worker):
    import subprocess
    import sys

    site = serve({"/a": leads_to()})
    site.pages["/map.xml"] = xml(site.url + "/a")
    command = [sys.executable, "-m", "urlsieve", "crawl", "--store", "memory:", "--allow-private", "--delay", "0"]
    ran = subprocess.run([*command, "--from-sitemap", site.url + "/map.xml"], check=True, capture_output=True, text=True, timeout=60)
    assert "sitemaps: 1 read, 1 pages listed" in ran.stdout, ran.stderr
