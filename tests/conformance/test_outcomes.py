"""The outcomes table, row by row: what a status makes of a lease."""

import pytest

from sieve_lab import hosts, pages, states, urls_of
from urlsieve import ConfigError, LeaseLost

URL = "http://a.example/"


@pytest.fixture
def lease(sieve):
    sieve.push(URL)
    (lease,) = sieve.pop(1)
    return lease


@pytest.mark.parametrize("status", [200, 201, 204, 206, 299, 301, 302, 303, 307, 308])
def test_success_and_redirects_are_done(sieve, lease, status):
    assert "done" == sieve.done(lease, status=status).state
    assert {"done": 1} == states(sieve)
    assert [] == sieve.pop(1)


def test_not_modified_is_done_and_says_so(sieve, lease):
    settled = sieve.done(lease, status=304)
    assert ("done", "not_modified") == (settled.state, settled.change)


@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize("verb", ["done", "fail"])
def test_what_is_gone_is_done_and_not_on_the_failed_list(sieve, lease, status, verb):
    settled = sieve.done(lease, status=status) if verb == "done" else sieve.fail(lease, "missing", status=status)
    assert ("done", "gone") == (settled.state, settled.change)
    assert {"done": 1} == states(sieve)


def test_a_skip_is_done_and_counted_under_its_reason(sieve):
    sieve.push(hosts(5))
    leases = sieve.pop(5)
    assert "done" == sieve.skip(leases[0], "robots").state
    assert ["done", "done"] == [one.state for one in sieve.skip(leases[1:3], "type")]
    sieve.done(leases[3:])
    assert {"done": 5} == states(sieve)
    assert {"robots": 1, "type": 2} == sieve.stats().as_dict()["skipped"]


@pytest.mark.parametrize("status", [400, 401, 402, 403, 405, 406, 409, 411, 412, 413, 414, 415, 418, 422, 426, 431, 451, 499])
@pytest.mark.parametrize("verb", ["done", "fail"])
def test_other_client_errors_are_dead_and_the_reason_is_kept(sieve, lease, status, verb):
    settled = sieve.done(lease, status=status) if verb == "done" else sieve.fail(lease, "no entry", status=status)
    assert "dead" == settled.state
    info = sieve.info(URL)
    assert "dead" == info.state
    assert str(status) in info.reason or "no entry" in info.reason


@pytest.mark.parametrize("status", [408, 425, 500, 501, 502, 504, 507, 520, 599])
@pytest.mark.parametrize("verb", ["done", "fail"])
def test_what_may_pass_is_delayed_with_backoff(sieve, lease, clock, status, verb):
    settled = sieve.done(lease, status=status) if verb == "done" else sieve.fail(lease, "trouble", status=status)
    assert "delayed" == settled.state
    assert clock.now <= settled.due <= clock.now + 10
    assert {"delayed": 1} == states(sieve)


def test_a_failure_without_a_status_is_delayed(sieve, lease, clock):
    settled = sieve.fail(lease, "connection reset")
    assert "delayed" == settled.state
    assert clock.now <= settled.due <= clock.now + 10


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("verb", ["done", "fail"])
def test_too_many_and_unavailable_are_delayed(sieve, lease, status, verb):
    settled = sieve.done(lease, status=status) if verb == "done" else sieve.fail(lease, "slow down", status=status)
    assert "delayed" == settled.state
    assert {"delayed": 1} == states(sieve)


@pytest.mark.parametrize("status", [500, None])
def test_after_max_attempts_the_url_is_dead_with_its_reason(sieve, clock, status):
    sieve.push(URL)
    for expected in ("delayed", "delayed", "dead"):
        clock.advance(3600)
        (lease,) = sieve.pop(1)
        assert expected == sieve.fail(lease, "timeout in TLS", status=status).state
    assert {"dead": 1} == states(sieve)
    assert "timeout in TLS" in sieve.info(URL).reason
    clock.advance(3600)
    assert [] == sieve.pop(1)


def test_done_with_an_error_status_acts_as_fail(sieve, clock):
    sieve.push(URL)
    for expected in ("delayed", "delayed", "dead"):
        clock.advance(3600)
        assert expected == sieve.done(sieve.pop(1)[0], status=500).state


def test_done_with_an_error_status_still_keeps_its_links(sieve, lease):
    sieve.done(lease, status=500, links=["http://b.example/"])
    assert ["http://b.example/"] == urls_of(sieve.pop(10, groups=["b.example"]))


