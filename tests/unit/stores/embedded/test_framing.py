"""Blocks of texts: what goes in comes out, and bytes that are not quite a block are told."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.stores.embedded.framing import SLOTS, Block, Damaged, Text, checksum, pack, unpack
from urlsieve.stores.embedded.packed import opened

SIGNED = st.integers(-(2**63), 2**63 - 1)
URLS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.builds(lambda head, tail: f"http://{head}.example/".encode() + tail, st.sampled_from("abc"), st.binary()),
    st.builds(lambda many: "http://long.example/" + "x" * many, st.integers(0, 70_000)),
)
TEXTS = st.builds(Text, URLS, SIGNED, SIGNED, st.integers(0, 2**62), st.one_of(st.just(b""), st.binary()))


@given(st.lists(st.one_of(st.none(), TEXTS), max_size=40))
def test_what_goes_into_a_block_comes_out_of_it_all_at_once_and_one_by_one(texts):
    data = pack(texts)
    assert texts == unpack(data)
    block = Block(data)
    assert texts == [block.text(slot) for slot in range(len(texts))]
    assert block.text(len(texts)) is None


def test_a_full_block_of_urls_of_a_few_sites_takes_a_fifth_of_them():
    texts = [Text(f"https://www.site-{n // 100}.example/news/2026/article-{n * 7919 % 10_007}.html", n // 100, 0, 3) for n in range(SLOTS)]
    data = pack(texts)
    assert texts == unpack(data)
    assert len(data) < sum(len(text.url) for text in texts) / 5


def test_text_that_is_no_utf_8_and_bytes_that_are_stay_what_they_were():
    texts = [
        Text("http://a.example/é", 1, 0, 0),
        Text("http://a.example/é".encode(), 1, 0, 0),
        Text(b"http://a.example/\xff\x00\n", 1, 0, 0),
    ]
    assert texts == unpack(pack(texts))


@pytest.fixture(scope="module")
def small():
    return pack([Text("http://a.example/1", 7, 3, 1), None, Text(b"http://b.example/\xff", -9, 0, 2, b"POST")])


def test_damage_at_every_byte_is_noticed(small):
    mark = checksum(5, small)
    assert "http://a.example/1" == opened(5, mark, small).text(0).url
    for at in range(len(small)):
        for change in (1, 0x80, 0xFF):
            with pytest.raises(Damaged):
                opened(5, mark, small[:at] + bytes([small[at] ^ change]) + small[at + 1 :])
    for cut in range(len(small)):
        with pytest.raises(Damaged):
            opened(5, mark, small[:cut])
    for at in range(len(mark)):
        with pytest.raises(Damaged):
            opened(5, mark[:at] + bytes([mark[at] ^ 1]) + mark[at + 1 :], small)


def test_a_block_at_the_place_of_another_is_damaged(small):
    with pytest.raises(Damaged, match="checksum"):
        opened(6, checksum(5, small), small)


@given(st.binary(max_size=400))
def test_bytes_that_somebody_made_up_are_no_block_or_a_block_whose_slots_can_be_asked_for(raw):
    for data in (raw, zlib.compress(raw)):
        try:
            unpack(data)
        except Damaged:
            pass


def test_a_block_that_says_more_than_it_has_is_damaged(small):
    raw = zlib.decompress(small)
    for damaged in (
        b"",
        raw[:8],
        raw[:100],
        raw + b"x",
        (2**31).to_bytes(4, "little") + raw[4:],
        raw[:4] + (2**31).to_bytes(4, "little") + raw[8:],
    ):
        with pytest.raises(Damaged):
            unpack(zlib.compress(damaged))
    for data in (small + b"x", small[:-1]):
        with pytest.raises(Damaged):
            unpack(data)
