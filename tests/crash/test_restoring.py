"""Restore while the store is in use, over a damaged one, killed at each step: the old store or the new one, whole, and nothing acknowledged
into the one that is gone."""

import os
import shutil
import sqlite3
import subprocess
import threading
import time
from contextlib import closing

import pytest

import urlsieve
from children import race_url
from sieve_lab import check_conservation, pages
from urlsieve import ConfigError, StoreCorrupt, StoreUnavailable, UrlsieveError, opening
from urlsieve.stores.embedded import copies, files, merging, runs
from urlsieve.stores.embedded.seen import manifest

pytestmark = pytest.mark.crash
LATE = "http://late.example/"


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(merging, "LONGEST_JOURNAL", 50)


@pytest.fixture
def store(fast_path, small, monkeypatch):
    """With a backup beside it; only the store has LATE. It has runs enough for a merge."""
    with monkeypatch.context() as patched:
        patched.setattr(merging.Merging, "wake", lambda self: None)
        with urlsieve.open(fast_path / "store") as sieve:
            for start in range(0, 300, 50):
                sieve.push(pages(50, start=start))
            sieve.backup(fast_path / "copy")
            sieve.push(LATE)
    return fast_path / "store"


def is_sound(store, *, late):
    with urlsieve.open(store, create=False) as sieve:
        assert [True] * 300 + [late] == sieve.seen([*pages(300), LATE])
        check_conservation(sieve)
        assert 300 + late == len(list(sieve.entries()))
        with sieve._store._ledger.read() as db:
            assert {run.name for run in manifest(db)} == {file.name for file in (store / "runs").glob("*.run")}


def test_who_still_merges_the_replaced_store_removes_nothing_of_the_new_one(fast_path, store, monkeypatch):
    """Between the commit of its merge and the removal of the old runs the store is restored: from a backup that had the same runs."""
    real = runs.Folder.remove

    def remove(self, names):
        monkeypatch.setattr(runs.Folder, "remove", real)
        opening.restore(fast_path / "copy", store, force=True)
        real(self, names)

    with urlsieve.open(store) as sieve:
        monkeypatch.setattr(runs.Folder, "remove", remove)
        with pytest.raises(StoreUnavailable, match="replaced"):  # what its thread keeps for `doctor`
            sieve._store._merging.merge()
    is_sound(store, late=False)


def in_the_middle(monkeypatch, name, what):
    """`what` happens before the first call of copies' or files' `name`; the answer collects what came of it."""
    real, found = getattr(files, name), []

    def call(*args):
        monkeypatch.setattr(files, name, real)
        thread = threading.Thread(target=lambda: found.append(what()))
        thread.start()
        thread.join(0.3)  # it may have to wait for the restore
        found.append(thread)
        real(*args)

    monkeypatch.setattr(files, name, call)
    return found


def test_who_opens_the_store_in_the_middle_of_a_restore_is_told_and_does_no_harm(fast_path, store, monkeypatch):
    kept = []

    def enter():
        try:
            kept.append(urlsieve.open(store))
            return kept[0].push("http://into.nowhere.example/").new
        except UrlsieveError as error:
            return error

    found = in_the_middle(monkeypatch, "publish", enter)
    opening.restore(fast_path / "copy", store, force=True)
    for thread in found:
        if isinstance(thread, threading.Thread):
            thread.join(40)
    assert [1] == [one for one in found if not isinstance(one, threading.Thread)]  # it came in when the restored store was there
    for sieve in kept:
        assert [False] == sieve.seen(LATE)
        sieve.close()
    with urlsieve.open(store) as sieve:
        assert [True] == sieve.seen("http://into.nowhere.example/")
        assert 1 == sieve.forget("http://into.nowhere.example/")
    is_sound(store, late=False)


