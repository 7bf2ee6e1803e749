"""The scope of a store's rules: what is left out is refused before the store, counted, and not marked seen."""

import pytest

from sieve_lab import pages, urls_of
from urlsieve import Rules, URLItem

RULES = """
[scope]
include_hosts = ["e.example"]
exclude_paths = ["/login*"]
exclude_extensions = ["zip"]
depth = 2

[[site]]
match = "shop.e.example"
[site.scope]
include_paths = ["/item/*"]
depth = 1
"""
WANTED = "http://e.example/a"
LEFT_OUT = [
    ("http://other.example/a", 0, "scope"),
    ("http://e.example/%6Cogin?x=1", 0, "scope"),
    ("http://e.example/a.ZIP", 0, "scope"),
    ("http://e.example/deep", 3, "depth"),
    ("http://shop.e.example/cart", 0, "rule"),
    ("http://shop.e.example/item/1", 2, "depth"),
]


@pytest.fixture
def scoped(sieve):
    sieve.apply_rules(Rules.parse(RULES))
    return sieve


@pytest.mark.parametrize("mode", ["new", "raise", "again"])
def test_what_is_out_of_scope_is_refused_with_its_reason(scoped, mode):
    items = [URLItem(url, depth=depth) for url, depth, _ in LEFT_OUT]
    report = scoped.push([WANTED, *items, "http://"], mode=mode)
    assert ["new", *(f"rejected:{reason}" for _, _, reason in LEFT_OUT), "rejected:host"] == report.verdicts
    assert {"scope": 3, "rule": 1, "depth": 2, "host": 1} == scoped.stats().rejected == report.reasons


def test_the_depth_of_the_call_counts_for_those_that_name_none(scoped):
    report = scoped.push([WANTED, URLItem("http://e.example/b", depth=2), "http://e.example/c"], depth=3)
    assert ["rejected:depth", "new", "rejected:depth"] == report.verdicts


def test_links_of_a_page_are_judged_one_deeper_than_the_page(scoped):
    scoped.push(WANTED, depth=1)
    (lease,) = scoped.pop()
    scoped.done(lease, links=["/b", "/login", "http://shop.e.example/item/2", "http://shop.e.example/x"])
    assert ["http://e.example/b"] == urls_of(scoped.pop(10))
    assert {"scope": 1, "depth": 1, "rule": 1} == scoped.stats().rejected


def test_what_was_refused_is_taken_by_a_wider_scope(scoped):
    scoped.push("http://other.example/a")
    assert [False] == scoped.seen("http://other.example/a")
    scoped.apply_rules(None)
    assert 1 == scoped.push("http://other.example/a").new


def test_questions_and_what_is_there_already_are_not_hindered(sieve):
    url = "http://other.example/a"
    sieve.push([url, "http://other.example/b"])
    sieve.apply_rules(Rules.parse(RULES))
    assert [True] == sieve.seen(url)
    assert "pending" == sieve.info(url).state
    assert ["rejected:scope"] == sieve.push(url).verdicts
    first, second = sieve.pop(2)
    sieve.done(first)
    sieve.fail(second, "no", status=403)
    assert ["requeued"] == sieve.revisit(url).verdicts
    assert 1 == sieve.retry()
    assert 1 == sieve.forget(url)
    assert 1 == sieve.mark("http://third.example/").new


def test_the_target_of_a_redirect_is_done_also_out_of_scope(scoped):
    scoped.push(WANTED)
    (lease,) = scoped.pop()
    scoped.done(lease, final_url="http://other.example/a", redirects=["http://e.example/login"])
    assert [True, True] == scoped.seen(["http://other.example/a", "http://e.example/login"])
    assert {"done": 3} == {name: many for name, many in scoped.stats().as_dict().items() if name == "done"}


def test_another_worker_judges_by_the_new_scope_at_its_next_push(shared):
    first, second = shared.open(), shared.open()
    first.apply_rules(Rules.parse(RULES))
    assert ["rejected:scope"] == second.push("http://other.example/a").verdicts


def test_a_suspended_rule_leaves_nothing_out(scoped):
    scoped.suspend_rule("shop.e.example", by="me")
    assert ["new"] == scoped.push("http://shop.e.example/cart").verdicts


def test_why_says_that_the_rules_leave_a_url_out(scoped):
    assert ("unseen", "scope") == scoped.why("http://shop.e.example/cart").reasons
    assert ("unseen",) == scoped.why(WANTED).reasons


def test_without_a_scope_only_limits_nothing_is_judged(sieve):
    sieve.apply_rules(Rules.parse("[scope]\nlimits = { job = { urls = 5 } }\n"))
    assert sieve._opened.form.scope is None
    assert 3 == sieve.push(pages(3), depth=99).new
