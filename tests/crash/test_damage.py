"""Files that were damaged, emptied, exchanged or are of another version: refused by name, never a silent fresh start."""

import json
import os
import random
import shutil
import sqlite3
from contextlib import closing

import pytest

import urlsieve
from sieve_lab import check_conservation, pages
from urlsieve import StoreCorrupt, StoreMismatch, UrlsieveError
from urlsieve.stores.embedded import merging

COUNT = 2000


@pytest.fixture
def store(fast_path):
    """A store with something in every state, properly closed."""
    place = fast_path / "store"
    with urlsieve.open(str(place)) as sieve:
        sieve.push([f"http://h{number % 40}.example/{number}" for number in range(COUNT)])
        sieve.done(sieve.pop(500))
        sieve.fail(sieve.pop(20), "x", status=403)
        sieve.pop(20)
    with closing(sqlite3.connect(place / "ledger.db")) as db:
        db.execute("VACUUM")  # no free pages: damage to one of those would be none
    return place


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(merging, "LONGEST_JOURNAL", 1000)


def every_url():
    return [f"http://h{number % 40}.example/{number}" for number in range(COUNT)]


def answers_truly_or_refuses(place):
    """Opens and uses a store that may be damaged; whatever it says about what it knows must be true, or an error of ours."""
    try:
        with urlsieve.open(str(place)) as sieve:
            if sieve.verify(deep=True):
                return "verify"
            seen = sieve.seen(every_url())
            assert [True] * COUNT == seen, "a damaged store answers as if it had never seen its URLs"
            assert 0 == sieve.push(every_url()).new
            return "sound"
    except UrlsieveError as error:
        assert str(place) in str(error)
        return type(error).__name__


def truncate_to_nothing(path):
    os.truncate(path, 0)


