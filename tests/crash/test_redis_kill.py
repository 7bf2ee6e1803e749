"""Workers and the server itself are really killed: nothing that was acknowledged is lost, every URL is in exactly one state."""

import json
import random
import time

import pytest

import redis_server
import urlsieve
from children import race_url
from redis_server import RedisServer
from sieve_lab import check_conservation, drain, pages, states
from urlsieve import StoreUnavailable, testing

pytestmark = pytest.mark.crash


@pytest.fixture
def address():
    yield redis_server.shared().address("kill")
    redis_server.forget_all()


@pytest.fixture
def server():
    """One that may be killed."""
    server = RedisServer().start()
    yield server
    server.close()


def wait_for(path, size, seconds=30.0):
    """Until the child has written something: else a slow machine would kill it before it did anything."""
    end = time.monotonic() + seconds
    while not path.exists() or path.stat().st_size <= size:
        assert time.monotonic() < end, "the child wrote nothing"
        time.sleep(0.001)


def finish(address, start):
    """Everything that is left is done, long after every lease and every wait."""
    clock = testing.VirtualClock(time.time() + 100_000)
    with testing.open(address, clock=clock) as sieve:
        check_conservation(sieve)
        before = sieve.stats()
        drain(sieve, clock, lambda sieve, lease: sieve.done(lease, links=[f"{lease.url}/link"] if lease.depth == 0 else ()), limit=200)
        assert {"done": 2 * len(start)} == states(sieve)
        assert [True] * len(start) == sieve.seen([url + "/link" for url in start])
        check_conservation(sieve)
    return before


def test_cra_01_leases_of_a_killed_worker_come_back_on_redis(address, fast_path, zygote):
    out = fast_path / "out"
    with urlsieve.open(address) as sieve:
        sieve.push(pages(100))
    assert -9 == zygote.run("pop_then_die", address, 10, 60.0, str(out))
    taken = set(json.loads(out.read_text()))
    clock = testing.VirtualClock(time.time() + 100)
    with testing.open(address, clock=clock) as sieve:
        leases = sieve.pop(100)
        assert 100 == len(leases)
        assert taken == {lease.url for lease in leases if lease.attempt == 2}
        sieve.done(leases)
        check_conservation(sieve)


@pytest.mark.slow
def test_workers_killed_at_random_moments_lose_nothing_on_redis(address, fast_path, zygote):
    out, rng = fast_path / "out", random.Random(3)
    start = [f"http://h{number % 97}.example/{'fail' if number % 10 == 0 else 'page'}/{number}" for number in range(1500)]
    with urlsieve.open(address, max_attempts=1000, backoff=0.0) as sieve:
        sieve.push(start)
    out.write_text("")
    for turn in range(30):
        size = out.stat().st_size
        pids = [zygote.start("work", address, str(out), 0.05) for _ in range(2)]
        if turn % 4:
            wait_for(out, size)
        time.sleep(rng.uniform(0.0, 0.06))
        for pid in pids:
            assert zygote.kill(pid) in (0, -9)
    noted = {line.split()[1] for line in out.read_text().splitlines() if line.startswith("done ")}
    assert noted
    assert finish(address, start).done >= len(noted) - 2


@pytest.mark.slow
def test_ato_01_a_pushing_process_killed_at_random_moments_leaves_no_url_seen_but_not_queued_on_redis(address, fast_path, zygote):
    out, rng = fast_path / "out", random.Random(4)
    urlsieve.open(address).close()
    acknowledged = 0
    for turn in range(9):
        out.write_text(f"{acknowledged}\n")
        pid = zygote.start("push_for_ever", address, str(out), acknowledged, (1, 50, 1000)[turn % 3])
        wait_for(out, out.stat().st_size)
        time.sleep(rng.uniform(0.0, 0.1))
        assert -9 == zygote.kill(pid)
        acknowledged = int(out.read_text().split()[-1])
    assert acknowledged > 0
    every = [race_url(number) for number in range(acknowledged + 2000)]
    clock = testing.VirtualClock()
    with testing.open(address, clock=clock) as sieve:
        check_conservation(sieve)
        seen = {url for url, known in zip(every, sieve.seen(every), strict=True) if known}
        assert set(every[:acknowledged]) <= seen
        found = []
        drain(sieve, clock, lambda sieve, lease: (found.append(lease.url), sieve.done(lease)), limit=2000)
        assert (len(seen), seen) == (len(found), set(found))


