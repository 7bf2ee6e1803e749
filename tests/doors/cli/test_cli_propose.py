"""`rules propose`: what `done` was told becomes a file that a person looks at, applies and confirms."""

import json

import pytest
from cli_lab import Cli

URLS = [f"https://{host}example.com/{number}" for number in range(20) for host in ("www.", "m.")]


def fetched(cli: Cli, *, signature: str = "page {}") -> None:
    cli("push", "--store", cli.store, stdin="".join(f"{url}\n" for url in URLS).encode())
    leased = cli("pop", "-n", "100", "--store", cli.store).objects
    assert len(URLS) == len(leased)
    records = [{"token": one["token"], "signature": signature.format(one["url"].rpartition("/")[2])} for one in leased]
    assert 0 == cli("done", "--store", cli.store, stdin="".join(f"{json.dumps(one)}\n" for one in records).encode()).status


def test_propose_prints_a_file_that_apply_and_confirm_take(cli: Cli) -> None:
    fetched(cli)
    done = cli("rules", "propose", "--store", cli.store)
    assert (0, "") == (done.status, done.err)
    (cli.directory / "r.toml").write_bytes(done.out)
    assert 'hosts = { "m.example.com" = "www.example.com" }\n' in done.out.decode()
    assert "# hosts of m.example.com and www.example.com: 20 clean pairs, no counter-example: wrong for at most 15 %" in done.out.decode()
    assert "1 rules, 1 with proposals" in cli("rules", "check", "r.toml").out.decode()
    assert 0 == cli("rules", "apply", "r.toml", "--store", cli.store).status
    assert b"unseen" not in cli("seen", "--store", cli.store, stdin=URLS[0].encode()).out
    before = cli("seen", "--store", cli.store, stdin=b"https://m.example.com/new\nhttps://www.example.com/new\n").out
    assert 0 == cli("rules", "confirm", "example.com", "--by", "Ann", "--evidence", "20 pairs", "--store", cli.store).status
    assert before == cli("seen", "--store", cli.store, stdin=b"https://m.example.com/new\nhttps://www.example.com/new\n").out
    cli("push", "--store", cli.store, stdin=b"https://m.example.com/new\n")
    assert b"seen" in cli("seen", "--store", cli.store, stdin=b"https://www.example.com/new\n").out
    again = cli("rules", "propose", "--store", cli.store).out.decode()
    assert 'confirmed = { by = "Ann"' in again


def test_propose_as_json_has_an_object_for_each_thing(cli: Cli) -> None:
    fetched(cli)
    (point,) = cli("rules", "propose", "--json", "--store", cli.store).objects
    assert ("example.com", "hosts", 20, 0, True, 0.15) == (
        point["match"],
        point["key"],
        point["clean"],
        point["against"],
        point["ready"],
        point["bound"],
    )
    assert {"m.example.com": "www.example.com"} == point["target"]
    assert ["https://m.example.com/0", "https://www.example.com/0"] == point["samples"][0]


def test_pages_with_one_signature_propose_nothing_and_say_how_far_it_is(cli: Cli) -> None:
    fetched(cli, signature="please log in")
    text = cli("rules", "propose", "--store", cli.store).out.decode()
    assert "[[site]]" not in text
    assert "hosts" in text.splitlines()[0]


def test_a_store_that_was_told_nothing_proposes_nothing(cli: Cli) -> None:
    cli("push", "--store", cli.store, stdin=b"https://example.com/\n")
    done = cli("rules", "propose", "--store", cli.store)
    assert (0, "") == (done.status, done.err)
    assert all(line.startswith("#") for line in done.out.decode().splitlines())
    assert [] == cli("rules", "propose", "--json", "--store", cli.store).objects


@pytest.mark.parametrize(("more", "status", "what"), [(("x.toml",), 2, "not understood"), ((), 3, "no store")])
def test_what_cannot_be_is_said(cli: Cli, more: tuple[str, ...], status: int, what: str) -> None:
    done = cli("rules", "propose", *more, "--store", cli.store)
    assert status == done.status
    assert what in done.err
