"""Which links are followed: patterns, nofollow, and what becomes of the rest."""

from pathlib import Path

import pytest
from aiohttp import web
from crawler_lab import HTML, leads_to, moved_to, page

import urlsieve


def test_only_links_in_scope_are_followed_and_the_others_are_counted_in_report_and_store(serve, crawl, sieve):
    site = serve(
        {
            "/": leads_to("/docs/a", "/docs/private/b", "/blog", "/docs/a.pdf", "mailto:x@example.com"),
            "/docs/a": leads_to("/blog", "/docs/c"),
        }
    )
    site.pages["/docs/c"] = leads_to()
    result = crawl(site.url + "/", scope=["127.0.0.1/docs/", "!/docs/private/", "!/*.pdf"])
    assert {"/": 1, "/docs/a": 1, "/docs/c": 1} == dict(site.asked)
    assert {"scope": 4} == result.report["left_out"]
    assert {"scope": 4, "scheme": 1} == sieve.stats().rejected
    assert [False, False] == sieve.seen([site.url + "/blog", site.url + "/docs/private/b"])
    assert [] == sieve.verify(deep=True)


def test_depth_and_same_site_are_counted_in_the_store_too(serve, crawl, sieve):
    other = serve({})
    site = serve({"/": leads_to("/a", other.url + "/"), "/a": leads_to("/b", "/c")})
    crawl(site.url + "/", max_depth=1, same_site=True)
    assert {"scope": 1, "depth": 2} == sieve.stats().rejected
    assert [] == other.log


def test_a_wider_scope_takes_what_a_narrower_one_left_out(serve, crawl, sieve):
    site = serve({"/": leads_to("/a", "/b"), "/a": leads_to(), "/b": leads_to()})
    crawl(site.url + "/", scope=["!/b"])
    sieve.push(site.url + "/", mode="again")
    crawl(site.url + "/")
    assert {"/": 2, "/a": 1, "/b": 1} == dict(site.asked)


def test_a_start_page_out_of_scope_is_fetched_and_its_links_judged(serve, crawl):
    site = serve({"/": leads_to("/docs/a", "/other"), "/docs/a": leads_to()})
    crawl(site.url + "/", scope=["/docs/"])
    assert {"/": 1, "/docs/a": 1} == dict(site.asked)


def test_what_waits_in_the_store_is_fetched_whatever_the_scope(serve, crawl, sieve):
    site = serve({"/": leads_to(), "/waits": leads_to("/more")})
    sieve.push(site.url + "/waits", depth=3)
    crawl(site.url + "/", scope=["!/waits", "!/more"])
    assert {"/": 1, "/waits": 1} == dict(site.asked)


def test_a_redirect_out_of_scope_ends_there_and_its_target_stays_unknown(serve, crawl, sieve):
    site = serve({"/": leads_to("/a"), "/a": moved_to("/b"), "/b": moved_to("/out/c"), "/out/c": leads_to("/d")})
    result = crawl(site.url + "/", scope=["!/out/"])
    assert {"/": 1, "/a": 1, "/b": 1} == dict(site.asked)
    assert {"scope": 1} == result.report["left_out"]
    assert ["done", "done", "unseen"] == [sieve.info(site.url + path).state for path in ("/a", "/b", "/out/c")]
    assert {"scope": 1} == sieve.stats().rejected


def test_a_redirect_to_another_host_out_of_scope_is_not_gone_to(serve, crawl, sieve):
    other = serve({"/x": leads_to()}, host="127.0.0.2")
    site = serve({"/": leads_to("/a"), "/a": moved_to(other.url + "/x")})
    crawl(site.url + "/", scope=["127.0.0.1"])
    assert [] == other.log
    assert [False] == sieve.seen([other.url + "/x"])


def test_a_start_page_is_followed_to_where_it_leads(serve, crawl):
    other = serve({"/home": leads_to("/docs/a", "/b"), "/docs/a": leads_to()}, host="127.0.0.2")
    site = serve({"/": moved_to("/elsewhere"), "/elsewhere": moved_to(other.url + "/home")})
    crawl(site.url + "/", scope=["/docs/"])
    assert {"/": 1, "/elsewhere": 1} == dict(site.asked)
    assert {"/home": 1, "/docs/a": 1} == dict(other.asked)


def test_a_redirect_to_another_spelling_of_a_page_is_followed_in_any_scope(serve, crawl, sieve):
    site = serve({"/?utm_source=a": moved_to("/"), "/": leads_to()})
    sieve.push(site.url + "/?utm_source=a", depth=1)
    crawl(site.url + "/nothing", scope=["/nowhere/"])
    assert 1 == site.asked["/"]


