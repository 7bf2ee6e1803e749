"""Stores made by older releases (tests/golden) are refused until they are upgraded; an upgrade may be killed at any moment."""

import json
import random
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

import urlsieve
from golden_maker import SECRET, found
from sieve_lab import check_conservation, drain, states
from urlsieve import StoreMismatch, StoreUnavailable, opening, testing
from urlsieve.stores.embedded import upgrading
from urlsieve.stores.embedded.queue import DONE

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def old(fast_path):
    """A copy of a store of schema 1, and what it holds."""
    shutil.copytree(GOLDEN / "embedded-1", fast_path / "old")
    return fast_path / "old", json.loads((GOLDEN / "embedded-1.json").read_text(encoding="utf-8"))


def check_content(place, content):
    clock = testing.VirtualClock(content["now"])
    with testing.open(place, clock=clock, create=False) as sieve:
        had = json.loads(json.dumps({name: content[name] for name in ("stats", "sites", "groups", "info")}))
        now = json.loads(json.dumps(found(sieve)))
        assert had["stats"].pop("epoch") <= now["stats"].pop("epoch")
        assert had == now
        assert SECRET == sieve._store.header.secret
        assert b"User-agent: *" == sieve.site("site6.example").blob("robots")
        check_conservation(sieve)
        clock.advance(2e7)
        sieve.group("site9.example").resume()
        drain(sieve, clock, lambda one, lease: one.done(lease))
        assert {"done", "dead"} == set(states(sieve))
        check_conservation(sieve)


def schema_in_head(place):
    return int.from_bytes((place / "ledger.db").read_bytes()[60:64], "big")


def test_an_older_store_is_refused_with_the_way_out(old):
    place, _ = old
    with pytest.raises(StoreMismatch, match=r"urlsieve upgrade --store .*old") as caught:
        urlsieve.open(place)
    assert "schema" == caught.value.field
    assert 1 == schema_in_head(place)


def test_a_store_of_the_last_release_is_upgraded_with_all_it_has(old):
    place, content = old
    moved = []
    assert (1, 3) == opening.upgrade(place, progress=moved.append)
    assert content["stats"]["seen"] == moved[-1]
    check_content(place, content)


def test_a_store_of_schema_2_is_upgraded_with_all_it_has_and_its_texts_can_be_packed(fast_path):
    place, content = fast_path / "made", json.loads((GOLDEN / "embedded-2.json").read_text(encoding="utf-8"))
    shutil.copytree(GOLDEN / "embedded-2", place)
    assert (2, 3) == opening.upgrade(place)
    with testing.open(place, clock=testing.VirtualClock(content["now"]), create=False) as sieve:
        before = sorted(sieve.entries())
        sieve._store.pack()
        with sieve._store._ledger.read() as db:
            assert [] == [url for (url,) in db.execute("SELECT url FROM text t WHERE " + DONE)]
        assert before == sorted(sieve.entries())
        check_conservation(sieve)
    check_content(place, content)


def test_a_store_of_this_schema_made_earlier_is_opened_as_it_is(fast_path):
    shutil.copytree(GOLDEN / "embedded-3", fast_path / "made")
    assert (3, 3) == opening.upgrade(fast_path / "made")
    check_content(fast_path / "made", json.loads((GOLDEN / "embedded-3.json").read_text(encoding="utf-8")))


def test_an_upgraded_store_is_left_as_it_is(old):
    place, content = old
    opening.upgrade(place)
    assert (3, 3) == opening.upgrade(place)
    check_content(place, content)


@pytest.mark.parametrize("kill_after", range(1, 8))
def test_an_upgrade_goes_on_where_it_was(old, monkeypatch, kill_after):
    place, content = old
    monkeypatch.setattr(upgrading, "STEP", 70)
    steps = []

    def stop(done):
        steps.append(done)
        if len(steps) == kill_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opening.upgrade(place, progress=stop)
    assert 3 == schema_in_head(place), "an older program must refuse it from the first step on"
    with pytest.raises(StoreMismatch, match="interrupted"):
        urlsieve.open(place)
    again = []
    opening.upgrade(place, progress=again.append)
    assert all(done > steps[-1] for done in again)
    check_content(place, content)


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize("schema", [1, 2])
def test_an_upgrade_may_be_killed_at_any_moment(zygote, fast_path, schema):
    place, content = GOLDEN / f"embedded-{schema}", json.loads((GOLDEN / f"embedded-{schema}.json").read_text(encoding="utf-8"))
    rng = random.Random(3)
    for number in range(12):
        copy = fast_path / f"copy{number}"
        shutil.copytree(place, copy)
        for _ in range(20):
            pid = zygote.start("upgrade", str(copy), 20)
            time.sleep(rng.uniform(0.0, 0.05))
            if zygote.kill(pid) == 0:
                break
        opening.upgrade(copy)
        check_content(copy, content)


