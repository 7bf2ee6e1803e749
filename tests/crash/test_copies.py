"""Backup and restore: a copy made while others work is a sound store, and a restore is whole or not at all."""

import os
import random
import shutil
import time

import pytest

import urlsieve
from sieve_lab import check_conservation, pages, states
from urlsieve import ConfigError, LeaseLost, StoreCorrupt, StoreFull, StoreUnavailable, opening
from urlsieve.stores.embedded import disk, merging
from urlsieve.stores.embedded import store as embedded
from urlsieve.stores.embedded.seen import manifest

pytestmark = pytest.mark.crash


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(merging, "LONGEST_JOURNAL", 50)


@pytest.fixture
def store(fast_path, small):
    with urlsieve.open(fast_path / "store") as sieve:
        sieve.push(pages(300))
        sieve.done(sieve.pop(20))
        sieve.push(pages(300, host="b.example"))
    return fast_path / "store"


def test_a_copy_opens_as_a_store_with_the_same_content(fast_path, store):
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")
        with urlsieve.open(fast_path / "copy", create=False) as copy:
            assert states(sieve) == states(copy)
            assert [True] * 300 == copy.seen(pages(300))
            assert copy.stats().epoch > sieve.stats().epoch
            check_conservation(copy)
            copy.push("http://only.here.example/")
        assert [False] == sieve.seen("http://only.here.example/")


@pytest.mark.slow
def test_copies_made_while_others_write_are_sound(fast_path, zygote):
    store = str(fast_path / "store")
    urlsieve.open(store, durability="normal").close()
    pids = [zygote.start("churn_runs", store, 20) for _ in range(2)]
    try:
        time.sleep(0.3)
        for number in range(8):
            with urlsieve.open(store) as sieve:
                sieve.backup(fast_path / f"copy{number}")
            with urlsieve.open(fast_path / f"copy{number}") as copy:
                check_conservation(copy)
                assert copy.stats().accepted
    finally:
        for pid in pids:
            zygote.kill(pid)
    with urlsieve.open(store) as sieve:
        check_conservation(sieve)


@pytest.mark.slow
def test_a_backup_that_is_killed_leaves_nothing_that_looks_like_one(fast_path, store, zygote):
    rng = random.Random(4)
    for number in range(15):
        place = fast_path / f"copy{number}"
        pid = zygote.start("back_up", str(store), str(place))
        time.sleep(rng.uniform(0.0, 0.04))
        zygote.kill(pid)
        if place.exists():
            with urlsieve.open(place, create=False) as copy:
                check_conservation(copy)
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "last")


@pytest.mark.parametrize("what", ["file", "full folder", "no parent"])
def test_a_backup_overwrites_nothing(fast_path, store, what):
    place = fast_path / "copy"
    if what == "file":
        place.write_text("precious")
    elif what == "full folder":
        place.mkdir()
        (place / "precious").write_text("precious")
    else:
        place = place / "deep" / "er"
    with urlsieve.open(store) as sieve, pytest.raises(ConfigError, match=str(fast_path)):
        sieve.backup(place)


def test_an_empty_folder_is_a_place_for_a_backup(fast_path, store):
    (fast_path / "copy").mkdir()
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")
    urlsieve.open(fast_path / "copy", create=False).close()


def test_a_store_in_memory_has_no_backup(fast_path):
    with urlsieve.open("memory:") as sieve, pytest.raises(ConfigError, match="memory"):
        sieve.backup(fast_path / "copy")


def test_restore_makes_a_store_where_there_is_none(fast_path, store):
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")
        opening.restore(fast_path / "copy", fast_path / "new")
        with urlsieve.open(fast_path / "new", create=False) as new:
            assert states(sieve) == states(new)
            check_conservation(new)


def test_restore_replaces_a_store_only_when_told_to(fast_path, store):
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")
        sieve.push("http://late.example/")
    with pytest.raises(ConfigError, match="force"):
        opening.restore(fast_path / "copy", store)
    with urlsieve.open(store) as sieve:
        assert [True] == sieve.seen("http://late.example/")
    opening.restore(fast_path / "copy", store, force=True)
    with urlsieve.open(store) as sieve:
        assert [False] == sieve.seen("http://late.example/")
        check_conservation(sieve)
        with sieve._store._ledger.read() as db:
            assert {run.name for run in manifest(db)} == {file.name for file in (store / "runs").glob("*.run")}, (
                "the old one's runs are gone"
            )


