"""Imported levels: what another program has seen counts as seen, is asked before an offer, and is marked under our own fingerprint."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import urlsieve
from sieve_lab import check_conservation, pages, urls_of
from urlsieve import URLItem, testing
from urlsieve.canon import Canonicalizer
from urlsieve.errors import ConfigError
from urlsieve.model import Level

OLD = pages(5)


def scrapy(urls):
    return Canonicalizer(profile="scrapy").foreign_fingerprints(urls)


def classic(urls):
    return Canonicalizer(profile="classic").foreign_fingerprints(urls)


def sha1(urls):
    return [hashlib.sha1(url.encode()).digest() for url in urls]


def md5(urls):
    return [hashlib.md5(url.encode()).digest() for url in urls]


KINDS = {"scrapy-sha1": scrapy, "classic-md5": classic, "sha1": sha1, "md5": md5}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_list_of_another_program_has_counts_as_seen_and_is_marked_under_our_own(sieve, kind):
    assert 5 == sieve.import_fingerprints(kind, KINDS[kind](OLD))
    assert [True] * 5 + [False] == sieve.seen([*OLD, "http://a.example/new"])
    assert 0 == sieve.stats().seen
    report = sieve.push([*OLD, "http://a.example/new", OLD[0]])
    assert ["seen"] * 5 + ["new", "seen"] == report.verdicts
    assert (5, 1) == (sieve.stats().known, sieve.stats().accepted)
    assert sieve.drop_imported(kind)
    assert [True] * 5 == sieve.seen(OLD)
    assert ["http://a.example/new"] == urls_of(sieve.pop(10))


def test_importing_again_changes_nothing(sieve):
    digests = scrapy(OLD)
    assert 3 == sieve.import_fingerprints("scrapy-sha1", digests[:3])
    assert 2 == sieve.import_fingerprints("scrapy-sha1", [*digests, *digests])
    assert 0 == sieve.import_fingerprints("scrapy-sha1", digests)
    assert [("scrapy-sha1", "scrapy-sha1", 5)] == [(one.name, one.kind, one.digests) for one in sieve.imported()]
    assert {"scrapy-sha1": 5} == sieve.stats().levels["imported"]


def test_a_store_without_levels_says_nothing_of_them(sieve):
    assert [] == sieve.imported()
    assert "imported" not in sieve.stats().levels
    assert not sieve.drop_imported("scrapy-sha1")


def test_several_levels_are_asked_and_explain_names_the_one_that_has_it(sieve):
    sieve.import_fingerprints("scrapy-sha1", scrapy(OLD[:2]), name="spider")
    sieve.import_fingerprints("classic-md5", classic(OLD[2:4]), name="go")
    assert [True] * 4 + [False] == sieve.seen(OLD)
    assert ["imported spider", "imported spider", "imported go", "imported go", None] == [sieve.info(url).level for url in OLD]
    assert ["known"] * 4 + ["unseen"] == [sieve.info(url).state for url in OLD]
    assert ["imported spider", True] == [sieve.known(OLD[0]).level, sieve.known(OLD[0]).seen]
    assert "spider" in sieve.why(OLD[0]).text
    assert ["go", "spider"] == [level.name for level in sieve.imported()]
    sieve.push(OLD[0])
    assert (True, "known") == (sieve.info(OLD[0]).level in ("table", "server"), sieve.info(OLD[0]).state)


@pytest.mark.parametrize("spelling", ["HTTP://A.example:80/p0", "http://a.example/p0#top", "  http://a.example/p0"])
def test_a_plain_hash_is_found_by_the_url_as_found_and_by_its_keys(sieve, spelling):
    sieve.import_fingerprints("md5", md5(["http://a.example/p0"]))
    sieve.import_fingerprints("sha1", sha1([spelling]), name="as-found")
    assert ["seen"] == sieve.push(spelling).verdicts
    assert {"md5": 1, "as-found": 1} == {one.name: one.digests for one in sieve.imported()}


def test_a_request_with_a_variant_is_another_than_the_page_of_the_list(sieve):
    sieve.import_fingerprints("scrapy-sha1", scrapy(OLD))
    report = sieve.push([URLItem(OLD[0], variant=b"POST"), OLD[0]])
    assert ["new", "seen"] == report.verdicts


def test_links_redirects_and_marks_are_asked_too(sieve):
    sieve.import_fingerprints("scrapy-sha1", scrapy(OLD[:2]))
    sieve.push("http://a.example/start")
    (lease,) = sieve.pop()
    sieve.done(lease, links=["p0", "p7"])
    assert ["http://a.example/p7"] == urls_of(sieve.pop(10))
    assert ["seen", "new"] == sieve.mark([OLD[1], OLD[2]]).verdicts


def test_again_brings_back_what_only_a_level_has(sieve):
    sieve.import_fingerprints("scrapy-sha1", scrapy(OLD))
    assert ["requeued"] == sieve.push(OLD[0], mode="again").verdicts
    assert [OLD[0]] == urls_of(sieve.pop(10))


def test_what_is_forgotten_is_in_no_level_either(sieve):
    sieve.import_fingerprints("scrapy-sha1", scrapy(OLD))
    sieve.import_fingerprints("md5", md5(OLD[:1]))
    sieve.push(OLD[1])
    assert 2 == sieve.forget([OLD[0], OLD[1], "http://a.example/other"])
    assert [False, False, True] == sieve.seen(OLD[:3])
    assert ["new", "new", "seen"] == sieve.push(OLD[:3]).verdicts
    assert {"scrapy-sha1": 3, "md5": 0} == {one.name: one.digests for one in sieve.imported()}
    assert 2 == sieve.import_fingerprints("scrapy-sha1", scrapy(OLD)), "imported again it is there again"


@pytest.mark.parametrize(
    ("kind", "digests", "name"),
    [
        ("scrapy", [], None),
        ("own", [], None),
        ("md5", [b"short"], None),
        ("scrapy-sha1", [bytes(16)], None),
        ("md5", ["text" * 4], None),
        ("md5", [], ""),
        ("md5", [], "a b"),
        ("md5", [], "x" * 65),
        ("md5", [], 7),
    ],
)
def test_what_makes_no_sense_is_refused(sieve, kind, digests, name):
    with pytest.raises(ConfigError):
        sieve.import_fingerprints(kind, digests, name=name)


def test_a_level_has_one_kind(sieve):
    sieve.import_fingerprints("md5", md5(OLD), name="old")
    with pytest.raises(ConfigError, match="old"):
        sieve.import_fingerprints("sha1", sha1(OLD), name="old")
    assert [Level("old", "md5", "", 5)] == [one._replace(bytes=None) for one in sieve.imported()]


def test_workers_that_are_open_ask_a_level_from_their_next_push_on(shared):
    worker, other = shared.open(), shared.open()
    worker.push("http://a.example/start")
    other.import_fingerprints("scrapy-sha1", scrapy(OLD))
    assert ["seen"] * 5 == worker.push(OLD).verdicts
    other.drop_imported("scrapy-sha1")
    assert ["new"] == worker.push("http://a.example/p9").verdicts


def test_a_level_is_there_when_the_store_is_opened_again(shared):
    shared.open().import_fingerprints("scrapy-sha1", scrapy(OLD))
    assert ["seen"] * 5 == shared.reopen().push(OLD).verdicts


def test_the_store_s_operations(sieve):
    store = sieve._store
    digests = b"".join(md5(pages(3000)))
    level = Level("x", "md5")
    assert 3000 == store.add_imported(level, digests)
    assert bytes([1]) * 3000 == store.in_imported("x", digests)
    assert bytes(1) == store.in_imported("x", bytes(16))
    assert bytes(3000) == store.in_imported("y", digests)
    assert b"" == store.in_imported("x", b"")
    assert sorted(md5(pages(3000))) == sorted(b"".join(store.imported_digests("x"))[16 * i : 16 * i + 16] for i in range(3000))
    assert 1000 == store.forget_imported("x", digests[:16000])
    assert 0 == store.forget_imported("x", digests[:16000])
    assert 2000 == sum(len(part) for part in store.imported_digests("x")) // 16
    assert b"" == b"".join(store.imported_digests("y"))
    assert 1000 == store.add_imported(level, digests)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["add", "forget"]), st.lists(st.integers(0, 30), max_size=8)), max_size=25))
def test_a_level_is_a_set_however_its_batches_come(steps):
    sieve = testing.open("memory:", clock=testing.VirtualClock())
    every = md5(pages(31))
    true: set[int] = set()
    level = Level("x", "md5")
    for what, numbers in steps:
        block = b"".join(every[i] for i in numbers)
        if what == "add":
            assert len(set(numbers) - true) == sieve._store.add_imported(level, block)
            true |= set(numbers)
        else:
            assert len(true & set(numbers)) == sieve._store.forget_imported("x", block)
            true -= set(numbers)
        assert [i in true for i in range(31)] == [bool(flag) for flag in sieve._store.in_imported("x", b"".join(every))]
    check_conservation(sieve)
    sieve.close()


def test_the_names_are_public():
    assert {"import_fingerprints", "imported", "drop_imported"} <= set(dir(urlsieve.Sieve))


def test_an_export_has_the_levels(sieve, clock):
    sieve.import_fingerprints("scrapy-sha1", scrapy(pages(3000)), name="spider")
    sieve.import_fingerprints("md5", md5(OLD), name="empty")
    sieve.forget(OLD)
    lines = list(sieve.export())
    with testing.open("memory:", clock=clock) as other:
        for _ in range(2):
            report = other.import_lines([line.rstrip(b"\n") for line in lines])
            assert (None, 0) == (report.incomplete, report.rejected)
        assert [level._replace(bytes=None) for level in sieve.imported()] == [level._replace(bytes=None) for level in other.imported()]
        assert [False] * 5 + [True] == other.seen(pages(6))
    with testing.open("memory:", clock=clock) as other:
        assert other.import_lines(lines[:-2] + lines[-1:]).incomplete is not None


@pytest.mark.parametrize(
    "line",
    [
        b'{"imported": "x", "kind": "none", "about": ""}',
        b'{"imported": "a b", "kind": "md5", "about": ""}',
        b'{"imported": "x", "kind": "own", "about": ""}',
        b'{"imported": "x", "kind": "own", "about": "{}"}',
        b'{"imported": 7, "kind": "md5", "about": ""}',
        b'{"digests": "AAAA", "of": "md5"}',
        b'{"digests": "AAAAAAAAAAAAAAAAAAAAAA==", "of": "other"}',
        b'{"digests": 7, "of": "md5"}',
        b'{"digests": "%", "of": "md5"}',
    ],
)
def test_a_line_of_an_export_that_is_no_level_is_rejected(sieve, clock, line):
    sieve.import_fingerprints("md5", md5(OLD))
    *lines, last = list(sieve.export())
    with testing.open("memory:", clock=clock) as other:
        assert 1 == other.import_lines([*lines, line, last]).rejected
        assert [True] * 5 == other.seen(OLD)
