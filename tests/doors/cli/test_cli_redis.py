"""The commands on a Redis store: the same answers and exit statuses, and never its password."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_lab import Cli

from redis_server import RedisServer, free_port

WORD = "p4ss-word"
LINES = b"http://a.example/1\nhttp://a.example/2\nmailto:x\nhttp://b.example/\n"


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    server = RedisServer(settings={"requirepass": WORD}).start()
    yield server
    server.close()


@pytest.fixture
def remote(cli: Cli, server: RedisServer, tmp_path: Path) -> Cli:
    """The command with a job of its own on the server."""
    cli.store = f"redis://:{WORD}@127.0.0.1:{server.port}/0?job={tmp_path.name[-60:]}"
    return cli


def test_a_job_goes_through_the_commands(remote: Cli) -> None:
    assert 0 == remote.on("push", stdin=LINES).status
    assert [b"http://a.example/9"] == remote.on("uniq", stdin=b"http://a.example/1\nhttp://a.example/9\n").lines
    (one, two) = remote.pop(2)
    assert 0 == remote.on("done", stdin=f'{{"token":"{one["token"]}"}}\n').status
    assert 0 == remote.on("fail", stdin=f'{{"token":"{two["token"]}","reason":"no","status":403}}\n').status
    assert 5 == remote.on("done", stdin=f'{{"token":"{one["token"]}"}}\n').status
    found = remote.on("stats", "--json").objects[0]
    assert (4, 1, 2, 1) == (found["accepted"], found["pending"], found["done"], found["dead"])
    assert 0 == remote.on("verify", "--deep").status
    assert 0 == remote.on("failed", "--retry").status
    assert 0 == remote.on("stats", "--json").objects[0]["dead"]


def test_a_store_moves_to_redis_and_back_and_is_the_same(remote: Cli, tmp_path: Path) -> None:
    first, last, file = str(tmp_path / "first"), str(tmp_path / "last"), str(tmp_path / "all.jsonl")
    assert 0 == remote("push", "--store", first, stdin=LINES).status
    assert 0 == remote("export", "--store", first, "-o", file).status
    assert 0 == remote.on("import", file).status
    assert 0 == remote.on("export", "-o", file, "--force").status
    assert 0 == remote("import", "--store", last, file).status
    before, after = (remote("stats", "--json", "--store", place).objects[0] for place in (first, last))
    for name in ("accepted", "pending", "done", "seen", "sites", "groups"):
        assert before[name] == after[name]
    assert 0 == remote("verify", "--deep", "--store", last).status


@pytest.mark.parametrize("command", [("stats",), ("pop",), ("verify", "--deep"), ("sites",), ("doctor",)])
def test_a_job_that_is_not_there_is_named_and_not_made(remote: Cli, command: tuple[str, ...]) -> None:
    ran = remote.on(*command)
    assert (3, True) == (ran.status, "job=" in ran.error)
    assert 3 == remote.on("stats").status


def test_what_the_server_does_itself_is_refused(remote: Cli, tmp_path: Path) -> None:
    remote.on("push", stdin=LINES)
    ran = remote.on("backup", str(tmp_path / "copy"))
    assert (2, True) == (ran.status, "BGSAVE" in ran.error)


@pytest.mark.parametrize("user", ["", ":wrong-word@", "nobody:wrong-word@"])
def test_no_message_shows_a_password(remote: Cli, server: RedisServer, user: str) -> None:
    for address, status in (
        (f"redis://{user}127.0.0.1:{server.port}/0?job=a", 3),
        (f"redis://{user}127.0.0.1:{free_port()}/0?job=a&connect_timeout=0.2", 3),
        (f"redis://{user}127.0.0.1:{server.port}/0?job=a&color=red", 2),
        (f"redis://{user}127.0.0.1:{server.port}/x?job=a", 2),
        (f"redis://{user}127.0.0.1:{server.port}/0", 2),
    ):
        ran = remote("stats", "--store", address)
        assert status == ran.status
        assert "wrong-word" not in ran.error
    remote.on("push", stdin=LINES)
    for command in ("stats", "doctor", "sites", "groups", "verify"):
        ran = remote.on(command)
        assert 0 == ran.status
        assert WORD not in ran.out.decode() + ran.err
