"""Sitemaps as bytes: what they list, what is refused, and what is still got out of a broken one."""

import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.doors.crawler import sitemap
from urlsieve.doors.crawler.sitemap import Listed, NotASitemap, read

HEAD = '<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def urlset(*urls, head=HEAD):
    return (head + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>").encode()


def urls_of(found):
    return [page.url for page in found.pages]


def refusal(body):
    with pytest.raises(NotASitemap) as caught:
        read(body)
    return caught.value.reason


def test_pages_come_in_order_with_their_lastmod_as_written():
    found = read(
        f"{HEAD}<url><loc>\n http://e.com/a?x=1&amp;y=2 </loc><lastmod>2026-11-01</lastmod><priority>0.9</priority></url>"
        "<url><lastmod>yesterday</lastmod><loc><![CDATA[http://e.com/b]]></loc></url></urlset>".encode()
    )
    assert [Listed("http://e.com/a?x=1&y=2", "2026-11-01"), Listed("http://e.com/b", "yesterday")] == found.pages
    assert (found.children, found.cut, found.fault) == ([], False, None)


def test_an_index_names_sitemaps():
    found = read(
        b"<sitemapindex><sitemap><loc>http://e.com/1.xml</loc></sitemap><sitemap><loc>http://e.com/2.xml.gz</loc></sitemap></sitemapindex>"
    )
    assert (["http://e.com/1.xml", "http://e.com/2.xml.gz"], []) == (found.children, found.pages)


def test_images_and_videos_in_a_sitemap_are_no_pages():
    body = f"{HEAD}<url><loc>http://e.com/a</loc><image:image><image:loc>http://e.com/a.png</image:loc></image:image></url></urlset>"
    assert ["http://e.com/a"] == urls_of(read(body.encode()))


def test_alternates_are_kept_with_their_language():
    body = (
        f'{HEAD}<url><loc>http://e.com/en</loc><xhtml:link rel="alternate" hreflang="de" href="http://e.com/de"/>'
        '<xhtml:link rel="icon" href="http://e.com/icon"/></url></urlset>'
    )
    assert {"http://e.com/de": "de"} == read(body.encode()).alternates


def test_prefixes_capitals_and_encodings_make_no_difference():
    body = '<?xml version="1.0" encoding="ISO-8859-1"?><sm:URLSET xmlns:sm="x"><sm:url><sm:LOC>http://e.com/é</sm:LOC></sm:url></sm:URLSET>'
    assert ["http://e.com/é"] == urls_of(read(body.encode("iso-8859-1")))
    assert ["http://e.com/é"] == urls_of(read("<urlset><url><loc>http://e.com/é</loc></url></urlset>".encode("utf-16")))


def test_plain_text_is_a_sitemap_if_it_begins_with_a_url():
    found = read(b"\xef\xbb\xbfhttp://e.com/a\r\n\n  HTTPS://e.com/b  \nhttp://e.com/\xff\n")
    assert ["http://e.com/a", "HTTPS://e.com/b", "http://e.com/\udcff"] == urls_of(found)
    assert "type" == refusal(b"Once upon a time there was http://e.com/a\nhttp://e.com/b")
    assert "a line that is no URL" == read(b"http://e.com/a\n/relative\nwords").fault


@pytest.mark.parametrize("times", [1, 2])
def test_gzip_is_undone_once_and_once_more(times):
    body = urlset("http://e.com/a")
    for _ in range(times):
        body = gzip.compress(body)
    assert ["http://e.com/a"] == urls_of(read(body))


def test_gzip_in_members_is_one_file():
    body = urlset("http://e.com/a", "http://e.com/b")
    assert 2 == len(read(gzip.compress(body[:90]) + gzip.compress(body[90:])).pages)


def test_gzip_that_breaks_off_gives_what_it_has():
    import random

    rng = random.Random(1)
    packed = gzip.compress(urlset(*(f"http://e.com/{rng.getrandbits(64):x}" for _ in range(1000))))
    found = read(packed[: len(packed) // 2])
    assert 300 < len(found.pages) < 700
    assert found.fault


def test_a_gzip_bomb_is_refused_by_size_without_being_unpacked():
    started = time.perf_counter()
    assert "size" == refusal(gzip.compress(b"<urlset>" + b" " * 300_000_000, 9))
    assert "type" == refusal(gzip.compress(gzip.compress(gzip.compress(b"<urlset/>"))))
    assert time.perf_counter() - started < 10


BOMB = "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(9))


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE urlset [<!ENTITY a0 "http://e.com/">{BOMB}]>',
        '<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE urlset [<!ENTITY x SYSTEM "http://127.0.0.1/">]>',
        '<!DOCTYPE urlset [<!ENTITY % x SYSTEM "http://127.0.0.1/x.dtd"> %x;]>',
        '<!DOCTYPE urlset [<!ENTITY x "harmless">]>',
    ],
)
def test_a_sitemap_that_declares_entities_is_refused(doctype):
    started = time.perf_counter()
    assert "entities" == refusal(f"{doctype}<urlset><url><loc>&a9;&x;</loc></url></urlset>".encode())
    assert time.perf_counter() - started < 1


def test_a_doctype_alone_is_no_reason_and_is_not_fetched():
    body = b'<!DOCTYPE urlset SYSTEM "http://127.0.0.1:9/x.dtd"><urlset><url><loc>http://e.com/a</loc></url></urlset>'
    assert ["http://e.com/a"] == urls_of(read(body))


@pytest.mark.parametrize(
    "body", [b"", b" \n", b"<html><body>404</body></html>", b"<rss><channel/></rss>", b"\0\1\2", b"<", b"%PDF-1.7", b"<!-- -->"]
)
def test_what_is_no_sitemap_is_refused_by_type(body):
    assert "type" == refusal(body)


def test_an_unescaped_ampersand_loses_nothing():
    body = urlset("http://e.com/1", "http://e.com/?a=1&b=2", "http://e.com/3", "http://e.com/?c=1&amp;d=2")
    found = read(body)
    assert ["http://e.com/1", "http://e.com/?a=1&b=2", "http://e.com/3", "http://e.com/?c=1&d=2"] == urls_of(found)
    assert found.fault.startswith("XML: not well-formed")


def test_what_breaks_after_a_url_does_not_lose_it():
    body = f"{HEAD}<url><loc>http://e.com/1</loc><lastmod>&nonsense;</lastmod></url><url><loc>http://e.com/2</loc></url></urlset>"
    assert ["http://e.com/1", "http://e.com/2"] == urls_of(read(body.encode()))


def test_an_index_that_breaks_stays_an_index():
    body = (
        b"<sitemapindex><sitemap><loc>http://e.com/1.xml?a&b</loc></sitemap><sitemap><loc>http://e.com/2.xml</loc></sitemap></sitemapindex>"
    )
    assert ["http://e.com/1.xml?a&b", "http://e.com/2.xml"] == read(body).children


@given(st.integers(0, 400))
def test_wherever_it_breaks_off_no_url_is_invented(at):
    urls = [f"http://e.com/{i}" for i in range(9)]
    body = urlset(*urls)[:at]
    try:
        found = read(body)
    except NotASitemap as no:
        assert "type" == no.reason
        assert b"<urlset" not in body or b'0.9">' not in body
    else:
        assert urls[: len(found.pages)] == urls_of(found)
        assert len(found.pages) >= body.count(b"</loc>")


def test_more_than_the_protocol_allows_is_cut_and_said(monkeypatch):
    monkeypatch.setattr(sitemap, "MOST_URLS", 3)
    for body in (urlset(*(f"http://e.com/{i}" for i in range(5))), b"\n".join(b"http://e.com/%d" % i for i in range(5))):
        found = read(body)
        assert (["http://e.com/0", "http://e.com/1", "http://e.com/2"], True) == (urls_of(found), found.cut)
    assert not read(urlset(*(f"http://e.com/{i}" for i in range(3)))).cut


def test_alternates_do_not_crowd_out_pages(monkeypatch):
    monkeypatch.setattr(sitemap, "MOST_URLS", 3)
    alternates = "".join(f'<link rel="alternate" hreflang="x{i}" href="http://e.com/x{i}"/>' for i in range(9))
    body = HEAD + "".join(f"<url><loc>http://e.com/{i}</loc>{alternates}</url>" for i in range(3)) + "</urlset>"
    found = read(body.encode())
    assert (3, 3, False) == (len(found.pages), len(found.alternates), found.cut)


def test_a_url_too_long_for_any_store_is_not_cut_into_another():
    [page] = read(urlset("http://e.com/" + "a" * 100_000)).pages
    assert len(page.url) > 65_536


def test_a_large_sitemap_is_read_in_seconds():
    body = urlset(*(f"http://example.com/catalogue/item/{i:0900d}" for i in range(50_000)))
    assert 45_000_000 < len(body) < sitemap.MOST_BYTES
    started = time.perf_counter()
    assert 50_000 == len(read(body).pages)
    assert time.perf_counter() - started < 20


def test_one_huge_element_is_read_in_seconds():
    started = time.perf_counter()
    read(f"{HEAD}<url><loc>http://e.com/a</loc><x y='{'z' * 40_000_000}'/></url></urlset>".encode())
    read(f"{HEAD}{'<a>' * 1_000_000}".encode())
    assert time.perf_counter() - started < 20


def damaged(body):
    """`body` with a few bytes put in, taken out or changed."""

    @st.composite
    def damage(draw):
        found = bytearray(body)
        for _ in range(draw(st.integers(0, 6))):
            at = draw(st.integers(0, len(found)))
            found[at : at + draw(st.integers(0, 3))] = draw(
                st.binary(max_size=3) | st.sampled_from([b"&", b"<", b"]]>", b"<!DOCTYPE x [", b"\x00"])
            )
        return bytes(found)

    return damage()


WHOLE = urlset(*(f"http://e.com/{i}?a=1&amp;b=2" for i in range(4)))


@given(
    st.binary(max_size=300)
    | damaged(WHOLE)
    | damaged(gzip.compress(WHOLE))
    | damaged(WHOLE.replace(b"urlset", b"sitemapindex").replace(b"url>", b"sitemap>"))
)
def test_any_bytes_are_a_sitemap_or_are_refused(body):
    try:
        found = read(body)
    except NotASitemap as no:
        assert no.reason in ("type", "size", "entities")
    else:
        assert all(page.url for page in found.pages)
        assert len(found.pages) + len(found.children) <= sitemap.MOST_URLS
