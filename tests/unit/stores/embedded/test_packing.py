"""Texts of done URLs in blocks: everything answers as it did, whatever is packed, returns, is forgotten or damaged meanwhile."""

import sqlite3
import threading
from contextlib import closing

import pytest

import urlsieve
from sieve_lab import check_conservation, pages, states
from urlsieve import StoreCorrupt, UrlsieveError, opening, testing
from urlsieve.model import State
from urlsieve.stores.embedded import files, packed, packing, unpacking
from urlsieve.stores.embedded.framing import SLOTS

WHEN = "http://a.example/p"


def open_at(path, **options):
    return testing.open(str(path / "store"), clock=testing.VirtualClock(), **options)


@pytest.fixture
def sieve(fast_path):
    with open_at(fast_path) as sieve:
        yield sieve
        check_conservation(sieve)


def all_done(sieve, urls, **options):
    sieve.push(urls, **options)
    while leases := sieve.pop(1000):
        sieve.done(leases)


def query(sieve, sql, *parameters):
    with sieve._store._ledger.read() as db:
        return db.execute(sql, parameters).fetchall()


def counter(sieve, name):
    return query(sieve, "SELECT coalesce(sum(n), 0) FROM counter WHERE name = ?", name)[0][0]


def text_rows(sieve):
    return query(sieve, "SELECT count(*) FROM text")[0][0]


def packed_store(sieve, count=50, **options):
    all_done(sieve, pages(count), **options)
    sieve._store.pack()
    assert (0, count) == (text_rows(sieve), counter(sieve, "packed"))


def test_packed_urls_are_listed_with_all_that_is_kept_of_them(sieve):
    all_done(sieve, [*pages(30), "http://ä.example/ü", b"http://b.example/\xff"], depth=4)
    before = sorted(sieve.entries())
    sieve._store.pack()
    assert 0 == text_rows(sieve)
    assert before == sorted(sieve.entries())
    assert b"http://b.example/\xff" in [entry.url for entry in before]
    assert [] == list(sieve._store.entries(0.0, frozenset([State.DEAD, State.PENDING])))
    assert 4 == sieve._store.info("", before[0].fingerprint).depth


def test_what_waits_is_out_is_delayed_or_dead_stays_a_row(sieve):
    sieve.push(pages(8))
    pending, leased, delayed, dead = sieve.pop(4)
    sieve.done(sieve.pop(4))
    sieve.release(pending)
    sieve.fail(delayed, "timeout")
    sieve.fail(dead, "no", status=403)
    sieve._store.pack()
    assert (4, 4) == (text_rows(sieve), counter(sieve, "packed"))
    assert {"pending": 1, "leased": 1, "delayed": 1, "dead": 1, "done": 4} == states(sieve)
    sieve.done(leased)


def test_the_variant_stays_with_the_text_and_where_it_was_found_goes(sieve):
    item = urlsieve.URLItem("http://a.example/form", variant=b"POST\0a=1", via="http://hub.example/", meta={"n": 1})
    sieve.push(item)
    sieve.done(sieve.pop(1))
    for _ in range(2):
        (entry,) = sieve.entries()
        assert (b"POST\0a=1", None, None) == (entry.variant, entry.via, entry.meta)
        check_conservation(sieve)
        sieve._store.pack()
    assert [(0,)] == query(sieve, "SELECT count(*) FROM extra")
    sieve.push(urlsieve.URLItem("http://a.example/form", variant=b"POST\0a=1"), mode="again")
    (lease,) = sieve.pop(1)
    assert b"POST\0a=1" == lease.variant
    sieve.done(lease)


def test_the_variant_of_marked_redirected_and_imported_urls_stays_too(sieve, fast_path):
    sieve.mark([urlsieve.URLItem("http://a.example/marked", variant=b"v")])
    sieve._store.pack()
    (entry,) = sieve.entries()
    assert b"v" == entry.variant
    with testing.open(str(fast_path / "other"), clock=testing.VirtualClock(), secret=sieve._store.header.secret) as other:
        other.admit(sieve.entries())
        assert [entry] == list(other.entries())
        other._store.pack()
        assert [entry] == list(other.entries())
        check_conservation(other)


@pytest.mark.parametrize("how", ["again", "revisit"])
def test_a_packed_url_that_returns_has_its_old_text_and_group_under_a_row_of_its_own(sieve, how):
    sieve.push("http://A.example:80/p1?utm_source=x")
    all_done(sieve, pages(20))
    sieve._store.pack()
    if how == "again":
        sieve.push(["http://a.example/p1", "http://a.example/p2"], mode="again")
    else:
        sieve.revisit(["http://a.example/p1", "http://a.example/p2"])
    assert (2, 18) == (text_rows(sieve), counter(sieve, "packed"))
    check_conservation(sieve)
    leases = sieve.pop(5)
    assert ["http://A.example:80/p1?utm_source=x", "http://a.example/p2"] == [lease.url for lease in leases]
    sieve.done(leases)
    sieve._store.pack()
    assert (0, 20) == (text_rows(sieve), counter(sieve, "packed"))
    assert 2 == query(sieve, "SELECT count(*) FROM slots")[0][0]


