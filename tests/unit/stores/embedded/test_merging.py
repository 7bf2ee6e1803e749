"""The seen set as a log of runs: what is marked is found, whatever became a run or was merged meanwhile."""

import errno
import random
import shutil
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sieve_lab import check_conservation, figures, pages
from urlsieve import StoreUnavailable, testing
from urlsieve.stores.embedded import merging, runs
from urlsieve.stores.embedded.merging import FAN_OUT, LONGEST_JOURNAL, choose, tier
from urlsieve.stores.embedded.seen import Named, Seen, manifest


@pytest.fixture
def small(monkeypatch):
    """Journals become runs after 20 marks."""
    monkeypatch.setattr(merging, "LONGEST_JOURNAL", 20)


def open_at(path, **options):
    return testing.open(str(path / "store"), clock=testing.VirtualClock(), **options)


def runs_of(sieve):
    with sieve._store._ledger.read() as db:
        return manifest(db)


def files_of(path):
    return sorted(file.name for file in (path / "store" / "runs").glob("*.run"))


def settle_merges(sieve):
    thread = sieve._store._merging._thread
    if thread is not None:
        thread.join(30)
        assert not thread.is_alive()


def named(*sizes):
    """Newest first."""
    return [Named(len(sizes) - i, f"{i}.run", size, 0) for i, size in enumerate(sizes)]


def test_nothing_is_merged_before_there_are_enough_of_a_size():
    assert choose([]) is None
    assert choose(named(*[LONGEST_JOURNAL] * (FAN_OUT - 1))) is None
    assert len(choose(named(*[LONGEST_JOURNAL] * FAN_OUT))) == FAN_OUT


def test_what_is_merged_are_always_the_newest_in_a_row():
    big = LONGEST_JOURNAL * FAN_OUT
    chosen = choose(named(LONGEST_JOURNAL, big, big, big, big, big * FAN_OUT))
    assert 5 == len(chosen)
    assert [run.keys for run in chosen] == [LONGEST_JOURNAL, big, big, big, big]


@given(st.lists(st.integers(1, 10**9), max_size=60))
def test_chosen_runs_are_the_newest_ones_and_merging_them_ends(sizes):
    have = named(*sizes)
    for _ in range(200):
        chosen = choose(have)
        if chosen is None:
            break
        assert list(chosen) == have[: len(chosen)]
        assert len(chosen) >= FAN_OUT
        have = named(sum(run.keys for run in chosen), *[run.keys for run in have[len(chosen) :]])
    assert choose(have) is None


def test_a_growing_set_has_few_runs_and_writes_each_url_few_times():
    have, written = [], 0
    for _ in range(5000):
        have = [LONGEST_JOURNAL, *have]
        while (chosen := choose(named(*have))) is not None:
            size = sum(run.keys for run in chosen)
            written += size
            have = [size, *have[len(chosen) :]]
        assert len(have) <= (FAN_OUT - 1) * (tier(max(have)) + 1)
    assert written <= 5000 * LONGEST_JOURNAL * 7


def test_a_long_journal_becomes_a_run_and_everything_is_found(fast_path, small):
    with open_at(fast_path) as sieve:
        for start in range(0, 400, 10):
            assert 10 == sieve.push(pages(10, start=start)).new
        settle_merges(sieve)
        assert 1 <= len(runs_of(sieve)) < 8
        assert [True] * 400 == sieve.seen(pages(400))
        assert [False] * 50 == sieve.seen(pages(50, start=400))
        assert 0 == sieve.push(pages(400)).new
        check_conservation(sieve)
    assert files_of(fast_path) == sorted(files_of(fast_path))
    with open_at(fast_path) as sieve:
        assert [True] * 400 == sieve.seen(pages(400))
        assert [run.name for run in sorted(runs_of(sieve), key=lambda run: run.name)] == files_of(fast_path)
        check_conservation(sieve)


def test_what_is_forgotten_stays_forgotten_through_merges(fast_path, small):
    with open_at(fast_path) as sieve:
        sieve.push(pages(200))
        assert 50 == sieve.forget(pages(50))
        sieve.push(pages(300, host="b.example"))
        settle_merges(sieve)
        assert [False] * 50 + [True] * 150 == sieve.seen(pages(200))
        sieve._store._merging.compact()
        assert 1 == len(runs_of(sieve))
        assert [False] * 50 + [True] * 150 == sieve.seen(pages(200))
        assert 50 == sieve.push(pages(200)).new
        check_conservation(sieve)


