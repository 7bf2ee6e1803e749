"""A Redis that is wrong, full, foreign or forbidden: a clear error in our words, and nothing half done."""

import threading
import time

import pytest

import redis_server
import urlsieve
from redis_server import RedisServer, free_port
from sieve_lab import check_conservation, hosts, pages, states
from urlsieve import ConfigError, StoreCorrupt, StoreFull, StoreMismatch, StoreUnavailable, URLItem

MIB = 1 << 20


@pytest.fixture
def address():
    yield redis_server.shared().address("faults")
    redis_server.forget_all()


@pytest.fixture
def server(request):
    server = RedisServer(**getattr(request, "param", {})).start()
    yield server
    server.close()


def with_settings(**settings):
    names = {name.replace("_", "-"): value for name, value in settings.items()}
    return pytest.mark.parametrize("server", [{"settings": names}], indirect=True)


def test_a_server_that_is_not_there_is_named():
    port = free_port()
    began = time.monotonic()
    with pytest.raises(StoreUnavailable) as caught:
        urlsieve.open(f"redis://127.0.0.1:{port}/0?job=a&connect_timeout=0.5")
    assert f"127.0.0.1:{port}" in str(caught.value)
    assert time.monotonic() - began < 5


def test_a_host_that_is_not_there_is_named():
    with pytest.raises(StoreUnavailable, match=r"nowhere\.invalid"):
        urlsieve.open("redis://nowhere.invalid:6379/0?job=a&connect_timeout=0.5")


def test_something_else_that_answers_is_no_redis():
    import socket

    def speak(listener):
        while True:
            try:
                with listener.accept()[0] as one:
                    one.recv(1000)
                    one.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=speak, args=(listener,), daemon=True).start()
        with pytest.raises(StoreUnavailable):
            urlsieve.open(f"redis://127.0.0.1:{listener.getsockname()[1]}/0?job=a&connect_timeout=0.5&timeout=0.5")


@with_settings(requirepass="right-word")
def test_a_wrong_password_is_refused_at_once_and_not_shown(server):
    for user in ("", ":wrong-word@", "nobody:wrong-word@"):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="password") as caught:
            urlsieve.open(f"redis://{user}127.0.0.1:{server.port}/0?job=a")
        assert "wrong-word" not in str(caught.value)
        assert time.monotonic() - began < 3
    with urlsieve.open(f"redis://:right-word@127.0.0.1:{server.port}/0?job=a") as sieve:
        assert 1 == sieve.push(pages(1)).new
        assert "right-word" not in repr(sieve) + sieve.address + str(sieve.doctor())


def test_a_database_that_is_not_there_is_a_setting(address):
    with pytest.raises(ConfigError, match="database"):
        urlsieve.open(address.replace("/0?", "/9999?"))


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random", "volatile-lru", "volatile-ttl"])
def test_red_01_a_server_that_evicts_is_refused_unless_the_loss_is_accepted(server, policy):
    with server.client() as client:
        client.config_set("maxmemory-policy", policy)
    with pytest.raises(StoreMismatch) as caught:
        urlsieve.open(server.address())
    for word in (policy, "noeviction", "i_accept_data_loss"):
        assert word in str(caught.value)
    with server.client() as client:
        assert [] == list(client.scan_iter())
    with urlsieve.open(server.address(i_accept_data_loss=1)) as sieve:
        assert 1 == sieve.push(pages(1)).new
        assert "error" in {finding.level for finding in sieve.doctor() if policy in finding.what}


def test_red_01_a_policy_that_changes_while_it_runs_is_told_by_doctor(server):
    with urlsieve.open(server.address()) as sieve, server.client() as client:
        assert "error" not in {finding.level for finding in sieve.doctor()}
        client.config_set("maxmemory-policy", "allkeys-lru")
        assert "error" in {finding.level for finding in sieve.doctor()}


@with_settings(appendonly="no")
def test_doctor_warns_of_a_server_without_a_file(server):
    with urlsieve.open(server.address()) as sieve:
        assert "warn" in {finding.level for finding in sieve.doctor() if "appendonly no" in finding.what}


def test_durability_is_what_the_server_does(server):
    with pytest.raises(ConfigError, match="appendfsync always"):
        urlsieve.open(server.address(), durability="full")
    with pytest.raises(ConfigError, match="not in this version"):
        urlsieve.open(server.address(), durability="wait")
    with server.client() as client:
        assert [] == list(client.scan_iter())
        client.config_set("appendfsync", "always")
    urlsieve.open(server.address(), durability="full").close()
    urlsieve.open(server.address(), durability="normal").close()


