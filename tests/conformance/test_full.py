"""Above a mark low priorities are refused first; what is out can always come back."""

import threading

import pytest

from sieve_lab import hosts, pages, states
from urlsieve import URLItem, UrlsieveError


def test_above_the_high_water_mark_a_new_url_is_refused_and_not_seen(lab):
    sieve = lab.open(high_water=100)
    report = sieve.push(hosts(150))
    assert (100, 50) == (report.new, report.rejected)
    assert ["rejected:full"] * 50 == report.verdicts[100:]
    assert {"full": 50} == dict(report.reasons)
    assert [True] * 100 + [False] * 50 == sieve.seen(hosts(150))
    assert {"pending": 100} == states(sieve)
    assert 50 == sieve.stats().as_dict()["rejected"]["full"]


def test_low_priorities_are_refused_first(lab):
    sieve = lab.open(high_water=100)
    sieve.push(hosts(100))
    assert ["rejected:full"] == sieve.push("http://low.example/", priority=0).verdicts
    assert ["rejected:full"] == sieve.push("http://low.example/", priority=-1).verdicts
    assert ["new"] == sieve.push("http://urgent.example/", priority=1).verdicts
    report = sieve.push(pages(50), priority=1)
    assert (24, 26) == (report.new, report.rejected)


def test_what_is_seen_is_seen_even_when_full(lab):
    sieve = lab.open(high_water=10)
    sieve.push(hosts(10))
    assert ["seen"] * 10 == sieve.push(hosts(10)).verdicts
    assert ["seen", "rejected:full"] == sieve.push(["http://h1.example/", "http://new.example/"]).verdicts


def test_delayed_urls_count_towards_the_mark(lab, clock):
    sieve = lab.open(high_water=10)
    sieve.push([URLItem(url, due=clock.now + 100) for url in hosts(10)])
    assert ["rejected:full"] == sieve.push("http://new.example/").verdicts


def test_what_is_out_can_come_back_when_full(lab, clock):
    sieve = lab.open(high_water=10)
    sieve.push(hosts(10))
    leases = sieve.pop(4)
    assert 4 == sieve.push(hosts(20)).new
    assert sieve.extend(leases[0], 100.0) is True
    assert "done" == sieve.done(leases[0]).state
    assert "delayed" == sieve.fail(leases[1], "x").state
    assert "pending" == sieve.release(leases[2]).state
    assert "done" == sieve.skip(leases[3], "x").state


def test_done_with_links_goes_through_when_full(lab):
    sieve = lab.open(high_water=2)
    sieve.push(hosts(3))
    (lease,) = sieve.pop(1)
    sieve.push(hosts(5))
    assert "done" == sieve.done(lease, links=["http://x.example/", "http://y.example/"]).state
    assert [False, False] == sieve.seen(["http://x.example/", "http://y.example/"])


def test_a_mark_goes_through_when_full(lab):
    sieve = lab.open(high_water=2)
    sieve.push(hosts(2))
    assert 3 == sieve.mark(pages(3)).new


def test_mem_07_the_queue_never_grows_above_its_cap_and_nothing_is_lost(lab):
    sieve = lab.open(high_water=500)
    waiting, done, number = [], 0, 0
    for _ in range(20):
        batch = waiting + [f"http://h{n % 50}.example/{n}" for n in range(number, number + 200)]
        number += 200
        report = sieve.push(batch)
        waiting = [url for url, verdict in zip(batch, report.verdicts, strict=True) if verdict == "rejected:full"]
        assert sieve.stats().pending <= 500
        leases = sieve.pop(20)
        done += len(leases)
        sieve.done(leases)
    while leases := sieve.pop(1000):
        done += len(leases)
        sieve.done(leases)
        report = sieve.push(waiting)
        waiting = [url for url, verdict in zip(waiting, report.verdicts, strict=True) if verdict == "rejected:full"]
    assert (4_000, []) == (done, waiting)


def test_mem_09_a_full_queue_takes_again_after_every_drain(lab):
    sieve = lab.open(high_water=20)
    for number in range(100):
        report = sieve.push(hosts(30, path=f"/{number}"))
        assert (20, 10) == (report.new, report.rejected)
        sieve.done(sieve.pop(20))


def test_a_sites_limit_refuses_its_urls_and_no_others(sieve):
    sieve.site("a.example").limit = 10
    report = sieve.push([*pages(15), *pages(15, host="b.example")])
    assert (25, 5) == (report.new, report.rejected)
    assert {"limit": 5} == dict(report.reasons)
    assert [True] * 10 + [False] * 5 == sieve.seen(pages(15))
    assert 10 == sieve.site("a.example").limit
    sieve.site("a.example").limit = None
    assert 5 == sieve.push(pages(15)).new


def test_ato_05_new_duplicate_and_limit_are_three_answers_of_one_step(sieve):
    sieve.site("a.example").limit = 100
    clients, reports, start = 50, [], threading.Barrier(50)

    def client(number):
        batch = [f"http://a.example/{(number * 3 + step) % 150}" for step in range(6)]
        start.wait()
        reports.append(sieve.push(batch))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 100 == sum(report.new for report in reports)
    assert {"pending": 100} == states(sieve)
    assert {"limit"} == {reason for report in reports for reason in report.reasons}
    assert 300 == sum(report.new + report.seen + report.rejected for report in reports)
    seen = sieve.seen([f"http://a.example/{number}" for number in range(150)])
    assert 100 == sum(seen)
    late = sieve.push([f"http://a.example/{number}" for number in range(150)]).verdicts
    assert ["seen" if known else "rejected:limit" for known in seen] == late


@pytest.mark.parametrize("limit", [-1, 1.5, True, "10", float("nan")])
def test_a_limit_that_is_none_is_refused(sieve, limit):
    with pytest.raises(UrlsieveError):
        sieve.site("a.example").limit = limit
    assert sieve.site("a.example").limit is None
