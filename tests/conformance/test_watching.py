"""One page in a hundred of what a confirmed rule merges is fetched under all its addresses: a rule that is wrong is suspended; on every store."""

import logging
import threading

import pytest

import urlsieve
from sieve_lab import check_conservation, drain, states
from urlsieve import Outcome, Rules
from urlsieve.watching import REMEMBERED, chosen

RULES = """\
[[site]]
match = "a.example"
hosts = { "m.a.example" = "www.a.example" }
https = "merge"
path_case = "lower"
confirmed = { by = "Ann", at = 2026-11-30 }
"""
#: Numbers of pages whose addresses are all fetched, and of some that are not.
CHOSEN = [number for number in range(2000) if chosen(f"https://www.a.example/p{number}")]
OTHERS = [number for number in range(2000) if number not in CHOSEN]


def www(number):
    return f"https://www.a.example/p{number}"


def mobile(number):
    return f"https://m.a.example/p{number}"


@pytest.fixture
def ruled(sieve):
    sieve.apply_rules(Rules.parse(RULES), by="Ann")
    return sieve


def fetched(sieve, content, **settled):
    """Everything that waits is done; which URLs these were."""
    urls = []
    while leases := sieve.pop(100):
        urls += [lease.url for lease in leases]
        sieve.settle([(lease, Outcome("done", signature=content(lease.url), **settled)) for lease in leases])
    return urls


def page(url):
    return "page" + url.rpartition("/")[2]


def test_one_page_in_a_hundred_is_chosen():
    assert 10 <= len(CHOSEN) <= 32
    many = sum(chosen(f"http://h{number % 97}.example/{number}") for number in range(100_000))
    assert 850 <= many <= 1150


def test_a_chosen_page_is_fetched_under_all_its_addresses_and_no_other_is(ruled):
    numbers = [*CHOSEN, *OTHERS[:200]]
    assert len(numbers) == ruled.push([www(number) for number in numbers]).new
    report = ruled.push([mobile(number) for number in numbers], meta={"mine": 1})
    assert (0, len(numbers)) == (report.new, report.seen)
    assert {"pending": len(numbers) + len(CHOSEN)} == states(ruled)
    found = {lease.url: lease.meta for lease in ruled.pop(1000, groups=["m.a.example"])}
    assert {mobile(number): {"mine": 1} for number in CHOSEN} == found


def test_a_watched_address_is_taken_once_and_for_links_too(ruled):
    ruled.push(www(CHOSEN[0]))
    (lease,) = ruled.pop(1)
    ruled.done(lease, links=[mobile(CHOSEN[0]), mobile(CHOSEN[0])])
    ruled.push([mobile(CHOSEN[0])])
    assert {"pending": 1, "done": 1} == states(ruled)


def test_what_is_only_marked_is_not_watched(ruled):
    ruled.mark([www(CHOSEN[0]), mobile(CHOSEN[0])])
    assert {"done": 1} == states(ruled)


def test_a_page_that_only_the_merged_address_names_is_fetched_once(ruled):
    ruled.push([mobile(CHOSEN[0])])
    ruled.push([www(CHOSEN[0])])
    assert {"pending": 1} == states(ruled)


def test_equal_pages_are_counted_for_the_rule(ruled):
    ruled.push([www(number) for number in CHOSEN])
    ruled.push([mobile(number) for number in CHOSEN])
    fetched(ruled, page)
    assert {"a.example": len(CHOSEN)} == dict(ruled.proposals().verified)
    assert f"# The rule a.example: {len(CHOSEN)} merged pages fetched all the same, and equal" in ruled.proposed_rules()
    assert None is ruled.rules.rules[0].suspended