def fill(sieve, start=0):
    """Until the server's memory is full: how many were taken."""
    taken = 0
    for number in range(10_000):
        batch = [URLItem(f"http://h{n % 20}.example/{start + number}/{n}", meta="x" * 500) for n in range(200)]
        try:
            taken += sieve.push(batch).new
        except StoreFull:
            return taken
    raise AssertionError("never full")


def test_red_03_a_full_server_refuses_new_urls_and_lets_leases_come_back(server):
    with urlsieve.open(server.address(shards=1)) as sieve, server.client() as client:
        sieve.push(hosts(50))
        leases = sieve.pop(50)
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 4 * MIB)
        taken = fill(sieve)
        assert taken > 0
        before = sieve.stats()
        with pytest.raises(StoreFull, match="maxmemory"):
            sieve.push(pages(5))
        assert before.seen == sieve.stats().seen
        assert [False] * 5 == sieve.seen(pages(5))
        assert sieve.extend(leases[0], 100.0)
        assert ["done"] * 20 == [settled.state for settled in sieve.done(leases[:20])]
        assert {"delayed"} == {settled.state for settled in sieve.fail(leases[20:30], "x", status=500)}
        assert {"pending"} == {settled.state for settled in sieve.release(leases[30:40])}
        assert {"done"} == {settled.state for settled in sieve.skip(leases[40:], "type")}
        assert sieve.pop(1)
        assert "warn" in {finding.level for finding in sieve.doctor()}
        check_conservation(sieve)
        client.config_set("maxmemory", 0)
        assert 5 == sieve.push(pages(5)).new
        check_conservation(sieve)


def test_a_full_server_of_many_shards_leaves_nothing_seen_but_not_queued(server):
    with urlsieve.open(server.address()) as sieve, server.client() as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 4 * MIB)
        fill(sieve)
        with pytest.raises(StoreFull):
            sieve.push(hosts(500))
        client.config_set("maxmemory", 0)
        check_conservation(sieve)
        report = sieve.push(hosts(500))
        assert 500 == report.new + report.seen
        assert {"pending"} == set(states(sieve))


def test_red_05_two_jobs_of_one_server_know_nothing_of_each_other(address):
    other = redis_server.shared().address("other")
    with urlsieve.open(address) as one, urlsieve.open(other) as two:
        assert 5 == one.push(pages(5)).new
        assert 5 == two.push(pages(5)).new
        one.done(one.pop(3))
        two.purge(site="a.example")
        assert ({"pending": 2, "done": 3}, {}) == (states(one), states(two))
        check_conservation(one)
        check_conservation(two)
        with redis_server.shared().client() as client:
            keys = list(client.scan_iter())
        assert keys
        assert [] == [
            key
            for key in keys
            if not key.startswith((b"urlsieve:{faults:s", b"urlsieve:{faults}:", b"urlsieve:{other:s", b"urlsieve:{other}:"))
        ]


def tour(address):
    """Everything a worker, an operator and a program do."""
    with urlsieve.open(address, delay=0.0) as sieve:
        sieve.push([f"http://h{n % 30}.example/{n}" for n in range(400)])
        sieve.push(pages(5), mode="raise", priority=3)
        sieve.push(pages(2), mode="again")
        sieve.mark(pages(2, start=50), known=True)
        leases = sieve.pop(40)
        sieve.extend(leases, 50.0)
        sieve.done(leases[:20], links=["/x"], redirects=["http://r.example/1"])
        sieve.fail(leases[20:30], "x", status=500)
        sieve.fail(leases[30:32], "x", status=403)
        sieve.release(leases[32:35], group_until=time.time() + 5)
        sieve.skip(leases[35:], "type")
        sieve.pop(3, groups=["h1.example", "h2.example"])
        sieve.seen(pages(3))
        sieve.forget(pages(1))
        sieve.purge(site="h3.example")
        site = sieve.site("h4.example")
        site.limit, site.delay, site.concurrency = 100, 1.0, 2
        site.pause()
        site.resume()
        site.blob("robots", b"x")
        assert b"x" == site.blob("robots")
        sieve.group("h5.example").block(time.time() + 5)
        assert len(list(sieve.sites())) > 20
        assert len(list(sieve.groups())) > 20
        sieve.why("h4.example")
        sieve.info("http://h6.example/6")
        sieve.wait(0.01)
        sieve.stats()
        sieve.doctor()
        store = sieve._store
        token, _ = store.lock("round", "me", 5.0, sieve.now())
        assert store.unlock("round", token)
        assert store.replace_rules("# none", store.rules().generation, time.time()) is not None
        assert len(list(store.entries(sieve.now()))) > 300
        check_conservation(sieve)