def test_nothing_is_replaced_while_somebody_reads_what_the_log_has(fast_path, store, monkeypatch):
    """Its log could not go into the old ledger: a crash in the middle would leave that without what it acknowledged last."""
    monkeypatch.setattr(copies, "PATIENCE", 0.2)
    with closing(sqlite3.connect(store / "ledger.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM text").fetchone()
        with urlsieve.open(store) as sieve:
            sieve.push("http://later.still.example/")
            with pytest.raises(StoreUnavailable, match="being read"):
                opening.restore(fast_path / "copy", store, force=True)
            assert 1 == sieve.push("http://after.example/").new, "the old store goes on"
        reader.execute("ROLLBACK")
    opening.restore(fast_path / "copy", store, force=True)
    is_sound(store, late=False)


@pytest.mark.parametrize("place", ["over a store", "new"])
def test_a_restore_killed_at_any_step_leaves_either_and_can_be_repeated(fast_path, store, zygote, place):
    shutil.copytree(store, fast_path / "old")
    for at in range(1, 30):
        shutil.rmtree(store)
        if place == "over a store":
            shutil.copytree(fast_path / "old", store)
        if zygote.run("restore_and_die", str(fast_path / "copy"), str(store), at) == 0:
            break
        if place == "over a store":
            is_sound(store, late=True)
        else:
            with pytest.raises(StoreUnavailable, match="no store"):
                urlsieve.open(store, create=False)
        opening.restore(fast_path / "copy", store, force=True)
        assert [] == [name for name in os.listdir(store) if name.startswith("new-")]
        is_sound(store, late=False)
    assert at > 6


def test_where_a_restore_was_killed_a_new_store_can_be_made(fast_path, store, zygote):
    shutil.rmtree(store)
    assert -9 == zygote.run("restore_and_die", str(fast_path / "copy"), str(store), 4)
    with urlsieve.open(store) as sieve:
        assert 1 == sieve.push(LATE).new
        check_conservation(sieve)
    assert [] == os.listdir(store / "runs") or ["merge.lock"] == os.listdir(store / "runs")
    assert not list(store.glob("new-*"))


@pytest.mark.parametrize("damage", ["emptied", "removed", "noise", "a run is missing"])
def test_a_damaged_store_is_replaced_by_its_backup(fast_path, store, damage):
    ledger = store / "ledger.db"
    if damage == "removed":
        ledger.unlink()
    elif damage == "a run is missing":
        next((store / "runs").glob("*.run")).unlink()
    else:
        ledger.write_bytes(b"noise" * 1000 if damage == "noise" else b"")
    with pytest.raises(ConfigError, match="force"):
        opening.restore(fast_path / "copy", store)
    opening.restore(fast_path / "copy", store, force=True)
    is_sound(store, late=False)


def test_a_backup_on_a_read_only_disk_can_be_restored(tmp_path, store):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(disk)], capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small file system here")
    try:
        shutil.copytree(store.parent / "copy", disk / "copy")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        opening.restore(disk / "copy", store, force=True)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
    is_sound(store, late=False)


def test_a_run_that_is_damaged_is_told_when_it_is_copied_not_when_it_is_needed(fast_path, store):
    run = next((fast_path / "copy" / "runs").glob("*.run"))
    content = bytearray(run.read_bytes())
    content[len(content) // 3] ^= 1
    run.write_bytes(content)
    with pytest.raises(StoreCorrupt, match=run.name):
        opening.restore(fast_path / "copy", store, force=True)
    is_sound(store, late=True)
    with urlsieve.open(fast_path / "copy") as copy, pytest.raises(StoreCorrupt, match=run.name):
        copy.backup(fast_path / "copy of the copy")
    assert not (fast_path / "copy of the copy").exists()


def test_a_closed_store_holds_no_files(store):
    before = set(os.listdir("/proc/self/fd"))
    sieve = urlsieve.open(store)
    assert [True] == sieve.seen(LATE)
    sieve.close()
    assert before == set(os.listdir("/proc/self/fd"))


def test_a_store_is_no_backup_of_itself(store):
    with pytest.raises(ConfigError, match="itself"):
        opening.restore(store, store, force=True)
    is_sound(store, late=True)


def started(zygote, store, out):
    """A worker that has acknowledged something."""
    out.write_text("")
    pid = zygote.start("push_for_ever", str(store), str(out), 0, 10)
    end = time.monotonic() + 30
    while not out.read_text():
        assert time.monotonic() < end, "the worker pushed nothing"
        time.sleep(0.001)
    return pid


@pytest.mark.slow
def test_a_worker_of_the_replaced_store_is_told_and_one_of_the_new_store_loses_nothing(fast_path, store, zygote):
    out = fast_path / "out"
    for _ in range(6):
        pid = started(zygote, store, out)
        opening.restore(fast_path / "copy", store, force=True)
        assert 1 == zygote.wait(pid), "it was told"
        is_sound(store, late=False)
        pid = started(zygote, store, out)
        zygote.kill(pid)
        acknowledged = int(out.read_text().split()[-1])
        with urlsieve.open(store) as sieve:
            assert [True] * acknowledged == sieve.seen([race_url(number) for number in range(acknowledged)])
            check_conservation(sieve)
