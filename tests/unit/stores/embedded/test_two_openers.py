"""Two openers of one store against a dictionary, with runs and merges at any moment: whatever one does the other sees, and backup, restore
and a move by entries carry it all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sieve_lab import check_conservation, states
from urlsieve import LeaseLost, StoreUnavailable, URLItem, opening, testing
from urlsieve.stores.embedded import merging

RAM = Path("/dev/shm")
HOSTS = ("a.example", "b.example", "c.example")
URLS = [f"http://{host}/{number}" for host in HOSTS for number in range(7)]
QUEUED = ("pending", "leased", "delayed")
LONG = os.environ.get("URLSIEVE_HYPOTHESIS") == "long"
who = st.integers(0, 1)
some_urls = st.lists(st.sampled_from(URLS), min_size=1, max_size=6)


class TwoOpeners(RuleBasedStateMachine):
    keep_urls = True

    def __init__(self) -> None:
        super().__init__()
        self.longest, merging.LONGEST_JOURNAL = merging.LONGEST_JOURNAL, 6
        self.place = Path(tempfile.mkdtemp(dir=RAM if RAM.is_dir() else None, prefix="urlsieve-test-"))
        self.clock = testing.VirtualClock()
        self.model: dict[str, str] = {}
        self.leases: dict[str, object] = {}  # url → its current lease
        self.saved: dict[str, str] | None = None
        self.sieves = [self.open(), self.open()]

    def open(self):
        options = {"durability": "normal", "keep_urls": self.keep_urls}
        return testing.open(self.place / "store", clock=self.clock, seed=len(URLS), **options)

    def teardown(self) -> None:
        for sieve in self.sieves:
            sieve.close()
        with self.open() as last:
            check_conservation(last)
        shutil.rmtree(self.place)
        merging.LONGEST_JOURNAL = self.longest

    @rule(i=who, batch=some_urls, mode=st.sampled_from(["new", "raise"]), priority=st.integers(0, 3))
    def push(self, i: int, batch: list[str], mode: str, priority: int) -> None:
        assert len(set(batch) - set(self.model)) == self.sieves[i].push(batch, mode=mode, priority=priority).new
        for url in batch:
            if self.model.setdefault(url, "pending") == "delayed" and mode == "raise":
                self.model[url] = "pending"

    @rule(i=who, url=st.sampled_from(URLS), later=st.booleans())
    def again(self, i: int, url: str, later: bool) -> None:
        self.sieves[i].push([URLItem(url, due=self.clock.now + 1000 if later else None)], mode="again")
        had = self.model.get(url)
        if had == "leased":
            self.sieves[i].forget(url)  # when it returns is tested elsewhere
            del self.model[url], self.leases[url]
        elif had not in ("pending", "delayed"):
            self.model[url] = "delayed" if later else "pending"
        elif had == "delayed" and not later:
            self.model[url] = "pending"

    @rule(i=who, batch=some_urls, known=st.booleans())
    def mark(self, i: int, batch: list[str], known: bool) -> None:
        self.sieves[i].mark(batch, known=known)
        for url in batch:
            self.model.setdefault(url, "known" if known else "done")

    @rule(i=who, many=st.integers(1, 5))
    def pop(self, i: int, many: int) -> None:
        leases = self.sieves[i].pop(many, lease=1e9)
        waiting = [url for url, state in self.model.items() if state == "pending"]
        assert min(many, len(waiting)) == len(leases)
        for lease in leases:
            assert "pending" == self.model[lease.url]
            self.model[lease.url], self.leases[lease.url] = "leased", lease

    @precondition(lambda self: self.leases)
    @rule(i=who, data=st.data(), how=st.sampled_from(["done", "skip", "release", "dead", "target"]))
    def settle(self, i: int, data: st.DataObject, how: str) -> None:
        url = data.draw(st.sampled_from(sorted(self.leases)))
        lease, sieve = self.leases.pop(url), self.sieves[i]
        if how == "dead":
            sieve.fail(lease, "no", status=403)
        elif how == "target":
            target = data.draw(st.sampled_from(URLS))
            sieve.done(lease, final_url=target)
            if target != url and self.model.get(target) != "leased":
                self.model[target] = "done"
        else:
            {"done": sieve.done, "release": sieve.release}.get(how, lambda one: sieve.skip(one, "type"))(lease)
        self.model[url] = {"dead": "dead", "release": "pending"}.get(how, "done")

    @rule(i=who, batch=some_urls)
    def forget(self, i: int, batch: list[str]) -> None:
        gone = set(batch) & set(self.model)
        assert len(gone) == self.sieves[i].forget(batch)
        self.lose(gone)

    @rule(i=who, host=st.sampled_from(HOSTS))
    def purge(self, i: int, host: str) -> None:
        gone = {url for url in self.model if url.split("/")[2] == host}
        assert len(gone) == self.sieves[i].purge(host)
        self.lose(gone)

    def lose(self, gone: set[str]) -> None:
        for url in gone:
            del self.model[url]
            if lease := self.leases.pop(url, None):
                try:
                    self.sieves[0].done(lease)
                except LeaseLost:
                    continue
                raise AssertionError(f"the lease of the forgotten {url} was taken back")

    @rule(i=who, everything=st.booleans())
    def merge(self, i: int, everything: bool) -> None:
        merging = self.sieves[i]._store._merging
        if everything:
            merging.compact()
        else:
            merging.merge()

    @rule(i=who)
    def reopen(self, i: int) -> None:
        self.sieves[i].close()
        self.sieves[i] = self.open()

    @rule(i=who)
    def backup(self, i: int) -> None:
        shutil.rmtree(self.place / "copy", ignore_errors=True)
        self.sieves[i].backup(self.place / "copy")
        self.saved = dict(self.model)

    @precondition(lambda self: self.saved is not None)
    @rule()
    def restore(self) -> None:
        opening.restore(self.place / "copy", self.place / "store", force=True)
        assert self.saved is not None
        for number, sieve in enumerate(self.sieves):
            for call in (lambda one: one.seen(URLS), lambda one: one.push(URLS), lambda one: one.stats()):
                try:
                    call(sieve)
                except StoreUnavailable:
                    continue
                raise AssertionError("who had the replaced store open was not told")
            sieve.close()
            self.sieves[number] = self.open()
        self.model, self.leases = dict(self.saved), {}
        # nobody has the leases of the copy: they come back at their deadline, which is far
        with_lease = [url for url, state in self.model.items() if state == "leased"]
        assert len(with_lease) == self.sieves[0].forget(with_lease)
        for url in with_lease:
            del self.model[url]

    @rule(i=who)
    def move(self, i: int) -> None:
        """Into a store in memory: all is there, in its state; a leased one waits."""
        entries = list(self.sieves[i].entries())
        assert len(self.model) == len({entry.fingerprint for entry in entries}) == len(entries)
        header = self.sieves[i]._store.header
        with testing.open("memory:", clock=self.clock, secret=header.secret, keep_urls=self.keep_urls) as other:
            other.admit(entries)
            moved = {url: "pending" if state == "leased" else state for url, state in self.model.items()}
            assert moved == {url: other.info(url).state for url in URLS if other.seen(url)[0]}
            check_conservation(other)

    @invariant()
    def both_know_what_the_dictionary_knows(self) -> None:
        for sieve in self.sieves:
            assert [url in self.model for url in URLS] == sieve.seen(URLS)
        expected: dict[str, int] = {}
        for state in self.model.values():
            if state != "known":
                expected[state] = expected.get(state, 0) + 1
        assert expected == states(self.sieves[0])
        rows = {row.name: row.seen for row in self.sieves[1].sites() if row.seen}
        assert rows == {host: many for host in HOSTS if (many := sum(url.split("/")[2] == host for url in self.model))}


class TwoOpenersWithoutTexts(TwoOpeners):
    keep_urls = False


#: Not shrunk: a step is a dozen calls on files, and a failure says its steps anyway.
_SETTINGS = settings(max_examples=1500 if LONG else 20, stateful_step_count=60 if LONG else 40, deadline=None, phases=[Phase.generate])
TestTwoOpeners, TestTwoOpenersWithoutTexts = TwoOpeners.TestCase, TwoOpenersWithoutTexts.TestCase
TestTwoOpeners.settings = TestTwoOpenersWithoutTexts.settings = _SETTINGS
