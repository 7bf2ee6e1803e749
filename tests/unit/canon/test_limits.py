"""Lengths and traps: what is just within a limit is taken whole, what is beyond is refused by name. Nothing is ever cut."""

import pytest

from urlsieve.canon import Canonicalizer, Rules, canonicalize
from urlsieve.errors import ConfigError, InvalidURL

HEAD = "http://e.com/"
LIMIT = 65_536


def reason(canon: Canonicalizer, url: str | bytes, base: str | None = None) -> str | None:
    keys = canon.canonicalize_many([url], base=base)
    return keys.reasons[0]


@pytest.mark.parametrize("length", [255, 256, 767, 768, 2083, 8192, 65_535, 65_536])
def test_imp_03_a_url_of_any_length_up_to_the_limit_comes_back_whole(length: int) -> None:
    tail = "?id=12345"
    url = HEAD + "a" * (length - len(HEAD) - len(tail)) + tail
    assert length == len(url)
    assert url == canonicalize(url)
    assert url != canonicalize(url[:-1])


def test_imp_03_one_byte_more_is_refused_and_not_cut() -> None:
    canon = Canonicalizer()
    assert "too_long" == reason(canon, HEAD + "a" * (LIMIT - len(HEAD) + 1))
    assert "too_long" == reason(canon, (HEAD + "a" * (LIMIT - len(HEAD) + 1)).encode())


