"""What an offered URL is answered, in each mode, and what the store keeps of it."""

import pytest

from sieve_lab import figures, pages, states, urls_of
from urlsieve import ConfigError, LeaseLost, URLItem


def test_a_url_is_new_once_and_seen_afterwards(sieve):
    assert ["new"] == sieve.push("http://a.example/").verdicts
    assert ["seen"] == sieve.push("http://a.example/").verdicts
    assert {"pending": 1} == states(sieve)


def test_a_string_is_one_url_and_not_its_letters(sieve):
    report = sieve.push("http://a.example/long/path")
    assert 1 == report.new
    assert 0 == report.rejected


def test_any_iterable_may_be_pushed(sieve):
    assert 3 == sieve.push(url for url in pages(3)).new
    assert 3 == sieve.push(tuple(pages(3))).seen


def test_an_empty_batch_changes_nothing(sieve):
    report = sieve.push([])
    assert [] == report.verdicts
    assert (0, 0, 0, 0, 0) == (report.new, report.seen, report.raised, report.requeued, report.rejected)
    assert {} == states(sieve)


def test_the_first_of_equals_in_a_batch_wins(sieve):
    report = sieve.push(["HTTP://A.example:80/x?utm_source=z", "http://a.example/x", "http://a.example/x#top"])
    assert ["new", "seen", "seen"] == report.verdicts
    assert ["HTTP://A.example:80/x?utm_source=z"] == urls_of(sieve.pop(10))


def test_the_first_of_equals_wins_with_its_own_values(sieve):
    sieve.push([URLItem("http://a.example/", priority=1, meta={"n": 1}), URLItem("http://a.example/", priority=9, meta={"n": 2})])
    (lease,) = sieve.pop(10)
    assert (1, {"n": 1}) == (lease.priority, lease.meta)


def test_verdicts_are_in_order_and_add_up(sieve):
    sieve.push("http://a.example/known")
    batch = ["http://a.example/1", "mailto:x@a.example", "http://a.example/known", "", "http://a.example/2", "/rel"]
    report = sieve.push(batch)
    assert ["new", "rejected:scheme", "seen", "rejected:empty", "new", "rejected:relative"] == report.verdicts
    assert (2, 1, 3) == (report.new, report.seen, report.rejected)
    assert {"scheme": 1, "empty": 1, "relative": 1} == dict(report.reasons)


def test_a_report_can_be_written_as_json(sieve):
    found = sieve.push(["http://a.example/1", "ftp://a.example/"]).as_dict()
    assert (1, 0, 0, 0, 1) == (found["new"], found["seen"], found["raised"], found["requeued"], found["rejected"])


def test_what_is_rejected_is_counted_by_reason_and_not_seen(sieve):
    bad = ["ftp://a.example/", "http://", "http://a.example:99999/", "nonsense", "   "]
    report = sieve.push(bad)
    assert 5 == report.rejected
    rejected = sieve.stats().as_dict()["rejected"]
    assert 5 == sum(rejected.values())
    assert 1 == rejected["scheme"]
    assert [False] * 5 == sieve.seen(bad)
    assert {} == states(sieve)


def test_the_values_of_the_call_are_kept_and_given_back(sieve):
    sieve.push("http://a.example/x", priority=7, depth=3, via="http://a.example/", meta={"k": [1, None, "é"]})
    (lease,) = sieve.pop(1)
    assert (7, 3, "http://a.example/", {"k": [1, None, "é"]}) == (lease.priority, lease.depth, lease.via, lease.meta)


def test_an_items_own_values_go_before_the_calls(sieve):
    sieve.push(
        [URLItem("http://a.example/x", priority=5, depth=1, via="http://v.example/", meta="own"), "http://b.example/y"], priority=2, depth=4
    )
    found = {lease.url: lease for lease in sieve.pop(10)}
    own, other = found["http://a.example/x"], found["http://b.example/y"]
    assert (5, 1, "http://v.example/", "own") == (own.priority, own.depth, own.via, own.meta)
    assert (2, 4, None, None) == (other.priority, other.depth, other.via, other.meta)


@pytest.mark.parametrize("meta", [None, {}, [], "", 0, False, {"a": {"b": [1.5, "\u0000", "漢字", None, True]}}, "x" * 100_000])
def test_meta_comes_back_as_it_was_pushed(sieve, meta):
    sieve.push("http://a.example/", meta=meta)
    (lease,) = sieve.pop(1)
    assert meta == lease.meta
    assert type(meta) is type(lease.meta)


