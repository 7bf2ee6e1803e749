"""One suite over every store: `lab` is a store under a virtual clock, `sieve` its first opener; each test ends with a check of conservation."""

import pytest

from sieve_lab import SHARED, STORES, Lab, check_conservation
from urlsieve import testing
from urlsieve.stores.embedded import merging


def pytest_generate_tests(metafunc):
    if "store_name" in metafunc.fixturenames:
        metafunc.parametrize("store_name", SHARED if "shared" in metafunc.fixturenames else STORES, indirect=True)


@pytest.fixture
def store_name(request, monkeypatch):
    if request.param == "embedded-runs":
        monkeypatch.setattr(merging, "LONGEST_JOURNAL", 5)
    return request.param


def make_lab(name, place):
    address = "memory:" if name == "memory" else str(place / "store")
    return Lab(name=name, address=address, options=dict(STORES[name]))


@pytest.fixture
def lab(store_name, fast_path):
    lab = make_lab(store_name, fast_path)
    yield lab
    lab.finish()


@pytest.fixture
def shared(store_name, fast_path):
    """A store that several may open."""
    lab = make_lab(store_name, fast_path)
    yield lab
    lab.finish()


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
