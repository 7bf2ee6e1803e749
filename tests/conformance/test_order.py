"""The order of lease: priority, longest waiting, the 20th turn, class shares, arrival."""

import random

import pytest

from sieve_lab import pages, urls_of
from urlsieve import URLItem


def pop_singly(sieve, count, clock=None, step=0.0):
    """`count` pops of one URL each, settled at once."""
    found = []
    for _ in range(count):
        leases = sieve.pop(1)
        found += urls_of(leases)
        sieve.done(leases)
        if clock is not None:
            clock.advance(step)
    return found


def test_ord_01_equals_come_in_the_order_they_arrived_and_never_alphabetically(sieve):
    sieve.push(["http://a.example/c", "http://a.example/a", "http://a.example/b"])
    assert ["http://a.example/c", "http://a.example/a", "http://a.example/b"] == pop_singly(sieve, 3)


def test_ord_01_a_thousand_random_names_come_in_the_order_they_were_pushed(sieve):
    rng = random.Random(1)
    names = [f"http://a.example/{rng.getrandbits(64):x}" for _ in range(1000)]
    for start in range(0, 1000, 77):
        sieve.push(names[start : start + 77])
    found = []
    while leases := sieve.pop(64):
        found += urls_of(leases)
        sieve.done(leases)
    assert names == found


@pytest.mark.one_shard
def test_hosts_come_in_the_order_in_which_they_began_to_wait(sieve, clock):
    for name in "cab":
        sieve.push(f"http://{name}.example/")
        clock.advance(1)
    assert ["http://c.example/", "http://a.example/", "http://b.example/"] == pop_singly(sieve, 3, clock, 1)


def test_a_larger_priority_is_sooner_within_a_group(sieve):
    sieve.push([URLItem(f"http://a.example/{value}", priority=value) for value in (0, 5, -3, 100, 5_000_000, -1)])
    assert [5_000_000, 100, 5, 0, -1, -3] == [int(url.rsplit("/", 1)[1]) for url in pop_singly(sieve, 6)]


@pytest.mark.one_shard
def test_a_larger_priority_is_sooner_between_groups(sieve):
    sieve.push([URLItem(f"http://h{value}.example/", priority=value) for value in (1, 3, 0, 2)])
    assert [f"http://h{value}.example/" for value in (3, 2, 1, 0)] == pop_singly(sieve, 4)


def test_ord_03_a_later_urgent_url_overtakes_earlier_ones_wherever_they_are(lab):
    sieve = lab.open()
    sieve.push(pages(500))
    if lab.name != "memory":
        sieve = lab.reopen()
    sieve.push("http://a.example/urgent", priority=100)
    assert "http://a.example/urgent" == pop_singly(sieve, 1)[0]


@pytest.mark.one_shard
def test_equal_groups_take_turns(sieve, clock):
    sieve.push(pages(3, host="a.example"))
    clock.advance(1)
    sieve.push(pages(3, host="b.example"))
    clock.advance(1)
    found = [url.split("/")[2][0] for url in pop_singly(sieve, 6, clock, 1)]
    assert list("ababab") == found


def test_a_group_inside_a_group_follows_priority_then_arrival(sieve):
    rng = random.Random(2)
    items = [URLItem(f"http://a.example/{number}", priority=rng.randrange(4)) for number in range(300)]
    sieve.push(items)
    found = []
    while leases := sieve.pop(17):
        found += urls_of(leases)
        sieve.done(leases)
    assert [item.url for item in sorted(items, key=lambda item: -item.priority)] == found


def test_a_raised_url_goes_before_earlier_ones_of_lower_priority(sieve):
    sieve.push(pages(10))
    sieve.push("http://a.example/p7", priority=1, mode="raise")
    assert "http://a.example/p7" == pop_singly(sieve, 1)[0]
    assert [f"http://a.example/p{number}" for number in (0, 1, 2)] == pop_singly(sieve, 3)


@pytest.mark.one_shard
def test_every_twentieth_turn_goes_to_the_group_that_has_waited_longest(sieve, clock):
    sieve.push("http://low.example/")
    clock.advance(1)
    sieve.push(pages(100, host="high.example"), priority=100)
    clock.advance(1)
    found = pop_singly(sieve, 20, clock, 1)
    assert 1 == found.count("http://low.example/")


@pytest.mark.one_shard
def test_every_poor_group_gets_its_turn_in_the_end(sieve, clock):
    for number in range(5):
        sieve.push(f"http://low{number}.example/")
        clock.advance(1)
    sieve.push(pages(300, host="high.example"), priority=100)
    found = pop_singly(sieve, 100, clock, 1)
    assert [f"http://low{number}.example/" for number in range(5)] == [url for url in found if "low" in url]


