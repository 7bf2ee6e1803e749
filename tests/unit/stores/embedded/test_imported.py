"""Files of imported levels: merged, copied, cleaned up after a crash, and found when they are damaged or missing."""

import hashlib
import os
import shutil

import pytest

import urlsieve
from sieve_lab import check_conservation, pages
from urlsieve import StoreCorrupt, StoreFull, opening
from urlsieve.stores.embedded import merging
from urlsieve.stores.embedded.runs import Folder

MANY = 2000


def md5(urls):
    return [hashlib.md5(url.encode()).digest() for url in urls]


@pytest.fixture
def store(fast_path):
    with urlsieve.open(fast_path / "store") as sieve:
        sieve.push("http://a.example/start")
        sieve.import_fingerprints("md5", md5(pages(MANY)))
    return fast_path / "store"


def files(store):
    return sorted(path.name for path in (store / "runs").iterdir() if path.name.endswith(".level"))


def test_many_small_batches_become_few_files(store, monkeypatch):
    monkeypatch.setattr(merging, "LONGEST_JOURNAL", 10)
    with urlsieve.open(store) as sieve:
        for number in range(40):
            sieve.import_fingerprints("md5", md5(pages(20, start=MANY + 20 * number)))
            sieve.forget([f"http://a.example/p{number}"])
        assert len(files(store)) < 45
        sieve.import_fingerprints("md5", md5(pages(5, start=5000)))
        assert len(files(store)) < 20
        assert [False] * 40 + [True] * 60 == sieve.seen(pages(100))
        assert MANY - 40 + 805 == sieve.imported()[0].digests
        check_conservation(sieve)


def test_another_opener_follows_when_files_are_merged_and_dropped(store, monkeypatch):
    monkeypatch.setattr(merging, "LONGEST_JOURNAL", 10)
    with urlsieve.open(store) as one, urlsieve.open(store) as two:
        for number in range(30):
            assert [True] * 3 == two.seen(pages(3))
            one.import_fingerprints("md5", md5(pages(20, start=MANY + 20 * number)))
            assert two.seen([f"http://a.example/p{MANY + 20 * number}"]) == [True]
        one.drop_imported("md5")
        assert [False] * 3 == two.seen(pages(3))
        assert ["new"] * 3 == two.push(pages(3)).verdicts
    assert [] == files(store)


def test_a_backup_and_a_restore_have_the_levels(fast_path, store):
    with urlsieve.open(store) as sieve:
        sieve.backup(fast_path / "copy")
        sieve.drop_imported("md5")
    with urlsieve.open(fast_path / "copy") as copy:
        assert [True] * MANY == copy.seen(pages(MANY))
        check_conservation(copy)
    opening.restore(fast_path / "copy", store, force=True)
    with urlsieve.open(store) as sieve:
        assert ["seen"] * 10 == sieve.push(pages(10)).verdicts
        assert sieve.stats().bytes["imported"] > 16 * MANY
        check_conservation(sieve)


@pytest.mark.parametrize("place", [10, -10, 20_000])
def test_a_damaged_file_is_found_and_named_and_nothing_is_answered_from_it(store, place):
    (name,) = files(store)
    data = bytearray((store / "runs" / name).read_bytes())
    data[place] ^= 0xFF
    (store / "runs" / name).write_bytes(data)
    with urlsieve.open(store) as sieve:
        assert any("md5" in problem or name in problem for problem in sieve.verify(deep=True))
        with pytest.raises(StoreCorrupt):
            sieve.push(pages(MANY))
        assert 1 == sieve.stats().seen


def test_a_missing_file_is_found_and_dropping_the_level_mends_the_store(store):
    (name,) = files(store)
    (store / "runs" / name).unlink()
    with urlsieve.open(store) as sieve:
        assert any(name in problem for problem in sieve.verify())
        with pytest.raises(StoreCorrupt, match=name):
            sieve.push(pages(3))
        with pytest.raises(StoreCorrupt, match=name):
            sieve.import_fingerprints("md5", md5(pages(1)))
        assert sieve.drop_imported("md5")
        assert ["new"] * 3 == sieve.push(pages(3)).verdicts
        check_conservation(sieve)


def test_what_a_crash_left_behind_is_removed_at_the_next_opening(store):
    (name,) = files(store)
    for stray in ("0123.level", "new-4567.level"):
        shutil.copyfile(store / "runs" / name, store / "runs" / stray)
    urlsieve.open(store).close()
    assert [name] == files(store)


def test_a_full_disk_refuses_and_what_was_there_stays(store, monkeypatch):
    write = Folder.write

    def full(self, blocks):
        if self._suffix == ".level":
            raise OSError(28, os.strerror(28))
        return write(self, blocks)

    monkeypatch.setattr(Folder, "write", full)
    with urlsieve.open(store) as sieve:
        with pytest.raises(StoreFull, match="import again"):
            sieve.import_fingerprints("md5", md5(pages(10, start=9000)))
        assert MANY == sieve.imported()[0].digests
        check_conservation(sieve)


def test_a_store_made_before_there_were_levels_gets_them(store):
    with urlsieve.open(store) as sieve:
        sieve.drop_imported("md5")
        with sieve._store._ledger.write() as tx:
            tx.execute("DROP TABLE level")
            tx.execute("DROP TABLE level_run")
    with urlsieve.open(store) as sieve:
        assert [] == sieve.imported()
        sieve.import_fingerprints("md5", md5(pages(3)))
        assert [True] * 3 == sieve.seen(pages(3))
        check_conservation(sieve)
