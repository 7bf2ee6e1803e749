"""Several real processes on one store: every URL is won once, nobody is given what another has."""

import json
import threading
import time

import pytest

import urlsieve
from sieve_lab import check_conservation, pages, states

COUNT = 40_000


def results(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def race(zygote, name, racers, *args):
    pids = [zygote.start(name, *args) for _ in range(racers)]
    assert [0] * racers == [zygote.wait(pid, 120) for pid in pids]


@pytest.mark.slow
@pytest.mark.parametrize("racers,durability", [(4, None), (8, "normal")])
def test_ato_03_racing_processes_win_each_url_exactly_once(place, fast_path, zygote, capsys, racers, durability):
    store, out = place.address("store"), fast_path / "out"
    urlsieve.open(store, durability=durability).close()
    race(zygote, "race_push", racers, store, COUNT, 1000, time.time() + 0.5, str(out))
    won = sorted(result["new"] for result in results(out))
    with capsys.disabled():
        print(f"\n  {place.kind}: {racers} processes pushed the same {COUNT} URLs; each won {won}, slowest/fastest {won[0] / won[-1]:.2f}")
    assert COUNT == sum(won)
    assert won[0] >= won[-1] / 10
    with urlsieve.open(store) as sieve:
        assert {"pending": COUNT} == states(sieve)
        check_conservation(sieve)


@pytest.mark.slow
@pytest.mark.parametrize("racers", [4, 8])
def test_ato_09_racing_processes_are_never_given_the_same_url(place, fast_path, zygote, capsys, racers):
    store, out = place.address("store"), fast_path / "out"
    count = 8_000
    with urlsieve.open(store) as sieve:
        sieve.push([f"http://h{number % 997}.example/{number}" for number in range(count)])
    race(zygote, "race_pop", racers, store, 20, time.time() + 0.5, str(out))
    found = results(out)
    taken = sorted(len(part) for part in found)
    with capsys.disabled():
        print(f"\n  {place.kind}: {racers} processes popped {count} URLs; each took {taken}, slowest/fastest {taken[0] / taken[-1]:.2f}")
    every = [url for part in found for url in part]
    assert (count, count) == (len(every), len(set(every)))
    if place.kind == "embedded":  # a worker of Redis goes its round of the shards, and may come late to those that are left
        assert taken[0] >= taken[-1] / 10
    with urlsieve.open(store) as sieve:
        assert {"done": count} == states(sieve)
        check_conservation(sieve)


@pytest.mark.parametrize("address", ["memory:", "store"])
def test_ato_03_sixty_four_threads_adding_one_url_make_one_entry(fast_path, address):
    rounds, crowd = 15, 64
    place = address if address == "memory:" else str(fast_path / address)
    with urlsieve.open(place, durability="normal") as sieve:
        gate, news = threading.Barrier(crowd), [0] * crowd

        def adder(who):
            for number in range(rounds):
                gate.wait()
                news[who] += sieve.push(f"http://a.example/{number}").new

        threads = [threading.Thread(target=adder, args=(who,)) for who in range(crowd)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert rounds == sum(news)
        assert {"pending": rounds} == states(sieve)


@pytest.mark.parametrize("address", ["memory:", "store"])
def test_ato_09_threads_of_one_worker_are_never_given_the_same_url(fast_path, address):
    place = address if address == "memory:" else str(fast_path / address)
    with urlsieve.open(place, durability="normal") as sieve:
        sieve.push([f"http://h{number % 50}.example/{number}" for number in range(3000)])
        found = []

        def worker():
            while leases := sieve.pop(10):
                found.extend(lease.url for lease in leases)
                sieve.done(leases)

        threads = [threading.Thread(target=worker) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (3000, 3000) == (len(found), len(set(found)))
        check_conservation(sieve)


def test_racing_creators_make_one_store(place, zygote):
    for number in range(5):
        store = place.address(f"s{number}")
        race(zygote, "create", 8, store)
        with urlsieve.open(store, create=False) as sieve:
            sieve.push(pages(3))
            check_conservation(sieve)


def test_pol_01_processes_share_one_hosts_turn(place, fast_path, zygote):
    store, out = place.address("store"), fast_path / "out"
    with urlsieve.open(store, delay=3600.0) as sieve:
        sieve.push(pages(100))
    race(zygote, "race_pop", 8, store, 10, time.time() + 0.3, str(out))
    assert 1 == sum(len(part) for part in results(out))


def test_a_lease_settled_by_another_process_is_settled(place, fast_path, zygote):
    store = place.address("store")
    with urlsieve.open(store) as sieve:
        sieve.push(pages(50))
        mine = sieve.pop(5)
        assert 0 == zygote.run("race_pop", store, 10, 0.0, str(fast_path / "out"))
        assert ["done"] * 5 == [settled.state for settled in sieve.done(mine)]
        assert {"done": 50} == states(sieve)
