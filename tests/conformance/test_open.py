"""Opening, agreeing, closing: what is bound to a store, what every opener may change, who may use it."""

import os
import sys
import textwrap
from pathlib import Path

import pytest

import urlsieve
from sieve_lab import STORES, Lab, address_of, hosts, pages, states, urls_of
from urlsieve import StoreMismatch, StoreUnavailable, UrlsieveError, testing


def test_a_missing_store_is_not_made_when_that_is_forbidden(shared):
    with pytest.raises(StoreUnavailable) as caught:
        shared.open(create=False)
    assert shared.address in str(caught.value)
    assert not os.path.exists(shared.address)


def test_a_store_that_is_there_opens_without_creating(shared):
    shared.open().push(pages(2))
    assert {"pending": 2} == states(shared.reopen(create=False))


def test_everything_survives_closing(shared):
    sieve = shared.open(delay=5.0, max_attempts=7)
    sieve.push([*hosts(3), *pages(3)], priority=2)
    leases = sieve.pop(10)
    sieve.done(leases[0])
    sieve.fail(leases[1], "x", status=403)
    before = sieve.stats().as_dict()
    sieve = shared.reopen()
    after = sieve.stats().as_dict()
    for name in ("accepted", "pending", "leased", "delayed", "done", "dead", "known", "seen", "sites", "groups", "oldest_pending"):
        assert before[name] == after[name], name
    assert (5.0, 7) == (sieve.policy.delay, sieve.policy.max_attempts)
    assert "done" == sieve.done(leases[2]).state


@pytest.mark.parametrize("field,first,second", [("profile", "safe", "exact"), ("secret", 1, 2), ("group_by", "host", "domain")])
def test_what_is_bound_to_a_store_must_agree(shared, field, first, second):
    shared.open(**{field: first}).push(pages(1))
    shared.close()
    with pytest.raises(StoreMismatch) as caught:
        shared.open(**{field: second})
    assert field == caught.value.field
    assert field in str(caught.value)
    assert shared.open(**{field: first}).seen(pages(1)) == [True]
    assert shared.open().seen(pages(1)) == [True]


def test_a_secret_is_never_shown(shared):
    shared.open(secret=0x1234567890ABCDEF1234567890ABCDEF).push(pages(1))
    shared.close()
    with pytest.raises(StoreMismatch) as caught:
        shared.open(secret=0x0FEDCBA987654321)
    for secret in (0x1234567890ABCDEF1234567890ABCDEF, 0x0FEDCBA987654321):
        assert str(secret) not in str(caught.value)
        assert f"{secret:x}" not in str(caught.value).lower()


def test_an_exact_store_keeps_apart_what_a_safe_one_joins(lab):
    sieve = lab.open(profile="exact")
    assert 2 == sieve.push(["http://a.example/?b=1&a=2", "http://a.example/?a=2&b=1"]).new
    assert "exact" == sieve.stats().as_dict()["canonical"]["profile"]


def test_two_stores_have_different_secrets_and_one_store_always_the_same(tmp_path):
    clock = testing.VirtualClock()
    with testing.open(str(tmp_path / "a"), clock=clock, seed=1) as one, testing.open(str(tmp_path / "b"), clock=clock, seed=2) as two:
        first, second = (sieve.canonicalizer.fingerprint("http://a.example/") for sieve in (one, two))
        assert first != second
    with testing.open(str(tmp_path / "a"), clock=clock, seed=3) as one:
        assert first == one.canonicalizer.fingerprint("http://a.example/")


@pytest.mark.parametrize("option,value", [("delay", 3.0), ("concurrency", 4), ("max_attempts", 9), ("backoff", 77.0), ("high_water", 1000)])
def test_other_settings_are_stored_and_replaced_by_the_next_who_names_them(shared, option, value):
    shared.open(**{option: value})
    assert value == getattr(shared.reopen().policy, option)
    other = type(value)(value + 1)
    worker = shared.open()
    shared.open(**{option: other})
    assert other == getattr(worker.policy, option)


def test_memory_stores_are_each_their_own():
    clock = testing.VirtualClock()
    with testing.open("memory:", clock=clock) as one, testing.open("memory:", clock=clock) as two:
        one.push(pages(3))
        assert {} == states(two)


def test_memory_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with urlsieve.open("memory:") as sieve:
        sieve.push(pages(1000))
    assert [] == list(tmp_path.iterdir())


def test_closing_twice_is_fine_and_use_afterwards_is_refused(sieve, lab):
    sieve.push(pages(1))
    sieve.close()
    sieve.close()
    for use in (lambda: sieve.push(pages(1)), lambda: sieve.pop(1), lambda: sieve.seen(pages(1)), sieve.stats, sieve.verify):
        with pytest.raises(StoreUnavailable):
            use()
    lab.opened.clear()


