"""Arguments that make no sense are refused clearly, before anything is changed."""

import pytest

import redis_server
from sieve_lab import STORES, address_of, hosts, pages, states
from urlsieve import ConfigError, LeaseLost, Outcome, URLItem, UrlsieveError, testing

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("lease", [0, 0.0, -1, -0.001, NAN, -INF, True, False, "60", None, b"60", [60], 1j])
def test_a_lease_time_that_is_none_is_refused(sieve, lease):
    sieve.push(pages(1))
    with pytest.raises(ConfigError):
        sieve.pop(1, lease=lease)
    assert {"pending": 1} == states(sieve)
    assert 1 == sieve.pop(1)[0].attempt


@pytest.mark.parametrize("lease", [1e18, INF, 10**400], ids=["1e18", "inf", "10**400"])
def test_a_huge_lease_time_is_refused_or_kept_and_never_breaks_the_store(sieve, clock, lease):
    sieve.push(pages(1))
    try:
        leases = sieve.pop(1, lease=lease)
    except ConfigError:
        assert {"pending": 1} == states(sieve)
        return
    clock.advance(1_000_000)
    assert [] == sieve.pop(1)
    assert "done" == sieve.done(leases[0]).state


@pytest.mark.parametrize("seconds", [0, -1, NAN, True, "60", None])
def test_an_extension_that_is_none_is_refused_and_the_lease_is_as_it_was(sieve, clock, seconds):
    sieve.push(pages(1))
    (lease,) = sieve.pop(1, lease=60)
    with pytest.raises(ConfigError):
        sieve.extend(lease, seconds)
    clock.advance(59)
    assert [] == sieve.pop(1)
    assert "done" == sieve.done(lease).state


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "10", None, NAN, INF])
def test_a_limit_that_is_no_count_is_refused(sieve, limit):
    sieve.push(pages(1))
    with pytest.raises(ConfigError):
        sieve.pop(limit)
    assert {"pending": 1} == states(sieve)


@pytest.mark.parametrize(
    "field,value",
    [
        ("priority", "high"),
        ("priority", 1.5),
        ("priority", None),
        ("priority", 2**80),
        ("depth", -1),
        ("depth", "1"),
        ("depth", 2.5),
        ("via", 5),
    ],
)
def test_values_of_a_push_that_make_no_sense_are_refused(sieve, field, value):
    with pytest.raises(ConfigError):
        sieve.push("http://a.example/", **{field: value})
    with pytest.raises(ConfigError):
        sieve.push([URLItem("http://a.example/", **{field: value})])
    assert {} == states(sieve)


@pytest.mark.parametrize("due", [NAN, INF, "tomorrow", True])
def test_a_due_time_that_is_none_is_refused(sieve, due):
    with pytest.raises(ConfigError):
        sieve.push([URLItem("http://a.example/", due=due)])
    assert {} == states(sieve)


@pytest.mark.parametrize("variant", ["text", 5, None])
def test_a_variant_is_bytes(sieve, variant):
    with pytest.raises(ConfigError):
        sieve.push([URLItem("http://a.example/", variant=variant)])
    assert {} == states(sieve)


@pytest.mark.parametrize("value", [None, 5, 1.5, b"token", object(), {"token": "x"}], ids=repr)
def test_what_is_neither_lease_nor_token_is_refused(sieve, value):
    for verb in (
        sieve.done,
        lambda it: sieve.fail(it, "x"),
        lambda it: sieve.skip(it, "x"),
        sieve.release,
        lambda it: sieve.extend(it, 60.0),
    ):
        with pytest.raises((ConfigError, LeaseLost)):
            verb(value)


@pytest.mark.parametrize("when", [NAN, INF, "soon", True])
@pytest.mark.parametrize("field", ["not_before", "group_until"])
def test_a_release_until_no_time_is_refused(sieve, field, when):
    sieve.push(pages(1))
    (lease,) = sieve.pop(1)
    with pytest.raises(ConfigError):
        sieve.release(lease, **{field: when})
    assert {"leased": 1} == states(sieve)


def test_an_unknown_kind_of_outcome_is_refused_and_nothing_of_the_batch_is_settled(sieve):
    sieve.push(hosts(2))
    first, second = sieve.pop(2)
    with pytest.raises(ConfigError):
        sieve.settle([(first, Outcome("done")), (second, Outcome("eaten"))])
    assert {"leased": 2} == states(sieve)


@pytest.mark.parametrize(
    "name,value",
    [("delay", -1.0), ("delay", NAN), ("delay", "1"), ("delay", INF), ("concurrency", 0), ("concurrency", -2), ("concurrency", 1.5)],
)
def test_settings_of_a_group_that_make_no_sense_are_refused(sieve, name, value):
    sieve.push(pages(3))
    with pytest.raises(ConfigError):
        setattr(sieve.group("a.example"), name, value)
    assert 3 == len(sieve.pop(3))


@pytest.mark.parametrize(
    "option,value",
    [
        ("profile", "unsafe"), ("durability", "maybe"), ("delay", -1), ("delay", NAN), ("delay", "1"), ("concurrency", 0), ("concurrency", 1.5), ("max_attempts", 0),
        ("max_attempts", -3), ("max_attempts", 2.5), ("backoff", -1), ("backoff", NAN), ("group_by", "color"), ("identity", "name"), ("secret", -1), ("secret", 2**128),
        ("secret", "abc"), ("high_water", 0), ("high_water", -5), ("keep_urls", "perhaps"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", STORES)
def test_options_of_open_that_make_no_sense_are_refused_and_leave_no_store_behind(tmp_path, option, value, name):
    address = address_of(name, tmp_path)
    with pytest.raises(ConfigError) as caught:
        testing.open(address, clock=testing.VirtualClock(), **{**STORES[name], option: value}).close()
    assert option in str(caught.value)
    assert not (tmp_path / "store").exists()
    if name == "redis":
        with redis_server.shared().client() as client:
            assert [] == client.keys()


@pytest.mark.parametrize("address", ["", "ftp://host/x", "redis+nonsense://x", "memory:x", None, 5, "\0"])
def test_an_address_of_no_store_is_refused_and_leaves_nothing_behind(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UrlsieveError):
        testing.open(address, clock=testing.VirtualClock())
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("timeout", [-1, NAN, "1", True])
def test_a_wait_of_no_time_is_refused(sieve, timeout):
    with pytest.raises(ConfigError):
        sieve.wait(timeout)


def test_an_unknown_option_is_a_type_error():
    with pytest.raises(TypeError):
        testing.open("memory:", clock=testing.VirtualClock(), colour="blue")


def test_blobs_that_make_no_sense_are_refused(sieve):
    site = sieve.site("a.example")
    for value in ("text", 5, object()):
        with pytest.raises(ConfigError):
            site.blob("robots", value)
    with pytest.raises(ConfigError):
        site.blob("robots", b"x", ttl=-1.0)
    assert site.blob("robots") is None
