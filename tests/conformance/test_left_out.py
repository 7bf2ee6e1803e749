"""Links that a worker leaves out itself: counted among the rejected, and nothing else."""

import pytest

from sieve_lab import states
from urlsieve import ConfigError, Outcome

URL = "http://a.example/"


@pytest.fixture
def lease(sieve):
    sieve.push(URL)
    (lease,) = sieve.pop(1)
    return lease


def test_links_left_out_are_counted_by_reason_without_any_link(sieve, lease):
    sieve.settle([(lease, Outcome("done", refused=(("scope", 3), ("depth", 1))))])
    assert {"scope": 3, "depth": 1} == sieve.stats().rejected
    assert {"done": 1} == states(sieve)


def test_links_left_out_are_counted_beside_those_that_the_store_refuses(sieve, lease):
    sieve.settle([(lease, Outcome("done", links=("/b", "mailto:x", "/c"), refused=(("scope", 2), ("scheme", 1))))])
    assert {"scope": 2, "scheme": 2} == sieve.stats().rejected
    assert {"done": 1, "pending": 2} == states(sieve)


def test_many_pages_in_one_step_are_counted_together(sieve):
    sieve.push([f"http://h{i}.example/" for i in range(20)])
    leases = sieve.pop(20)
    sieve.settle([(lease, Outcome("done", links=(f"/{i}",), refused=(("scope", i),))) for i, lease in enumerate(leases)])
    assert {"scope": sum(range(20))} == sieve.stats().rejected
    assert {"done": 20, "pending": 20} == states(sieve)


def test_none_left_out_counts_nothing(sieve, lease):
    sieve.settle([(lease, Outcome("done", refused=(("scope", 0),)))])
    assert {} == {reason: many for reason, many in sieve.stats().rejected.items() if many}


@pytest.mark.parametrize("refused", [(("because", 1),), (("scope", -1),), (("scope", 1.5),), (("scope", True),), ("scope",), 7, (1, 2)])
def test_what_is_no_count_by_reason_is_an_error_and_settles_nothing(sieve, lease, refused):
    with pytest.raises(ConfigError, match="refused"):
        sieve.settle([(lease, Outcome("done", refused=refused))])
    assert {"leased": 1} == states(sieve)
