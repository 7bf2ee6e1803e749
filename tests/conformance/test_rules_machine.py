"""Rules come, change, are suspended and go while two workers push, fetch and forget: hypothesis chooses, and a model knows the truth.

The model knows of every URL that was accepted and not forgotten, and what each set of rules so far makes of it. Then:
- a page is seen only if a URL was accepted that is the same page under the rules of now;
- in the end, when all that waits is fetched, every page that is seen was fetched, or marked: none is seen in vain;
- nothing that was accepted is lost: it was fetched, or a URL that some rules since then made the same page, or one that later rules made
  the same page as that;
- counts and enumeration agree after every change of rules.
"""

import json
import shutil
import tempfile
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

import redis_server
from changing_rules import rules
from sieve_lab import STORES, address_of, check_conservation, drain
from urlsieve import Canonicalizer, testing
from urlsieve.stores.embedded import sweep

URLS = [
    f"http://{host}.example.com/{path}{query}"
    for host, path, query in product(("www", "m", "n"), ("x", "X"), ("", "?a=1", "?b=1", "?a=1&b=1", "?a=2"))
]
MAPS = ["", '"m.example.com" = "www.example.com"', '"www.example.com" = "m.example.com"', '"m.example.com" = "n.example.com"']
MAPS.append('"m.example.com" = "www.example.com", "n.example.com" = "www.example.com"')
sets = st.none() | st.tuples(st.sets(st.sampled_from(["a", "b"])).map(sorted), st.sampled_from(MAPS), st.booleans())


def made(drop, hosts, small):
    return rules(f"drop = {json.dumps(drop)}", *([f"hosts = {{ {hosts} }}"] if hosts else []), *(['path_case = "lower"'] if small else []))


some = st.lists(st.sampled_from(URLS), min_size=1, max_size=6)
who = st.integers(0, 1)