@pytest.mark.parametrize("meta", [object(), {1, 2}, b"bytes", {"x": object()}], ids=["object", "set", "bytes", "nested"])
def test_meta_that_is_not_json_is_refused_and_nothing_is_pushed(sieve, meta):
    with pytest.raises(ConfigError):
        sieve.push(["http://a.example/1", URLItem("http://a.example/2", meta=meta)])
    assert {} == states(sieve)
    assert [False, False] == sieve.seen(["http://a.example/1", "http://a.example/2"])


def test_a_relative_url_is_resolved_against_base_and_given_out_whole(sieve):
    assert ["new"] == sieve.push("../c?x=1", base="http://a.example/a/b/").verdicts
    (lease,) = sieve.pop(1)
    assert "http://a.example/a/c?x=1" == lease.url
    assert "http://a.example/a/c?x=1" == lease.key


def test_links_of_a_parent_are_one_deeper_and_know_where_they_were_found(sieve):
    sieve.push("http://a.example/dir/page", depth=2)
    (parent,) = sieve.pop(1)
    sieve.push(["next", "http://b.example/"], parent=parent)
    found = {lease.url: lease for lease in sieve.pop(10)}
    assert {"http://a.example/dir/next", "http://b.example/"} == set(found)
    assert {3} == {lease.depth for lease in found.values()}
    assert {"http://a.example/dir/page"} == {lease.via for lease in found.values()}
    sieve.release([parent, *found.values()])


def test_a_variant_is_an_entry_of_its_own(sieve):
    body_1, body_2 = URLItem("http://a.example/", variant=b"POST q=1"), URLItem("http://a.example/", variant=b"POST q=2")
    assert ["new", "new", "new", "seen"] == sieve.push(["http://a.example/", body_1, body_2, body_1]).verdicts
    leases = sieve.pop(10)
    assert {b"", b"POST q=1", b"POST q=2"} == {lease.variant for lease in leases}
    assert {"http://a.example/"} == {lease.key for lease in leases}
    sieve.done(leases)
    assert [True] == sieve.seen(["http://a.example/"])


def test_can_08_the_border_between_url_and_variant_cannot_move(sieve):
    items = [
        URLItem("http://a.example/foo", variant=b""),
        URLItem("http://a.example/fo", variant=b"o"),
        URLItem("http://a.example/fo%1f", variant=b""),
    ]
    items += [URLItem("http://a.example/fo", variant=b"\x1f"), URLItem("http://a.example/f", variant=b"oo")]
    assert ["new"] * 5 == sieve.push(items).verdicts


def test_raise_lifts_a_pending_url_and_never_lowers_it(sieve):
    sieve.push(pages(3), priority=1)
    assert ["raised"] == sieve.push("http://a.example/p2", priority=5, mode="raise").verdicts
    assert ["seen"] == sieve.push("http://a.example/p1", priority=0, mode="raise").verdicts
    assert ["seen"] == sieve.push("http://a.example/p1", priority=1, mode="raise").verdicts
    assert ["http://a.example/p2", "http://a.example/p0", "http://a.example/p1"] == [sieve.pop(1)[0].url for _ in range(3)]


def test_raise_takes_what_was_never_seen_as_new(sieve):
    assert ["new"] == sieve.push("http://a.example/", priority=3, mode="raise").verdicts
    assert 3 == sieve.pop(1)[0].priority


def test_raise_brings_a_due_time_forward_and_never_back(sieve, clock):
    start = clock.now
    sieve.push(URLItem("http://a.example/", due=start + 1000))
    assert ["raised"] == sieve.push(URLItem("http://a.example/", due=start + 10), mode="raise").verdicts
    assert ["seen"] == sieve.push(URLItem("http://a.example/", due=start + 500), mode="raise").verdicts
    assert start + 10 == sieve.pop(1).next_at
    clock.advance(10)
    assert ["http://a.example/"] == urls_of(sieve.pop(1))


def test_raise_without_a_due_time_makes_a_delayed_url_available_now(sieve, clock):
    sieve.push(URLItem("http://a.example/", due=clock.now + 1000))
    assert 1 == sieve.push("http://a.example/", priority=1, mode="raise").raised
    assert ["http://a.example/"] == urls_of(sieve.pop(1))