@pytest.mark.parametrize("kill_at", range(1, 30, 3))
def test_an_upgrade_from_schema_2_goes_on_where_it_was_and_lists_all_that_is_done(fast_path, monkeypatch, kill_at):
    place, content = fast_path / "made", json.loads((GOLDEN / "embedded-2.json").read_text(encoding="utf-8"))
    shutil.copytree(GOLDEN / "embedded-2", place)
    monkeypatch.setattr(upgrading, "MOST_FINISHED", 40)
    left = [kill_at]

    class Interrupted(sqlite3.Connection):
        def execute(self, sql, *parameters):
            left[0] -= sql.startswith(("BEGIN", "INSERT", "UPDATE", "COMMIT", "ALTER"))
            if not left[0]:
                left[0] = -1
                raise KeyboardInterrupt
            return super().execute(sql, *parameters)

    real = sqlite3.connect
    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", lambda *args, **options: real(*args, **options, factory=Interrupted))
        with pytest.raises(KeyboardInterrupt):
            opening.upgrade(place)
    assert schema_in_head(place) in (2, 3)
    with pytest.raises(StoreMismatch, match="upgrade --store"):
        urlsieve.open(place)
    assert (2, 3) == opening.upgrade(place)
    with testing.open(place, clock=testing.VirtualClock(content["now"]), create=False) as sieve:
        sieve._store.pack()
        with sieve._store._ledger.read() as db:
            assert (0,) == db.execute("SELECT count(*) FROM text t WHERE " + DONE).fetchone()
    check_content(place, content)


def test_a_worker_of_schema_2_that_is_still_connected_takes_no_packed_url_for_a_new_one(fast_path):
    place = fast_path / "made"
    shutil.copytree(GOLDEN / "embedded-2", place)
    with closing(sqlite3.connect(place / "ledger.db", isolation_level=None)) as worker:
        assert worker.execute("SELECT max(id) FROM journal").fetchone()
        opening.upgrade(place)
        with pytest.raises(sqlite3.OperationalError, match="no such table"):  # what it asks before anything else
            worker.execute("SELECT coalesce((SELECT max(id) FROM journal), 0)")


def test_a_newer_store_is_refused_clearly(old):
    place, _ = old
    opening.upgrade(place)
    with closing(sqlite3.connect(place / "ledger.db")) as db:
        db.execute("PRAGMA user_version = 4")
    for use in (urlsieve.open, opening.upgrade):
        with pytest.raises(StoreMismatch, match="schema 4; this version of urlsieve knows 3: use a newer one"):
            use(place)


def test_there_is_nothing_to_upgrade_where_there_is_no_store(fast_path):
    with pytest.raises(StoreUnavailable, match="no store"):
        opening.upgrade(fast_path / "nowhere")
    assert not (fast_path / "nowhere").exists()


def test_a_worker_of_the_old_program_that_is_still_connected_cannot_add_to_what_was_moved(old):
    """It was open before the upgrade began and knows of no marks; what it added below the step reached would be forgotten."""
    place, content = old
    with closing(sqlite3.connect(place / "ledger.db", isolation_level=None)) as worker:
        worker.execute("BEGIN IMMEDIATE")
        worker.execute("INSERT INTO seen (fp, entry) VALUES (zeroblob(16), -1)")
        worker.execute("ROLLBACK")

        def killed(done):
            raise KeyboardInterrupt

        upgrading_step, upgrading.STEP = upgrading.STEP, 7
        try:
            with pytest.raises(KeyboardInterrupt):
                opening.upgrade(place, progress=killed)
        finally:
            upgrading.STEP = upgrading_step
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            worker.execute("INSERT INTO seen (fp, entry) VALUES (zeroblob(16), -1)")
        assert 3 == schema_in_head(place)
        assert (1, 3) == opening.upgrade(place)
    check_content(place, content)


def test_an_upgrade_waits_for_readers_and_goes_on_when_they_are_gone(old):
    """The schema must stand in the file's head, where an older program looks, before anything is moved."""
    place, content = old
    with closing(sqlite3.connect(place / "ledger.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM seen").fetchone()
        with pytest.raises(StoreUnavailable, match="stop its workers"):
            upgrading.upgrade(place, patience=0.2)
    assert (1, 3) == opening.upgrade(place)
    check_content(place, content)


def test_an_upgrade_that_the_last_commit_had_begun_is_finished(old):
    """It had left the table under its old name."""
    place, content = old
    with closing(sqlite3.connect(place / "ledger.db")) as db:
        db.execute("CREATE TABLE journal (id INTEGER PRIMARY KEY, checksum BLOB NOT NULL, records BLOB NOT NULL)")
        db.execute("CREATE TABLE run (seq INTEGER PRIMARY KEY, name TEXT NOT NULL, keys INTEGER NOT NULL, size INTEGER NOT NULL)")
        db.execute("INSERT INTO meta (name, value) VALUES ('upgrading', '1'), ('upgraded to', x'')")
        db.execute("PRAGMA user_version = 2")
        db.commit()
    assert (1, 3) == opening.upgrade(place)
    check_content(place, content)
