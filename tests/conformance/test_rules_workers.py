"""Two workers of one store, of which one has not heard yet that the rules have changed: it is told, and nothing goes by the old ones."""

import pytest

from changing_rules import DROP, HOSTS, apply, no_rules, rules, the_lease
from sieve_lab import states
from urlsieve import LeaseLost


def test_an_old_worker_offers_again_under_the_new_rules(shared):
    new, old = shared.open(keep_urls=True), shared.open()
    old.push("http://m.example.com/a")
    apply(new, HOSTS)
    assert ["seen", "seen", "new"] == old.push(["http://m.example.com/a", "http://m.example.com/a", "http://m.example.com/b"]).verdicts
    assert ["seen"] == new.push("http://www.example.com/b").verdicts
    new.suspend_rule("example.com", by="Bob", evidence="x")
    assert ["new", "seen", "seen"] == old.push(["http://www.example.com/b", "http://m.example.com/b", "http://m.example.com/a"]).verdicts


def test_an_old_worker_asks_and_forgets_under_the_new_rules(shared):
    new, old = shared.open(keep_urls=True), shared.open()
    apply(new, HOSTS)
    old.push(["http://m.example.com/a", "http://m.example.com/b"])
    no_rules(new)
    assert [True, False] == old.seen(["http://m.example.com/a", "http://www.example.com/a"])
    apply(new, HOSTS)
    assert 1 == old.forget(["http://www.example.com/a", "http://m.example.com/a"])
    no_rules(new)
    assert 0 == old.forget(["http://www.example.com/b"])
    assert 1 == old.forget(["http://m.example.com/b"])
    assert 0 == new.stats().seen


def test_an_old_worker_names_redirect_targets_by_the_new_rules(shared):
    new, old = shared.open(keep_urls=True), shared.open()
    new.push(["http://www.example.com/start", "http://x.org/start", "http://y.org/plain"])
    leases = old.pop(3)
    apply(new, HOSTS)
    outcomes = [{"final_url": "http://m.example.com/end"} if "start" in lease.url else {} for lease in leases]
    assert ["done"] * 3 == [old.done(lease, **outcome).state for lease, outcome in zip(leases, outcomes, strict=True)]
    assert [True, True] == new.seen(["http://www.example.com/end", "http://m.example.com/end"])
    assert (4, {"done": 4}) == (new.stats().accepted, states(new))
    no_rules(new)
    assert [True, False] == new.seen(["http://m.example.com/end", "http://www.example.com/end"])


def test_a_lease_of_an_old_worker_outlives_a_sweep(shared):
    new, old = shared.open(keep_urls=True), shared.open()
    apply(new, HOSTS)
    old.push(["http://m.example.com/a", "http://m.example.com/b"])
    one, other = old.pop(2)
    no_rules(new)
    assert old.extend(one, 100)
    assert "done" == old.done(one).state
    assert "dead" == old.fail(other, "no", status=403).state
    with pytest.raises(LeaseLost):
        old.done(one)
    assert [True, True, False, False] == new.seen([f"http://{host}.example.com/{path}" for host in ("m", "www") for path in "ab"])
    assert 1 == old.retry()


def test_an_old_list_of_failures_brings_nothing_back_under_a_shared_key(shared):
    new, old = shared.open(keep_urls=True), shared.open()
    apply(new, HOSTS)
    old.push("http://m.example.com/a")
    old.fail(the_lease(old), "no", status=403)
    found = list(old.failed())
    no_rules(new)
    assert 0 == old.retry(found)
    assert [False] == new.seen("http://www.example.com/a")
    assert 1 == old.retry()


def test_whoever_comes_second_changes_the_rules_of_the_first(shared):
    one, other = shared.open(), shared.open()
    apply(one, DROP)
    applied = other.apply_rules(rules(HOSTS, DROP), by="Bob")
    assert (2, ("example.com",)) == (applied.generation, applied.tightened)
    assert 2 == one.rules_history().generation
    assert one.rules == other.rules