def test_forgotten_and_purged_texts_are_answered_by_nothing_and_give_their_room_back(sieve):
    all_done(sieve, [*pages(100), *pages(20, host="b.example")])
    sieve._store.pack()
    size = sieve.stats().bytes["text"]
    assert 10 == sieve.forget(pages(10))
    check_conservation(sieve)
    assert [(1, 110, 10)] == query(sieve, "SELECT block, live, freed FROM slots")
    assert "unseen" == sieve.info("http://a.example/p3").state
    assert 90 == sieve.purge("a.example")
    check_conservation(sieve)
    sieve._store.pack()
    assert [(1, 20, 0)] == query(sieve, "SELECT block, live, freed FROM slots")
    assert sieve.stats().bytes["text"] < size
    assert sorted(pages(20, host="b.example")) == sorted(entry.url for entry in sieve.entries())
    assert 20 == sieve.purge("b.example")
    sieve._store.pack()
    assert [] == query(sieve, "SELECT block FROM packed UNION SELECT block FROM slots")
    assert 0 == sieve.stats().bytes["text"]
    assert 5 == sieve.push(pages(5)).new


def test_a_forgotten_slot_is_never_another_urls(sieve):
    packed_store(sieve, 10)
    sieve.forget(pages(10))
    sieve._store.pack()
    packed_store(sieve, 10)
    assert [(2,)] == query(sieve, "SELECT block FROM packed")


def test_without_keep_urls_no_text_is_kept_and_those_kept_before_stay(sieve):
    packed_store(sieve, 20)
    sieve.set_policy(keep_urls=False)
    all_done(sieve, pages(10, host="b.example"))
    sieve.push(pages(3), mode="again")
    sieve.done(sieve.pop(3))
    sieve._store.pack()
    check_conservation(sieve)
    assert 17 == sum(entry.url is not None for entry in sieve.entries())
    sieve.set_policy(keep_urls=True)
    all_done(sieve, pages(5, host="c.example"))
    sieve._store.pack()
    assert 22 == sum(entry.url is not None for entry in sieve.entries())


def test_a_redirect_to_a_packed_url_leaves_it_as_it_is(sieve):
    packed_store(sieve, 5)
    sieve.push("http://from.example/")
    sieve.done(sieve.pop(1), final_url="http://a.example/p1")
    assert 5 == counter(sieve, "packed")
    assert {"done": 6} == states(sieve)


def test_a_backup_and_a_restore_carry_the_blocks(fast_path):
    with open_at(fast_path) as sieve:
        packed_store(sieve)
        before = sorted(sieve.entries())
        sieve.backup(str(fast_path / "copy"))
    opening.restore(str(fast_path / "copy"), str(fast_path / "other"))
    with testing.open(str(fast_path / "other"), clock=testing.VirtualClock()) as other:
        assert before == sorted(other.entries())
        check_conservation(other)


# -- in the background


@pytest.fixture
def eager(monkeypatch):
    """Batches of 60 in blocks of 1,024 at most; the newest 20 stay; no rest."""
    for name, value in (("BATCH", 60), ("KEPT", 20), ("REST", 0.0), ("_AGAIN", 1)):
        monkeypatch.setattr(packing, name, value)


def settle_packing(sieve):
    thread = sieve._store._packing._thread
    if thread is not None:
        thread.join(30)
        assert not thread.is_alive()
    assert sieve._store._packing.trouble is None


def test_when_many_are_done_the_older_ones_are_packed_and_the_newest_stay_rows(sieve, eager):
    sieve.push(pages(200))
    for _ in range(20):
        sieve.done(sieve.pop(10))
    settle_packing(sieve)
    sieve.push(pages(1, host="b.example"))
    sieve.done(sieve.pop(1))
    settle_packing(sieve)
    left = {url for (url,) in query(sieve, "SELECT url FROM text")}
    assert 20 <= len(left) < 80
    assert left >= set(pages(10, start=190))
    assert 201 == len(left) + counter(sieve, "packed")


def test_a_store_of_some_thousands_is_not_packed_by_itself(sieve):
    all_done(sieve, pages(3000))
    settle_packing(sieve)
    assert 3000 == text_rows(sieve)


