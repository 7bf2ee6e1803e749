"""How often the store asks the server, and what becomes of a call whose connection is cut: counted and cut by a proxy in between."""

import random
import statistics

import pytest

import redis_server
import urlsieve
from sieve_lab import check_conservation, hosts, pages, states
from tcp_proxy import Proxy
from urlsieve import StoreUnavailable
from urlsieve.stores.redis.address import parse
from urlsieve.stores.redis.wire import Wire


@pytest.fixture
def proxy():
    proxy = Proxy(redis_server.shared().port)
    yield proxy
    proxy.close()
    redis_server.forget_all()


@pytest.fixture
def sieve(proxy, request):
    with urlsieve.open(f"redis://127.0.0.1:{proxy.port}/0?job=trips&patience=20") as sieve:
        sieve.push(["http://warm.example/", "http://cold.example/"])  # every script is on the server after its first use
        one, other = sieve.pop(2)
        sieve.extend(one)
        sieve.fail(other, "x", status=403)
        sieve.push(other.url, mode="again")
        sieve.done([one, *sieve.pop(1)])
        yield sieve
    with urlsieve.open(redis_server.shared().address("trips")) as direct:
        check_conservation(direct)


def trips(proxy, action):
    before = proxy.trips
    result = action()
    return proxy.trips - before, result


def test_a_batch_over_all_shards_is_pushed_in_one_round_trip(sieve, proxy):
    urls = [f"http://h{number % 200}.example/{number}" for number in range(1000)]
    assert 1 == trips(proxy, lambda: sieve.push(urls))[0]
    assert 1 == trips(proxy, lambda: sieve.push(urls))[0]
    assert 1 == trips(proxy, lambda: sieve.push(urls[:500], mode="raise", priority=1))[0]
    assert 1 == trips(proxy, lambda: sieve.seen(urls))[0]


@pytest.mark.parametrize("unit", ["job", "day"])
def test_a_limit_of_all_shards_that_is_reached_costs_no_more_than_one_that_is_far(sieve, proxy, unit):
    sieve.apply_rules(urlsieve.Rules.parse(f"[scope]\nlimits = {{ {unit} = {{ urls = 1000 }} }}"))
    far, report = trips(proxy, lambda: sieve.push(hosts(200)))
    assert 200 == report.new
    there = 202 if unit == "job" else 200
    sieve.apply_rules(urlsieve.Rules.parse(f"[scope]\nlimits = {{ {unit} = {{ urls = {there + 20} }} }}"))
    crossing, report = trips(proxy, lambda: sieve.push(hosts(200, path="/next")))
    assert ["new"] * 20 + ["rejected:limit"] * 180 == report.verdicts  # the first of the batch
    assert crossing <= 2 * 20 + 4  # those that come in, each with a look; the rest at once
    beyond, report = trips(proxy, lambda: sieve.push(hosts(200, path="/beyond")))
    assert 200 == report.rejected
    assert beyond <= far


def test_a_batch_is_settled_in_one_round_trip_though_it_is_of_many_shards(sieve, proxy):
    sieve.push(hosts(200))
    many, leases = trips(proxy, lambda: sieve.pop(100))
    assert (100, True) == (len(leases), many <= 3)
    assert len({lease.token.split("-")[1].split(".")[0] for lease in leases}) > 20
    assert 1 == trips(proxy, lambda: sieve.done(leases[:50]))[0]
    assert 1 == trips(proxy, lambda: sieve.extend(leases[50:]))[0]
    assert 2 == trips(proxy, lambda: sieve.fail(leases[50:], "x", status=500))[0]  # load, settle


def test_what_pages_tell_goes_along_with_their_settle(sieve, proxy):
    sieve.push(hosts(60))
    leases = [*sieve.pop(100), *sieve.pop(100)]
    sieve.done(leases[0], signature="the script is on the server after this")
    assert 1 == trips(proxy, lambda: sieve.done(leases[1:20], signature="s"))[0]
    tokens = [lease.token for lease in leases[20:30]]
    assert (
        trips(proxy, lambda: sieve.done(tokens))[0] + 1
        >= trips(proxy, lambda: sieve.done([one.token for one in leases[30:40]], signature="s"))[0]
    )
    assert 30 == sum(part.text.count(b"\n") for part in sieve._store.evidence())