class Crawl(RuleBasedStateMachine):
    name = "memory"

    @initialize(keep_urls=st.booleans())
    def start(self, keep_urls):
        self.place = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None, prefix="urlsieve-machine-"))
        self.clock = testing.VirtualClock()
        address = address_of(self.name, self.place)
        options = {**STORES[self.name], "keep_urls": keep_urls, "backoff": 50.0, "max_attempts": 2}
        opened = [testing.open(address, clock=self.clock, seed=seed, **options) for seed in range(1 if self.name == "memory" else 2)]
        self.sieves = [opened[0], opened[-1]]
        self.key = Canonicalizer().canonicalize
        self.keys = [self.key]  # of each set of rules so far
        self.accepted = {}  # URL → how many sets of rules there were then
        self.owed = {}  # the same, without those that may have been forgotten as another
        self.fetched = {}
        self.out = []

    @rule(one=who, wanted=sets)
    def change(self, one, wanted):
        now = None if wanted is None else made(*wanted)
        self.sieves[one].apply_rules(now, by="Ann")
        self._changed(now)

    @rule(one=who, what=st.sampled_from(["suspend_rule", "resume_rule"]))
    def hold(self, one, what):
        now = self.sieves[one].rules
        if now is None or not now.rules or (what == "resume_rule") != bool(now.rules[0].suspended):
            return
        getattr(self.sieves[one], what)("example.com", by="Bob", evidence="x")
        self._changed(self.sieves[one].rules)

    def _changed(self, now):
        self.key = Canonicalizer(rules=now).canonicalize
        self.keys.append(self.key)
        check_conservation(self.sieves[0])

    @rule(one=who, urls=some, mode=st.sampled_from(["new", "new", "raise", "again"]), priority=st.integers(0, 2))
    def push(self, one, urls, mode, priority):
        verdicts = self.sieves[one].push(urls, mode=mode, priority=priority).verdicts
        new = {url: len(self.keys) for url, verdict in zip(urls, verdicts, strict=True) if verdict == "new"}
        self.owed.update(new)
        # what comes back without the text that it had has this one from now on
        self.accepted.update(new | {url: len(self.keys) for url, verdict in zip(urls, verdicts, strict=True) if verdict == "requeued"})
        assert {self.key(url) for url in urls} <= self._pages(), "seen, but no page of it was taken"

    @rule(one=who, urls=some, known=st.booleans())
    def mark(self, one, urls, known):
        for url, verdict in zip(urls, self.sieves[one].mark(urls, known=known).verdicts, strict=True):
            if verdict == "new":
                self.accepted[url] = self.fetched[url] = len(self.keys)

    @rule(one=who, limit=st.integers(1, 4))
    def pop(self, one, limit):
        self.out += self.sieves[one].pop(limit, lease=10_000.0)

    @rule(one=who, how=st.sampled_from(["done", "done", "dead", "fail", "release"]), final=st.none() | st.sampled_from(URLS))
    def settle(self, one, how, final):
        if not self.out:
            return
        lease = self.out.pop(0)
        sieve = self.sieves[one]
        if how == "done":
            (found,) = sieve.done([lease], final_url=final)
            if found.state == "done" and final is not None:
                self.accepted[final] = self.fetched[final] = len(self.keys)
        elif how == "dead":
            (found,) = sieve.fail([lease], "no", status=403)
        elif how == "fail":
            (found,) = sieve.fail([lease], "broken", status=500)
        else:
            (found,) = sieve.release([lease])
        if found.state in ("done", "dead"):
            self.fetched[lease.url] = len(self.keys)

    @rule(one=who, url=st.sampled_from(URLS))
    def forget(self, one, url):
        self.sieves[one].forget(url)
        assert [False] == self.sieves[one].seen(url)
        same = [other for other in URLS if self.key(other) == self.key(url)]
        # one may be seen under a key that earlier rules gave it and not the one that was named, if no text told so
        gone = {other for other, seen in zip(same, self.sieves[one].seen(same), strict=True) if not seen}
        for known in (self.accepted, self.fetched):
            for other in gone & known.keys():
                del known[other]
        self.owed = {other: then for other, then in self.owed.items() if not gone & self._stand_for(other, then)}

    @rule(one=who)
    def ask(self, one):
        pages = self._pages()
        for url, seen in zip(URLS, self.sieves[one].seen(URLS), strict=True):
            assert not seen or self.key(url) in pages, f"{url} is seen, but no page of it was taken"

    @rule(one=who, seconds=st.sampled_from([60, 20_000]))
    def wait(self, one, seconds):
        self.clock.advance(seconds)
        self.out += self.sieves[one].pop(1, lease=10_000.0)

    def _pages(self):
        return {self.key(url) for url in self.accepted}

    def _stand_for(self, url, then):
        """URLs by which it may have been replaced since."""
        reached = {url}
        for key in self.keys[then - 1 :]:
            pages = {key(other) for other in reached}
            reached |= {other for other in URLS if key(other) in pages}
        return reached

    def teardown(self):
        if not hasattr(self, "sieves"):
            return
        try:
            for sieve in self.sieves:
                check_conservation(sieve)
            self.clock.advance(100_000)
            drain(self.sieves[0], self.clock, lambda sieve, lease: self.fetched.update({lease.url: len(self.keys)}) or sieve.done(lease))
            self.fetched.update({dead.url: len(self.keys) for dead in self.sieves[0].failed()})  # given too often
            pages = {self.key(url) for url in self.fetched}
            for url, seen in zip(URLS, self.sieves[0].seen(URLS), strict=True):
                assert not seen or self.key(url) in pages, f"{url} is seen, but no page of it was fetched"
            for url, then in self.owed.items():
                assert self._stand_for(url, then) & self.fetched.keys(), f"{url} was accepted and is lost"
            check_conservation(self.sieves[1])
        finally:
            for sieve in self.sieves:
                sieve.close()
            shutil.rmtree(self.place, ignore_errors=True)
            redis_server.forget_all()


@pytest.mark.parametrize("name", ["memory", "embedded", "embedded-slices", "redis"])
def test_no_page_is_lost_and_none_is_seen_that_nobody_took(name, monkeypatch):
    if name == "embedded-slices":
        name = "embedded"
        monkeypatch.setattr(sweep, "SLICE", 1)
        monkeypatch.setattr(sweep, "LOOK", 2)
    machine = type(f"Crawl_{name}", (Crawl,), {"name": name})
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40 if settings.get_current_profile_name() == "ci" else 2_000,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=slow,
            print_blob=True,
            report_multiple_bugs=False,
        ),
    )
