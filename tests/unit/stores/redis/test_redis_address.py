"""The address of a Redis store: what it says, what is refused, and that its password is never shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import urlsieve
from urlsieve import ConfigError, StoreUnavailable
from urlsieve.stores.redis.address import parse


def test_a_whole_address_is_read():
    found = parse(
        "rediss://me:p%40ss%2F@[::1]:7000/3?job=news.1_a-b&timeout=2&connect_timeout=1.5&max_connections=4&patience=0&shards=8&i_accept_data_loss=1"
    )
    assert ("::1", 7000, 3, "news.1_a-b", True) == (found.host, found.port, found.db, found.job, found.tls)
    assert ("me", "p@ss/") == (found.user, found.password)
    assert (2.0, 1.5, 4, 0.0, 8, True) == (
        found.timeout,
        found.connect_timeout,
        found.max_connections,
        found.patience,
        found.shards,
        found.accept_data_loss,
    )


def test_what_is_not_said_has_a_default():
    found = parse("redis://box?job=a")
    assert ("box", 6379, 0, None, None, None, 30.0, False) == (
        found.host,
        found.port,
        found.db,
        found.user,
        found.password,
        found.shards,
        found.patience,
        found.accept_data_loss,
    )


@pytest.mark.parametrize(
    "address",
    [
        "redis://", "redis:///0?job=a", "redis://h", "redis://h?job=", "redis://h?job=a b", "redis://h?job={a}", "redis://h?job=a*", "redis://h?job=" + "a" * 65,
        "redis://h?job=a&job=b", "redis://h/x?job=a", "redis://h/-1?job=a", "redis://h/1/2?job=a", "redis://h:x?job=a", "redis://h:99999?job=a", "redis://h?job=a&color=red",
        "redis://h?job=a&shards=0", "redis://h?job=a&shards=1.5", "redis://h?job=a&shards=99999", "redis://h?job=a&timeout=0", "redis://h?job=a&timeout=nan",
        "redis://h?job=a&patience=-1", "redis://h?job=a&max_connections=no", "redis://h?job=a#x", "redis://h?job=a&i_accept_data_loss=yes", "redis://h/²?job=a",
    ],
)  # fmt: skip
def test_an_address_that_makes_no_sense_is_refused(address):
    with pytest.raises(ConfigError):
        urlsieve.open(address)


@given(st.text(min_size=1, max_size=30))
def test_any_text_after_the_scheme_is_read_or_refused_in_our_words(text):
    try:
        parse(f"redis://{text}")
    except ConfigError:
        pass


def test_the_password_is_never_shown():
    address = "redis://me:s3cret-word@127.0.0.1:1/0?job=a&connect_timeout=0.2&patience=0"
    found = parse(address)
    assert "s3cret" not in repr(found) + str(found) + found.shown
    with pytest.raises(StoreUnavailable) as caught:
        urlsieve.open(address)
    assert "s3cret" not in str(caught.value) + repr(caught.value)
    for wrong in (
        "redis://me:s3cret-word@h/x?job=a",
        "redis://me:s3cret-word@h?color=red",
        "redis://me:s3cret/word@h?job=a",
        "redis://me:s3cret-word@h:port?job=a",
    ):
        with pytest.raises(ConfigError) as refused:
            urlsieve.open(wrong)
        assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "rest", ["/sesame@h/0?job=j", "?sesame=1@h/0?job=j", "/?job=sesame@h/0", "#sesame@h/0?job=j", "?job=j&timeout=sesame@h"]
)
def test_a_password_whose_signs_are_not_escaped_is_not_shown(rest):
    """What precedes the sign may be read as a port."""
    for before in ("", "12"):
        with pytest.raises(ConfigError) as error:
            parse(f"redis://me:{before}{rest}")
        assert "sesame" not in str(error.value)


@pytest.mark.parametrize("address", ["redis://:pw@box:port/0?job=a", "redis://:p/w@box?job=a", "redis://box/x?job=a", "redis://box"])
def test_the_shape_of_an_address_comes_whole_through_the_masking_of_messages(address: str):
    from urlsieve.doors.cli.output import one_line

    with pytest.raises(ConfigError) as caught:
        parse(address)
    assert "redis://HOST[:PORT][/DB]?job=NAME" in one_line(str(caught.value))
    assert str(caught.value) == one_line(str(caught.value))


@pytest.mark.parametrize(
    "address", ["redis:/:hush@box/0?job=a", "redis::hush@box", "REDISS:/box", "redis+cluster:/hush@box", "http:/hush@box"]
)
def test_an_address_that_lacks_a_slash_becomes_no_folder(address: str, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="two slashes") as caught:
        urlsieve.open(address)
    assert "hush" not in str(caught.value)
    assert [] == list(tmp_path.iterdir())
    urlsieve.open("./redis:box").close()
    assert (tmp_path / "redis:box" / "ledger.db").exists()