@pytest.mark.parametrize("first", ["page", "merged"])
def test_one_page_that_differs_suspends_the_rule_and_says_so(ruled, first, caplog):
    number = CHOSEN[0]
    ruled.push([www(number)])
    ruled.push([mobile(number), mobile(OTHERS[0]), www(OTHERS[0])])
    leases = sorted(ruled.pop(10), key=lambda lease: lease.url.startswith("https://m.") == (first == "page"))
    generation = ruled.rules_history().generation
    with caplog.at_level(logging.WARNING, "urlsieve"):
        for lease in leases:
            ruled.done(lease, signature=lease.url)
    said = f"{mobile(number)} and {www(number)}" if first == "page" else f"{www(number)} and {mobile(number)}"
    assert [f"the rule a.example is suspended: {said} are one page under it, and had different contents"] == [
        r.getMessage() for r in caplog.records
    ]
    (rule,) = ruled.rules.rules
    assert ("urlsieve", True) == (rule.suspended.by, number in CHOSEN)
    assert generation + 1 == ruled.rules_history().generation
    last = ruled.rules_history().changes[-1]
    assert ("suspend", "urlsieve", "a.example") == (last.what, last.by, last.match)
    assert 1 == ruled.stats().as_dict()["canonical"]["rules_suspended"]
    assert [one.what for one in ruled.doctor() if one.level == "warn" and "a.example is suspended" in one.what]


def test_a_site_that_changes_is_noticed_and_no_page_is_lost(ruled, clock):
    numbers = [*CHOSEN, *OTHERS[:300]]
    ruled.push([www(number) for number in numbers])
    ruled.push([mobile(number) for number in numbers])
    first = fetched(ruled, lambda url: url)  # m. has pages of its own now
    assert ruled.rules.rules[0].suspended is not None
    ruled.push([www(number) for number in numbers] + [mobile(number) for number in numbers])
    again = fetched(ruled, lambda url: url)
    assert {url(number) for number in numbers for url in (www, mobile)} <= {*first, *again}
    if ruled.policy.keep_urls:  # else nobody knows what the fingerprints of before stand for, and they are forgotten
        assert sorted([*first, *again]) == sorted(url(number) for number in numbers for url in (www, mobile))
    check_conservation(ruled)


def test_a_redirect_to_the_page_counts_as_equal(ruled):
    ruled.push([www(number) for number in CHOSEN])
    ruled.push([mobile(number) for number in CHOSEN])
    drain(ruled, None, lambda sieve, lease: sieve.done(lease, final_url=lease.url.replace("//m.", "//www.")))
    assert {"a.example": len(CHOSEN)} == dict(ruled.proposals().verified)


def test_errors_blocks_and_pages_without_signature_prove_nothing(ruled):
    ruled.push([www(number) for number in CHOSEN])
    ruled.push([mobile(number) for number in CHOSEN])
    for at, lease in enumerate(sorted(ruled.pop(1000), key=lambda lease: lease.url)):
        if "//m." in lease.url:
            ruled.settle(
                [
                    (
                        lease,
                        [
                            Outcome(status=404, signature="x"),
                            Outcome(status=500, signature="y"),
                            Outcome(),
                            Outcome(status=304, signature="z"),
                        ][at % 4],
                    )
                ]
            )
        else:
            ruled.done(lease, signature=page(lease.url))
    assert (None, {}) == (ruled.rules.rules[0].suspended, dict(ruled.proposals().verified))


def test_a_page_that_changes_by_itself_and_one_of_long_ago_are_compared_with_nothing(ruled, clock):
    changing, old = CHOSEN[:2]
    for signature in ("one", "two"):
        ruled.revisit([www(changing)])
        fetched(ruled, lambda url, signature=signature: signature)
    ruled.push([www(old)])
    fetched(ruled, lambda url: "then")
    clock.advance(REMEMBERED + 1)
    ruled.push([mobile(changing), mobile(old)])
    assert 2 == len(fetched(ruled, lambda url: "now"))
    assert None is ruled.rules.rules[0].suspended


def test_two_merged_addresses_are_compared_with_each_other_where_the_page_never_came(ruled):
    number = CHOSEN[0]
    ruled.push([mobile(number)])
    ruled.push([f"http://m.a.example/p{number}"])
    assert 2 == len(fetched(ruled, lambda url: url))
    assert ruled.rules.rules[0].suspended is not None


def test_forget_and_purge_take_watched_addresses_along(ruled):
    ruled.push([www(number) for number in CHOSEN])
    ruled.push([mobile(number) for number in CHOSEN])
    assert 1 == ruled.forget([mobile(CHOSEN[0])])
    assert {"pending": 2 * len(CHOSEN) - 2} == states(ruled)
    ruled.purge("www.a.example")
    assert {} == states(ruled)


