"""A store's export, taken by another: everything is there, once, in the same order, whatever the data are and whoever cuts the file."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redis_server
import urlsieve
from urlsieve import ConfigError, Sieve, URLItem, opening
from urlsieve.answers import Imported
from urlsieve.model import Entry, State
from urlsieve.moving.lines import entry_of

COUNTS = ("accepted", "pending", "delayed", "done", "dead", "known", "seen", "sites", "groups", "rejected", "skipped")

#: Kinds of store → an address of a fresh one below a folder. Stores of every kind move to every kind.
PLACES: dict[str, Callable[[Path, str], str]] = {
    "embedded": lambda folder, name: str(folder / name),
    "redis": lambda folder, name: redis_server.shared().address(f"{folder.name}-{name}"[-64:].lstrip("-")),
}


@pytest.fixture(params=[(a, b) for a in PLACES for b in PLACES], ids="-".join)
def places(request: pytest.FixtureRequest, fast_path: Path) -> Iterator[tuple[str, str]]:
    yield PLACES[request.param[0]](fast_path, "source"), PLACES[request.param[1]](fast_path, "target")


def counts(sieve: Sieve) -> dict[str, Any]:
    """What must be equal after a move; a leased URL is pending in the target."""
    found = sieve.stats().as_dict()
    if found["leased"]:
        found["pending"] += found["leased"]
    return {name: found[name] for name in COUNTS}


TIMES = ("since", "due", "failed_at", "settled")


def in_order(entries: list[Entry]) -> list[Entry]:
    """Pending ones in the order in which each group gives them, the others in any; without times, which kinds of store keep more or
    less finely."""
    plain = [entry._replace(since=None, due=None, failed_at=None, settled=None) for entry in entries]
    waiting = [entry for entry in plain if entry.state is State.PENDING]
    return sorted(waiting, key=lambda entry: entry.group) + sorted(
        (e for e in plain if e.state is not State.PENDING), key=lambda e: e.fingerprint
    )


def times(entries: list[Entry]) -> list[float]:
    return [getattr(entry, name) or 0.0 for entry in sorted(entries, key=lambda entry: entry.fingerprint) for name in TIMES]


def moved(lines: list[bytes], address: str, **options: Any) -> tuple[Sieve, Imported]:
    sieve = opening.receiving(address, lines[0], **options)
    return sieve, sieve.import_lines(line.rstrip(b"\n") for line in lines)


def life(sieve: Sieve) -> None:
    """Something of everything: all states, classes, settings, custom groups, variants, bytes."""
    sieve.set_policy(max_attempts=2, backoff=1000.0, delay=0.25)
    sieve.push([f"https://s{n % 7}.example/{n}" for n in range(40)], priority=5)
    sieve.push(URLItem("https://s0.example/first", priority=900, depth=3, via="https://v.example/", meta={"a": ["é", None, 1.5]}))
    sieve.push([URLItem("https://s1.example/form", variant=b"POST\0a=1"), URLItem("https://s1.example/form", variant=b"POST\0a=2")])
    sieve.push(
        [URLItem("https://s2.example/mine", group="own.s2.example"), b"https://s3.example/\xff\xfe", "https://s3.example/caf\u00e9\ud800"]
    )
    sieve.set_policy(delay=0.0)
    sieve.push(
        ["https://done.example/1", "https://dead.example/1", "https://late.example/1", "https://skip.example/1", "mailto:x"], priority=99
    )
    by_group = {lease.group: lease for lease in sieve.pop(4, groups=["done.example", "dead.example", "late.example", "skip.example"])}
    sieve.done(by_group["done.example"])
    sieve.fail(by_group["dead.example"], "no", status=403)
    sieve.fail(by_group["late.example"], "slow")
    sieve.skip(by_group["skip.example"], "robots")
    sieve.mark(["https://known.example/1", "https://known.example/2"], known=True)
    sieve.push("https://s4.example/soon", mode="again")
    sieve.push("https://again.example/")
    sieve.done(sieve.pop(1, groups=["again.example"]))
    sieve.revisit("https://again.example/")
    sieve.forget("https://s6.example/6")
    sieve.purge("s5.example")
    sieve.site("s1.example").limit = 100
    sieve.site("empty.example").limit = 5
    sieve.site("empty.example").limit = None
    sieve.group("s1.example").delay = 2.5
    sieve.group("s2.example").concurrency = 3
    sieve.group("s3.example").pause()
    sieve.group("blocked.example").block(sieve.now() + 9_999)
    assert 3 == len(sieve.pop(3, groups=["s0.example"], lease=900))


def test_a_store_that_moves_is_equal_to_what_it_was(places: tuple[str, str]) -> None:
    source, target = places
    with urlsieve.open(source) as before:
        life(before)
        lines = list(before.export())
        after, report = moved(lines, target)
        with after:
            assert (None, 0, 0) == (report.incomplete, report.rejected, report.refused)
            assert counts(before) == counts(after)
            assert [] == after.verify(deep=True)
            assert before.policy == after.policy
            leased = {entry.fingerprint for entry in before.entries(["leased"])}
            assert 3 == len(leased)
            others = [[entry for entry in one.entries() if entry.fingerprint not in leased] for one in (before, after)]
            assert in_order(others[0]) == in_order(others[1])
            assert all(abs(a - b) < 1 for a, b in zip(times(others[0]), times(others[1]), strict=True))
            row = after.group("s1.example").row
            assert row is not None and 2.5 == row.delay
            assert 3 == after.group("s2.example").concurrency
            row = after.group("blocked.example").row
            assert row is not None and row.health.blocked_until > after.now() + 9_000
            assert 100 == after.site("s1.example").limit


def test_what_is_popped_after_a_move_is_what_would_have_been_popped(places: tuple[str, str]) -> None:
    source, target = places
    with urlsieve.open(source) as before:
        before.push([URLItem(f"https://e.example/{n}", priority=n % 3, depth=n, meta=n, via=f"https://v.example/{n}") for n in range(60)])
        after, _ = moved(list(before.export()), target)
        with after:
            fields = ("url", "key", "priority", "depth", "meta", "via", "attempt", "klass", "variant")
            first = [[getattr(lease, name) for name in fields] for lease in before.pop(60)]
            assert first == [[getattr(lease, name) for name in fields] for lease in after.pop(60)]


def test_attempts_go_on_where_they_were(places: tuple[str, str]) -> None:
    source, target = places
    with urlsieve.open(source, backoff=0, max_attempts=2) as before:
        before.push("https://e.example/")
        before.fail(before.pop(1), "once")
        after, _ = moved(list(before.export()), target)
        with after:
            assert after.wait(5)
            (lease,) = after.pop(1)
            assert 2 == lease.attempt
            assert "dead" == after.fail(lease, "twice").state


def test_importing_twice_changes_nothing(places: tuple[str, str]) -> None:
    source, target = places
    with urlsieve.open(source) as before:
        life(before)
        lines = list(before.export())
        after, first = moved(lines, target)
        with after:
            found = counts(after)
            again = after.import_lines(line.rstrip() for line in lines)
            assert (0, first.new, None) == (again.new, again.seen, again.incomplete)
            assert found == counts(after)
            assert [] == after.verify(deep=True)


def test_a_move_there_and_back_is_equal(places: tuple[str, str], fast_path: Path) -> None:
    source, target = places
    with urlsieve.open(source) as before:
        life(before)
        there, _ = moved(list(before.export()), target)
        with there:
            back, report = moved(list(there.export()), str(fast_path / "back"))
            with back:
                assert report.incomplete is None
                assert counts(before) == counts(back)
                assert [] == back.verify(deep=True)


def test_under_another_secret_urls_with_text_move_and_the_rest_is_refused(places: tuple[str, str]) -> None:
    source, target = places
    with urlsieve.open(source) as before:
        life(before)
        without = sum(entry.url is None for entry in before.entries())
        with urlsieve.open(target) as after:
            refused: list[str] = []
            report = after.import_lines((line.rstrip() for line in before.export()), rejected=lambda word, why, line: refused.append(word))
            assert without == report.refused
            assert {"no_text"} == set(refused)
            assert before.stats().seen - without == report.new == after.stats().accepted
            assert all(after.seen(["https://s0.example/first", b"https://s3.example/\xff\xfe", "https://s3.example/caf\u00e9\ud800"]))
            assert [] == after.verify(deep=True)


def test_without_the_secret_only_urls_with_text_are_in_the_file(places: tuple[str, str]) -> None:
    source, target = places
    with urlsieve.open(source, secret=2**128 - 1) as before:
        life(before)
        lines = list(before.export(secret=False))
        assert b"f" * 32 not in b"".join(lines)
        assert b'"fp"' not in b"".join(lines)
        end = json.loads(lines[-1])
        without = sum(entry.url is None for entry in before.entries())
        assert without == end["left_out"] >= 2
        after, report = moved(lines, target)
        with after:
            assert (before.stats().seen - without, 0) == (report.new, report.refused)
            assert before._store.header.secret != after._store.header.secret  # a fresh one


def test_urls_whose_text_is_not_kept_move_by_their_fingerprint(places: tuple[str, str]) -> None:
    source, target = places
    with urlsieve.open(source, keep_urls=False) as before:
        urls = [f"https://e.example/{n}" for n in range(20)]
        before.push(urls)
        before.done(before.pop(20))
        after, report = moved(list(before.export()), target)
        with after:
            assert (20, 0) == (report.new, report.refused)
            assert [True] * 20 == after.seen(urls)
            assert counts(before) == counts(after)


def test_groups_by_domain_keep_the_pinned_list(fast_path: Path) -> None:
    with urlsieve.open(fast_path / "a", group_by="domain") as before:
        before.push(["https://x.shop.example/", "https://y.shop.example/"])
        after, _ = moved(list(before.export()), str(fast_path / "b"))
        with after:
            assert before._store.header == after._store.header
            assert {"shop.example"} == {lease.group for lease in after.pop(9)}


def test_a_store_with_urls_keeps_its_own_policy(fast_path: Path) -> None:
    with urlsieve.open(fast_path / "a", delay=3) as before, urlsieve.open(fast_path / "b", delay=1) as after:
        before.push("https://e.example/")
        after.push("https://f.example/")
        after.import_lines(line.rstrip() for line in before.export())
        assert (1, 2) == (after.policy.delay, after.stats().pending)


# -- files that are not what they were


@pytest.fixture
def lines(fast_path: Path) -> list[bytes]:
    with urlsieve.open(fast_path / "source") as before:
        life(before)
        return list(before.export())


def take(lines: list[bytes], place: Path) -> tuple[dict[str, Any], list[str]]:
    refused: list[str] = []
    sieve = opening.receiving(str(place), lines[0])
    with sieve:
        report = sieve.import_lines((line.rstrip(b"\n") for line in lines), rejected=lambda word, why, line: refused.append(why))
        assert [] == sieve.verify(deep=True)
    return report.as_dict(), refused


@pytest.mark.parametrize("left", [1, 2, 10, -1])
def test_a_file_that_was_cut_off_is_noticed_and_what_came_is_kept(lines: list[bytes], fast_path: Path, left: int) -> None:
    report, _ = take(lines[:left], fast_path / "t")
    assert "cut off" in report["incomplete"]
    whole, _ = take(lines, fast_path / "t")
    assert whole["incomplete"] is None
    assert report["new"] == whole["seen"]


def test_lines_that_were_taken_out_or_changed_are_noticed(lines: list[bytes], fast_path: Path) -> None:
    at = next(i for i, line in enumerate(lines) if b'"entry":"pending"' in line)
    report, _ = take(lines[:at] + lines[at + 1 :], fast_path / "a")
    assert "missing" in report["incomplete"]
    changed = [*lines[:at], lines[at].replace(b'"entry":"pending"', b'"entry":"done"'), *lines[at + 1 :]]
    report, _ = take(changed, fast_path / "b")
    assert "checksum" in report["incomplete"]


@pytest.mark.parametrize(
    "bad",
    [
        b"nonsense", b"[1]", b"{}", b'{"entry":"pending"}', b'{"entry":"lost","url":"https://e.example/"}', b'{"entry":7}',
        b'{"entry":"done","url":7}', b'{"entry":"done","url":""}', b'{"entry":"done","url_base64":"?"}', b'{"entry":"known","site":"e.example"}',
        b'{"entry":"known","site":"e.example","fp":"zz"}', b'{"entry":"known","site":"e.example","fp":"00000000000000000000000000000000"}',
        b'{"entry":"done","url":"not a url"}', b'{"entry":"pending","url":"https://e.example/","priority":1e300}',
        b'{"entry":"pending","url":"https://e.example/","attempt":-1}', b'{"entry":"pending","url":"https://e.example/","class":"best"}',
        b'{"entry":"pending","url":"https://e.example/","depth":true}', b'{"entry":"pending","url":"https://e.example/","due":"now"}',
        b'{"entry":"pending","url":"https://e.example/","fp":"00000000000000000000000000000000"}', b'{"site":""}', b'{"site":5}',
        b'{"site":"e.example","limit":-1}', b'{"group":null}', b'{"group":"g","delay":"long"}', b'{"counts":5}', b'{"counts":{"rejected":{"x":-1}}}',
        b'{"entry":"done","url":"https://e.example/","meta":NaN}', b'{"entry":"done","variant":5,"url":"https://e.example/"}',
        b"\xff\xfe", b"[" * 100_000, b'{"a":' + b"1" * 5_000 + b"}",
    ],
    ids=lambda bad: bad[:40].decode("ascii", "replace"),
)  # fmt: skip
def test_imp_09_one_bad_line_is_refused_and_all_others_come_in(lines: list[bytes], fast_path: Path, bad: bytes) -> None:
    whole, _ = take(lines, fast_path / "whole")
    report, refused = take([*lines[:5], bad + b"\n", *lines[5:]], fast_path / "t")
    assert (whole["new"], 1, 1) == (report["new"], report["rejected"], len(refused))
    assert refused[0]


@pytest.mark.parametrize(
    "first", [b"", b"{}", b"[]", b"x", b'{"urlsieve_export":0}', b'{"urlsieve_export":true}', b'{"urlsieve_export":1}']
)
def test_what_does_not_begin_like_an_export_makes_no_store(fast_path: Path, first: bytes) -> None:
    with pytest.raises(ConfigError):
        opening.receiving(str(fast_path / "t"), first)
    assert not (fast_path / "t").exists()


def test_a_newer_format_is_refused_by_name(fast_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"format 99.*newer"):
        opening.receiving(str(fast_path / "t"), b'{"urlsieve_export":99}')


def test_a_damaged_first_line_does_not_show_the_secret(fast_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        opening.receiving(str(fast_path / "t"), b'{"urlsieve_export":1,"canonical_version":1,"secret":"S3cret"}')
    assert "S3cret" not in str(caught.value)


def test_exports_one_after_the_other_are_taken_one_after_the_other(fast_path: Path) -> None:
    made = []
    for name in ("a", "b"):
        with urlsieve.open(fast_path / name) as sieve:
            sieve.push(f"https://{name}.example/")
            made += list(sieve.export())
    report, _ = take(made, fast_path / "t")
    assert (2, None) == (report["new"], report["incomplete"])


# -- while others work


def test_an_export_while_urls_come_and_go_has_every_url_that_stays(fast_path: Path) -> None:
    with urlsieve.open(fast_path / "a") as before, urlsieve.open(fast_path / "a") as worker:
        urls = [f"https://h{n % 30}.example/{n}" for n in range(4_000)]
        before.push(urls)
        lines = []
        for number, line in enumerate(before.export()):
            lines.append(line)
            if number % 100 == 0:
                worker.done(worker.pop(20))
                worker.push(f"https://new.example/{number}")
        after, report = moved(lines, str(fast_path / "b"))
        with after:
            assert report.incomplete is None
            assert all(after.seen(urls))
            assert [] == after.verify(deep=True)


# -- odd data

_TEXT = st.text(max_size=12)
_META = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_TAIL = st.text(st.characters(exclude_categories=()), max_size=10) | st.binary(max_size=10)


@given(
    items=st.lists(
        st.tuples(_TAIL, st.integers(-1000, 1000), st.integers(0, 9), st.none() | _TEXT, _META, st.binary(max_size=4), st.none() | _TEXT),
        max_size=6,
    )
)
def test_imp_05_what_was_exported_can_be_imported_whatever_is_in_it(items) -> None:
    with urlsieve.open("memory:", secret=5) as before, urlsieve.open("memory:", secret=5) as after:
        for tail, priority, depth, via, meta, variant, group in items:
            url = b"https://e.example/" + tail if isinstance(tail, bytes) else f"https://e.example/{tail}"
            before.push(URLItem(url, priority=priority, depth=depth, via=via, meta=meta, variant=variant, group=group or None))
        report = after.import_lines(line.rstrip(b"\n") for line in before.export())
        assert (None, 0, before.stats().accepted) == (report.incomplete, report.rejected, report.new)
        assert sorted(_plain(before)) == sorted(_plain(after))
        assert _metas(before) == _metas(after)


def _metas(sieve: Sieve) -> list[str]:
    """As a worker gets them. Which group comes first among equals is not moved: each begins to wait again."""
    return sorted(repr((lease.url, lease.variant, lease.meta)) for lease in sieve.pop(9))


def _plain(sieve: Sieve) -> list[str]:
    return [repr(entry._replace(since=None)) for entry in sieve.entries()]


@given(st.dictionaries(st.sampled_from(["entry", "url", "fp", "site", "group", "meta", "variant", "class", "due", "priority"]), _META))
def test_a_line_is_an_entry_or_a_value_error(record) -> None:
    try:
        entry_of(record)
    except ValueError:
        pass


# -- verbs


def test_entries_are_given_by_state_the_pending_ones_first(fast_path: Path) -> None:
    with urlsieve.open(fast_path / "a") as sieve:
        life(sieve)
        every = [entry.state for entry in sieve.entries()]
        ends = [i for i, (one, after) in enumerate(pairwise(every)) if one == State.PENDING != after]
        assert 1 == len(ends)
        assert {None} == {entry.state for entry in sieve.entries(["known"])}
        assert sieve.stats().done == len(list(sieve.entries(["done"])))
        with pytest.raises(ConfigError, match="no state 'new'"):
            sieve.entries(["new"])
        with pytest.raises(ConfigError):
            sieve.entries("done")


def test_admit_takes_entries_and_nothing_else(fast_path: Path) -> None:
    with urlsieve.open("memory:") as before, urlsieve.open("memory:", secret=before._store.header.secret) as after:
        life(before)
        report = after.admit(before.entries())
        assert before.stats().seen == report.new
        assert before.stats().seen == after.admit(before.entries()).seen
        for bad in ("https://e.example/", next(before.entries())._replace(fingerprint=b"x"), next(before.entries())._replace(group="")):
            with pytest.raises(ConfigError):
                after.admit([bad])


def test_a_group_that_a_store_cannot_hold_refuses_its_urls_alone_and_says_what_to_do(fast_path: Path) -> None:
    with urlsieve.open(fast_path / "a") as before:
        before.push([URLItem(f"https://e.example/{n}", group="everybody" if n in (7, 30) else None) for n in range(50)])
        refused: list[str] = []
        with opening.receiving(PLACES["redis"](fast_path, "t"), next(before.export())) as after:
            report = after.import_lines((line.rstrip() for line in before.export()), rejected=lambda word, why, line: refused.append(why))
            assert (48, 2, None) == (report.new, report.rejected, report.incomplete)
            assert all("shards=1" in why for why in refused)
            assert [] == after.verify(deep=True)
