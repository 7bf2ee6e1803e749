"""Redirects: hop by hop, each an entry of its own, none fetched again, none lost."""

import pytest
from crawler_lab import moved_to, page, redirect


def test_hops_and_target_are_recorded_so_that_a_later_link_to_them_is_seen(serve, crawl, sieve):
    """CAN-16."""
    site = serve({"/old": lambda _: redirect("/older", 301), "/older": lambda _: redirect("/new", 308), "/new": lambda _: page("/old")})
    result = crawl(site.url + "/old")
    assert {"/old": 1, "/older": 1, "/new": 1} == dict(site.asked)
    assert ["seen", "seen"] == sieve.push([site.url + "/new", site.url + "/older"]).verdicts
    assert ["done"] * 3 == [sieve.info(site.url + path).state for path in ("/old", "/older", "/new")]
    assert 2 == result.report["redirects"]


def test_a_target_that_is_known_already_is_not_fetched_again(serve, crawl):
    old = [f"/old{i}" for i in range(10)]
    site = serve({"/": lambda _: page(*old, "/now"), "/now": lambda _: page("/")} | dict.fromkeys(old, lambda _: redirect("/now")))
    crawl(site.url + "/")
    assert dict.fromkeys(["/", "/now", *old], 1) == dict(site.asked)


def test_a_redirect_to_another_spelling_of_itself_is_followed(serve, crawl):
    site = serve({"/": lambda _: page("/a?utm_source=mail")})
    site.pages["/a?utm_source=mail"] = lambda _: redirect("/a")
    site.pages["/a"] = lambda _: page("/b")
    site.pages["/b"] = lambda _: page()
    crawl(site.url + "/")
    assert {"/": 1, "/a?utm_source=mail": 1, "/a": 1, "/b": 1} == dict(site.asked)


def test_a_ring_of_redirects_ends_and_is_counted(serve, crawl, sieve):
    site = serve({"/a": lambda _: redirect("/b"), "/b": lambda _: redirect("/a")})
    result = crawl(site.url + "/a")
    assert {"/a": 1, "/b": 1} == dict(site.asked)
    assert {"redirects": 1} == result.report["skipped"]
    assert [True] == sieve.seen([site.url + "/b"])


def test_ten_redirects_are_followed_and_eleven_are_not(serve, crawl, sieve):
    def chain(name, length):
        pages = {f"/{name}{i}": moved_to(f"/{name}{i + 1}") for i in range(length)}
        return pages | {f"/{name}{length}": lambda _: page()}

    site = serve(chain("ten", 10) | chain("eleven", 11))
    result = crawl(site.url + "/ten0", site.url + "/eleven0")
    assert 1 == site.asked["/ten10"]
    assert 0 == site.asked["/eleven11"]
    assert {"redirects": 1} == result.report["skipped"]


def test_redirects_between_hosts_without_end_are_cut_too(serve, crawl):
    one, two = serve({}), serve({})
    one.pages["/"] = lambda _: page(f"{two.url}/0")
    for site, other in ((one, two), (two, one)):
        for i in range(40):
            site.pages[f"/{i}"] = moved_to(f"{other.url}/{i + 1}")
    result = crawl(one.url + "/")
    assert {"redirects": 1} == result.report["skipped"]
    assert 11 == sum(one.asked.values()) + sum(two.asked.values()) - 1


def test_a_start_page_that_redirects_is_read_again_in_the_next_round(serve, crawl, sieve):
    site = serve({"/": lambda _: redirect("/home"), "/home": lambda _: page("/first")})
    site.pages["/first"] = lambda _: page()
    crawl(site.url + "/")
    site.pages["/home"] = lambda _: page("/first", "/second")
    site.pages["/second"] = lambda _: page()
    sieve.push([site.url + "/"], mode="again")
    crawl(site.url + "/")
    assert {"/": 2, "/home": 2, "/first": 1, "/second": 1} == dict(site.asked)


def test_a_start_page_on_another_host_is_read_again_in_the_next_round(serve, crawl, sieve):
    home = serve({"/": lambda _: page("/first"), "/first": lambda _: page(), "/second": lambda _: page()})
    site = serve({"/": lambda _: redirect(home.url + "/")})
    crawl(site.url + "/", same_site=True)
    home.pages["/"] = lambda _: page("/first", "/second")
    sieve.push([site.url + "/"], mode="again")
    crawl(site.url + "/", same_site=True)
    assert {"/": 2} == dict(site.asked)
    assert {"/": 2, "/first": 1, "/second": 1} == dict(home.asked)


def test_same_site_does_not_follow_a_redirect_off_the_site(serve, crawl):
    other = serve({"/": lambda _: page()})
    site = serve({"/": lambda _: page("/out"), "/out": lambda _: redirect(other.url + "/")})
    crawl(site.url + "/", same_site=True)
    assert [] == other.log


def test_a_redirect_to_what_is_no_web_page_is_skipped(serve, crawl):
    site = serve({"/": lambda _: redirect("mailto:someone@example.com")})
    assert {"redirects": 1} == crawl(site.url + "/").report["skipped"]


def test_each_hop_asks_robots_txt(serve, crawl):
    from aiohttp import web

    site = serve({"/a": lambda _: redirect("/private/b"), "/private/b": lambda _: page()})
    site.pages["/robots.txt"] = lambda _: web.Response(text="User-agent: *\nDisallow: /private/\n")
    result = crawl(site.url + "/a")
    assert {"/a": 1} == dict(site.asked)
    assert {"robots": 1} == result.report["skipped"]


@pytest.mark.parametrize(
    "meta", [{"redirects": "many", "lastmod": {"a": [1]}}, {"redirects": -5}, {"redirects": 10**30}, {"redirects": None}, [1], "x", 7]
)
def test_meta_of_somebody_else_does_no_harm(serve, crawl, sieve, meta):
    site = serve({"/": moved_to("/a"), "/a": moved_to("/b"), "/b": lambda _: page()})
    sieve.push(site.url + "/", meta=meta)
    result = crawl(site.url + "/")
    assert (0, {"/": 1, "/a": 1, "/b": 1}) == (result.status, dict(site.asked))
