"""The two laws of the canonical form, and three readings of it that must agree: the kernel, the kernel behind the parser, the oracle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import canon_oracle
from canon_urls import bases, references, urls
from urlsieve.canon import Canonicalizer
from urlsieve.canon.whatwg import usable_base
from urlsieve.errors import InvalidURL

FORMS = {
    (profile, fragment): (
        Canonicalizer(profile=profile, fragment=fragment, secret=7),
        Canonicalizer(profile=profile, fragment=fragment, secret=7, always_parse=True),
    )
    for profile, fragment in [("safe", "routes"), ("safe", "drop"), ("safe", "keep"), ("exact", "routes")]
}
form = st.sampled_from(sorted(FORMS))


def answer(canon: Canonicalizer, url: str | bytes, base: str | None = None) -> str:
    try:
        return canon.canonicalize(url, base=base)
    except InvalidURL as error:
        return f"<{error.reason}>"


def oracle(url: str, profile: str, fragment: str, base: str | None = None) -> str:
    try:
        return canon_oracle.canonical(url, profile=profile, fragment=fragment, base=None if base is None else usable_base(base))
    except canon_oracle.Rejected as reason:
        return f"<{reason}>"


@given(urls, form)
def test_the_form_of_a_form_is_itself(url: str, which: tuple[str, str]) -> None:
    canon, _ = FORMS[which]
    key = answer(canon, url)
    if not key.startswith("<"):
        assert key == answer(canon, key)
        assert key.isascii()


@given(urls, form)
def test_urls_with_one_href_have_one_key(url: str, which: tuple[str, str]) -> None:
    canon, _ = FORMS[which]
    href = canon_oracle.href(url)
    if href is not None and href.startswith(("http:", "https:")):
        assert answer(canon, href) == answer(canon, url)


@given(urls, form)
def test_the_kernel_reads_a_url_as_the_parser_does(url: str, which: tuple[str, str]) -> None:
    kernel, parser = FORMS[which]
    assert answer(parser, url) == answer(kernel, url)
    data = url.encode()
    assert answer(kernel, url) == answer(kernel, data)


@given(st.one_of(urls, references, references), bases, form)
def test_with_a_base_too(url: str, base: str, which: tuple[str, str]) -> None:
    kernel, parser = FORMS[which]
    assert answer(parser, url, base) == answer(kernel, url, base)
    assert answer(parser, url.encode(), base) == answer(kernel, url.encode(), base)


@given(st.one_of(urls, references), st.none() | bases, form)
def test_the_oracle_says_the_same(url: str, base: str | None, which: tuple[str, str]) -> None:
    canon, _ = FORMS[which]
    wanted, got = oracle(url, *which, base), answer(canon, url, base)
    if wanted == "<host or invalid>":
        assert got in ("<host>", "<invalid>")
    else:
        assert wanted == got


@given(st.binary(max_size=40), form)
def test_bytes_that_are_no_utf8_are_their_triplets(tail: bytes, which: tuple[str, str]) -> None:
    kernel, parser = FORMS[which]
    url = b"http://e.com/" + tail
    assert answer(parser, url) == answer(kernel, url)
    text = url.decode("utf-8", "urlsieve.percent")
    assert answer(kernel, text) == answer(kernel, url)


@given(urls, urls, form)
def test_equal_keys_have_equal_fingerprints_and_others_have_others(a: str, b: str, which: tuple[str, str]) -> None:
    canon, _ = FORMS[which]
    keys = canon.canonicalize_many([a, b])
    if keys.rejected == 0:
        assert (keys[0] == keys[1]) == (keys.fingerprints[:16] == keys.fingerprints[16:])
        assert (keys.site(0) == keys.site(1)) == (keys.fingerprints[:8] == keys.fingerprints[16:24])


@given(st.lists(urls, max_size=8), form)
def test_a_batch_says_what_single_calls_say(batch: list[str], which: tuple[str, str]) -> None:
    canon, _ = FORMS[which]
    keys = canon.canonicalize_many(batch)
    assert [answer(canon, url) for url in batch] == [key or f"<{reason}>" for key, reason in zip(keys, keys.reasons, strict=True)]
    assert canon.fingerprints(batch) == keys.fingerprints
    for i, url in enumerate(batch):
        if keys[i] is None:
            assert bytes(16) == keys.fingerprints[16 * i : 16 * i + 16]
            with pytest.raises(InvalidURL):
                canon.fingerprint(url)
        else:
            assert canon.fingerprint(url) == keys.fingerprints[16 * i : 16 * i + 16]


@given(urls, st.binary(max_size=12))
def test_a_fingerprint_is_two_keyed_hashes(url: str, variant: bytes) -> None:
    canon, _ = FORMS[("safe", "routes")]
    keys = canon.canonicalize_many([url], variants=[variant])
    key = keys[0]
    if key is not None:
        secret = (7).to_bytes(16, "little")
        site, whole = canon_oracle.siphash(secret, keys.site(0).encode()), canon_oracle.siphash(secret, key.encode() + b"\x1f" + variant)
        assert site.to_bytes(8, "little") + whole.to_bytes(8, "little") == keys.fingerprints
        assert canon.name_hash(keys.site(0)) == int.from_bytes(keys.fingerprints[:8], "little", signed=True)
        assert keys.fingerprints == canon.fingerprint(url, variant=variant)