def test_a_change_of_the_rules_leaves_no_address_and_no_page_behind(ruled):
    ruled.push([www(number) for number in CHOSEN])
    ruled.push([mobile(number) for number in CHOSEN])
    ruled.apply_rules(Rules.parse(RULES.replace('path_case = "lower"\n', 'drop = ["sid"]\n')), by="Ann")
    assert [True] * 2 == ruled.seen([www(CHOSEN[0]), mobile(CHOSEN[0])])
    ruled.suspend_rule("a.example", by="Bob")
    ruled.push([www(number) for number in CHOSEN] + [mobile(number) for number in CHOSEN])
    urls = fetched(ruled, lambda url: url)
    assert {url(number) for number in CHOSEN for url in (www, mobile)} == set(urls)


@pytest.mark.parametrize("text", ["# a line more\n" + RULES, RULES + "[scope]\ndepth = 3\n"])
def test_it_does_not_matter_on_which_line_a_rule_stands_in_its_file(sieve, text):
    sieve.apply_rules(Rules.parse(text), by="Ann")
    sieve.push([www(CHOSEN[0]), mobile(CHOSEN[0])])
    assert 2 == len(fetched(sieve, lambda url: url))
    assert 1 == sieve.rules.counts.suspended
    check_conservation(sieve)


def test_two_workers_that_find_it_out_at_once_suspend_it_once(shared):
    workers = [shared.open(), shared.open()]
    workers[0].apply_rules(Rules.parse(RULES), by="Ann")
    for worker in workers:
        worker.push([www(number) for number in CHOSEN])
        worker.push([mobile(number) for number in CHOSEN])
    halves = [workers[0].pop(1000, groups=["www.a.example"]), workers[1].pop(1000, groups=["m.a.example"])]
    assert [len(CHOSEN)] * 2 == [len(leases) for leases in halves]
    errors = []

    def work(worker, leases):
        try:
            worker.settle([(lease, Outcome("done", signature=lease.url)) for lease in leases])
        except urlsieve.UrlsieveError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(workers, halves, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == errors
    history = workers[0].rules_history()
    assert ["apply", "suspend"] == [change.what for change in history.changes]
    if workers[0].policy.keep_urls:
        assert {"done": 2 * len(CHOSEN)} == states(workers[1])


def test_an_export_carries_watched_addresses_as_what_they_are(ruled, other_store):
    ruled.push([www(number) for number in CHOSEN])
    fetched(ruled, page)
    ruled.push([mobile(number) for number in CHOSEN])
    report = other_store.import_lines(line.rstrip(b"\n") for line in ruled.export())
    assert (None, 0) == (report.incomplete, report.rejected)
    assert {"pending": len(CHOSEN), "done": len(CHOSEN)} == states(other_store) == states(ruled)
    assert {mobile(number) for number in CHOSEN} == {lease.url for lease in other_store.pop(1000)}


def test_an_aggressive_profile_merges_by_itself_and_watches_only_what_its_rules_do(lab):
    sieve = lab.open(profile="safe+https_merge")
    sieve.apply_rules(Rules.parse(RULES), by="Ann")
    sieve.push([www(number) for number in CHOSEN])
    sieve.push([www(number).replace("https", "http") for number in CHOSEN])
    assert {"pending": len(CHOSEN)} == states(sieve)
    sieve.push([mobile(number) for number in CHOSEN])
    assert {"pending": 2 * len(CHOSEN)} == states(sieve)


def test_a_budget_holds_for_watched_addresses_too(ruled):
    limits = f"{RULES}[site.scope]\nlimits = {{ domain = {{ urls = {len(CHOSEN)} }} }}\n"
    ruled.apply_rules(Rules.parse(limits), by="Ann")
    assert len(CHOSEN) == ruled.push([www(number) for number in CHOSEN]).new
    assert len(CHOSEN) == ruled.push([mobile(number) for number in CHOSEN]).seen
    assert {"pending": len(CHOSEN)} == states(ruled)
