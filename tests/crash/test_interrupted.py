"""Ctrl-C, and failures of any other kind, at the worst moment of a step that makes runs: what the ledger names is there."""

import random
import sqlite3
import threading
import time

import pytest

import urlsieve
from sieve_lab import check_conservation, pages
from urlsieve import UrlsieveError, testing
from urlsieve.stores.embedded import files, ledger, merging, runs
from urlsieve.stores.embedded.seen import manifest

pytestmark = pytest.mark.crash


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(merging, "LONGEST_JOURNAL", 20)


def open_at(path, **options):
    return testing.open(str(path / "store"), clock=testing.VirtualClock(), **options)


def settle_merges(sieve):
    if sieve._store._merging._thread is not None:
        sieve._store._merging._thread.join(30)


def without_merges(monkeypatch):
    monkeypatch.setattr(merging.Merging, "wake", lambda self: None)


class Interrupting:
    """A connection; `how` is raised right after the statement `after` that follows one with the word `once` in it."""

    def __init__(self, db, once, after, how):
        self._db, self._once, self._after, self._how, self.armed = db, once, after, how, False

    def __getattr__(self, name):
        return getattr(self._db, name)

    def execute(self, sql, *parameters):
        done = self._db.execute(sql, *parameters)
        self.armed = self.armed or self._once in sql
        if self.armed and sql.startswith(self._after):
            self.armed, self._once = False, "never again"
            raise self._how
        return done


INTERRUPTIONS = [KeyboardInterrupt(), MemoryError(), sqlite3.OperationalError("disk I/O error")]


@pytest.mark.parametrize("how", INTERRUPTIONS, ids=lambda how: type(how).__name__)
@pytest.mark.parametrize("after", ["BEGIN", "INSERT INTO run", "DELETE FROM marks", "COMMIT"])
def test_an_interruption_at_any_moment_of_a_rotation_leaves_every_named_run_there(fast_path, small, monkeypatch, after, how):
    without_merges(monkeypatch)
    with open_at(fast_path) as sieve:
        sieve.push(pages(19))
        real = sieve._store._ledger._db
        sieve._store._ledger._db = (
            Interrupting(real, "INSERT INTO run", after, how) if after != "BEGIN" else Interrupting(real, "marks", after, how)
        )
        try:
            sieve.push(pages(1, start=19))
        except (KeyboardInterrupt, MemoryError, UrlsieveError):
            pass
        sieve._store._ledger._db = real
        sieve.push(pages(30, start=20))
        assert [True] * 50 == sieve.seen(pages(50))
    with open_at(fast_path) as sieve:
        assert [True] * 50 == sieve.seen(pages(50))
        check_conservation(sieve)
        with sieve._store._ledger.read() as db:
            assert {run.name for run in manifest(db)} == {file.name for file in (fast_path / "store" / "runs").glob("*.run")}


@pytest.mark.parametrize("after", ["INSERT INTO run", "COMMIT"])
def test_a_failure_right_after_a_merge_was_committed_removes_nothing_that_is_named(fast_path, small, monkeypatch, after):
    with monkeypatch.context() as patched:
        without_merges(patched)
        with open_at(fast_path) as sieve:
            for start in range(0, 100, 20):
                sieve.push(pages(20, start=start))
            ledger_of = sieve._store._ledger
            real, ledger_of._db = ledger_of._db, Interrupting(ledger_of._db, "INSERT INTO run", after, MemoryError())
            with pytest.raises(MemoryError):
                sieve._store._merging.merge()
            ledger_of._db = real
            assert [True] * 100 == sieve.seen(pages(100))
    with open_at(fast_path) as sieve:
        assert [True] * 100 == sieve.seen(pages(100))
        check_conservation(sieve)


@pytest.mark.slow
def test_a_pushing_program_ended_by_ctrl_c_at_random_moments_leaves_a_sound_store(tmp_path, zygote):
    rng, store = random.Random(5), str(tmp_path / "store")  # on a disk, where a commit takes its time
    urlsieve.open(store).close()
    for turn in range(30):
        pid = zygote.start("push_until_ctrl_c", store, turn * 10_000)
        time.sleep(rng.uniform(0.02, 0.15))
        zygote.interrupt(pid)
        with urlsieve.open(store) as sieve:
            assert [] == sieve.verify(deep=True)


