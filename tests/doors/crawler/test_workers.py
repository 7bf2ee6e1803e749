"""Several worker processes on one store: politeness, ending together, stopping and dying."""

import asyncio
import signal
import time
from itertools import pairwise

import pytest
from crawler_lab import page, until


def tree(count, **more):
    """A home page with `count` leaves."""
    paths = [f"/{i}" for i in range(count)]
    return {"/": lambda _: page(*paths)} | dict.fromkeys(paths, lambda _: page()) | more


def test_two_workers_leave_the_delay_between_any_two_requests_to_a_host(serve, worker):
    """POL-01, measured in the server's own log; robots.txt and redirects are requests, too."""
    from crawler_lab import redirect

    site = serve(tree(10) | {"/3": lambda _: redirect("/three"), "/three": lambda _: page()})
    few = ("--max-pages", "8")  # of 12: neither can do it alone, however late the other begins
    workers = [worker(site.url + "/", "--delay", "0.3", "--user-agent", f"w{i}", *few) for i in range(2)]
    assert [0, 0] == [process.end().status for process in workers]
    assert 13 == len(site.log)
    assert min(after - before for before, after in pairwise(site.times())) >= 0.3
    assert 1 < len({agent for _, _, agent in site.log})


def test_hosts_do_not_wait_for_one_another(serve, crawl):
    sites = [serve({"/": lambda _: page()}) for _ in range(5)]
    crawl(*(site.url + "/" for site in sites), delay=1.0)
    # robots.txt, one second, the page: together for all five, not one after the other
    spans = [(site.times()[0], site.times()[1]) for site in sites]
    assert max(start for start, _ in spans) < min(end for _, end in spans)


def test_no_worker_ends_before_the_last_page_is_settled_and_all_end_then(serve, worker):
    """CLI-09."""
    hold = {"until": 0.0, "over": 0.0}

    async def slow(_):
        while time.monotonic() < hold["until"]:
            await asyncio.sleep(0.02)
        hold["over"] = time.monotonic()
        return page("/last")

    hosts = [serve({f"/{i}": lambda _: page() for i in range(24)}) for _ in range(4)]
    leaves = [f"{host.url}/{i}" for i in range(24) for host in hosts]
    site = serve({"/": lambda _: page("/slow", "/1", *leaves), "/1": lambda _: page(), "/slow": slow, "/last": lambda _: page()})
    hold["until"] = time.monotonic() + 60
    workers = [worker(site.url + "/", "--delay", "0", "--user-agent", f"w{i}") for i in range(3)]
    until(lambda: sum(sum(host.asked.values()) for host in hosts) == 96 and site.asked["/slow"])
    hold["until"] = time.monotonic() + 2.5
    while time.monotonic() < hold["until"]:
        assert all(process.running() for process in workers)
        time.sleep(0.05)
    results = [process.end() for process in workers]
    assert [(0, "empty")] * 3 == [(result.status, result.report["ended"]) for result in results]
    assert 100 == sum(result.report["pages"] for result in results)
    assert 100 == sum(sum(host.asked.values()) for host in (site, *hosts))
    assert 1 == max(max(host.asked.values()) for host in (site, *hosts))
    assert all(process.ended > hold["over"] for process in workers)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_drains_what_is_in_flight_finishes_and_the_rest_goes_back(serve, worker, sieve, number):
    async def short(_):
        await asyncio.sleep(0.5)
        return page("/found")

    async def long(_):
        await asyncio.sleep(30)
        return page()

    short_site, long_site = serve({"/": short}), serve({"/": long})
    process = worker(short_site.url + "/", long_site.url + "/", "--delay", "0")
    until(lambda: short_site.asked["/"] and long_site.asked["/"])
    process.send(number)
    result = process.end()
    assert (130, "interrupted") == (result.status, result.report["ended"])
    assert "done" == sieve.info(short_site.url + "/").state
    given_back = sieve.info(long_site.url + "/")
    assert ("pending", 0) == (given_back.state, given_back.attempt)
    assert ("pending", 0) == (sieve.info(short_site.url + "/found").state, sieve.stats().leased)
    assert 1 == result.report["given_back"]
    assert [] == sieve.verify(deep=True)


def test_a_worker_killed_in_the_middle_loses_nothing(serve, worker, sieve):
    async def slowly(_):
        await asyncio.sleep(0.02)
        return page()

    site = serve(tree(40))
    site.pages |= {f"/{i}": slowly for i in range(40)}
    killed = worker(site.url + "/", "--delay", "0", "--lease", "1")
    until(lambda: sum(site.asked.values()) >= 15)
    killed.send(signal.SIGKILL)
    killed.end()
    before = site.asked
    result = worker(site.url + "/", "--delay", "0", "--lease", "1", "--user-agent", "second").end()
    assert 0 == result.status
    assert 41 == len(site.asked) == sieve.stats().done
    again = [path for path, count in site.asked.items() if count > 1]
    assert len(again) <= 1, "only what the dead worker held can come again"
    assert all(path in before for path in again)
    assert [] == sieve.verify(deep=True)


def test_a_lease_shorter_than_the_fetch_is_kept_alive(serve, worker):
    async def slow(_):
        await asyncio.sleep(5)
        return page()

    site = serve({"/": slow})
    workers = [worker(site.url + "/", "--delay", "0", "--lease", "3") for _ in range(2)]
    results = [process.end() for process in workers]
    assert [0, 0] == [result.status for result in results]
    assert {"/": 1} == dict(site.asked)
    assert 0 == sum(result.report["lost_leases"] for result in results)