def test_a_pop_of_one_asks_at_most_two_round_trips_in_the_median(sieve, proxy):
    rng = random.Random(1)
    sieve.push([f"http://h{rng.randrange(300)}.example/{number}" for number in range(600)])
    counts = []
    for _ in range(300):
        many, leases = trips(proxy, lambda: sieve.pop(1))
        assert 1 == len(leases)
        counts.append(many)
        sieve.done(leases)
    assert statistics.median(counts) <= 2
    assert statistics.fmean(counts) <= 2


def test_a_pop_of_nothing_asks_at_most_two_round_trips(sieve, proxy):
    assert trips(proxy, lambda: sieve.pop(1))[0] <= 2


def test_a_pop_of_one_from_few_urls_in_many_shards_finds_them(sieve, proxy):
    with urlsieve.open(f"redis://127.0.0.1:{proxy.port}/0?job=trips") as other:
        for number in range(20):
            sieve.push(f"http://x{number}.example/")
            (lease,) = other.pop(1)
            assert f"http://x{number}.example/" == lease.url
            other.done(lease)


@pytest.mark.parametrize("when", ["before", "after"])
def test_ato_01_a_push_whose_connection_is_cut_leaves_its_urls_queued_exactly_once(sieve, proxy, when):
    for number in range(12):
        proxy.cut(when)
        urls = pages(30, host=f"c{number}.example") + hosts(30, path=f"/{number}")
        report = sieve.push(urls)
        assert 60 == report.new + report.seen  # what was done already is seen when it is asked again
        assert when == "after" or 60 == report.new
        assert [True] * 60 == sieve.seen(urls)
    assert 12 == proxy.cuts
    found = []
    while leases := sieve.pop(100):
        found += [lease.url for lease in leases]
        sieve.done(leases)
    assert (720, 720) == (len(found), len(set(found)))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_settle_whose_connection_is_cut_says_what_became_of_it(sieve, proxy, when):
    sieve.push(hosts(60))
    leases = sieve.pop(60)
    for start in range(0, 60, 20):
        proxy.cut(when)
        assert ["done"] * 20 == [settled.state for settled in sieve.done(leases[start : start + 20])]
    assert 3 == proxy.cuts
    assert ["lost"] * 60 == [settled.state for settled in sieve.done(leases)]
    assert {"done": 62} == states(sieve)


@pytest.mark.parametrize("skip", [0, 1])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_failure_whose_connection_is_cut_is_counted_once(sieve, proxy, when, skip):
    sieve.push("http://a.example/")
    (lease,) = sieve.pop(1)
    proxy.cut(when, skip)
    assert "delayed" == sieve.fail(lease, "slow", status=500).state
    assert 1 == proxy.cuts
    assert 1 == sieve.info("http://a.example/").attempt


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_pop_whose_connection_is_cut_gives_what_it_took_once(sieve, proxy, when):
    sieve.push(hosts(100))
    found = []
    for _ in range(10):
        proxy.cut(when)
        leases = sieve.pop(10)
        found += [lease.url for lease in leases]
        assert [True] * 10 == sieve.extend(leases, 90.0)
    assert len(found) == len(set(found))
    assert (100, 100) == (len(found), states(sieve)["leased"])  # nothing waits for its deadline because its answer was lost


def test_an_outage_longer_than_the_patience_is_an_error_in_our_words(proxy):
    with urlsieve.open(f"redis://127.0.0.1:{proxy.port}/0?job=short&patience=0.3&connect_timeout=0.3") as sieve:
        sieve.push(pages(2))
        proxy.close()
        proxy.cut("before")
        with pytest.raises(StoreUnavailable) as caught:
            sieve.push(pages(4))
        assert "0.3 s" in str(caught.value)


def test_a_server_that_never_answers_is_given_up_after_the_timeout():
    import socket
    import time

    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            urlsieve.open(f"redis://127.0.0.1:{silent.getsockname()[1]}/0?job=a&timeout=0.2&connect_timeout=0.4")
        assert time.monotonic() - began < 5


def test_a_wire_with_all_connections_busy_says_so(proxy):
    wire = Wire(parse(f"redis://127.0.0.1:{proxy.port}/0?job=a&max_connections=1&timeout=0.1"), lambda ask, info: None)
    with wire._connection(), pytest.raises(StoreUnavailable, match="max_connections"):
        with wire._connection():
            raise AssertionError("there is one only")
    wire.close()