def test_nofollow_is_obeyed_where_asked_for(serve, crawl):
    def home(_):
        return web.Response(
            text='<a rel="nofollow ugc" href=/a>x</a><a rel=nofollow href=/b>x</a><a href=/b>x</a><a href=/c>x</a>', headers=HTML
        )

    def closed(_):
        return web.Response(text='<meta name=ROBOTS content="noindex, NoFollow"><a href=/d>x</a>', headers=HTML)

    site = serve({"/": home, "/a": leads_to(), "/b": leads_to(), "/c": closed, "/d": leads_to()})
    result = crawl(site.url + "/", obey_nofollow=True)
    assert {"/": 1, "/b": 1, "/c": 1} == dict(site.asked)
    assert {"nofollow": 2} == result.report["left_out"]
    crawl(site.url + "/", store="memory:")
    assert 1 == site.asked["/a"]


def test_patterns_come_from_files_too(serve, worker, tmp_path, sieve):
    site = serve({"/": lambda _: page("/a", "/b", "/c")} | {path: leads_to() for path in ("/a", "/b", "/c")})
    (tmp_path / "scope").write_bytes(b"\xef\xbb\xbf# only these\r\n\r\n/a\r\n  /c\n")
    result = worker(site.url + "/", "--delay", "0", "--scope-file", str(tmp_path / "scope"), "--scope", "!/c").end()
    assert 0 == result.status
    assert {"/": 1, "/a": 1} == dict(site.asked)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--scope", "ftp://x"], "scope pattern 'ftp://x'"),
        (["--scope-file", "/no/such/file"], "cannot be read"),
        (["--scope-file", "."], "is a directory"),
        (["--from-sitemap", "auto"], "name one"),
        ([], "where to start?"),
        (["--accept-language", "de\r\nCookie: x"], "header"),
        (["--user-agent", "b\x01t"], "header"),
        (["--user-agent", "bücher"], "header"),
        (["--per-host", "0"], "0 is none"),
        (["--evidence", "/no/such/folder/file"], "cannot be written"),
    ],
)
def test_what_makes_no_sense_is_said_and_leaves_no_store(arguments, says, worker, store):
    start = ["http://127.0.0.1:9/"] if arguments and arguments[0] != "--from-sitemap" else []
    result = worker(*start, *arguments).end()
    assert 2 == result.status
    assert says in result.errors
    assert not Path(store).exists()


def test_a_scope_file_that_is_no_text_is_named_with_its_line(tmp_path, worker):
    (tmp_path / "scope").write_bytes(b"/a\n/\xff\n")
    result = worker("http://127.0.0.1:9/", "--scope-file", str(tmp_path / "scope")).end()
    assert 2 == result.status
    assert "line 2 is not UTF-8" in result.errors


def test_outcome_refused_is_checked_and_counted():
    with urlsieve.open("memory:") as sieve:
        sieve.push("http://a.example/")
        [lease] = sieve.pop(1)
        with pytest.raises(urlsieve.ConfigError, match="refused must be one of"):
            sieve.settle([(lease, urlsieve.Outcome("done", refused=(("because", 1),)))])
        with pytest.raises(urlsieve.ConfigError, match="refused"):
            sieve.settle([(lease, urlsieve.Outcome("done", refused=(("scope", -1),)))])
        sieve.settle([(lease, urlsieve.Outcome("done", links=("/b", "mailto:x"), refused=(("scope", 2), ("depth", 1))))])
        assert {"scope": 2, "depth": 1, "scheme": 1} == sieve.stats().rejected


def test_a_crawl_ends_when_what_waits_has_no_budget_left(serve, worker, store, sieve):
    """And a later one, under wider rules, goes on where it was."""
    site = serve({"/": lambda _: page("/a", "/b", "/c")} | {path: leads_to() for path in ("/a", "/b", "/c")})
    with urlsieve.open(store) as one:
        one.apply_rules(urlsieve.Rules.parse("[scope]\nlimits = { site = { pages = 2 } }"))
    result = worker(site.url + "/", "--delay", "0", "--concurrency", "1").end()
    assert 0 == result.status
    assert "no budget left" in result.errors
    assert 2 == sum(site.asked[path] for path in ("/", "/a", "/b", "/c"))
    with urlsieve.open(store) as one:
        assert 2 == one.stats().pending
        one.apply_rules(None)
    assert 0 == worker(site.url + "/", "--delay", "0").end().status
    assert {"/": 1, "/a": 1, "/b": 1, "/c": 1} == {path: site.asked[path] for path in ("/", "/a", "/b", "/c")}