def test_a_process_that_finishes_few_packs_what_others_before_it_left(fast_path, eager):
    for start in range(0, 120, 10):
        with open_at(fast_path) as sieve:
            all_done(sieve, pages(10, start=start))
            settle_packing(sieve)
    with open_at(fast_path) as sieve:
        assert 60 <= counter(sieve, "packed")
        check_conservation(sieve)


def test_a_process_that_ends_at_once_packs_a_batch_where_too_many_wait(fast_path, eager, monkeypatch):
    monkeypatch.setattr(packing, "MOST_LEFT", 100)
    monkeypatch.setattr(packing.Packing, "after", lambda self, finished, freed: None)
    with open_at(fast_path) as sieve:
        all_done(sieve, pages(110))
        assert 0 == counter(sieve, "packed")
    with open_at(fast_path) as sieve:
        assert 110 == counter(sieve, "packed") + text_rows(sieve)
        assert 0 < counter(sieve, "packed")
        check_conservation(sieve)


def test_blocks_of_which_half_is_unused_are_written_anew_in_the_background(sieve, eager):
    all_done(sieve, pages(60))
    sieve._store.pack()
    sieve.forget(pages(40))
    settle_packing(sieve)
    assert [(20, 0)] == query(sieve, "SELECT live, freed FROM slots")


def test_where_no_thread_can_be_started_nothing_else_changes_and_doctor_says_it(sieve, eager, monkeypatch):
    def no_more(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_more)
        all_done(sieve, pages(200))
    assert any("new thread" in finding.what for finding in sieve.doctor())
    assert {"done": 200} == states(sieve)


def test_one_opener_at_a_time_packs(fast_path):
    with open_at(fast_path) as sieve, open_at(fast_path) as other:
        all_done(sieve, pages(30))
        lock = other._store._packing._shelf.alone("pack")
        sieve._store.pack()
        assert 30 == text_rows(sieve)
        lock.close()
        other._store.pack()
        assert 0 == text_rows(sieve)
        check_conservation(sieve)


@pytest.mark.parametrize("what", ["again", "again and done", "forgotten", "deeper", "packed"])
def test_what_changes_between_the_reading_and_the_writing_is_left_out(fast_path, monkeypatch, what):
    with open_at(fast_path) as sieve, open_at(fast_path) as other:
        all_done(sieve, pages(30))
        real = packing.Packing._writing

        def writing(self):
            monkeypatch.setattr(packing.Packing, "_writing", real)
            if what == "forgotten":
                other.forget(pages(10))
            elif what == "packed":
                with closing(sqlite3.connect(fast_path / "store" / "ledger.db")) as db, db:
                    db.execute("UPDATE finished SET ids = CAST(ids || ids AS BLOB)")
                    db.execute("UPDATE counter SET n = 2 * n WHERE name = 'unpacked'")
            else:
                other.push(pages(10), mode="again", depth=7)
                if what != "again":
                    other.done(other.pop(10))
                if what == "deeper":
                    other.push(pages(1, host="b.example"))
            return real(self)

        monkeypatch.setattr(packing.Packing, "_writing", writing)
        sieve._store._packing._step()
        check_conservation(sieve)
        assert {"again": 20, "again and done": 20, "forgotten": 20, "deeper": 20, "packed": 0}[what] == counter(sieve, "packed")
        sieve._store.pack()
        check_conservation(sieve)
        depths = {entry.url: entry.depth for entry in sieve.entries()}
        assert (20 if what == "forgotten" else 30) == sum(url.startswith(WHEN) for url in depths)
        if what in ("again", "again and done", "deeper"):
            assert {7} == {depths[url] for url in pages(10)}


def test_whatever_is_packed_or_returns_while_entries_are_listed_is_given_at_least_once(fast_path, monkeypatch):
    monkeypatch.setattr(unpacking, "BLOCKS", 1)
    monkeypatch.setattr(packing, "SLOTS", 8)
    monkeypatch.setattr(unpacking, "LONG_SLICE", 16)
    with open_at(fast_path) as sieve, open_at(fast_path) as other:
        all_done(sieve, pages(60))
        sieve._store.pack()
        assert 8 == query(sieve, "SELECT count(*) FROM slots")[0][0]
        all_done(sieve, pages(60, start=60))
        given = []
        for number, entry in enumerate(sieve.entries()):
            given.append(entry.url)
            if number % 7 == 0:
                other.push(pages(2, start=number), mode="again")
            if number % 11 == 0:
                other.done(other.pop(5))
                other._store.pack()
        assert set(pages(120)) == set(given)
        check_conservation(sieve)


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_blocks_that_are_gone_leave_the_others_listed(sieve, monkeypatch, at_once):
    monkeypatch.setattr(unpacking, "BLOCKS", at_once)
    monkeypatch.setattr(packing, "SLOTS", 8)
    for host in "abcdefg":
        all_done(sieve, pages(8, host=f"{host}.example"))
        sieve._store.pack()
    for host in "abdg":
        sieve.purge(f"{host}.example")
    sieve._store.pack()
    assert 3 == query(sieve, "SELECT count(*) FROM packed")[0][0]
    assert sorted(url for host in "cef" for url in pages(8, host=f"{host}.example")) == sorted(entry.url for entry in sieve.entries())


