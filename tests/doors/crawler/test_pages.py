"""Links and headers, without a network."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.doors.crawler.fetch import retry_after
from urlsieve.doors.crawler.links import encoding_of, extract
from urlsieve.doors.crawler.sniff import is_html

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


def found(html, url="http://example.com/dir/page", charset=None):
    return read(html, url, charset).links


def read(html, url="http://example.com/dir/page", charset=None):
    return extract(html if isinstance(html, bytes) else html.encode(), url=url, charset=charset)


def test_anchors_areas_and_frames_are_links_and_nothing_else():
    html = """<a href=a>x</a><map><area href=b></map><iframe src=c></iframe><img src=no><link href=no><script src=no></script>
    <a name=no></a><a href="">here</a><form action=no></form>"""
    assert ["http://example.com/dir/a", "http://example.com/dir/b", "http://example.com/dir/c"] == found(html)


def test_a_nofollow_link_is_a_link():
    assert ["http://example.com/x"] == found('<a rel="nofollow" href=/x>x</a>')


def test_a_link_stays_as_found_but_absolute():
    assert ["http://example.com/a?b=1&a=2&utm_source=x"] == found("<a href='/a?b=1&amp;a=2&amp;utm_source=x#part'>x</a>")


def test_a_fragment_that_is_a_route_is_kept():
    assert ["http://example.com/app#/user/1", "http://example.com/app#!x"] == found("<a href='/app#/user/1'>x</a><a href='/app#!x'>x</a>")


def test_a_link_that_is_no_web_url_is_left_to_the_store_which_counts_it():
    assert ["mailto:a@example.com", "javascript:void(0)"] == found("<a href=mailto:a@example.com>x</a><a href='javascript:void(0)'>x</a>")


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("/other/", "http://example.com/other/x"),
        ("http://example.org/y/z", "http://example.org/y/x"),
        ("../", "http://example.com/x"),
        ("javascript:alert(1)", "http://example.com/dir/x"),
        ("", "http://example.com/dir/x"),
    ],
)
def test_base_decides_where_relative_links_lead(base, expected):
    assert [expected] == found(f'<base href="{base}"><base href="/second/"><a href=x>x</a>')


@pytest.mark.parametrize(
    ("body", "charset", "expected"),
    [
        ("<a href='/中?q=中'>", "gbk", "http://example.com/%E4%B8%AD?q=%D6%D0"),
        ("<meta charset=gb2312><a href='/中?q=中'>", None, "http://example.com/%E4%B8%AD?q=%D6%D0"),
        ("<meta charset=gb2312><a href=' /中?q=中\n'>", None, "http://example.com/%E4%B8%AD?q=%D6%D0"),
        ("<meta http-equiv=content-type content='text/html; charset=big5'><a href='/?q=中'>", None, "http://example.com/?q=%A4%A4"),
        ("<a href='/?q=é'>", "iso-8859-1", "http://example.com/?q=%E9"),
        ("<a href='/?q=中'>", None, "http://example.com/?q=%E4%B8%AD"),
        ("<a href='/?q=中'>", "utf-16", "http://example.com/?q=%E4%B8%AD"),
    ],
)
def test_the_page_is_read_in_its_own_encoding(body, charset, expected):
    codec = charset or ("big5" if "big5" in body else "gbk" if "gb2312" in body else "utf-8")
    assert [expected] == found(body.encode(codec), charset=charset)


def test_an_encoding_nobody_knows_is_passed_over():
    assert "gb18030" == encoding_of(b"<meta charset=gbk>", "x-made-up")
    assert "utf-8" == encoding_of(b"<meta charset=rot13>", "hex")


def test_hostile_html_gives_what_links_it_has():
    assert ["http://example.com/x"] == found(b"\x00\xff<<<<a href=/x>" + b"<div>" * 20_000 + b"\xc3")


@pytest.mark.parametrize(
    ("value", "date", "expected"),
    [
        ("120", None, 120.0),
        (" 0 ", None, 0.0),
        ("1000000000", None, 1e9),
        ("Tue, 14 Nov 2023 22:15:20 GMT", None, 120.0),
        ("Tue, 14 Nov 2023 22:00:00 GMT", None, 0.0),
        ("Tue, 14 Nov 2023 23:00:00 GMT", "Tue, 14 Nov 2023 22:59:00 GMT", 60.0),
        ("soon", None, None),
        ("-5", None, None),
        ("", None, None),
        (None, None, None),
        ("Tue, 99 Nov 2023 22:15:20 GMT", None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, date, expected):
    assert expected == retry_after(value, date, NOW)


PIECES = [
    *(
        "<a href=",
        "<link rel=canonical href=",
        "<link rel=alternate hreflang=de href=",
        "<base href=",
        "<meta name=robots content=nofollow>",
    ),
    *(
        "/x",
        "'http://e.com/?a=1&b=2'",
        "//",
        "[",
        "#!/r",
        "'",
        '"',
        ">",
        "<",
        "\x00",
        "é",
        "中",
        " rel=nofollow ",
        "<!--",
        "</a>",
        "javascript:",
        "\ud800",
    ),
]


@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=30),
    st.sampled_from(["utf-8", "gbk", "utf-16", "latin-1", None, "no such"]),
)
def test_any_text_is_a_page_whose_evidence_is_among_its_links(pieces, charset):
    codec = charset if charset in ("gbk", "utf-16", "latin-1") else "utf-8"
    page = extract("".join(pieces).encode(codec, "replace"), url="http://example.com/dir/", charset=charset)
    assert len(set(page.links)) == len(page.links)
    assert page.nofollow <= set(page.links)
    assert {url for _, url in page.alternates} | ({page.canonical} - {None}) <= set(page.links)


@given(st.binary(max_size=400))
def test_any_bytes_are_a_page_and_are_html_or_not(body):
    extract(body, url="http://example.com/")
    for declared in (None, "text/html", "text/plain", "image/png"):
        assert is_html(body, declared) in (True, False)
