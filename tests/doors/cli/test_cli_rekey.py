"""`rekey`: another profile or secret for a store that is there."""

import pytest
from cli_lab import Cli

import redis_server
import urlsieve

URLS = [f"https://{host}e.example/{i}" for host in ("", "www.") for i in range(5)]


@pytest.fixture
def job(cli: Cli) -> Cli:
    with urlsieve.open(cli.store, keep_urls=True) as sieve:
        sieve.push(URLS)
        sieve.mark("https://known.example/", known=True)
    return cli


def test_another_profile_says_what_became_of_the_urls(job: Cli) -> None:
    ran = job.on("rekey", "--profile", "safe+strip_www")
    assert (0, "") == (ran.status, ran.err)
    assert ran.out.startswith(b"5 URLs under new fingerprints, 5 became one with another, 1 without text are known by their old")
    assert "safe+strip_www" == job.stats()["canonical"]["profile"]
    assert [b"seen"] * 11 == [line.split(b"\t")[0] for line in job.on("seen", stdin="\n".join([*URLS, "https://known.example/"])).lines]
    ran = job.on("rekey", "--secret", "new", "--json")
    assert {"entries": 5, "merged": 0, "refused": {}, "imported": 0, "level": "", "kept": 0, "anew": ""} == ran.objects[0]
    assert b"sound\n" == job.on("verify", "--deep").out


def test_a_secret_comes_from_the_environment(job: Cli) -> None:
    assert 0 == job.on("rekey", "--secret", "KEY", env={"KEY": "ff" * 16}).status
    with urlsieve.open(job.store, secret=2**128 - 1) as sieve:
        assert all(sieve.seen(URLS))


@pytest.mark.parametrize(
    "words",
    [(), ("--profile", "nonsense"), ("--secret", "NOTSET"), ("--secret", "KEY"), ("--profile", "safe"), ("--secret", "LONG"), ("more",)],
)
def test_what_makes_no_sense_is_status_2_and_changes_nothing(job: Cli, words: tuple[str, ...]) -> None:
    ran = job.on("rekey", *words, env={"KEY": "no number", "LONG": "f" * 40})
    assert (2, b"") == (ran.status, ran.out)
    assert all(value not in ran.err for value in ("no number", "f" * 40))
    assert 11 == job.stats()["seen"]


def test_a_store_on_redis_is_rekeyed_to_a_new_one(job: Cli) -> None:
    server = redis_server.shared()
    old, new = server.address("rekey-old"), server.address("rekey-new")
    with urlsieve.open(old) as sieve:
        sieve.push(URLS)
        sieve.done(sieve.pop(4))
    ran = job("rekey", "--store", old, "--secret", "new")
    assert 2 == ran.status
    assert "--to" in ran.error
    ran = job("rekey", "--store", old, "--secret", "new", "--to", new, "--json")
    assert {"entries": 6, "merged": 0, "refused": {}, "imported": 4, "level": "own-1", "kept": 0, "anew": ""} == ran.objects[0]
    with urlsieve.open(new, create=False) as sieve:
        assert [True] * 10 == sieve.seen(URLS)
        assert 0 == sieve.push(URLS).new
        assert [] == sieve.verify(deep=True)
    redis_server.forget_all()
