"""Names, domains, digests and messages: what canon decides beside the form itself."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from urlsieve.canon import canonicalize, mask_userinfo, registrable_domain, vectors_digest
from urlsieve.canon.noise import NAMES
from urlsieve.errors import InvalidURL

SPECIFIED = [
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "utm_id",
    "utm_source_platform",
    "utm_creative_format",
    "utm_marketing_tactic",
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "gad_source",
    "gad_campaignid",
    "srsltid",
    "_ga",
    "_gl",
    "fbclid",
    "msclkid",
    "yclid",
    "ysclid",
    "_openstat",
    "twclid",
    "ttclid",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "_hsenc",
    "_hsmi",
    "__hssc",
    "__hstc",
    "__hsfp",
    "hsctatracking",
    "vero_id",
    "vero_conv",
    "oly_enc_id",
    "oly_anon_id",
    "wickedid",
    "rb_clickid",
]


@pytest.mark.parametrize("name", [*SPECIFIED, "mtm_campaign", "mtm_kwd", "mtm_placement", "pk_campaign", "pk_kwd"])
def test_a_noise_name_is_dropped_in_any_case_and_only_whole(name: str) -> None:
    assert name in NAMES
    for spelling in (name, name.upper(), name.title()):
        assert "http://e.com/?a=1" == canonicalize(f"http://e.com/?{spelling}=x&a=1&{spelling}")
    for other in (name + "x", "x" + name, name[:-1]):
        if other not in NAMES:
            assert f"{other}=1" in canonicalize(f"http://e.com/?{other}=1")


@pytest.mark.parametrize("name", ["ref", "source", "cid", "sid", "uid", "mc", "ts", "from", "spm", "utm", "mtm_", "id"])
def test_what_is_content_somewhere_is_never_noise(name: str) -> None:
    assert f"http://e.com/?{name}=1" == canonicalize(f"http://e.com/?{name}=1")


def test_noise_names_are_lower_case_and_once() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert list(NAMES) == [name.lower() for name in NAMES]


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.com", "example.com"),
        ("example.com:8080", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("Example.COM.", "example.com"),
        ("alice.github.io", "alice.github.io"),
        ("x.alice.github.io", "alice.github.io"),
        ("xn--bcher-kva.example.de", "example.de"),
        ("github.io", None),
        ("co.uk", None),
        ("com", None),
        ("localhost", None),
        ("1.2.3.4", None),
        ("1.2.3.4:80", None),
        ("[::1]", None),
        ("[2001:db8::1]:8080", None),
        ("", None),
    ],
)
def test_the_registrable_domain_of_a_host(host: str, domain: str | None) -> None:
    assert domain == registrable_domain(host)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://u:p@e.com/a@b", "http://***@e.com/a@b"),
        ("https://u@e.com", "https://***@e.com"),
        ("http://u:p@x@e.com/", "http://***@e.com/"),
        ("HTTP:\\\\u:p@e.com\\", "HTTP:\\\\***@e.com\\"),
        ("http:u:p@e.com/", "http:***@e.com/"),
        (" \tht\ntp://u:p@e.com/", " \tht\ntp://***@e.com/"),
        ("//u:p@e.com/", "//***@e.com/"),
        ("redis://:secret@h:1/0", "redis://***@h:1/0"),
        ("http://e.com/a@b?c@d#e@f", "http://e.com/a@b?c@d#e@f"),
        ("http://e.com?u:p@x", "http://e.com?u:p@x"),
        ("mailto:a@b.c", "mailto:a@b.c"),
        ("p q://u:p@h/", "p q://***@h/"),
        ("//u:p@h:80/x:y", "//***@h:80/x:y"),
        ("/a//b@c", "/a//b@c"),
        ("h\tttp:\n/\t/u@e.com", "h\tttp:\n/\t/***@e.com"),
        ("a@b", "a@b"),
        ("", ""),
    ],
)
def test_user_info_is_masked(url: str, shown: str) -> None:
    assert shown == mask_userinfo(url)


@pytest.mark.parametrize("text", ["\t", "http:\t", "a:", "/", "http:/\t", "@", "http://@", "http://a"])
def test_masking_a_megabyte_takes_no_time(text: str) -> None:
    # a pattern with nested repetitions would need hours here
    url = text + text[-1] * 1_000_000
    assert len(mask_userinfo(url)) <= len(url) + 3


def test_an_error_shows_the_url_without_its_user_info_and_not_all_of_a_long_one() -> None:
    for url in ("http://alice:secret@e.com:99999/", b"http://alice:secret@e.com:99999/\xff"):
        with pytest.raises(InvalidURL) as caught:
            canonicalize(url)
        assert "secret" not in str(caught.value)
        assert "***@e.com" in str(caught.value)
    assert len(str(InvalidURL("too_long", "http://e.com/" + "a" * 100_000))) < 400


def test_the_digest_of_the_vectors_is_that_of_this_version() -> None:
    # Bound into every store. If this fails, identities have changed: that needs a new CANONICAL_VERSION, not a new line here.
    frozen = json.loads((Path(__file__).parents[2] / "cases/canon_digest.json").read_text())
    assert frozen["vectors_digest"] == vectors_digest()


def test_importing_canon_imports_neither_the_parser_nor_the_suffix_list() -> None:
    code = (
        "import sys; import urlsieve.canon as c; c.canonicalize('http://e.com/a'); c.Canonicalizer().lines(b'http://e.com/\\n');"
        "print(sorted({'ada_url', 'publicsuffixlist', 'asyncio', 'tomllib', 'hashlib', 'urllib.parse'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.strip()
