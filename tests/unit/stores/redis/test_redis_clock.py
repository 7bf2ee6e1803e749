"""The server's clock counts: workers whose clocks are wrong agree about leases, waits and blocks, each in times of its own."""

import time

import pytest

import redis_server
from sieve_lab import check_conservation, pages, states
from urlsieve.grouping import domains
from urlsieve.model import Policy
from urlsieve.opening import _fresh
from urlsieve.sieve import Sieve
from urlsieve.stores.redis import RedisStore

HEADER = _fresh({"profile": None, "secret": 7, "group_by": None, "identity": None}, None, pinned=True)


@pytest.fixture
def worker():
    """Opens the job with a clock that is so many seconds off."""
    opened = []

    def open_with(off, **policy):
        clock = lambda: time.time() + off  # noqa: E731
        address = redis_server.shared().address("clock")
        store = RedisStore.bind(address, header=HEADER, policy=Policy(**policy), domains=domains, clock=clock)
        opened.append(Sieve(store, clock=clock, chance=lambda many: bytes(range(many)) if many == 8 else b"\x80" * many))
        return opened[-1]

    yield open_with
    check_conservation(opened[0])
    for sieve in opened:
        sieve.close()
    redis_server.forget_all()


HOUR = 3600.0


def test_a_lease_of_one_worker_is_not_over_for_another_whose_clock_is_ahead(worker):
    behind, ahead = worker(-2 * HOUR), worker(2 * HOUR)
    behind.push(pages(1))
    (lease,) = behind.pop(1, lease=60.0)
    assert lease.deadline == pytest.approx(behind.now() + 60, abs=5)
    empty = ahead.pop(1)
    assert [] == empty
    assert empty.next_at == pytest.approx(ahead.now() + 60, abs=5)
    assert ahead.info("http://a.example/p0").deadline == pytest.approx(ahead.now() + 60, abs=5)
    assert behind.extend(lease, 600.0)
    assert ahead.pop(1).next_at == pytest.approx(ahead.now() + 600, abs=5)
    assert "done" == behind.done(lease).state


def test_due_is_the_same_moment_for_all(worker):
    behind, ahead = worker(-2 * HOUR), worker(2 * HOUR)
    behind.revisit(pages(1), at=behind.now() + 100)
    assert ahead.info("http://a.example/p0").due == pytest.approx(ahead.now() + 100, abs=5)
    assert ahead.pop(1).next_at == pytest.approx(ahead.now() + 100, abs=5)


def test_a_block_is_the_same_moment_for_all(worker):
    behind, ahead = worker(-2 * HOUR), worker(2 * HOUR)
    behind.push(pages(3))
    (lease,) = behind.pop(1)
    behind.fail(lease, "busy", status=429, retry_after=300)
    (row,) = ahead.groups()
    assert row.health.blocked_until == pytest.approx(ahead.now() + 300, abs=5)
    assert [] == ahead.pop(1)
    assert any("blocked" in reason for reason in ahead.why("a.example").reasons)
    ahead.group("a.example").unblock()
    assert 1 == len(behind.pop(1))


def test_a_delay_holds_between_workers(worker):
    behind, ahead = worker(-2 * HOUR, delay=50.0), worker(2 * HOUR)
    behind.push(pages(3))
    behind.done(behind.pop(1), elapsed=1.0)
    empty = ahead.pop(1)
    assert [] == empty
    assert empty.next_at == pytest.approx(ahead.now() + 50, abs=5)


def test_what_is_asked_for_again_while_it_is_out_is_settled_by_the_other_clock(worker):
    behind, ahead = worker(-2 * HOUR), worker(2 * HOUR)
    behind.push(pages(2))
    one, other = behind.pop(2)
    ahead.revisit(one.url, at=ahead.now() + 200)
    ahead.push(other.url, mode="again")
    assert "delayed" == behind.done(one).state
    assert "pending" == behind.fail(other, "x", status=500).state
    assert ahead.info(one.url).due == pytest.approx(ahead.now() + 200, abs=5)
    assert {"delayed": 1, "pending": 1} == states(ahead)


def test_a_failure_is_older_than_a_success_whoever_saw_them(worker):
    behind, ahead = worker(-2 * HOUR, backoff=0.0), worker(2 * HOUR)
    behind.push(pages(6))
    for sieve in (behind, ahead, behind):
        leases = sieve.pop(2)
        sieve.fail(leases[0], "x", status=500)
        if len(leases) > 1:
            sieve.done(leases[1])
    assert {"done"} <= set(states(behind))


def test_a_blob_and_a_lock_end_by_the_servers_clock(worker):
    behind, ahead = worker(-2 * HOUR), worker(2 * HOUR)
    behind.site("a.example").blob("robots", b"x", ttl=0.15)
    assert b"x" == ahead.site("a.example").blob("robots")
    token, _ = behind._store.lock("round", "one", 0.15, behind.now())
    assert (None, "one") == ahead._store.lock("round", "two", 10.0, ahead.now())
    time.sleep(0.2)
    assert ahead.site("a.example").blob("robots") is None
    assert ahead._store.lock("round", "two", 10.0, ahead.now())[0] > token


def test_an_entry_moves_with_times_of_the_worker_that_asks(worker):
    behind, ahead = worker(-2 * HOUR), worker(2 * HOUR)
    behind.revisit(pages(1), at=behind.now() + 100)
    (entry,) = ahead._store.entries(ahead.now())
    assert entry.due == pytest.approx(ahead.now() + 100, abs=5)
    assert entry.since == pytest.approx(ahead.now(), abs=5)