def test_the_backoff_doubles_is_drawn_and_ends_at_an_hour(lab, clock):
    sieve = lab.open(backoff=1000.0, max_attempts=4)
    every = hosts(60)
    sieve.push(every)
    for longest in (1000, 2000, 3600):
        leases = sieve.pop(100)
        assert 60 == len(leases)
        waits = [settled.due - clock.now for settled in sieve.fail(leases, "x", status=500)]
        assert all(0 <= wait <= longest for wait in waits)
        assert max(waits) > longest / 2
        assert min(waits) < longest / 2
        clock.advance(4000)


def test_the_backoff_is_kept_to(sieve, clock, lease):
    settled = sieve.fail(lease, "x", status=500)
    empty = sieve.pop(1)
    assert [] == empty
    assert settled.due == empty.next_at
    clock.advance(settled.due - clock.now)
    (again,) = sieve.pop(1)
    assert (URL, 2) == (again.url, again.attempt)


def test_a_retry_keeps_priority_depth_via_and_meta(sieve, clock):
    sieve.push("http://a.example/r", priority=6, depth=2, via="http://v.example/", meta={"k": 1})
    sieve.fail(sieve.pop(1)[0], "x")
    clock.advance(20)
    (lease,) = sieve.pop(1)
    assert (6, 2, "http://v.example/", {"k": 1}) == (lease.priority, lease.depth, lease.via, lease.meta)


@pytest.mark.parametrize("status", [0, 99, 100, 600, 999, 1000])
def test_a_status_outside_the_table_is_a_failure_and_never_a_success(sieve, lease, status):
    assert "delayed" == sieve.done(lease, status=status).state


@pytest.mark.parametrize("status", [-1, True, "200", 200.5, float("nan")])
def test_a_status_that_is_none_is_refused_and_the_lease_stays(sieve, lease, status):
    with pytest.raises(ConfigError):
        sieve.done(lease, status=status)
    with pytest.raises(ConfigError):
        sieve.fail(lease, "x", status=status)
    assert {"leased": 1} == states(sieve)
    assert "done" == sieve.done(lease).state


@pytest.mark.parametrize("elapsed", [float("nan"), float("inf"), "3", True])
def test_a_fetch_time_that_is_none_is_refused_and_the_lease_stays(sieve, lease, elapsed):
    with pytest.raises(ConfigError):
        sieve.done(lease, elapsed=elapsed)
    assert {"leased": 1} == states(sieve)


@pytest.mark.parametrize("retry_after", [float("nan"), "60", True])
def test_a_retry_after_that_is_none_is_refused_and_the_lease_stays(sieve, lease, retry_after):
    with pytest.raises(ConfigError):
        sieve.fail(lease, "x", status=429, retry_after=retry_after)
    assert {"leased": 1} == states(sieve)


def test_times_measured_across_a_step_of_the_clock_count_as_none(lab, clock):
    sieve = lab.open(delay=10.0)
    sieve.push(hosts(2))
    first, second = sieve.pop(2)
    assert "done" == sieve.done(first, elapsed=-5.0).state
    assert "delayed" == sieve.fail(second, "date in the past", status=429, retry_after=-5.0).state
    clock.advance(10)
    assert [second.url] == urls_of(sieve.pop(1))


def test_links_are_accepted_before_their_page_is_done(sieve, lease):
    sieve.done(lease, links=["/x", "http://b.example/y", "mailto:no", "/x#again"])
    found = {one.url: one for one in sieve.pop(10)}
    assert {"http://a.example/x", "http://b.example/y"} == set(found)
    assert {(1, URL)} == {(one.depth, one.via) for one in found.values()}


def test_links_are_not_lost_with_the_lease(sieve, clock, lease):
    clock.advance(61)
    (second,) = sieve.pop(1)
    with pytest.raises(LeaseLost):
        sieve.done(lease, links=["http://b.example/"])
    assert ["http://b.example/"] == urls_of(sieve.pop(10))
    sieve.done(second)


def test_links_are_relative_to_where_the_page_was_in_the_end(sieve, lease):
    sieve.done(lease, final_url="http://a.example/deep/er/page", links=["next"])
    assert ["http://a.example/deep/er/next"] == urls_of(sieve.pop(10))


def test_many_links_are_taken_at_once(sieve, lease):
    sieve.done(lease, links=[f"/n{number}" for number in range(10_000)])
    assert {"done": 1, "pending": 10_000} == states(sieve)


def test_a_page_may_link_to_itself(sieve, lease):
    sieve.done(lease, links=[URL, URL])
    assert {"done": 1} == states(sieve)


def test_one_outcome_for_a_list_of_leases(sieve):
    sieve.push(pages(5))
    assert ["dead"] * 5 == [settled.state for settled in sieve.fail(sieve.pop(5), "no", status=401)]
    assert {"dead": 5} == states(sieve)