def test_old_runs_go_only_when_the_power_may_go_too(fast_path, small, monkeypatch):
    """Opened with durability="normal" commits are not synced; but after a merge the files of the older manifest are gone."""
    without_merges(monkeypatch)
    with open_at(fast_path, durability="normal") as sieve:
        for start in range(0, 100, 20):
            sieve.push(pages(20, start=start))
        told, levels = [], []
        sieve._store._ledger._db.set_trace_callback(told.append)
        real = runs.Folder.remove

        def remove(self, names):
            with sieve._store._ledger.read() as db:
                levels.append(db.execute("PRAGMA synchronous").fetchone()[0])
            real(self, names)

        monkeypatch.setattr(runs.Folder, "remove", remove)
        sieve._store._merging.merge()
        assert [2] == levels
        assert "COMMIT" in told
        sieve.push(pages(1, host="b.example"))
        assert (1,) == sieve._store._ledger._db.execute("PRAGMA synchronous").fetchone()


def test_where_no_thread_can_be_started_pushes_are_acknowledged_all_the_same(fast_path, small, monkeypatch):
    def no_more(self):
        raise RuntimeError("can't start new thread")

    with open_at(fast_path) as sieve:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", no_more)
            for start in range(0, 200, 20):
                assert 20 == sieve.push(pages(20, start=start)).new
        assert any("new thread" in finding.what for finding in sieve.doctor())
        for start in range(200, 300, 20):
            sieve.push(pages(20, start=start))
        settle_merges(sieve)
        assert [True] * 300 == sieve.seen(pages(300))
        check_conservation(sieve)


def test_a_step_of_many_marks_stands_in_rows_that_sqlite_takes(fast_path, monkeypatch):
    monkeypatch.setattr(ledger, "LONGEST_ROW", 24 * 7)
    with open_at(fast_path) as sieve:
        sieve.push([*pages(100), *pages(3, host="b.example")])
        assert 100 == sieve.purge("a.example")
        with sieve._store._ledger.read() as db:
            assert 24 * 7 == db.execute("SELECT max(length(records)) FROM marks").fetchone()[0]
        assert [False] * 100 == sieve.seen(pages(100))
        check_conservation(sieve)
    with open_at(fast_path) as sieve:
        assert [False] * 100 + [True] * 3 == sieve.seen([*pages(100), *pages(3, host="b.example")])


def test_a_call_in_the_middle_of_another_is_refused_and_that_one_stays_whole(fast_path):
    """As a signal handler would: it runs in the thread that holds the lock."""
    with open_at(fast_path) as sieve:
        with sieve._store._ledger.write() as tx:
            tx.execute("INSERT INTO meta (name, value) VALUES ('first', 1)")
            with pytest.raises(UrlsieveError):
                sieve.push(pages(1))
            with pytest.raises(UrlsieveError):
                sieve.seen(pages(1))
            tx.execute("INSERT INTO meta (name, value) VALUES ('second', 2)")
        with sieve._store._ledger.read() as db:
            assert [(1,), (2,)] == db.execute("SELECT value FROM meta WHERE name IN ('first', 'second') ORDER BY 1").fetchall()
        check_conservation(sieve)


@pytest.mark.parametrize("call", ["release", "acquire"])
def test_ctrl_c_while_a_lock_is_taken_or_given_up_keeps_nobody_else_out(fast_path, monkeypatch, call):
    """The program may go on afterwards, idle, as an interactive one does."""
    with open_at(fast_path) as sieve, open_at(fast_path) as other:
        sieve.push(pages(1))
        real = files.FairLock._try

        def interrupted(fd):
            assert real(fd)
            raise KeyboardInterrupt

        lock = sieve._store._ledger._lock
        with monkeypatch.context() as patched:
            if call == "acquire":
                patched.setattr(files.FairLock, "_try", staticmethod(interrupted))
                with pytest.raises(KeyboardInterrupt):
                    sieve.push(pages(1, start=1))
            else:
                lock.acquire(1.0)
                patched.setattr(files.FairLock, "_try", staticmethod(interrupted))
                with pytest.raises(KeyboardInterrupt):
                    lock.release()
        other._store._ledger._patience = 0.5
        assert 1 == other.push(pages(1, host="b.example")).new