@pytest.mark.slow
def test_cra_11_after_random_kills_every_group_with_something_waiting_is_served_on_redis(address, zygote):
    rng = random.Random(7)
    urlsieve.open(address, max_attempts=100, concurrency=4, backoff=0.0).close()
    for _ in range(12):
        with urlsieve.open(address) as sieve:
            accepted = sieve.stats().accepted
            pids = [zygote.start("churn", address, 30) for _ in range(3)]
            end = time.monotonic() + 30
            while sieve.stats().accepted == accepted:  # a kill before anything was done would test nothing
                assert time.monotonic() < end
            time.sleep(rng.uniform(0.0, 0.2))
        for pid in pids:
            assert -9 == zygote.kill(pid)
    clock = testing.VirtualClock(time.time() + 100_000)
    with testing.open(address, clock=clock) as sieve:
        check_conservation(sieve)
        waiting = {row.name for row in sieve.groups() if row.pending or row.leased}
        assert waiting
        served = set()
        drain(sieve, clock, lambda sieve, lease: (served.add(lease.group), sieve.done(lease)), limit=100)
        assert waiting <= served
        assert set(states(sieve)) <= {"done", "dead"}


def test_a_job_whose_making_was_cut_short_can_be_made_again(zygote):
    rng = random.Random(6)
    for number in range(25):
        address = redis_server.shared().address(f"cut{number}")
        pid = zygote.start("create", address)
        time.sleep(rng.uniform(0.0, 0.06))
        zygote.kill(pid)
        with urlsieve.open(address) as sieve:
            assert 2 == sieve.push(pages(2)).new
            check_conservation(sieve)
    redis_server.forget_all()


@pytest.mark.slow
def test_the_server_is_killed_while_workers_work_and_nothing_is_lost(server, fast_path, zygote):
    address, out = server.address("kill"), fast_path / "out"
    start = [f"http://h{number % 97}.example/page/{number}" for number in range(3000)]
    with urlsieve.open(address, max_attempts=1000, backoff=0.0) as sieve:
        sieve.push(start)
        epoch = sieve.stats().epoch
    out.write_text("")
    pids = [zygote.start("work", address, str(out), 30.0) for _ in range(3)]
    for _ in range(4):
        wait_for(out, out.stat().st_size)
        time.sleep(0.1)
        server.kill()
        time.sleep(0.2)
        server.start()
    for pid in pids:
        assert 0 == zygote.wait(pid, 60)
    noted = {line.split()[1] for line in out.read_text().splitlines() if line.startswith("done ")}
    assert finish(address, start).done >= len(noted)
    with urlsieve.open(address) as sieve:
        assert sieve.stats().epoch >= epoch + 4


def test_a_server_that_lost_its_newest_writes_gives_no_token_twice(server):
    """Back to an older file, as after a power cut: the same counters, another epoch."""
    with urlsieve.open(server.address()) as sieve:
        sieve.push(pages(4))
        with server.client() as client:
            client.bgrewriteaof()
            while client.info("persistence")["aof_rewrite_in_progress"]:
                time.sleep(0.02)
        old = server.copy()
        lost = sieve.pop(2)
        server.kill()
        server.put_back(old)
        server.start()
        again = sieve.pop(2)
        assert [lease.url for lease in lost] == [lease.url for lease in again]
        assert set() == {lease.token for lease in lost} & {lease.token for lease in again}
        assert ["lost", "lost"] == [settled.state for settled in sieve.done(lost)]
        assert ["done", "done"] == [settled.state for settled in sieve.done(again)]
        check_conservation(sieve)


def test_a_server_that_lost_everything_is_not_taken_for_an_empty_job(server):
    with urlsieve.open(server.address()) as sieve:
        sieve.push(pages(4))
        server.kill()
        server.put_back(None)
        server.start()
        for use in (lambda: sieve.push(pages(9)), lambda: sieve.pop(1), lambda: sieve.seen(pages(4)), sieve.stats):
            with pytest.raises(urlsieve.StoreCorrupt):
                use()
        with pytest.raises(StoreUnavailable):
            urlsieve.open(server.address(), create=False)


def test_an_emptied_database_is_noticed_while_it_runs(address):
    with urlsieve.open(address) as sieve:
        sieve.push(pages(4))
        redis_server.forget_all()
        for use in (lambda: sieve.push(pages(9)), lambda: sieve.pop(1), lambda: sieve.seen(pages(4)), sieve.stats):
            with pytest.raises(urlsieve.StoreCorrupt):
                use()
    assert 4 == urlsieve.open(address).push(pages(4)).new


def test_scripts_that_were_flushed_come_back(address):
    with urlsieve.open(address) as sieve, redis_server.shared().client() as client:
        for number in range(5):
            client.script_flush()
            assert 3 == sieve.push(pages(3, start=3 * number)).new
            client.script_flush()
            (lease,) = sieve.pop(1)
            client.script_flush()
            assert "done" == sieve.done(lease, redirects=[f"http://b.example/{number}"]).state
        check_conservation(sieve)
