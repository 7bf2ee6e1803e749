"""A block of bytes cut into lines: nothing is lost, nothing is added, and each line has the fingerprint its URL has alone."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_urls import urls
from urlsieve.canon import REASON_OF_CODE, Canonicalizer

CANON = Canonicalizer(secret=99)
line_texts = st.one_of(urls.map(lambda text: text.encode()), st.binary(max_size=30)).map(lambda line: line.replace(b"\n", b""))


@given(st.lists(line_texts, max_size=12), st.booleans(), st.sampled_from([b"\n", b"\r\n"]))
def test_lines_have_the_fingerprints_their_urls_have_alone(lines: list[bytes], last: bool, feed: bytes) -> None:
    block = feed.join(lines) + (feed if last else b"")
    found = CANON.lines(block)
    wanted = block.split(b"\n")
    if wanted[-1] == b"":
        wanted.pop()
    assert wanted == [found.line(i) for i in range(found.count)]
    stripped = [line.removesuffix(b"\r") for line in wanted]
    keys = CANON.canonicalize_many(stripped)
    assert keys.fingerprints == found.fingerprints
    assert keys.status == found.status
    assert list(keys) == [None if key is None else key.decode() for key in map(found.key, range(found.count))]


@given(st.lists(line_texts, max_size=12), st.randoms(use_true_random=False), st.sampled_from([b"\n", b"\x00", b""]))
def test_select_joins_the_flagged_lines_as_found(lines: list[bytes], chance: random.Random, ending: bytes) -> None:
    found = CANON.lines(b"".join(line + b"\n" for line in lines))
    flags = bytes(chance.choice((0, 1, 2)) for _ in lines)
    assert b"".join(line + ending for line, flag in zip(lines, flags, strict=True) if flag == 1) == found.select(flags, ending=ending)
    keys = [found.key(i) for i in range(found.count)]
    wanted = b"".join(key + ending for key, flag in zip(keys, flags, strict=True) if flag == 1 and key is not None)
    assert wanted == found.select(flags, keys=True, ending=ending)


def test_blank_lines_are_empty_and_the_last_line_may_lack_its_newline() -> None:
    found = CANON.lines(b"\n\r\nhttp://e.com/\n  \nhttp://e.com/a")
    assert ["empty", "empty", None, "empty", None] == [REASON_OF_CODE[code] for code in found.status]
    assert b"http://e.com/a" == found.key(4)
    assert b"\r" == found.line(1)


def test_a_carriage_return_belongs_to_the_line_and_not_to_the_url() -> None:
    found = CANON.lines(b"http://e.com/a\r\nhttp://e.com/a\n")
    assert found.fingerprints[:16] == found.fingerprints[16:]
    assert b"http://e.com/a\r|" == found.select(b"\x01\x00", ending=b"|")


def test_an_empty_block_has_no_lines() -> None:
    found = CANON.lines(b"")
    assert (0, b"", b"", b"") == (found.count, found.fingerprints, found.status, found.select(b""))


def test_more_lines_than_one_stretch_without_the_interpreter_lock() -> None:
    block = b"".join(b"http://e%d.com/\xc3\xa9/%d\nftp://x/\nhttp://f\xc3\xbc.de/%d\n" % (i, i, i) for i in range(3_000))
    found = CANON.lines(block)
    keys = CANON.canonicalize_many(block.splitlines())
    assert keys.fingerprints == found.fingerprints
    assert 9_000 == found.count
    assert b"http://xn--f-eha.de/2999" == found.key(8_999)


def test_flags_that_do_not_fit_are_refused() -> None:
    found = CANON.lines(b"http://e.com/\n")
    with pytest.raises(ValueError, match="one for each"):
        found.select(b"\x01\x01")
    with pytest.raises(IndexError):
        found.line(1)
    with pytest.raises(IndexError):
        found.key(-1)


def test_a_memoryview_is_read_in_place() -> None:
    text = b"xxhttp://e.com/a\nhttp://e.com/byy"
    found = CANON.lines(memoryview(text)[2:-2])
    assert [b"http://e.com/a", b"http://e.com/b"] == [found.key(0), found.key(1)]


def test_binary_garbage_is_data() -> None:
    chance = random.Random(1)
    block = chance.randbytes(200_000)
    found = CANON.lines(block)
    assert block == b"\n".join(found.line(i) for i in range(found.count)) + (b"\n" if block.endswith(b"\n") else b"")
    assert bytes(16) * found.count == found.fingerprints  # nothing in it is a URL
