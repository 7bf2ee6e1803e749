"""What is HTML by its first bytes, whatever the server says."""

import pytest

from urlsieve.doors.crawler.links import encoding_of
from urlsieve.doors.crawler.sniff import is_html

PAGE = b"<!doctype html><html><body><a href=/x>x</a>"
XHTML = b'<?xml version="1.0"?>\n<!-- a -->\n<!DOCTYPE html PUBLIC "x"><html xmlns="http://www.w3.org/1999/xhtml">'


@pytest.mark.parametrize(
    ("head", "declared", "expected"),
    [
        (PAGE, "text/html", True),
        (b"no tags at all", "text/html", True),
        (b"", "text/html", True),
        (PAGE, "application/xhtml+xml", True),
        (PAGE, None, True),
        (b"\xef\xbb\xbf  \n<!-- hello --><p>", None, True),
        (b"<a href=/x>", None, True),
        (b"<br/>", None, True),
        (b"<html>\x00\x01\x02 some noise in a page that is mostly text, as they are", "text/html", True),
        (b"see /x", None, False),
        (b"<abbr>", None, False),
        (b"<?xml version='1.0'?><rss version='2.0'>", None, False),
        (XHTML, None, True),
        (PAGE, "text/plain", True),
        (PAGE, "application/octet-stream", True),
        (b"just words <a href=/x>", "text/plain", False),
        (XHTML, "application/xml", True),
        (XHTML, "text/xml", True),
        (b"<?xml version='1.0'?><urlset>", "application/xml", False),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><a href='/x'>", "image/svg+xml", False),
        (PAGE, "image/png", True),
        (PAGE, "application/json", True),
        (b'{"html": "<html>"}', "application/json", False),
        (b"<a href=/x>", "image/png", False),
        (b"%PDF-1.7\n<html>", "text/html", False),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "text/html", False),
        (b"GIF89a<html>", "text/html", False),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "text/html", False),
        (b"PK\x03\x04mimetype", "text/html", False),
        (b"\x1f\x8b\x08\0\0\0", "text/html", False),
        (bytes(range(256)) * 4, "text/html", False),
        (PAGE.decode().encode("utf-16"), "text/html", True),
        (PAGE.decode().encode("utf-16"), None, True),
        (PAGE.decode().encode("utf-16"), "image/png", True),
    ],
)
def test_html_is_what_begins_like_it_or_is_called_so_and_is_no_binary(head, declared, expected):
    assert expected == is_html(head, declared)


def test_zeros_are_no_binary_where_the_header_says_utf_16():
    text = PAGE.decode().encode("utf-16-le")
    assert is_html(text, "text/html", "utf-16le")
    assert not is_html(text, "text/html")


@pytest.mark.parametrize(
    ("body", "charset", "expected"),
    [
        (b"\xef\xbb\xbf<meta charset=gbk>", "big5", "utf-8-sig"),
        (b"\xff\xfe<", "utf-8", "utf-16"),
        (b"<meta charset=gbk>", "utf-8", "utf-8"),
        (b"<meta charset=gbk>", None, "gb18030"),
        (b"<meta charset=utf-16>", None, "utf-8"),
        (b"<?xml version='1.0' encoding='iso-8859-1'?><html>", None, "cp1252"),
        (b"<html>", None, "utf-8"),
    ],
)
def test_a_byte_order_mark_beats_the_header_which_beats_the_page(body, charset, expected):
    assert expected == encoding_of(body, charset)
