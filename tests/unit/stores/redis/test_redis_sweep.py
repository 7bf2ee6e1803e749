"""A change of rules on many shards, stopped, cut, doubled or rolled back at any of its steps: it is finished, once, and nothing is lost."""

import time

import pytest

import redis_server
import urlsieve
from changing_rules import DROP, HOSTS, apply, no_rules, rules
from redis_server import RedisServer
from sieve_lab import check_conservation, states
from tcp_proxy import Proxy
from urlsieve import testing
from urlsieve.stores.redis import sweep
from urlsieve.stores.redis.job import Job
from urlsieve.stores.redis.wire import Wire

M = [f"http://m.example.com/{n}" for n in range(4)]
WWW = [f"http://www.example.com/{n}" for n in range(4)]


@pytest.fixture
def address():
    yield redis_server.shared().address
    redis_server.forget_all()


class Stop(BaseException):
    """Stands for the end of a worker: nothing in the library handles it."""


def fill(sieve):
    """Under a rule that makes m www: entries in every state, and one that is only known."""
    apply(sieve, HOSTS)
    sieve.push(M)
    sieve.mark([f"{M[0]}/known", "http://other.org/known"], known=True)
    one, other, third = sieve.pop(3)
    sieve.done(one)
    sieve.fail(other, "no", status=403)
    return third


def check(sieve, lease):
    """The rule is gone: each is what its text says."""
    assert sieve.rules is None
    assert [True] * 4 == sieve.seen(M)
    assert [False] * 4 == sieve.seen(WWW)
    assert [False, True] == sieve.seen([f"{WWW[0]}/known", "http://other.org/known"])
    assert "done" == sieve.done(lease).state
    assert {"pending": 1, "done": 2, "dead": 1} == states(sieve)
    check_conservation(sieve)


def test_whoever_comes_next_finishes_what_was_stopped_at_any_step(address, monkeypatch):
    """Every time that it would ask the server: before it does, and when it has."""
    real = Wire.ask
    at, stopped = 0, True
    while stopped:
        for after in (False, True):
            name = address(f"stop-{at}-{after}", shards=3)
            applier = testing.open(name, clock=testing.VirtualClock(), keep_urls=True)
            lease = fill(applier)
            old = testing.open(name, clock=testing.VirtualClock())
            left = [at]

            def ask(self, calls, left=left, after=after, applier=applier, **options):
                if self is not applier._store._job.wire:
                    return real(self, calls, **options)
                left[0] -= 1
                if left[0] < 0 and not after:
                    raise Stop
                found = real(self, calls, **options)
                if left[0] < 0:
                    raise Stop
                return found

            monkeypatch.setattr(Wire, "ask", ask)
            try:
                no_rules(applier)
                stopped = False
            except Stop:
                stopped = True
            monkeypatch.setattr(Wire, "ask", real)
            fresh = testing.open(name, clock=testing.VirtualClock())
            if fresh.rules is not None:  # it was stopped before anything was changed
                assert 1 == fresh.rules_history().generation
                no_rules(fresh)
            # who has not heard of it yet names its URLs anew
            assert ["seen"] * 4 + ["new"] == old.push([*M, "http://m.example.com/5"]).verdicts
            assert 1 == old.forget("http://m.example.com/5")
            check(fresh, lease)
            for sieve in (applier, old, fresh):
                sieve.close()
        at += 1
    assert at > 15


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_cut_at_any_step_of_it_changes_nothing(when):
    proxy = Proxy(redis_server.shared().port)
    try:
        at, cut = 0, True
        while cut:
            with testing.open(
                f"redis://127.0.0.1:{proxy.port}/0?job=cut-{at}&patience=20&shards=2", clock=testing.VirtualClock(), keep_urls=True
            ) as sieve:
                lease = fill(sieve)
                before = proxy.cuts
                proxy.cut(when, at)
                assert 2 == no_rules(sieve).generation
                cut = proxy.cuts > before
                proxy.cut(when, 1 << 30)
                assert ["apply"] * 2 == [change.what for change in sieve.rules_history().changes]
                check(sieve, lease)
            at += 2
        assert at > 15
    finally:
        proxy.close()
        redis_server.forget_all()


@pytest.mark.parametrize("what", ["suspend_rule", "resume_rule"])
def test_a_change_whose_answer_is_lost_is_not_taken_for_somebody_elses(what):
    proxy = Proxy(redis_server.shared().port)
    try:
        address = f"redis://127.0.0.1:{proxy.port}/0?job=answer&patience=20&shards=2"
        with urlsieve.open(address) as sieve:
            apply(sieve, HOSTS)
            if what == "resume_rule":
                sieve.suspend_rule("example.com", by="Bob", evidence="x")
            generation = sieve.rules_history().generation
            for skip in range(24):
                proxy.cut("after", skip)
                getattr(sieve, what)("example.com", by="Bob", evidence="x")
                proxy.cut("after", 1 << 30)
                other = "resume_rule" if what == "suspend_rule" else "suspend_rule"
                getattr(sieve, other)("example.com", by="Bob", evidence="x")
                generation += 2
                assert generation == sieve.rules_history().generation
    finally:
        proxy.close()
        redis_server.forget_all()