# -- damage


@pytest.fixture
def damaged(fast_path):
    """A closed store of two blocks, and a way to change its ledger."""
    with open_at(fast_path) as sieve:
        packed_store(sieve, SLOTS + 100)

    def change(sql, *parameters):
        with closing(sqlite3.connect(fast_path / "store" / files.LEDGER)) as db, db:
            assert db.execute(sql, parameters).rowcount

    return fast_path, change


BROKEN = {
    "bytes": (
        "UPDATE packed SET data = CAST(substr(data, 1, 40) || x'00' || substr(data, 42) AS BLOB) WHERE block = 1",
        "block 1 of texts is damaged",
    ),
    "checksum": ("UPDATE packed SET checksum = zeroblob(8) WHERE block = 1", "block 1 of texts is damaged"),
    "exchanged": (
        "UPDATE packed SET (checksum, data) = (SELECT checksum, data FROM packed WHERE block = 2) WHERE block = 1",
        "block 1 of texts is damaged",
    ),
    "type": ("UPDATE packed SET data = substr(data, 1, 40) || x'00' || substr(data, 42) WHERE block = 1", "block 1 of texts is damaged"),
    "gone": ("DELETE FROM packed WHERE block = 1", "block 1 of texts is missing"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_damaged_block_is_named_and_nothing_is_answered_from_it(damaged, how):
    path, change = damaged
    sql, found = BROKEN[how]
    change(sql)
    urls = pages(SLOTS + 100)
    with open_at(path) as sieve:
        assert [True] * len(urls) == sieve.seen(urls), "what was seen does not hang on texts"
        assert any(found in problem for problem in sieve.verify(deep=True))
        refused = 0
        for url in urls[::50]:
            try:
                assert url == sieve.info(url).url
            except StoreCorrupt as error:
                refused += 1
                assert "block 1 of the texts" in str(error)
                assert str(path / "store") in str(error)
        assert 0 < refused < len(urls[::50])
        before = states(sieve)
        with pytest.raises(StoreCorrupt, match="block 1"):
            sieve.push(urls, mode="again")
        with pytest.raises(StoreCorrupt, match="block 1"):
            list(sieve.entries())
        assert before == states(sieve), "nothing was changed"
        assert 0 == sieve.push(urls).new
        assert len(urls) == sieve.purge("a.example"), "what is damaged can be forgotten"


MISCOUNTED = {
    "UPDATE slots SET live = live + 1 WHERE block = 1": "slots in use",
    "UPDATE slots SET gone = x'01' WHERE block = 1": "slots in use",
    "DELETE FROM slots WHERE block = 1": "no row of its slots",
    "INSERT INTO slots VALUES (77, 0, x'', 1)": "1 rows of slots have no block",
    "UPDATE counter SET n = n + 1 WHERE name = 'packed'": "count packed",
    "UPDATE counter SET n = n + 1 WHERE name = 'packed_bytes'": "count packed_bytes",
    "INSERT INTO finished (ids) VALUES (zeroblob(8))": "count unpacked",
}


@pytest.mark.parametrize("sql", MISCOUNTED)
def test_counts_of_blocks_that_do_not_fit_are_found(damaged, sql):
    path, change = damaged
    change(sql)
    with open_at(path) as sieve:
        assert any(MISCOUNTED[sql] in problem for problem in sieve.verify(deep=True)), sieve.verify(deep=True)


def test_a_damaged_block_that_should_be_written_anew_is_said_by_doctor(damaged, eager):
    path, change = damaged
    change("UPDATE packed SET checksum = zeroblob(8) WHERE block = 1")
    with open_at(path) as sieve:
        sieve.forget(pages(SLOTS))
        thread = sieve._store._packing._thread
        thread.join(30)
        assert any("block 1" in finding.what for finding in sieve.doctor())
        with pytest.raises(UrlsieveError):
            sieve._store.pack()


def test_places_and_entries_are_each_others_reverse():
    for block in (1, 2, 10**6):
        for slot in (0, 1, SLOTS - 1):
            assert (block, slot) == packed.place_of(packed.entry_of(block, slot))