def test_leaving_the_context_closes(tmp_path):
    with testing.open(str(tmp_path / "s"), clock=testing.VirtualClock()) as sieve:
        sieve.push(pages(1))
    with pytest.raises(StoreUnavailable):
        sieve.push(pages(1))


def test_a_path_object_is_an_address(tmp_path):
    with urlsieve.open(tmp_path / "store") as sieve:
        sieve.push(pages(1))
    assert (tmp_path / "store").is_dir()


def test_two_openers_share_everything(shared):
    one, two = shared.open(), shared.open()
    assert 3 == one.push(pages(3)).new
    assert 3 == two.push(pages(3)).seen
    leases = two.pop(2)
    assert ["done", "done"] == [settled.state for settled in one.done(leases)]
    assert {"pending": 1, "done": 2} == states(two)


def test_cra_03_sites_are_complete_after_every_sequence_of_stop_and_kill(fast_path, zygote):
    names = {f"{letter}.example" for letter in "abc"}
    for number in range(16):
        address = str(fast_path / f"s{number}")
        for step in range(4):
            how = "kill" if number >> step & 1 else "stop"
            zygote.run("push_then", address, [f"http://{name}/{step}" for name in sorted(names)], how)
            with testing.open(address, clock=testing.VirtualClock()) as sieve:
                rows = {row.name: row.pending for row in sieve.sites()}
                assert dict.fromkeys(names, step + 1) == rows
                assert [] == sieve.verify(deep=True)


FORK = """
import os, sys
import urlsieve
from urlsieve import StoreUnavailable
sieve = urlsieve.open(sys.argv[1])
sieve.push(["http://a.example/1", "http://a.example/2"])
child = os.fork()
if child == 0:
    for use in (lambda: sieve.push("http://a.example/3"), lambda: sieve.pop(1), lambda: sieve.seen(["http://a.example/1"]), lambda: sieve.stats()):
        try:
            use()
        except StoreUnavailable as error:
            if "fork" not in str(error):
                os._exit(3)
        else:
            os._exit(4)
    try:
        sieve.close()
        with urlsieve.open(sys.argv[1] if sys.argv[1] != "memory:" else "memory:") as own:
            own.push("http://own.example/")
    except BaseException:
        os._exit(5)
    os._exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert status == 0, status
leases = sieve.pop(2)
assert [settled.state for settled in sieve.done(leases)] == ["done", "done"]
assert sieve.verify(deep=True) == []
sieve.close()
print("fine")
"""


@pytest.mark.parametrize("name", STORES)
def test_use_after_fork_is_refused_and_the_parent_goes_on(tmp_path, name):
    import subprocess

    address = address_of(name, tmp_path)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(FORK), address], capture_output=True, text=True, timeout=60, check=False)
    assert (0, "fine", "") == (done.returncode, done.stdout.strip(), done.stderr)


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"SQLite format 3\0" + bytes(4080), os.urandom(10_000)], ids=["empty", "text", "header", "noise"]
)
def test_a_store_that_is_a_file_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "store"
    path.write_bytes(content)
    with pytest.raises(UrlsieveError) as caught:
        urlsieve.open(str(path))
    assert str(path) in str(caught.value)
    assert content == path.read_bytes()


def test_a_store_where_no_directory_can_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UrlsieveError):
        urlsieve.open(str(tmp_path / "file" / "store"))
    with pytest.raises(UrlsieveError):
        urlsieve.open("/proc/no/such/place")
    with pytest.raises(UrlsieveError):
        urlsieve.open(str(tmp_path / ("x" * 300)))


def test_a_directory_of_other_things_is_not_taken_for_a_store(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(StoreUnavailable):
        urlsieve.open(str(tmp_path), create=False)
    assert "dear" == (tmp_path / "letter.txt").read_text()


def test_odd_names_of_directories_are_fine(tmp_path):
    for name in ("with blank", "ünï", "percent%20", "a?b=c&d", "#x", "'quote\"", "-dash"):
        address = str(tmp_path / name)
        lab = Lab(name="embedded", address=address, options={})
        lab.open().push(pages(2))
        assert pages(2) == urls_of(lab.reopen().pop(5))
        lab.finish()
    assert 7 == len(list(Path(tmp_path).iterdir()))


def test_a_relative_address_stays_the_same_store_when_the_process_moves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with urlsieve.open("store") as sieve:
        sieve.push(pages(2))
        monkeypatch.chdir("/")
        sieve.push(pages(4))
        assert 4 == len(sieve.pop(10))
    assert ["store"] == [path.name for path in tmp_path.iterdir()]