def test_a_poor_group_does_not_starve_when_batches_are_large(sieve, clock):
    sieve.push("http://low.example/")
    clock.advance(1)
    sieve.push(pages(2000, host="high.example"), priority=100)
    for _ in range(20):
        leases = sieve.pop(50)
        sieve.done(leases)
        clock.advance(1)
        if "http://low.example/" in urls_of(leases):
            return
    raise AssertionError("not among the first 20 batches")


def push_revisits(sieve, urls):
    sieve.mark(urls)
    assert len(urls) == sieve.push(urls, mode="again").requeued


def test_new_and_revisit_share_a_groups_turns_six_to_two(sieve):
    push_revisits(sieve, pages(40, start=2000))
    sieve.push(pages(40))
    found = [int(url.rsplit("p", 1)[1]) // 2000 for url in pop_singly(sieve, 40)]
    assert abs(found.count(0) - 30) <= 1
    assert abs(found.count(1) - 10) <= 1


def test_all_three_classes_share_a_groups_turns_six_to_two_to_two(sieve, clock):
    sieve.push(pages(80))
    for number in range(80):
        (lease,) = sieve.pop(1)
        if number % 2:
            sieve.fail(lease, "once", status=500)
        else:
            sieve.done(lease)
    clock.advance(3600)
    push_revisits(sieve, pages(40, start=2000))
    sieve.push(pages(60, start=4000))
    found = [int(url.rsplit("p", 1)[1]) // 2000 for url in pop_singly(sieve, 50)]
    assert 50 == len(found)
    assert abs(found.count(2) - 30) <= 1
    assert abs(found.count(0) - 10) <= 1
    assert abs(found.count(1) - 10) <= 1


def test_a_class_alone_gets_every_turn(sieve):
    push_revisits(sieve, pages(30))
    assert pages(30) == pop_singly(sieve, 30)


def test_a_stream_of_new_urls_does_not_starve_a_revisit(sieve):
    push_revisits(sieve, ["http://a.example/old"])
    sieve.push(pages(50))
    assert "http://a.example/old" in pop_singly(sieve, 10)


def test_an_urgent_revisit_is_the_next_of_its_class(sieve):
    push_revisits(sieve, pages(5))
    sieve.push("http://a.example/p4", priority=100, mode="raise")
    assert "http://a.example/p4" == pop_singly(sieve, 1)[0]


@pytest.mark.one_shard
def test_one_large_pop_keeps_to_priority_between_groups(sieve):
    rng = random.Random(3)
    items = [URLItem(f"http://h{number % 7}.example/{number}", priority=rng.randrange(5)) for number in range(60)]
    sieve.push(items)
    leases = sieve.pop(15)  # fewer turns than bring the fair one
    assert sorted((item.priority for item in items), reverse=True)[:15] == [lease.priority for lease in leases]


def test_one_large_pop_shares_a_groups_turn_between_its_classes(sieve):
    push_revisits(sieve, pages(40, start=2000))
    sieve.push(pages(80))
    found = [int(lease.url.rsplit("p", 1)[1]) // 2000 for lease in sieve.pop(40)]
    assert abs(found.count(0) - 30) <= 1
    assert abs(found.count(1) - 10) <= 1


def test_one_large_pop_keeps_to_arrival_within_a_group(sieve):
    sieve.push(pages(500))
    assert pages(500) == urls_of(sieve.pop(500))


def test_released_urls_keep_their_place(sieve):
    sieve.push(pages(20))
    sieve.release(sieve.pop(10))
    assert pages(20) == pop_singly(sieve, 20)


def test_ord_05_one_large_host_does_not_stall_the_hosts_behind_it(lab, clock):
    sieve = lab.open(delay=1.0)
    sieve.push(pages(1000))
    small = [f"http://s{number}.example/" for number in range(300)]
    sieve.push(small)
    start, waiting = clock.now, set(small)
    while waiting:
        leases = sieve.pop(50)
        waiting -= set(urls_of(leases))
        sieve.done(leases)
        clock.advance(0.1)
        assert clock.now - start < 5
    assert len(waiting) == 0


def test_ord_07_a_cap_per_group_defers_and_never_drops(lab):
    sieve = lab.open(concurrency=2)
    sieve.push([*pages(10), "http://b.example/"])
    found = []
    while leases := sieve.pop(5):
        assert sum(lease.group == "a.example" for lease in leases) <= 2
        found += urls_of(leases)
        sieve.done(leases)
    assert sorted([*pages(10), "http://b.example/"]) == sorted(found)


def test_cra_19_urgent_urls_are_first_after_a_restart(shared):
    sieve = shared.open()
    sieve.push(pages(50))
    sieve.push(pages(5, start=100), priority=300)
    assert pages(5, start=100) == pop_singly(shared.reopen(), 5)
