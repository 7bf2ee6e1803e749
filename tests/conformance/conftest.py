"""One suite over every store: `lab` is a store under a virtual clock, `sieve` its first opener; each test ends with a check of conservation."""

import os

import pytest

import redis_server
from sieve_lab import ONE_SHARD, SHARED, STORES, Lab, address_of, check_conservation
from urlsieve import testing
from urlsieve.stores.embedded import merging, packing, sweep

ALSO_NORMAL = {"test_push", "test_leases", "test_open", "test_outcomes"}


def pytest_generate_tests(metafunc):
    """Every test runs on every store. Those marked `one_shard` speak of an order over several groups, or of a group of another domain:
    a store of many shards promises neither (stores/protocol.py), so they run on a Redis store of one shard instead; nothing is skipped. The embedded store's other durability differs in when it syncs only: what
    pushes, leases and opens runs on it always, the rest in `./dev long`."""
    if "store_name" in metafunc.fixturenames:
        names = SHARED if "shared" in metafunc.fixturenames else list(STORES)
        if metafunc.definition.get_closest_marker("one_shard") is not None:
            names = [ONE_SHARD if name == "redis" else name for name in names]
        if metafunc.module.__name__ not in ALSO_NORMAL and "URLSIEVE_KILLS" not in os.environ:
            names = [name for name in names if name != "embedded-normal"]
        metafunc.parametrize("store_name", names, indirect=True)


@pytest.fixture
def store_name(request, monkeypatch):
    if request.param == "embedded-runs":
        monkeypatch.setattr(merging, "LONGEST_JOURNAL", 5)
        monkeypatch.setattr(sweep, "SLICE", 1)
        monkeypatch.setattr(sweep, "LOOK", 3)
        monkeypatch.setattr(packing.Packing, "after", lambda self, finished, freed: self.pack())
    return request.param


def make_lab(name, place):
    return Lab(name=name, address=address_of(name, place), options=dict(STORES.get(name, {})))


@pytest.fixture
def lab(store_name, fast_path):
    lab = make_lab(store_name, fast_path)
    yield lab
    lab.finish()
    redis_server.forget_all()


@pytest.fixture
def shared(store_name, fast_path):
    """A store that several may open."""
    lab = make_lab(store_name, fast_path)
    yield lab
    lab.finish()
    redis_server.forget_all()


@pytest.fixture
def sieve(lab):
    return lab.open()


@pytest.fixture
def clock(lab):
    return lab.clock


@pytest.fixture
def other_store(lab, clock):
    """An empty store with the same secret, in memory."""
    header = lab.opened[0]._store.header if lab.opened else None
    secret = header.secret if header else lab.open()._store.header.secret
    other = testing.open("memory:", clock=clock, secret=secret)
    yield other
    check_conservation(other)
    other.close()