def test_a_purged_site_leaves_nothing_in_the_last_run(fast_path, small):
    with open_at(fast_path) as sieve:
        sieve.push(pages(100))
        assert 100 == sieve.purge("a.example")
        sieve.push(pages(20, host="b.example"))
        settle_merges(sieve)
        sieve._store._merging.compact()
        assert 20 >= sum(run.keys for run in runs_of(sieve))
        check_conservation(sieve)


def test_another_opener_sees_what_became_a_run_under_its_feet(fast_path, small):
    with open_at(fast_path) as one, open_at(fast_path) as two:
        for start in range(0, 300, 15):
            one.push(pages(15, start=start))
            assert [True] * (start + 15) + [False] == two.seen(pages(start + 16))
        settle_merges(one)
        one._store._merging.compact()
        assert [True] * 300 == two.seen(pages(300))
        assert 0 == two.push(pages(300)).new
        assert [True] * 300 == one.seen(pages(300))


def test_what_a_crash_left_is_removed_at_the_next_opening(fast_path, small):
    with open_at(fast_path) as sieve:
        sieve.push(pages(60))
        settle_merges(sieve)
        have = files_of(fast_path)
    place = fast_path / "store" / "runs"
    (place / "0123456789abcdef.run").write_bytes(b"half a run")
    (place / "new-0123456789abcdef.run").write_bytes(b"")
    with open_at(fast_path) as sieve:
        assert have == files_of(fast_path)
        check_conservation(sieve)


def test_nothing_of_a_merge_that_goes_on_elsewhere_is_removed(fast_path, small):
    with open_at(fast_path) as sieve:
        sieve.push(pages(60))
        lock = sieve._store._merging._shelf.alone()
        try:
            (fast_path / "store" / "runs" / "new-0123456789abcdef.run").write_bytes(b"being written")
            open_at(fast_path).close()
            assert "new-0123456789abcdef.run" in files_of(fast_path)
        finally:
            lock.close()
        open_at(fast_path).close()
        assert "new-0123456789abcdef.run" not in files_of(fast_path)


def test_a_full_disk_when_a_run_is_written_loses_nothing_and_doctor_says_it(fast_path, small, monkeypatch):
    def full(self, blocks):
        raise OSError(errno.ENOSPC, "No space left on device")

    with open_at(fast_path) as sieve:
        with monkeypatch.context() as patched:
            patched.setattr(runs.Folder, "write", full)
            for start in range(0, 100, 10):
                assert 10 == sieve.push(pages(10, start=start)).new
            assert [] == runs_of(sieve)
            assert any("journal could not become a run" in finding.what for finding in sieve.doctor() if finding.level == "warn")
            assert [True] * 100 == sieve.seen(pages(100))
        for start in range(100, 160, 10):
            sieve.push(pages(10, start=start))
        assert runs_of(sieve)
        assert not [finding for finding in sieve.doctor() if "journal could not" in finding.what]
        check_conservation(sieve)


def test_closing_stops_a_merge_and_leaves_no_half_run(fast_path, monkeypatch):
    monkeypatch.setattr(merging, "LONGEST_JOURNAL", 50)
    monkeypatch.setattr(runs, "STEP", 1)  # one record a step: there is always something left to stop
    for turn in range(5):
        sieve = open_at(fast_path)
        for start in range(turn * 400, turn * 400 + 400, 50):
            sieve.push(pages(50, start=start))
        sieve.close()
        assert [] == [name for name in files_of(fast_path) if name.startswith("new-")]
    with open_at(fast_path) as sieve:
        assert [True] * 2000 == sieve.seen(pages(2000))
        check_conservation(sieve)


def test_short_lived_openers_do_not_pile_up_runs(fast_path, small):
    for turn in range(60):
        with open_at(fast_path) as sieve:
            sieve.push(pages(20, start=turn * 20))
    with open_at(fast_path) as sieve:
        assert len(runs_of(sieve)) < 20
        assert [True] * 1200 == sieve.seen(pages(1200))