def test_tokens_from_before_a_restore_are_refused(fast_path, store):
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")
        (late,) = sieve.pop(1)
    opening.restore(fast_path / "copy", store, force=True)
    with urlsieve.open(store) as sieve:
        with pytest.raises(LeaseLost):
            sieve.done(late)
        for _ in range(50):
            assert late.token not in {lease.token for lease in sieve.pop(10)}


def test_whoever_has_the_replaced_store_open_is_told(fast_path, store):
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")
        opening.restore(fast_path / "copy", store, force=True)
        with pytest.raises(StoreUnavailable, match="replaced"):
            sieve.push("http://into.nowhere.example/")
    with urlsieve.open(store) as sieve:
        assert [False] == sieve.seen("http://into.nowhere.example/")
        check_conservation(sieve)


@pytest.mark.parametrize("step", ["check_file", "Ledger", "check_whole", "read_header", "shelf_of"])
@pytest.mark.parametrize("by", ["restore", "rekey"])
def test_a_store_that_is_replaced_while_it_is_opened_is_opened(fast_path, store, monkeypatch, step, by):
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")
    real, times = getattr(embedded, step), []

    def replaced_just_before(*args, **kwargs):
        times.append(step)
        if len(times) == 1:
            if by == "restore":
                opening.restore(fast_path / "copy", store, force=True)
            else:
                opening.rekey(store, secret="new")
        return real(*args, **kwargs)

    monkeypatch.setattr(embedded, step, replaced_just_before)
    with urlsieve.open(store, delay=2.0) as sieve:
        assert [False, *[True] * 300] == sieve.seen(["http://new.example/", *pages(300)])
        assert 1 == sieve.push("http://new.example/").new
        check_conservation(sieve)


def test_a_store_that_is_replaced_without_end_says_so(fast_path, store, monkeypatch):
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")
    real = embedded.shelf_of

    def replaced_just_before(*args, **kwargs):
        opening.restore(fast_path / "copy", store, force=True)
        return real(*args, **kwargs)

    monkeypatch.setattr(embedded, "shelf_of", replaced_just_before)
    with pytest.raises(StoreUnavailable, match="open it anew"):
        urlsieve.open(store, delay=2.0)


@pytest.mark.slow
def test_a_restore_that_is_killed_leaves_the_old_store_or_the_new_one(fast_path, store, zygote):
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")
        sieve.push("http://late.example/")
        shutil.copytree(store, fast_path / "old")
    rng, outcomes = random.Random(2), set()
    for _ in range(40):
        shutil.rmtree(store)
        shutil.copytree(fast_path / "old", store)
        pid = zygote.start("restore", str(fast_path / "copy"), str(store))
        time.sleep(rng.uniform(0.0, 0.03))
        zygote.kill(pid)
        with urlsieve.open(store, create=False) as sieve:
            outcomes.add(sieve.seen("http://late.example/")[0])
            assert [True] * 300 == sieve.seen(pages(300))
            check_conservation(sieve)
        assert [] == [name for name in os.listdir(store / "runs") if name.startswith("new-")]
    assert outcomes


def test_a_damaged_or_missing_backup_is_refused_and_the_store_stays(fast_path, store):
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")
        before = states(sieve)
    with pytest.raises(StoreUnavailable, match="no backup"):
        opening.restore(fast_path / "nowhere", store, force=True)
    run = next((fast_path / "copy" / "runs").glob("*.run"))
    run.unlink()
    with pytest.raises(StoreCorrupt, match=r"missing"):
        opening.restore(fast_path / "copy", store, force=True)
    (fast_path / "copy" / "ledger.db").write_bytes(b"noise" * 1000)
    with pytest.raises(StoreCorrupt):
        opening.restore(fast_path / "copy", store, force=True)
    with urlsieve.open(store) as sieve:
        assert before == states(sieve)
        check_conservation(sieve)


def test_no_room_for_a_copy_changes_nothing(fast_path, store, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "copy", full)
    with urlsieve.open(store) as sieve:
        with pytest.raises(StoreFull):
            sieve.backup(fast_path / "copy")
        assert not (fast_path / "copy").exists()
        assert [] == [path.name for path in fast_path.iterdir() if ".new-" in path.name]
        check_conservation(sieve)
