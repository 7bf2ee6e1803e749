"""What goes to the server comes back the same."""

from hypothesis import given
from hypothesis import strategies as st

from urlsieve.stores.redis import pack

words = st.none() | st.text(max_size=40).filter(lambda text: text.isascii() or not any(0xD800 <= ord(c) < 0xE000 for c in text))
numbers = st.integers(-(2**53), 2**53)


@given(
    url=st.text(alphabet=st.characters(codec="utf-8"), max_size=50) | st.binary(max_size=50),
    via=st.none() | st.text(alphabet=st.characters(codec="utf-8"), max_size=20),
    meta=st.none() | st.text(alphabet=st.characters(codec="utf-8"), max_size=20),
    variant=st.binary(max_size=20),
    priority=numbers,
    depth=st.integers(0, 2**53),
)
def test_what_was_pushed_is_read_back(url, via, meta, variant, priority, depth):
    fingerprint, group = bytes(range(16)), b"grouphsh"
    text = pack.SINCE.pack(1, 5.0) + pack.body(fingerprint, group, pack.common(priority, depth, via, meta, None, variant), url)
    assert pack.Body(fingerprint, group, priority, depth, url, via, meta, variant) == pack.read_body(text)


@given(
    shard=st.integers(0, 63),
    number=st.integers(1, 2**53 - 1),
    epoch=st.integers(0, 2**40),
    counter=st.integers(0, 2**53),
    chance=st.binary(min_size=8, max_size=8),
)
def test_a_token_is_read_back(shard, number, epoch, counter, chance):
    stamp = pack.STAMP.pack(epoch, counter, chance)
    assert pack.Ticket(shard, number, stamp) == pack.read_token(pack.token(shard, number, stamp), 64)


@given(st.text(max_size=60) | st.from_regex(r"[0-9a-f]{1,3}-[0-9a-f]{1,2}\.[0-9a-f]{1,4}-[0-9a-f]{1,3}-[0-9a-fA-F]{16}", fullmatch=True))
def test_any_text_is_a_token_in_its_one_spelling_or_none(text):
    found = pack.read_token(text, 64)
    assert found is None or text == pack.token(*found)