def test_red_07_the_smallest_rights_are_enough_and_no_script_is_slow(server):
    with server.client() as client:
        client.acl_setuser(
            "worker",
            enabled=True,
            passwords=["+word"],
            keys=["urlsieve:*"],
            categories=["+@all", "-@dangerous", "-@admin"],
            commands=["+info"],
        )
        client.config_set("slowlog-log-slower-than", 50_000)
        client.mset({f"foreign:{number}": 1 for number in range(50_000)})
        client.slowlog_reset()
    tour(f"redis://worker:word@127.0.0.1:{server.port}/0?job=tour")
    with server.client() as client:
        assert [] == [entry["command"][:60] for entry in client.slowlog_get() if b"EVALSHA" in entry["command"]]
        assert 0 == client.info("commandstats").get("cmdstat_keys", {"calls": 0})["calls"]


def test_a_right_that_is_missing_is_named(server):
    with server.client() as client:
        client.acl_setuser("reader", enabled=True, passwords=["+word"], keys=["urlsieve:*"], commands=["+info", "+hget", "+get"])
    with pytest.raises(StoreUnavailable, match="may not"):
        urlsieve.open(f"redis://reader:word@127.0.0.1:{server.port}/0?job=tour")


def test_a_read_only_replica_is_refused(server):
    replica = RedisServer(settings={"replicaof": f"127.0.0.1 {server.port}"}).start()
    try:
        with pytest.raises(StoreUnavailable, match="replica"):
            urlsieve.open(replica.address())
    finally:
        replica.close()


def contents(client):
    return {one: client.dump(one) for one in client.scan_iter() if not one.endswith(b":changes")}


@pytest.mark.parametrize("suffix", ["n", "e", "s", "g", "i", "ready", "line", "wake", "held", "due", "exp", "bury"])
def test_a_key_of_another_type_is_named_and_nothing_is_written(server, suffix):
    with urlsieve.open(server.address(shards=1)) as sieve, server.client() as client:
        sieve.push(pages(3))
        key = f"urlsieve:{{test:s0}}:{suffix}"
        client.delete(key)
        client.set(key, "a string")
        before = contents(client)
        for use in (lambda: sieve.push(pages(6)), lambda: sieve.pop(1)):
            with pytest.raises(StoreCorrupt, match="type"):
                use()
        assert before == contents(client)


def test_a_header_of_a_newer_version_is_refused(address):
    urlsieve.open(address).close()
    with redis_server.shared().client() as client:
        client.hset("urlsieve:{faults}:header", "schema", 2)
    with pytest.raises(StoreMismatch) as caught:
        urlsieve.open(address)
    assert "schema" == caught.value.field


@pytest.mark.parametrize("field,value", [("header", "{"), ("header", "[]"), ("policy", "no"), ("policy", "{}")])
def test_a_header_that_cannot_be_read_is_damage(address, field, value):
    urlsieve.open(address).close()
    with redis_server.shared().client() as client:
        client.hset("urlsieve:{faults}:header", field, value)
    with pytest.raises(StoreCorrupt):
        urlsieve.open(address)


def test_a_job_whose_header_is_gone_is_not_made_anew_over_its_shards(address):
    with urlsieve.open(address) as sieve:
        sieve.push(pages(3))
    with redis_server.shared().client() as client:
        client.delete("urlsieve:{faults}:header")
    with pytest.raises(StoreCorrupt, match="header"):
        urlsieve.open(address)


def test_another_number_of_shards_is_a_mismatch(address):
    urlsieve.open(address + "&shards=4").close()
    with pytest.raises(StoreMismatch) as caught:
        urlsieve.open(address + "&shards=8")
    assert "shards" == caught.value.field
    urlsieve.open(address + "&shards=4").close()
    urlsieve.open(address).close()


def test_deep_verify_finds_what_was_taken_away(address):
    with urlsieve.open(address + "&shards=1") as sieve, redis_server.shared().client() as client:
        sieve.push([*pages(5), *hosts(5)])
        sieve.fail(sieve.pop(2), "x", status=500)
        sieve.pop(2)
        assert [] == sieve.verify(deep=True)
        for key in sorted(client.scan_iter("urlsieve:{faults:s0}:*")):
            if key.endswith((b":n", b":t")) or b":a" in key:
                continue
            kept = client.dump(key)
            client.delete(key)
            with_out = _problems(sieve)
            client.restore(key, 0, kept)
            assert with_out, f"nobody missed {key!r}"
        assert [] == sieve.verify(deep=True)


def _problems(sieve):
    try:
        return sieve.verify(deep=True)
    except StoreCorrupt as error:
        return [str(error)]