def test_threads_push_while_runs_are_made_and_merged(fast_path, small):
    with open_at(fast_path, durability="normal") as sieve:
        wrong = []

        def push(host):
            for start in range(0, 300, 10):
                if sieve.push(pages(10, host=host, start=start)).new != 10:
                    wrong.append((host, start))
                if sieve.seen(pages(start + 11, host=host)) != [True] * (start + 10) + [False]:
                    wrong.append((host, "seen", start))

        threads = [threading.Thread(target=push, args=(f"{name}.example",)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [] == wrong
        settle_merges(sieve)
        check_conservation(sieve)


def test_a_merge_finds_its_store_closed_and_says_so_nowhere_else(fast_path, small):
    sieve = open_at(fast_path)
    sieve.push(pages(100))
    settle_merges(sieve)
    sieve.close()
    with pytest.raises(StoreUnavailable):
        sieve._store._merging.compact()
    assert [] == [name for name in files_of(fast_path) if name.startswith("new-")]


class SeenMachine(RuleBasedStateMachine):
    """Against a plain set, with runs and merges at any moment."""

    def __init__(self):
        super().__init__()
        self.longest, merging.LONGEST_JOURNAL = merging.LONGEST_JOURNAL, 6
        self.sieve = testing.open("memory:", clock=testing.VirtualClock(), keep_urls=False)
        self.model = set()
        self.every = [url for host in ("a.example", "b.example", "c.example") for url in pages(8, host=host)]

    def teardown(self):
        settle_merges(self.sieve)
        check_conservation(self.sieve)
        self.sieve.close()
        merging.LONGEST_JOURNAL = self.longest

    @rule(data=st.data())
    def push(self, data):
        urls = data.draw(st.lists(st.sampled_from(self.every), max_size=6))
        assert len(set(urls) - self.model) == self.sieve.push(urls).new
        self.model |= set(urls)

    @rule(data=st.data())
    def forget(self, data):
        urls = data.draw(st.lists(st.sampled_from(self.every), max_size=4))
        assert len(set(urls) & self.model) == self.sieve.forget(urls)
        self.model -= set(urls)

    @rule(host=st.sampled_from("abc"))
    def purge(self, host):
        gone = {url for url in self.model if url.startswith(f"http://{host}.")}
        assert len(gone) == self.sieve.purge(f"{host}.example")
        self.model -= gone

    @rule(many=st.integers(1, 5))
    def fetch(self, many):
        self.sieve.done(self.sieve.pop(many))

    @rule()
    def merge(self):
        self.sieve._store._merging.compact()

    @invariant()
    def what_is_seen_is_what_was_pushed(self):
        assert [url in self.model for url in self.every] == self.sieve.seen(self.every)
        assert len(self.model) == self.sieve.stats().seen


TestSeenMachine = SeenMachine.TestCase
TestSeenMachine.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


def test_a_reader_meets_runs_that_are_merged_away_while_it_reads(fast_path, small):
    """Its transaction began before the merge, its files are gone: it begins again."""
    with open_at(fast_path, durability="normal") as writer, open_at(fast_path) as reader:
        stop = threading.Event()

        def write():
            rng = random.Random(1)
            while not stop.is_set():
                writer.push([f"http://a.example/{rng.randrange(10**9)}" for _ in range(25)])
                writer._store._merging.compact()

        thread = threading.Thread(target=write)
        thread.start()
        try:
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                reader._store._ledger.seen._manifest = -2  # reads the manifest anew and opens every run
                reader._store._ledger.seen.runs = []
                assert [False] == reader.seen("http://b.example/")
        finally:
            stop.set()
            thread.join()


def test_a_listing_of_many_small_sites_walks_the_set_once(fast_path, small, monkeypatch):
    """Site by site it would read a slice of thousands of URLs for each: 30 times as slow as in the table it replaced."""
    with open_at(fast_path) as sieve:
        sieve.push([f"http://h{number}.example/{page}" for number in range(600) for page in range(3)])
        sieve.push(pages(5000, host="big.example"))
        sieve.site("nothing.yet.example").limit = 7
        sieve.mark(pages(2, host="known.example"), known=True)
        sieve.done(sieve.pop(100))
        settle_merges(sieve)
        asked = []
        real = Seen.slice
        monkeypatch.setattr(Seen, "slice", lambda self, start, limit: asked.append(limit) or real(self, start, limit))
        rows = {row.name: row for row in sieve.sites()}
        assert len(asked) <= 40
        assert 603 == len(rows)
        assert {3} == {rows[f"h{number}.example"].seen for number in range(600)}
        assert (5000, 2, 0, 7) == (
            *(rows[f"{name}.example"].seen for name in ("big", "known", "nothing.yet")),
            rows["nothing.yet.example"].limit,
        )
        assert 100 == sum(row.done for row in rows.values())
        assert rows["big.example"] == sieve._store.site("big.example", sieve.canonicalizer.name_hash("big.example"))


# -- compact


def many(count, site):
    return [f"http://{site}.example/{i}" for i in range(count)]


@pytest.mark.parametrize("where", ["store", "memory:"])
def test_compact_leaves_one_run_without_what_was_forgotten(tmp_path, small, where):
    address = where if where == "memory:" else str(tmp_path / where)
    with testing.open(address, clock=testing.VirtualClock()) as sieve:
        for i in range(9):
            sieve.push(many(15, f"site{i}"))
        sieve.forget(many(15, "site3"))
        settle_merges(sieve)
        before = sieve.stats().bytes["seen"]
        done = sieve.compact()
        (run,) = runs_of(sieve)
        assert (before, run.size, 8 * 15) == (done.before, done.after, run.keys)
        assert done.after < done.before
        assert {"unseen"} == {sieve.info(url).state for url in many(15, "site3")}
        assert {"pending"} == {sieve.info(url).state for url in many(15, "site8")}
        assert (done.after, done.after) == (sieve.compact().before, runs_of(sieve)[0].size)
        sieve.push(many(3, "more"))
        sieve.compact()
        assert [8 * 15 + 3] == [run.keys for run in runs_of(sieve)]
        check_conservation(sieve)


def test_compact_of_an_empty_store_makes_nothing(tmp_path):
    with open_at(tmp_path) as sieve:
        assert {"before": 0, "after": 0} == sieve.compact().as_dict()
        assert [] == runs_of(sieve)


def test_compact_forgets_everything_when_everything_was_forgotten(tmp_path, small):
    with open_at(tmp_path) as sieve:
        sieve.push(many(40, "a"))
        sieve.forget(many(40, "a"))
        assert 0 == sieve.compact().after
        assert ([], []) == (runs_of(sieve), files_of(tmp_path))
        assert [] == sieve.verify(deep=True)


def test_compact_says_so_when_somebody_else_merges(tmp_path, small):
    with open_at(tmp_path) as sieve, open_at(tmp_path) as other:
        sieve.push(many(50, "a"))
        lock = other._store._merging._shelf.alone()
        with pytest.raises(StoreUnavailable, match="another process merges"):
            sieve.compact()
        lock.close()
        assert 50 == sieve.stats().seen
        sieve.compact()
        assert [50] == [run.keys for run in runs_of(sieve)]


def test_others_push_while_a_store_is_compacted(tmp_path, small):
    with open_at(tmp_path) as sieve, open_at(tmp_path) as other:
        pushed = threading.Event()

        def push():
            for i in range(40):
                other.push(many(25, f"site{i}"))
                pushed.set()

        thread = threading.Thread(target=push)
        thread.start()
        pushed.wait(30)
        while thread.is_alive():
            try:
                sieve.compact()
            except StoreUnavailable:  # the other one's own merge
                thread.join(0.01)
        thread.join()
        settle_merges(other)
        sieve.compact()
        assert [1000] == [run.keys for run in runs_of(sieve)]
        assert [] == sieve.verify(deep=True)


def test_compact_writes_an_old_run_in_the_newest_format(tmp_path):
    shutil.copytree(Path(__file__).resolve().parents[3] / "golden/embedded-3", tmp_path / "store")
    with testing.open(str(tmp_path / "store"), clock=testing.VirtualClock()) as sieve:
        before = figures(sieve) | {"bytes": None}
        assert 1 in {run.version for _, run in opened(sieve)}
        sieve.compact()
        assert [2] == [run.version for _, run in opened(sieve)]
        assert before == figures(sieve) | {"bytes": None}
        assert [] == sieve.verify(deep=True)


def opened(sieve):
    with sieve._store._ledger.look() as tx:
        return list(tx.seen.runs)
