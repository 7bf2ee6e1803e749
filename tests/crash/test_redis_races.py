"""Several real processes and threads on one Redis: every URL is won once, nobody is given what another has."""

import json
import threading
import time

import pytest

import redis_server
import urlsieve
from sieve_lab import check_conservation, pages, states

COUNT = 20_000


@pytest.fixture
def address():
    yield redis_server.shared().address("race")
    redis_server.forget_all()


def results(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def race(zygote, name, racers, *args):
    pids = [zygote.start(name, *args) for _ in range(racers)]
    assert [0] * racers == [zygote.wait(pid, 120) for pid in pids]


@pytest.mark.slow
@pytest.mark.parametrize("racers", [4, 8])
def test_ato_03_racing_processes_win_each_url_exactly_once_on_redis(address, fast_path, zygote, racers):
    out = fast_path / "out"
    urlsieve.open(address).close()
    race(zygote, "race_push", racers, address, COUNT, 1000, time.time() + 0.5, str(out))
    won = [result["new"] for result in results(out)]
    assert (racers, COUNT) == (len(won), sum(won))
    with urlsieve.open(address) as sieve:
        assert {"pending": COUNT} == states(sieve)
        check_conservation(sieve)


@pytest.mark.slow
def test_ato_09_racing_processes_are_never_given_the_same_url_on_redis(address, fast_path, zygote):
    out, count = fast_path / "out", 6_000
    with urlsieve.open(address) as sieve:
        sieve.push([f"http://h{number % 997}.example/{number}" for number in range(count)])
    race(zygote, "race_pop", 8, address, 20, time.time() + 0.5, str(out))
    every = [url for part in results(out) for url in part]
    assert (count, count) == (len(every), len(set(every)))
    with urlsieve.open(address) as sieve:
        assert {"done": count} == states(sieve)
        check_conservation(sieve)


def test_racing_creators_make_one_job(fast_path, zygote):
    for number in range(5):
        address = redis_server.shared().address(f"made{number}")
        race(zygote, "create", 8, address)
        with urlsieve.open(address, create=False) as sieve:
            sieve.push(pages(3))
            check_conservation(sieve)
    redis_server.forget_all()


def test_pol_01_processes_share_one_hosts_turn_on_redis(address, fast_path, zygote):
    out = fast_path / "out"
    with urlsieve.open(address, delay=3600.0) as sieve:
        sieve.push(pages(100))
    race(zygote, "race_pop", 8, address, 10, time.time() + 0.3, str(out))
    assert 1 == sum(len(part) for part in results(out))


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