def test_the_limit_counts_bytes_of_utf8_as_given() -> None:
    canon = Canonicalizer()
    padded = HEAD + "?a=1&utm_source="
    fits = padded + "\u65b0" * ((LIMIT - len(padded)) // 3)
    assert "http://e.com/?a=1" == canon.canonicalize(fits)  # 9 bytes a character before the noise goes, and far beyond the limit
    assert "too_long" == reason(canon, fits + "\u65b0")
    assert "too_long" == reason(canon, HEAD + " " * LIMIT)  # counted before anything is stripped


def test_the_limit_counts_the_key_too() -> None:
    canon = Canonicalizer()
    assert "too_long" == reason(canon, HEAD + "\u00e9" * 20_000)
    assert None is reason(canon, HEAD + "\u00e9" * 10_000)
    assert "too_long" == reason(canon, "x" * 40_000, base=HEAD + "y" * 30_000 + "/")


def test_a_key_of_exactly_the_limit_is_taken() -> None:
    url = HEAD + "\u00e9" * 10_920 + "abc"
    assert LIMIT == len(Canonicalizer().canonicalize(url))
    assert "too_long" == reason(Canonicalizer(), url + "d")


def test_ten_megabytes_are_refused_at_once() -> None:
    assert "too_long" == reason(Canonicalizer(), HEAD + "a" * 10_000_000)
    with pytest.raises(InvalidURL, match="too_long") as caught:
        canonicalize(HEAD + "a" * 10_000_000)
    assert len(str(caught.value)) < 400


def test_sixty_thousand_parameters_and_segments_are_no_trouble() -> None:
    canon = Canonicalizer()
    query = "&".join(f"{i % 7000:04}" for i in range(13_000))
    assert HEAD + "?" + query == canon.canonicalize(HEAD + "?" + query)
    pairs = [f"{(i * 7919) % 9000:04}=" for i in range(10_000)]
    assert HEAD + "?" + "&".join(sorted(pairs)) == canon.canonicalize(HEAD + "?" + "&".join(pairs))
    assert HEAD == canon.canonicalize(HEAD + "a/" * 20_000 + "../" * 8_000 + "../" * 10)[: len(HEAD)]
    assert HEAD == canon.canonicalize(HEAD + "a/" * 10_000 + "../" * 10_000)


def test_many_parameters_of_few_names_keep_their_order_within_a_name() -> None:
    pairs = [f"{'abc'[(i * 7) % 3]}={i}" for i in range(500)]
    wanted = sorted(pairs, key=lambda pair: pair[0])  # stable, as the form must be
    assert HEAD + "?" + "&".join(wanted) == Canonicalizer().canonicalize(HEAD + "?" + "&".join(pairs))


RULES = """
[scope]
traps = { segments = 20, names = 3 }

[[site]]
match = "e.com"
[site.scope]
traps = { segments = 0, repeats = 5 }

[[site]]
match = "deep.e.com"
path = "/archive/*"
drop = ["sid"]
[site.scope]
traps = { names = 6 }
"""


def test_can_26_the_rules_say_the_limits_of_all_sites_and_of_one() -> None:
    """CAN-26: what is a trap on most sites is an archive on one, and the other way round."""
    canon = Canonicalizer(rules=Rules.parse(RULES), traps=(256, 8, 32))
    assert (20, 8, 3) == canon.traps
    names = "?" + "&".join(["v=1"] * 4)

    def path(count: int, segment: str = "s{}") -> str:
        return "/" + "/".join(segment.format(i) for i in range(count))

    for url, word in (
        ("http://other.com" + path(20), None),
        ("http://other.com" + path(21), "trap"),
        ("http://other.com/" + names, "trap"),
        ("http://e.com" + path(300), None),
        ("http://a.e.com" + path(300), None),
        ("http://e.com" + path(6, "x"), "trap"),
        ("http://e.com" + path(5, "x"), None),
        ("http://e.com/" + names, "trap"),
        ("http://deep.e.com/archive" + path(3) + names, None),
        ("http://deep.e.com/archive/" + names + "&v=2&v=3&v=4", "trap"),
        ("http://deep.e.com/archive" + path(20), "trap"),
        ("http://deep.e.com/" + names, "trap"),
    ):
        assert word == reason(canon, url), url
        told = canon.explain(url)
        assert (None if word is None else "limits") == (told.steps[0][-1].name if told.steps[0] and told.key is None else None)
    assert 1 == Rules.parse(Rules.parse(RULES).text).scope.job.traps[0][1] // 20
    without = Canonicalizer(rules=Rules.parse(RULES))
    assert "trap" == reason(without, "http://other.com" + path(21))
    assert None is reason(without, "http://other.com" + path(15, "x"))


@pytest.mark.parametrize("value", ["{ segment = 3 }", "{ segments = -1 }", "{ segments = 1000000000 }", "5", '{ names = "3" }'])
def test_limits_that_make_no_sense_are_refused_with_their_line(value: str) -> None:
    with pytest.raises(ConfigError, match="rules:2: traps"):
        Rules.parse(f"[scope]\ntraps = {value}\n")


TRAPS = Canonicalizer(traps=(256, 8, 32))


def test_more_than_256_segments_are_a_trap() -> None:
    path = "/".join(str(i) for i in range(256))
    assert None is reason(TRAPS, HEAD + path)
    assert "trap" == reason(TRAPS, HEAD + path + "/x")
    assert "trap" == reason(TRAPS, HEAD + path + "/")


def test_the_same_segment_more_than_eight_times_is_a_trap() -> None:
    assert None is reason(TRAPS, HEAD + "a/b/" * 8)
    assert "trap" == reason(TRAPS, HEAD + "a/b/" * 9)
    assert None is reason(TRAPS, HEAD + "%61/A/" * 4 + "a/A/" * 4)
    assert "trap" == reason(TRAPS, HEAD + "%61/A/" * 4 + "a/A/" * 5)  # counted on the key
    assert "trap" == reason(TRAPS, "http://u@e.com/" + "a/" * 9)  # of an irregular URL as well
    assert None is reason(TRAPS, HEAD + "a/../" * 50)


def test_can_26_the_same_parameter_more_than_32_times_is_a_trap() -> None:
    assert None is reason(TRAPS, HEAD + "?" + "&".join(f"v={i}" for i in range(32)))
    assert "trap" == reason(TRAPS, HEAD + "?" + "&".join(f"v={i}" for i in range(33)))
    assert "trap" == reason(TRAPS, HEAD + "?" + "&".join(["v"] * 33))
    assert None is reason(TRAPS, HEAD + "?" + "&".join(f"v{i}=1" for i in range(300)))
    assert None is reason(TRAPS, HEAD + "?a=1&" + "&".join(f"gclid={i}" for i in range(300)))  # noise does not count


def test_a_limit_of_zero_is_none() -> None:
    everything = HEAD + "a/" * 300 + "?" + "&".join(["v=1"] * 50)
    assert "trap" == reason(TRAPS, everything)
    assert None is reason(Canonicalizer(), everything)
    assert None is reason(Canonicalizer(traps=(0, 0, 0)), everything)
    assert "trap" == reason(Canonicalizer(traps=(0, 0, 49)), everything)
    assert None is reason(Canonicalizer(traps=(301, 0, 50)), everything)
    assert "trap" == reason(Canonicalizer(traps=(0, 299, 0)), everything)
    assert None is reason(Canonicalizer(traps=(0, 300, 0)), everything)
