"""A server that restarts full, with older data, or emptied, goes in; workers that stayed open go on, or are told."""

from __future__ import annotations

import threading
import time

import pytest

import urlsieve
from redis_server import RedisServer
from sieve_lab import check_conservation, hosts, pages

pytestmark = pytest.mark.crash


@pytest.fixture
def server():
    server = RedisServer().start()
    yield server
    server.close()


def restart_with(server, old):
    server.kill()
    server.put_back(old)
    server.start()


def copy_of(server):
    """What is on disk once everything so far is."""
    with server.client() as client:
        client.bgrewriteaof()
        while client.info("persistence")["aof_rewrite_in_progress"]:
            time.sleep(0.02)
    return server.copy()


def test_leases_come_back_to_a_server_that_is_full_when_it_restarts(server):
    with urlsieve.open(server.address()) as sieve:
        sieve.push(hosts(200))
        leases = sieve.pop(5)
        with server.client() as client:
            client.bgrewriteaof()
            while client.info("persistence")["aof_rewrite_in_progress"]:
                time.sleep(0.02)
        server.kill()
        server.settings["maxmemory"] = "1mb"
        server.start()
        assert ["done"] * 5 == [settled.state for settled in sieve.done(leases)]
    with urlsieve.open(server.address()) as sieve:
        with pytest.raises(urlsieve.StoreFull):
            sieve.push(["http://another.example/"])
        assert 1 == sieve.forget(hosts(1))


@pytest.mark.parametrize("shards", [1, 64])
def test_a_policy_that_was_lost_is_forgotten_by_all(server, shards):
    address = server.address(shards=shards)
    with urlsieve.open(address) as one, urlsieve.open(address) as other:
        one.push(pages(20))
        old = copy_of(server)
        one.set_policy(delay=5.0)
        restart_with(server, old)
        for sieve in (one, other):
            (lease,) = sieve.pop(1)
            assert ["done"] == [settled.state for settled in sieve.done([lease])]
            assert 0.0 == sieve.policy.delay
        one.set_policy(delay=7.0)
        check_conservation(other)


def test_rules_that_were_lost_stop_nobody(server):
    with urlsieve.open(server.address()) as one, urlsieve.open(server.address()) as other:
        one.push(pages(1))
        old = copy_of(server)
        generation = one._store.rules().generation
        assert one._store.replace_rules("", generation, time.time()) is not None
        one.push(pages(2))
        restart_with(server, old)
        assert 50 == one.push(hosts(50, path="/one")).new
        assert 50 == other.push(hosts(50, path="/other")).new
        check_conservation(other)


def test_a_lock_that_was_lost_gives_no_token_twice(server):
    with urlsieve.open(server.address()) as sieve:
        old = copy_of(server)
        lost, _ = sieve._store.lock("round", "one", 60.0, time.time())
        restart_with(server, old)
        again, _ = sieve._store.lock("round", "other", 60.0, time.time())
        assert again > lost
        assert not sieve._store.unlock("round", lost)


@pytest.mark.parametrize("shards", [1, 64])
def test_a_job_made_anew_takes_nothing_from_who_has_the_old_one_open(server, shards):
    address = server.address(shards=shards)
    with urlsieve.open(address) as old:
        old.push(hosts(100))
        leases = old.pop(3)
        with server.client() as client:
            client.flushall()
        with urlsieve.open(address) as new:
            assert 100 == new.push(hosts(100)).new
            uses = (lambda: old.push(hosts(200)), lambda: old.pop(1), lambda: old.seen(hosts(9)), old.stats, lambda: old.done(leases))
            for use in (*uses, lambda: old.set_policy(delay=1.0)):
                with pytest.raises(urlsieve.StoreCorrupt):
                    use()
            assert 100 == new.stats().accepted
            check_conservation(new)


def test_connections_that_were_cut_together_cost_one_pause(server):
    """A worker of many threads has many idle connections when the server restarts."""
    with urlsieve.open(server.address(patience=5)) as sieve:
        sieve.push(pages(1))
        wire, all_out = sieve._store._job.wire, threading.Barrier(24)

        def hold():
            with wire._connection():
                all_out.wait(20)

        threads = [threading.Thread(target=hold) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        server.kill()
        server.start()
        began = time.monotonic()
        assert 1 == sieve.push(pages(2)).new
        assert time.monotonic() - began < 2.5


def test_a_url_that_is_done_while_the_queue_is_read_is_in_the_export_once(server):
    with urlsieve.open(server.address(shards=1), keep_urls=False) as sieve:
        sieve.push(pages(3))
        found = sieve.entries()
        out = [next(found)]
        sieve.done(sieve.pop(3))
        out += found
        assert 3 == len(out)
        assert 3 == len({entry.fingerprint for entry in out})


def test_a_url_that_is_done_while_its_site_is_read_is_not_left_out_of_the_export(server):
    """Its mark says that it waits, and then its text is gone."""
    with urlsieve.open(server.address(shards=1), keep_urls=False) as sieve:
        sieve.mark(pages(1, start=9), known=True)
        sieve.push(["http://b.example/"])
        found = sieve.entries()
        out = [next(found)]  # the queue has been read; then comes the seen set, site by site
        assert "http://b.example/" == out[0].url
        sieve.push(pages(3))
        for entry in found:
            out.append(entry)
            if entry.state is None:
                sieve.done(sieve.pop(9))
        assert 5 == len(out)
        assert 5 == len({entry.fingerprint for entry in out})


def test_a_full_server_takes_no_new_url_beside_one_that_is_raised(server):
    """What is raised leaves its place first, and a script that has written anything may go on when the memory is full."""
    with urlsieve.open(server.address(shards=1)) as sieve:
        sieve.push(pages(3))
        with server.client() as client:
            client.config_set("maxmemory", "1mb")
        with pytest.raises(urlsieve.StoreFull):
            sieve.push([*pages(1), *pages(500, start=100)], mode="raise", priority=5)
        assert 3 == sieve.stats().accepted
        check_conservation(sieve)