def test_a_slower_sweeper_forgets_nothing_that_was_pushed_since(address, monkeypatch):
    """It has looked, and stops; another finishes, and pages come in at the very places that it wants to clear."""
    name = address("slow", shards=1)
    slow = testing.open(name, clock=testing.VirtualClock(), keep_urls=True)
    lease = fill(slow)
    fast = testing.open(name, clock=testing.VirtualClock())
    real, calls = sweep._apply, []

    def apply_slowly(*arguments, **options):
        if not calls:
            calls.append(1)
            assert fast.rules is None
            fast.mark([f"{WWW[0]}/known"], known=True)
            assert 4 == fast.push(WWW).new
        calls.append(real(*arguments, **options))
        return calls[-1]

    monkeypatch.setattr(sweep, "_apply", apply_slowly)
    no_rules(slow)
    assert None in calls  # refused
    assert [True] * 8 == slow.seen(M + WWW)
    assert [True] == slow.seen(f"{WWW[0]}/known")
    assert {"pending": 5, "leased": 1, "done": 1, "dead": 1} == states(slow)
    assert "done" == slow.done(lease).state
    check_conservation(fast)


def test_two_who_sweep_at_once_do_no_harm(address, monkeypatch):
    """Each step of one between two of the other."""
    name = address("two", shards=1)
    one = testing.open(name, clock=testing.VirtualClock(), keep_urls=True)
    lease = fill(one)
    one.push([f"http://m.example.com/many{n}" for n in range(50)])
    other = testing.open(name, clock=testing.VirtualClock())
    monkeypatch.setattr(sweep, "SLICE", 7)
    real, inside = sweep._apply, []

    def apply_twice(job, *arguments, **options):
        found = real(job, *arguments, **options)
        if not inside and job is one._store._job:
            inside.append(1)
            real(other._store._job, *arguments, **options)  # the very same again, by another
            inside.pop()
        return found

    monkeypatch.setattr(sweep, "_apply", apply_twice)
    no_rules(one)
    assert 50 == one.forget([f"http://m.example.com/many{n}" for n in range(50)])
    check(other, lease)


def test_what_loses_its_text_while_it_is_swept_is_moved_or_forgotten(address, monkeypatch):
    name = address("text", shards=1)
    one = testing.open(name, clock=testing.VirtualClock(), keep_urls=False)
    other = testing.open(name, clock=testing.VirtualClock())
    apply(one, HOSTS)
    one.push(M)
    leases = other.pop(2)
    real = sweep._apply

    def apply_late(*arguments, **options):
        if leases:
            other.done([leases.pop(), leases.pop()])
        return real(*arguments, **options)

    monkeypatch.setattr(sweep, "_apply", apply_late)
    applied = no_rules(one)
    assert (2, 2) == (applied.swept.forgotten, applied.swept.moved)
    assert [False] * 4 == one.seen(WWW)
    assert [2, {"pending": 2}] == [sum(one.seen(M)), states(one)]
    check_conservation(one)


def test_a_page_taken_by_a_shard_that_had_not_heard_is_told_as_new(address, monkeypatch):
    """Somebody replaced the rules and was stopped before all shards were told."""
    name = address("half")
    new, old = testing.open(name, clock=testing.VirtualClock()), testing.open(name, clock=testing.VirtualClock())
    hosts = [f"http://h{n}.example/" for n in range(100)]
    old.push(hosts[:1])
    monkeypatch.setattr(Job, "tell", lambda self: None)
    assert new._store.replace_rules(rules(DROP).text, 0, 0.0) is not None
    monkeypatch.undo()
    assert ["new"] == new.push(hosts[1]).verdicts  # its shard hears of it
    report = old.push(hosts)
    assert (98, 2) == (report.new, report.seen)
    assert ["seen", "seen", *["new"] * 98] == report.verdicts
    assert 100 == new.stats().accepted
    assert 1 == old._opened.form.generation


@pytest.mark.crash
@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_server_that_loses_the_newest_steps_of_a_sweep_is_swept_again(monkeypatch, step):
    """Back to the moment at which the rules were replaced, when some slices, or all, are done."""
    server = RedisServer().start()
    try:
        with testing.open(server.address("back", shards=2, patience=20), clock=testing.VirtualClock(), keep_urls=True) as sieve:
            lease = fill(sieve)
            old = testing.open(server.address("back"), clock=testing.VirtualClock())
            real, done, copies = sweep._apply, [], []

            def copy():
                with server.client() as client:
                    client.bgrewriteaof()
                    while client.info("persistence")["aof_rewrite_in_progress"]:
                        time.sleep(0.02)
                copies.append(server.copy())

            def apply_and_lose(*arguments, **options):
                if not done:
                    copy()
                done.append(1)
                found = real(*arguments, **options)
                if len(done) == step + 1:
                    server.kill()
                    server.put_back(copies[0])
                    server.start()
                return found

            monkeypatch.setattr(sweep, "_apply", apply_and_lose)
            no_rules(sieve)
            assert len(done) > step + 1
            assert ["seen"] * 4 == old.push(M).verdicts
            check(sieve, lease)
            assert 1_000_000 < sieve.rules_history().generation
            old.close()
    finally:
        server.close()
