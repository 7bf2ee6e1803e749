"""The given cases: pairs that must or must not merge, vectors, web-platform-tests, real URLs."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from canon_oracle import Rejected, canonical
from urlsieve.canon import Canonicalizer, canonicalize
from urlsieve.errors import InvalidURL

CASES = Path(__file__).parents[2] / "cases"
WEB = ("http:", "https:")


def jsonl(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").splitlines()]


def answer(url: str, **options: Any) -> str:
    """The key, or the reason in angle brackets."""
    try:
        return canonicalize(url, **options)
    except InvalidURL as error:
        return f"<{error.reason}>"


def url_tests() -> list[dict[str, Any]]:
    entries = json.loads((CASES / "data/wpt/urltestdata.json").read_text(encoding="utf-8"))
    return [entry for entry in entries if isinstance(entry, dict)]


@pytest.mark.parametrize("case", jsonl("canon_pairs.jsonl"), ids=lambda case: f"{case['a']} {case['b']}")
def test_a_pair_is_one_page_or_two(case: dict[str, Any]) -> None:
    assert case["same"] == (answer(case["a"]) == answer(case["b"]))
    assert not answer(case["a"]).startswith("<")


@pytest.mark.parametrize("case", jsonl("canon_vectors.jsonl"), ids=lambda case: case["label"])
def test_a_vector_has_its_key_or_its_reason(case: dict[str, Any]) -> None:
    assert case.get("key", f"<{case.get('reason')}>") == answer(case["input"])


@pytest.mark.parametrize("case", jsonl("canon_golden.jsonl"), ids=lambda case: case["input"][:60])
def test_a_golden_vector_is_frozen(case: dict[str, Any]) -> None:
    options = {name: case[name] for name in ("profile", "base") if name in case}
    assert case.get("key", f"<{case.get('reason')}>") == answer(case["input"], **options)


def test_every_http_case_of_web_platform_tests_parses_as_it_says() -> None:
    checked = 0
    for case in url_tests():
        if case.get("failure") or not case["href"].startswith(WEB):
            continue
        if not case["input"].strip("".join(map(chr, range(33)))):
            # the specification of the canonical form rejects these before it parses, also with a base
            assert "<empty>" == answer(case["input"], base=case["base"])
            continue
        assert answer(case["href"]) == answer(case["input"], base=case["base"]), case
        assert case["href"].partition("#")[0] == answer(case["input"], base=case["base"], profile="exact"), case
        checked += 1
    assert checked > 240


def test_every_failing_case_of_web_platform_tests_is_rejected() -> None:
    checked = 0
    for case in url_tests():
        if case.get("failure"):
            assert answer(case["input"], base=case.get("base")).startswith("<"), case
            checked += 1
    assert checked > 200


def test_every_case_of_another_scheme_is_rejected_for_it() -> None:
    for case in url_tests():
        if not case.get("failure") and not case["href"].startswith(WEB):
            assert answer(case["input"], base=case.get("base")) in ("<scheme>", "<relative>", "<empty>"), case


def test_every_host_of_toascii_is_what_it_says() -> None:
    entries = json.loads((CASES / "data/wpt/toascii.json").read_text(encoding="utf-8"))
    for case in (entry for entry in entries if isinstance(entry, dict)):
        wanted = "<host>" if case["output"] is None else f"http://{case['output']}/x"
        assert wanted == answer(f"http://{case['input']}/x"), case


def test_the_real_list_agrees_with_the_oracle() -> None:
    urls = gzip.decompress((CASES / "data/kasztp_urls.txt.gz").read_bytes()).decode().splitlines()
    keys = Canonicalizer().canonicalize_many(urls)
    for url, key in zip(urls, keys, strict=True):
        try:
            wanted = canonical(url)
        except Rejected:
            wanted = None
        assert wanted == key, url
    assert 1 == keys.rejected
