"""The URL to fetch comes back byte for byte as it was found, whatever its identity."""

import pytest

from sieve_lab import states, urls_of

BASE = "http://a.example/"
ODD = {
    "tracking": BASE + "x?utm_source=a&b=2&a=1",
    "unsorted": BASE + "?B=1&A=2",
    "case": "HtTp://A.ExAmPlE:80/%7euser/%e4%bd",
    "trailing blank": BASE + "x ",
    "leading blanks": "  \t " + BASE + "x",
    "tab and newline inside": BASE + "a\tb\nc\rd",
    "newline at the end": BASE + "x\r\n",
    "NUL": BASE + "a\0b",
    "NUL at the end": BASE + "ab\0",
    "fragment": BASE + "x#section",
    "route": BASE + "#!/topic/1",
    "backslashes": "http:\\\\a.example\\b\\c",
    "user info": "http://user:p%40ss@a.example/x",
    "non-ASCII": BASE + "新闻/體育?q=ü&r=😀",
    "internationalised host": "http://MÜNCHEN.example/ß",
    "IPv6": "http://[2001:DB8:0:0::1]:8080/x",
    "numeric host": "http://0x7f.1/x",
    "dot segments": BASE + "a/../b/./%2e%2E/c",
    "quotes": BASE + "a'b\"c`d<e>f{g}h|i\\j^k",
    "SQL": BASE + "'); DROP TABLE entries; --?a=%00",
    "JSON": BASE + '{"a": [1, null, "\\u0000"]}',
    "percent signs": BASE + "%%34%31?%zz=%",
    "byte order mark": BASE + "\ufeffx",
    "combining marks": BASE + "e\u0301\u202e\u200b",
    "astral": BASE + "\U0010ffff",
}


@pytest.mark.parametrize("url", ODD.values(), ids=ODD)
def test_text_comes_back_as_it_went_in(sieve, url):
    assert ["new"] == sieve.push([url]).verdicts
    (lease,) = sieve.pop(1)
    assert url == lease.url
    assert url == sieve.info(url).url
    sieve.done(lease)
    assert [True] == sieve.seen([url])
    assert ["seen"] == sieve.push([url]).verdicts


@pytest.mark.parametrize(
    "raw",
    [
        b"http://a.example/\xff\xfe",
        b"http://a.example/?q=\xb2\xe2\xca\xd4",
        b"http://a.example/\xe4\xbd",
        b"http://a.example/\xc0\x80\xed\xa0\x80",
        "http://a.example/ü".encode(),
        b"http://a.example/plain \r\n",
    ],
)
def test_bytes_come_back_as_they_went_in(sieve, raw):
    assert ["new"] == sieve.push([raw]).verdicts
    (lease,) = sieve.pop(1)
    assert raw == lease.url.encode("utf-8", "surrogateescape")
    assert ["seen"] == sieve.push([raw]).verdicts
    sieve.done(lease)
    assert [True] == sieve.seen([raw])


def test_a_lease_of_bytes_can_be_pushed_again_as_text(sieve):
    raw = b"http://a.example/\xff"
    sieve.push([raw])
    (lease,) = sieve.pop(1)
    assert ["seen"] == sieve.push([raw]).verdicts
    sieve.done(lease)
    sieve.push([raw], mode="again")
    assert lease.url == sieve.pop(1)[0].url


def test_undecodable_bytes_are_percent_encoded_in_the_key(sieve):
    sieve.push([b"http://a.example/\xff?\xfe"])
    assert "http://a.example/%FF?%FE" == sieve.pop(1)[0].key
    assert ["seen"] == sieve.push(["http://a.example/%FF?%FE"]).verdicts


def test_a_lone_surrogate_does_not_hurt(sieve):
    url = "http://a.example/\ud800"
    assert ["new"] == sieve.push([url]).verdicts
    (lease,) = sieve.pop(1)
    assert "http://a.example/%EF%BF%BD" == lease.key
    assert url == lease.url


def test_can_18_the_first_spelling_is_fetched_and_the_second_is_a_duplicate(sieve):
    assert ["new", "seen"] == sieve.push(["http://example.com/?B=1&A=2", "http://example.com/?A=2&B=1"]).verdicts
    (lease,) = sieve.pop(10)
    assert ("http://example.com/?B=1&A=2", "http://example.com/?A=2&B=1") == (lease.url, lease.key)


def test_can_20_blanks_around_a_url_make_no_second_record(sieve):
    assert ["new", "seen", "seen"] == sieve.push(["http://example.com/x ", "http://example.com/x\t", "http://example.com/x"]).verdicts
    sieve.done(sieve.pop(10))
    assert [] == sieve.pop(10)
    assert {"done": 1} == states(sieve)


@pytest.mark.parametrize("length", [255, 256, 767, 768, 2083, 3000, 8192, 65_535, 65_536])
def test_imp_03_a_long_url_is_kept_whole(sieve, length):
    head, tail = "http://a.example/?x=", "&id=12345"
    url = head + "a" * (length - len(head) - len(tail)) + tail
    assert length == len(url)
    assert ["new"] == sieve.push(url).verdicts
    assert [url] == urls_of(sieve.pop(1))


@pytest.mark.parametrize("length", [65_537, 100_000, 10_000_000])
def test_imp_03_a_longer_one_is_refused_with_a_reason(sieve, length):
    url = "http://a.example/" + "a" * (length - 17)
    assert ["rejected:too_long"] == sieve.push([url]).verdicts
    assert [False] == sieve.seen([url])
    assert {} == states(sieve)


def test_imp_03_the_length_is_that_of_the_bytes_and_of_the_key(sieve):
    fits, too_long_as_key, too_long_as_given = ("http://a.example/" + "é" * count for count in (10_000, 20_000, 32_800))
    assert ["new", "rejected:too_long", "rejected:too_long"] == sieve.push([fits, too_long_as_key, too_long_as_given]).verdicts
    assert [fits] == urls_of(sieve.pop(10))


def test_a_url_as_found_survives_failure_restart_and_retry(shared):
    sieve = shared.open()
    for url in ODD.values():
        sieve.push([url])
    found = sieve.pop(100)
    sieve.fail(found[::2], "x")
    sieve = shared.reopen()
    shared.clock.advance(100_000)
    again = []
    while leases := sieve.pop(100):
        again += urls_of(leases)
        sieve.done(leases)
        shared.clock.advance(100_000)
    assert sorted(urls_of(found)) == sorted(again)