def truncate_to_half(path):
    os.truncate(path, path.stat().st_size // 2)


def zero_all(path):
    path.write_bytes(bytes(path.stat().st_size))


def zero_second_half(path):
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(bytes(size - size // 2))


def zero_first_page(path):
    with path.open("r+b") as file:
        file.write(bytes(4096))


def cut_last_page(path):
    os.truncate(path, max(0, path.stat().st_size - 3000))


def other_content(path):
    path.write_bytes(b"this was a ledger once\n" * 1000)


DAMAGE = [truncate_to_nothing, truncate_to_half, zero_all, zero_second_half, zero_first_page, cut_last_page, other_content]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda call: call.__name__)
def test_cra_09_each_damaged_file_is_found_and_never_means_a_fresh_start(small, store, damage):
    pristine = {path: path.read_bytes() for path in (*store.iterdir(), *(store / "runs").iterdir()) if path.is_file()}
    assert any(path.suffix == ".run" for path in pristine)
    for path, content in pristine.items():
        if content:
            damage(path)
            assert answers_truly_or_refuses(store) in {"StoreCorrupt", "verify"}, path.name
        shutil.rmtree(store)
        (store / "runs").mkdir(parents=True)
        for other, old in pristine.items():
            other.write_bytes(old)
    with urlsieve.open(str(store)) as sieve:
        check_conservation(sieve)


@pytest.mark.parametrize("damage", [truncate_to_nothing, zero_all, zero_first_page, other_content], ids=lambda call: call.__name__)
def test_cra_09_a_damaged_ledger_beside_its_write_ahead_log_is_found_too(fast_path, zygote, damage):
    store = fast_path / "store"
    assert -9 == zygote.run("push_then", str(store), pages(50), "kill")
    damage(store / "ledger.db")
    try:
        with urlsieve.open(str(store)) as sieve:
            assert [True] * 50 == sieve.seen(pages(50)), "what was acknowledged is forgotten without a word"
    except UrlsieveError as error:
        assert isinstance(error, StoreCorrupt)


@pytest.mark.parametrize("at", [0.0, 0.001, 0.3, 0.5, 0.8, 0.999])
def test_a_damaged_run_is_named_and_answers_nothing_wrong(small, store, at):
    run = next((store / "runs").glob("*.run"))
    content = bytearray(run.read_bytes())
    content[int(at * len(content))] ^= 0x10
    run.write_bytes(bytes(content))
    with urlsieve.open(str(store)) as sieve:
        problems = sieve.verify(deep=True)
        assert any(run.name in problem for problem in problems)
        for url in every_url():
            try:
                assert [True] == sieve.seen(url)
            except StoreCorrupt as error:
                assert run.name in str(error)
        with pytest.raises(StoreCorrupt):
            sieve.push([*every_url(), *pages(500, host="new.example")])
        assert COUNT == sieve.stats().seen


def test_a_missing_run_is_named(small, store):
    run = next((store / "runs").glob("*.run"))
    run.unlink()
    with urlsieve.open(str(store)) as sieve:
        assert [True] == [run.name in problem for problem in sieve.verify()]
        with pytest.raises(StoreCorrupt, match=run.name):
            sieve.seen(every_url())


def test_a_run_of_another_store_is_refused(small, store, fast_path):
    with urlsieve.open(str(fast_path / "other")) as other:
        other.push([f"http://h{number % 40}.example/{number}" for number in range(COUNT)])
    foreign = next((fast_path / "other" / "runs").glob("*.run"))
    run = next((store / "runs").glob("*.run"))
    shutil.copyfile(foreign, run)
    with urlsieve.open(str(store)) as sieve, pytest.raises(StoreCorrupt, match="another store"):
        sieve.seen(every_url())


def test_a_store_refused_at_opening_is_left_as_it_was_for_those_who_repair_it(store):
    zero_first_page(store / "ledger.db")
    before = (store / "ledger.db").read_bytes()
    with pytest.raises(StoreCorrupt):
        urlsieve.open(str(store))
    assert before == (store / "ledger.db").read_bytes()


def test_pages_overwritten_with_noise_are_found_by_verify_and_never_leak_a_drivers_error(store):
    pristine = (store / "ledger.db").read_bytes()
    count, rng, found = len(pristine) // 4096, random.Random(9), []
    for number in rng.sample(range(1, count), min(25, count - 1)):
        damaged = bytearray(pristine)
        damaged[number * 4096 : number * 4096 + 4096] = rng.randbytes(4096)
        (store / "ledger.db").write_bytes(bytes(damaged))
        for leftover in ("ledger.db-wal", "ledger.db-shm"):
            (store / leftover).unlink(missing_ok=True)
        try:
            with urlsieve.open(str(store)) as sieve:
                problems = sieve.verify(deep=True)
                found.append(bool(problems))
                assert all(isinstance(problem, str) and problem for problem in problems)
        except StoreCorrupt:
            found.append(True)
    assert all(found), "a page of noise was not noticed"


def test_a_damaged_store_is_an_error_for_every_verb(store):
    pristine = (store / "ledger.db").read_bytes()
    for seed in range(6):
        rng = random.Random(seed)
        damaged = bytearray(pristine)
        for _ in range(len(pristine) // 4096 // 2):
            at = rng.randrange(1, len(pristine) // 4096) * 4096
            damaged[at : at + 64] = rng.randbytes(64)
        (store / "ledger.db").write_bytes(bytes(damaged))
        uses = [
            lambda sieve: sieve.push(pages(200)), lambda sieve: sieve.done(sieve.pop(200)), lambda sieve: sieve.seen(every_url()), lambda sieve: sieve.stats(),
            lambda sieve: sieve.forget(every_url()[:50]), lambda sieve: sieve.purge(site="h1.example"), lambda sieve: list(sieve.sites()), lambda sieve: list(sieve.groups()),
            lambda sieve: sieve.verify(deep=True), lambda sieve: sieve.why("h2.example"), lambda sieve: sieve.doctor(), lambda sieve: sieve.mark(pages(5, host="m.example")),
        ]  # fmt: skip
        for use in uses:
            try:
                with urlsieve.open(str(store)) as sieve:
                    use(sieve)
            except UrlsieveError:
                pass  # any of ours will do; a driver's error or a crash would fail the test


def edit(place, name, value):
    with closing(sqlite3.connect(place / "ledger.db")) as db, db:
        assert 1 == db.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name)).rowcount


def header_of(place):
    with closing(sqlite3.connect(place / "ledger.db")) as db:
        return json.loads(db.execute("SELECT value FROM meta WHERE name = 'header'").fetchone()[0])


@pytest.mark.parametrize("schema", [0, 1, 2, 4, 999])
def test_a_store_of_another_version_is_refused_and_the_version_is_named(store, schema):
    def set_version(version):
        with closing(sqlite3.connect(store / "ledger.db")) as db:
            db.execute(f"PRAGMA user_version = {version}")

    set_version(schema)
    with pytest.raises(StoreMismatch) as caught:
        urlsieve.open(str(store))
    assert str(store) in str(caught.value)
    assert str(schema) in str(caught.value)
    set_version(3)
    with urlsieve.open(str(store)) as sieve:
        assert [True] * COUNT == sieve.seen(every_url())


def test_imp_01_a_store_of_another_canonical_form_is_refused_by_name(store):
    for field, value in (("canonical_version", 2), ("vectors", "0" * 64)):
        header = header_of(store)
        edit(store, "header", json.dumps({**header, field: value}))
        with pytest.raises(StoreMismatch) as caught:
            urlsieve.open(str(store))
        assert field == caught.value.field
        edit(store, "header", json.dumps(header))
    with urlsieve.open(str(store)) as sieve:
        assert 0 == sieve.push(every_url()).new


@pytest.mark.parametrize("header", ["", "{}", "null", "[1]", "not json", '{"profile": 5}', None])
def test_a_header_that_is_damaged_is_refused(store, header):
    edit(store, "header", header)
    with pytest.raises((StoreCorrupt, StoreMismatch)) as caught:
        urlsieve.open(str(store))
    assert str(store) in str(caught.value)


def test_a_database_of_somebody_else_is_refused_and_left_alone(fast_path):
    place = fast_path / "store"
    place.mkdir()
    with closing(sqlite3.connect(place / "ledger.db")) as db, db:
        db.execute("CREATE TABLE recipes (name TEXT)")
        db.execute("INSERT INTO recipes VALUES ('bread')")
    before = (place / "ledger.db").read_bytes()
    with pytest.raises((StoreMismatch, StoreCorrupt)) as caught:
        urlsieve.open(str(place))
    assert str(place) in str(caught.value)
    with closing(sqlite3.connect(place / "ledger.db")) as db:
        assert [("bread",)] == db.execute("SELECT name FROM recipes").fetchall()
        assert ["recipes"] == [name for (name,) in db.execute("SELECT name FROM sqlite_master")]
    assert len(before) == (place / "ledger.db").stat().st_size


def test_a_ledger_that_is_a_directory_is_refused(fast_path):
    (fast_path / "store" / "ledger.db").mkdir(parents=True)
    with pytest.raises(UrlsieveError) as caught:
        urlsieve.open(str(fast_path / "store"))
    assert str(fast_path / "store") in str(caught.value)


def test_a_store_removed_under_an_open_sieve_is_an_error_and_not_a_crash(store):
    with urlsieve.open(str(store)) as sieve:
        for path in store.iterdir():
            path.unlink()
        store.rmdir()
        try:
            sieve.push(pages(10))
            sieve.pop(5)
        except UrlsieveError:
            pass


def test_a_store_held_by_another_program_is_no_obstacle_to_reading(store):
    with closing(sqlite3.connect(store / "ledger.db", isolation_level=None)) as other, urlsieve.open(str(store)) as sieve:
        other.execute("BEGIN IMMEDIATE")
        assert [True] * COUNT == sieve.seen(every_url())
        other.execute("ROLLBACK")
        assert 3 == sieve.push(pages(3)).new


def test_lock_files_that_are_gone_are_made_again(store):
    for path in store.iterdir():
        if path.suffix == ".lock":
            path.unlink()
    with urlsieve.open(str(store)) as sieve:
        assert 5 == sieve.push(pages(5)).new
        check_conservation(sieve)


def test_a_token_given_after_a_copy_was_made_is_refused_by_the_restored_copy(fast_path):
    store, copy = fast_path / "store", fast_path / "copy"
    with urlsieve.open(str(store)) as sieve:
        sieve.push(pages(3))
        (before,) = sieve.pop(1)
    shutil.copytree(store, copy)
    with urlsieve.open(str(store)) as sieve:
        after = sieve.pop(2)
    shutil.rmtree(store)
    copy.rename(store)
    with urlsieve.open(str(store)) as sieve:
        assert "done" == sieve.done(before).state
        again = sieve.pop(2)
        assert [lease.url for lease in after] == [lease.url for lease in again]
        assert set() == {lease.token for lease in after} & {lease.token for lease in again}
        assert ["lost", "lost"] == [settled.state for settled in sieve.done(after)]
        assert ["done", "done"] == [settled.state for settled in sieve.done(again)]
        check_conservation(sieve)