@pytest.mark.parametrize("state", ["leased", "done", "dead"])
def test_raise_leaves_what_is_not_waiting_alone(sieve, state):
    sieve.push("http://a.example/")
    (lease,) = sieve.pop(1)
    if state == "done":
        sieve.done(lease)
    if state == "dead":
        sieve.fail(lease, "forbidden", status=403)
    assert ["seen"] == sieve.push("http://a.example/", priority=100, mode="raise").verdicts
    assert {state: 1} == states(sieve)


def test_a_plain_push_does_not_lift_what_is_waiting(sieve):
    sieve.push(pages(2))
    assert 1 == sieve.push("http://a.example/p1", priority=50).seen
    assert ["http://a.example/p0"] == urls_of(sieve.pop(1))


def test_a_due_time_in_the_future_delays_and_one_in_the_past_does_not(sieve, clock):
    sieve.push([URLItem("http://a.example/", due=clock.now + 50), URLItem("http://b.example/", due=clock.now - 50)])
    assert {"delayed": 1, "pending": 1} == states(sieve)
    assert ["http://b.example/"] == urls_of(sieve.pop(10))
    assert clock.now + 50 == min(sieve.pop(10).next_at, clock.now + 50)
    clock.advance(49.9)
    assert [] == sieve.pop(10, groups=["a.example"])
    clock.advance(0.1)
    assert ["http://a.example/"] == urls_of(sieve.pop(10))


def test_mark_records_as_done_without_queueing(sieve):
    report = sieve.mark(pages(2))
    assert (2, 0) == (report.new, report.seen)
    assert {"done": 2} == states(sieve)
    assert ["seen", "seen"] == sieve.push(pages(2)).verdicts
    assert [] == sieve.pop(10)


def test_mark_leaves_what_was_seen_as_it_is(sieve):
    sieve.push(pages(1))
    assert ["seen", "new"] == sieve.mark(pages(2)).verdicts
    assert {"pending": 1, "done": 1} == states(sieve)


def test_what_is_marked_known_is_seen_but_not_accepted(sieve):
    assert 2 == sieve.mark(pages(2), known=True).new
    found = sieve.stats().as_dict()
    assert (2, 2, 0) == (found["seen"], found["known"], found["accepted"])
    assert ["seen", "seen", "new"] == sieve.push(pages(3)).verdicts
    assert ["http://a.example/p2"] == urls_of(sieve.pop(10))


def test_what_is_only_known_can_be_asked_for(sieve):
    sieve.mark(pages(1), known=True)
    sieve.push(pages(1), mode="again")
    assert pages(1) == urls_of(sieve.pop(10))
    found = sieve.stats().as_dict()
    assert (1, 0, 1) == (found["seen"], found["known"], found["accepted"])


def test_seen_answers_in_order_and_writes_nothing(sieve):
    sieve.push("http://a.example/x")
    before = figures(sieve)
    assert [True, False, False, True] == sieve.seen(["http://A.EXAMPLE/x#y", "http://a.example/X", "ftp://bad", "http://a.example/x"])
    assert before == figures(sieve)
    assert ["new"] == sieve.push("http://a.example/X").verdicts


@pytest.mark.parametrize("mode", ["", "NEW", "known", "delete", None, 3])
def test_an_unknown_mode_is_refused(sieve, mode):
    with pytest.raises(ConfigError):
        sieve.push("http://a.example/", mode=mode)
    assert {} == states(sieve)


@pytest.mark.parametrize("url", [None, 5, ["http://a.example/"], object()], ids=["None", "int", "list", "object"])
def test_something_that_is_no_url_is_refused_and_nothing_is_pushed(sieve, url):
    with pytest.raises(ConfigError):
        sieve.push(["http://a.example/1", url])
    assert {} == states(sieve)


def test_a_parent_that_was_lost_is_no_obstacle_to_its_links(sieve, clock):
    sieve.push("http://a.example/")
    (parent,) = sieve.pop(1, lease=5)
    clock.advance(10)
    sieve.pop(1)
    assert 1 == sieve.push("/x", parent=parent).new
    with pytest.raises(LeaseLost):
        sieve.done(parent)


def test_batches_of_ten_thousand_are_one_step(sieve):
    batch = [f"http://h{number % 97}.example/{number}" for number in range(10_000)]
    assert 10_000 == sieve.push(batch).new
    assert 10_000 == sieve.push(batch).seen
    assert {"pending": 10_000} == states(sieve)
