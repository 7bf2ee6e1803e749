"""URLs of pages that are not in UTF-8: the query in the page's encoding, the rest in UTF-8, as browsers send it."""

import pytest

from urlsieve.canon import Canonicalizer
from urlsieve.errors import ConfigError


def key(encoding: str, url: str | bytes) -> str:
    return Canonicalizer(encoding=encoding).canonicalize(url)


def test_the_query_is_encoded_in_the_pages_encoding_and_the_path_in_utf8() -> None:
    assert "http://e.com/%E4%B8%AD?q=%D6%D0#/%E4%B8%AD" == key("gb2312", "http://e.com/\u4e2d?q=\u4e2d#/\u4e2d")
    assert "http://e.com/%C3%A9?q=%E9" == key("iso-8859-1", "http://e.com/\u00e9?q=\u00e9")


def test_bytes_are_read_in_the_pages_encoding() -> None:
    assert key("gbk", "http://e.com/\u4e2d?q=\u4e2d") == key("gbk", "http://e.com/\u4e2d?q=\u4e2d".encode("gbk"))
    assert "http://xn--bcher-kva.de/" == key("latin-1", "http://b\u00fccher.de/".encode("latin-1"))


def test_what_the_encoding_has_not_is_a_numeric_reference() -> None:
    assert "http://e.com/?q=%26%2320013%3B%E9&z=1" == key("windows-1252", "http://e.com/?z=1&q=\u4e2d\u00e9")
    assert "http://e.com/?q=%26%23128512%3B" == key("gbk", "http://e.com/?q=\U0001f600")


def test_bytes_that_cannot_be_decoded_are_triplets() -> None:
    assert "http://e.com/%FF" == key("utf-8", b"http://e.com/\xff")
    assert "http://e.com/%FF?%FF=1" == key("gbk", b"http://e.com/\xff?\xff=1")


def test_ascii_bytes_of_a_double_byte_character_stay_in_the_character() -> None:
    # Shift_JIS writes U+8868 as 0x95 0x5C: the second byte is a backslash, and is encoded as one of the query
    assert "http://e.com/?q=%95%5C" == key("shift_jis", "http://e.com/?q=\u8868")
    assert "http://e.com/?q=%1B$BCf%1B(B" == key("iso-2022-jp", "http://e.com/?q=\u4e2d")


def test_an_ascii_url_does_not_depend_on_the_encoding() -> None:
    url = "http://e.com/%C3%A9?q=%E9"
    assert {url} == {key(encoding, url) for encoding in ("utf-8", "gbk", "latin-1", "utf-16", "shift_jis")}


def test_labels_mean_what_they_mean_in_browsers() -> None:
    assert "http://e.com/?%80=1" == key("iso-8859-1", "http://e.com/?\u20ac=1")  # windows-1252, as the Encoding Standard says
    assert "http://e.com/?%80=1" == key("latin1", "http://e.com/?\u20ac=1")
    assert "http://e.com/?%E2%82%AC=1" == key("UTF8", "http://e.com/?\u20ac=1")
    assert "http://e.com/?%E2%82%AC=1" == key("utf-16le", "http://e.com/?\u20ac=1")


def test_lines_and_batches_follow_the_encoding() -> None:
    canon = Canonicalizer(encoding="gbk")
    url = "http://e.com/\u4e2d?q=\u4e2d".encode("gbk")
    keys = canon.canonicalize_many([url])
    assert ["http://e.com/%E4%B8%AD?q=%D6%D0"] == list(keys)
    assert canon.fingerprint(url) == keys.fingerprints == canon.lines(url + b"\n").fingerprints
    assert keys[0] == (canon.lines(url).key(0) or b"").decode()


def test_bytes_of_an_encoding_that_is_no_superset_of_ascii_are_read_in_it() -> None:
    url = "http://e.com/\u4e2d"
    assert "http://e.com/%E4%B8%AD" == key("utf-16-le", url.encode("utf-16-le")) == key("utf-16-le", url)
    assert "http://e.com/%E4%B8%AD" == key("iso-2022-jp", url.encode("iso-2022-jp"))


def test_a_relative_url_of_such_a_page() -> None:
    keys = Canonicalizer(encoding="gbk").canonicalize_many(["?q=\u4e2d"], base="http://e.com/\u4e2d")
    assert ["http://e.com/%E4%B8%AD?q=%D6%D0"] == list(keys)
    assert "http://e.com/%E4%B8%AD?q=%D6%D0" == keys.absolute(0)


def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ConfigError, match="klingon"):
        Canonicalizer(encoding="klingon")


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    canon = Canonicalizer()
    assert "http://e.com/%EF%BF%BDx?%EF%BF%BD" == canon.canonicalize("http://e.com/\ud800x?\udfff")
    assert "http://e.com/%F0%9F%98%80" == canon.canonicalize("http://e.com/\ud83d\ude00")
    assert ["http://e.com/%EF%BF%BD"] == list(canon.canonicalize_many(["http://e.com/\udcff"]))
    assert "http://u@e.com/%EF%BF%BD" == canon.canonicalize("http://u@e.com/\udcff")
