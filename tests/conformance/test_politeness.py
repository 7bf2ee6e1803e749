"""Whose turn it is: delay, concurrency, fetch time, pause, on every path by which a group can be named."""

import threading
from itertools import pairwise

import pytest

from sieve_lab import drain, hosts, pages, states, urls_of


def test_without_a_delay_a_call_may_take_all_of_a_group(sieve):
    sieve.push(pages(50))
    assert 50 == len(sieve.pop(100))


def test_with_a_delay_one_turn_gives_one_url(lab, clock):
    sieve = lab.open(delay=10.0)
    sieve.push(pages(5))
    start = clock.now
    assert 1 == len(sieve.pop(100))
    empty = sieve.pop(100)
    assert [] == empty
    assert start + 10 == empty.next_at
    clock.advance(9.9)
    assert [] == sieve.pop(100)
    clock.advance(0.1)
    assert 1 == len(sieve.pop(100))


def test_the_next_turn_is_a_delay_after_the_lease_even_if_it_is_still_out(lab, clock):
    sieve = lab.open(delay=10.0)
    sieve.push(pages(3))
    given = sieve.pop(1)
    clock.advance(10)
    given += sieve.pop(1)
    clock.advance(10)
    given += sieve.pop(1)
    assert pages(3) == urls_of(given)


def test_the_next_turn_is_a_delay_after_the_settle_where_that_is_later(lab, clock):
    sieve = lab.open(delay=10.0)
    sieve.push(pages(3))
    (lease,) = sieve.pop(1)
    clock.advance(7)
    sieve.done(lease)
    empty = sieve.pop(1)
    assert ([], clock.now + 10) == (empty, empty.next_at)
    clock.advance(9.9)
    assert [] == sieve.pop(1)
    clock.advance(0.1)
    assert 1 == len(sieve.pop(1))


@pytest.mark.parametrize("how", ["done", "fail", "skip"])
def test_every_settlement_keeps_the_distance(lab, clock, how):
    sieve = lab.open(delay=10.0)
    sieve.push(pages(3))
    (lease,) = sieve.pop(1)
    clock.advance(5)
    {"done": sieve.done, "fail": lambda lease: sieve.fail(lease, "x"), "skip": lambda lease: sieve.skip(lease, "x")}[how](lease)
    clock.advance(9.9)
    assert [] == sieve.pop(1)


def test_a_settle_long_after_the_turn_does_not_bring_it_forward(lab, clock):
    sieve = lab.open(delay=10.0)
    sieve.push(pages(3))
    (first,) = sieve.pop(1)
    clock.advance(10)
    (second,) = sieve.pop(1)
    sieve.done([first, second])
    clock.advance(9.9)
    assert [] == sieve.pop(1)
    clock.advance(0.1)
    assert 1 == len(sieve.pop(1))


def test_the_fetch_time_alone_does_not_count_without_a_factor(lab, clock):
    sieve = lab.open(delay=1.0)
    sieve.push(pages(2))
    (lease,) = sieve.pop(1)
    sieve.done(lease, elapsed=100.0)
    clock.advance(1)
    assert 1 == len(sieve.pop(1))


def test_other_groups_are_served_while_one_waits(lab):
    sieve = lab.open(delay=60.0)
    sieve.push([*pages(5), *hosts(20)])
    assert 21 == len(sieve.pop(100))
    assert [] == sieve.pop(100)


def test_pol_07_the_delay_does_not_stand_between_different_hosts(lab, clock):
    sieve = lab.open(delay=1.0)
    sieve.push(hosts(100))
    start = clock.now
    assert 100 == drain(sieve, clock, lambda sieve, lease: sieve.done(lease), limit=7)
    assert start == clock.now


def test_pol_05_a_long_delay_is_kept_to_the_second(lab, clock):
    sieve = lab.open(delay=1.0)
    sieve.push(pages(4))
    sieve.group("a.example").delay = 120.5
    times = []
    drain(sieve, clock, lambda sieve, lease: (times.append(clock.now), sieve.done(lease)))
    assert [120.5] * 3 == [later - earlier for earlier, later in pairwise(times)]


