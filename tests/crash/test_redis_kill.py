"""The Redis server itself is really killed: nothing that was acknowledged is lost, and what was lost is noticed."""

import threading
import time

import pytest

import redis_server
import urlsieve
from redis_server import RedisServer
from sieve_lab import check_conservation, finish, pages
from urlsieve import StoreUnavailable
from zygote import wait_for

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


def test_threads_of_one_worker_share_its_connections(address):
    with urlsieve.open(address + "&max_connections=3") as sieve:
        gate, news, found = threading.Barrier(16), [], []

        def work():
            gate.wait()
            for number in range(20):
                news.append(sieve.push([f"http://h{n}.example/{number}" for n in range(5)]).new)
                leases = sieve.pop(4)
                found.extend(lease.url for lease in leases)
                sieve.done(leases)

        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        while leases := sieve.pop(100):
            found += [lease.url for lease in leases]
            sieve.done(leases)
        assert (100, 100, 100) == (sum(news), len(found), len(set(found)))
        check_conservation(sieve)