def test_pol_01_sixteen_clients_get_one_lease_of_a_host_with_a_delay(lab, clock):
    sieve = lab.open(delay=5.0)
    sieve.push(pages(100))
    for _ in range(3):
        start, found = threading.Barrier(16), []

        def client(start=start, found=found):
            start.wait()
            found.extend(sieve.pop(10))

        threads = [threading.Thread(target=client) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 1 == len(found)
        clock.advance(5)


def test_pol_01_the_gap_between_leases_of_a_host_is_the_delay_for_two_workers(shared):
    clock = shared.clock
    workers = [shared.open(delay=5.0), shared.open()]
    workers[0].push(pages(30))
    times = []
    for tick in range(400):
        for lease in workers[tick % 2].pop(3):
            times.append(clock.now)
            workers[(tick + 1) % 2].done(lease)
        clock.advance(0.7)
    assert 30 == len(times)
    assert min(later - earlier for earlier, later in pairwise(times)) >= 5


def test_concurrency_limits_the_leases_out_at_the_same_time(lab, clock):
    sieve = lab.open(concurrency=2)
    sieve.push(pages(6))
    first = sieve.pop(10)
    assert 2 == len(first)
    assert [] == sieve.pop(10)
    sieve.done(first[0])
    assert 1 == len(sieve.pop(10))
    assert [] == sieve.pop(10)


def test_concurrency_counts_the_leases_of_all_workers(shared):
    one, two = shared.open(concurrency=3), shared.open()
    one.push(pages(10))
    first = one.pop(2)
    assert 1 == len(two.pop(10))
    assert [] == one.pop(10)
    two.done(first)
    assert 2 == len(two.pop(10))


@pytest.mark.parametrize("how", ["done", "fail", "skip", "release", "expiry", "forget"])
def test_a_place_is_free_again_however_the_lease_ends(lab, clock, how):
    sieve = lab.open(concurrency=1)
    sieve.push(pages(2))
    (lease,) = sieve.pop(10, lease=10)
    match how:
        case "done" | "release":
            getattr(sieve, how)(lease)
        case "fail" | "skip":
            getattr(sieve, how)(lease, "x")
        case "expiry":
            clock.advance(11)
        case "forget":
            sieve.forget([lease.url])
    assert 1 == len(sieve.pop(10))
    assert [] == sieve.pop(10)


def test_with_a_full_group_the_next_deadline_is_when_asking_is_worth_it(lab, clock):
    sieve = lab.open(concurrency=1)
    sieve.push(pages(2))
    (lease,) = sieve.pop(1, lease=30)
    assert lease.deadline == sieve.pop(1).next_at


def test_a_groups_own_settings_go_before_the_policy_and_hold_for_every_worker(shared):
    one, two = shared.open(delay=1.0), shared.open()
    one.push(pages(5))
    group = two.group("a.example")
    group.delay = 50.0
    one.done(one.pop(1))
    shared.clock.advance(49)
    assert [] == one.pop(1)
    shared.clock.advance(1)
    assert 1 == len(one.pop(1))
    assert 50.0 == one.group("a.example").delay


def test_a_groups_concurrency_can_be_set(sieve):
    sieve.push([*pages(5), *pages(5, host="b.example")])
    sieve.group("a.example").concurrency = 1
    groups = [lease.group for lease in sieve.pop(20)]
    assert (1, 5) == (groups.count("a.example"), groups.count("b.example"))


def test_the_openers_delay_replaces_the_stores_for_all_workers(shared):
    one = shared.open(delay=0)
    one.push(pages(10))
    assert 2 == len(one.pop(2))
    two = shared.open(delay=30.0)
    assert 1 == len(one.pop(5) + two.pop(5))
    assert [] == one.pop(5)
    shared.open()
    shared.clock.advance(29)
    assert [] == one.pop(5)
    shared.clock.advance(1)
    assert 1 == len(one.pop(5))


def test_inc_09_a_paused_group_gives_nothing_revisits_included(sieve, clock):
    sieve.mark("http://a.example/old")
    sieve.push(["http://a.example/new", "http://b.example/"])
    sieve.revisit(["http://a.example/old"], at=clock.now + 10)
    sieve.group("a.example").pause()
    clock.advance(10_000)
    assert ["http://b.example/"] == urls_of(sieve.pop(10))
    assert [] == sieve.pop(10, groups=["a.example"])
    assert "paused" in sieve.why("a.example").reasons
    assert "paused" in sieve.why("http://a.example/new").reasons
    sieve.group("a.example").resume()
    assert 2 == len(sieve.pop(10))


def test_a_pause_holds_for_other_workers_and_over_a_restart(shared):
    one = shared.open()
    one.push(pages(3))
    one.group("a.example").pause()
    two = shared.open()
    assert [] == two.pop(10)
    three = shared.reopen()
    assert [] == three.pop(10)
    three.group("a.example").resume()
    assert 3 == len(three.pop(10))


def test_a_group_can_be_blocked_by_hand_and_unblocked(sieve, clock):
    sieve.push([*pages(3), "http://b.example/"])
    sieve.group("a.example").block(clock.now + 100)
    other = sieve.pop(10)
    assert ["http://b.example/"] == urls_of(other)
    sieve.done(other)
    assert "blocked" in sieve.why("a.example").reasons
    clock.advance(99)
    assert [] == sieve.pop(10)
    clock.advance(1)
    leases = sieve.pop(10)
    assert 3 == len(leases)
    sieve.release(leases)
    sieve.group("a.example").block(clock.now + 100)
    assert [] == sieve.pop(10)
    sieve.group("a.example").unblock()
    assert 3 == len(sieve.pop(10))


def test_pol_09_limit_and_block_hold_for_groups_named_by_the_client_too(sieve, clock):
    sieve.push(pages(30))
    sieve.group("a.example").concurrency = 10
    given = []
    for _ in range(20):
        given += sieve.pop(1, groups=["a.example"])
    assert 10 == len(given)
    sieve.done(given)
    sieve.group("a.example").block(clock.now + 60)
    assert [] == sieve.pop(1, groups=["a.example"])
    assert [] == sieve.pop(1)
    sieve.group("a.example").unblock()
    assert 1 == len(sieve.pop(1, groups=["a.example"]))


def test_pol_09_the_delay_holds_for_groups_named_by_the_client_too(lab, clock):
    sieve = lab.open(delay=5.0)
    sieve.push(pages(5))
    assert 1 == len(sieve.pop(5, groups=["a.example"]))
    assert [] == sieve.pop(5)
    assert [] == sieve.pop(5, groups=["a.example"])
    clock.advance(5)
    assert 1 == len(sieve.pop(5))
    assert [] == sieve.pop(5, groups=["a.example"])


def test_named_groups_are_the_only_ones_served(sieve):
    sieve.push(hosts(10), priority=9)
    sieve.push(pages(2))
    assert pages(2) == urls_of(sieve.pop(10, groups=["a.example"]))
    assert [] == sieve.pop(10, groups=["a.example", "nowhere.example"])
    assert [] == sieve.pop(10, groups=[])
    assert 2 == len(sieve.pop(10, groups=["h3.example", "h7.example"]))


def test_the_group_is_the_host_as_found_and_the_site_that_of_the_key(sieve):
    sieve.push(["http://A.Example:80/x", "https://a.example:8443/y"])
    assert {("a.example", "a.example"), ("a.example:8443", "a.example:8443")} == {(lease.group, lease.site) for lease in sieve.pop(10)}


def test_grouped_by_domain_the_hosts_of_a_domain_share_one_turn(lab, clock):
    sieve = lab.open(group_by="domain", delay=10.0)
    sieve.push(
        [
            "http://www.example.co.uk/",
            "http://m.example.co.uk/",
            "http://a.github.io/",
            "http://b.github.io/",
            "http://127.0.0.1/",
            "http://127.0.0.2/",
        ]
    )
    leases = sieve.pop(10)
    assert 5 == len(leases)
    assert ["a.github.io", "b.github.io", "example.co.uk"] == sorted(lease.group for lease in leases if "127" not in lease.group)
    clock.advance(10)
    assert ["m.example.co.uk"] == [lease.site for lease in sieve.pop(10)]


@pytest.mark.one_shard
def test_an_items_own_group_shares_one_turn(lab, clock):
    from urlsieve import URLItem

    sieve = lab.open(delay=10.0)
    sieve.push([URLItem(url, group="one machine") for url in hosts(3)])
    assert 1 == len(sieve.pop(10))
    clock.advance(10)
    (lease,) = sieve.pop(10)
    assert ("one machine", "h1.example") == (lease.group, lease.site)
    assert {"leased": 2, "pending": 1} == states(sieve)
