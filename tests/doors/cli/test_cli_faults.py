"""Stores that are not what they should be, disks that are full, and one exit status for each reason to stop."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_lab import COMMAND, Cli, Ran, environment

Pushed = Callable[..., list[str]]
NEED_A_STORE = {
    "pop": [],
    "done": [],
    "fail": [],
    "skip": [],
    "extend": [],
    "release": [],
    "seen": [],
    "why": ["example.com"],
    "sites": [],
    "failed": [],
    "rejected": [],
    "export": [],
    "backup": ["copy"],
    "groups": [],
    "block": ["example.com"],
    "unblock": ["example.com"],
    "stats": [],
    "forget": [],
    "purge": ["example.com"],
    "verify": [],
    "doctor": [],
    "compact": [],
    "upgrade": [],
    "explain": ["http://example.com/"],
}


@pytest.mark.parametrize("command", NEED_A_STORE)
def test_a_missing_store_is_status_3_named_and_not_made(cli: Cli, command: str) -> None:
    ran = cli.on(command, *NEED_A_STORE[command])
    assert (3, b"") == (ran.status, ran.out)
    assert cli.store in ran.error
    assert not Path(cli.store).exists()


@pytest.mark.parametrize("command", ["push", "uniq"])
def test_push_and_uniq_make_a_missing_store(cli: Cli, command: str) -> None:
    assert 0 == cli.on(command, stdin="http://example.com/").status
    assert 1 == cli.stats()["accepted"]


@pytest.mark.parametrize("command", ["push", "pop", "stats"])
def test_a_store_that_is_a_file_is_refused_and_left_alone(cli: Cli, command: str) -> None:
    Path(cli.store).write_text("precious")
    ran = cli.on(command, stdin="http://example.com/")
    assert ran.status in (3, 4)
    assert cli.store in ran.error
    assert "precious" == Path(cli.store).read_text()


@pytest.mark.parametrize("size", [0, 100, 5_000])
def test_a_truncated_store_is_corrupt_and_nothing_is_written(cli: Cli, pushed: Pushed, size: int) -> None:
    pushed(100)
    database = Path(cli.store) / "ledger.db"
    database.write_bytes(database.read_bytes()[:size])
    for command in ("pop", "push", "verify"):
        ran = cli.on(command, stdin="http://example.com/")
        assert 4 == ran.status, (command, ran)
        assert cli.store in ran.error
    assert size == database.stat().st_size


def test_garbage_where_the_store_was_is_corrupt(cli: Cli, pushed: Pushed) -> None:
    pushed(1)
    (Path(cli.store) / "ledger.db").write_bytes(os.urandom(20_000))
    assert 4 == cli.on("verify").status


def test_another_profile_than_the_store_s_is_a_mismatch_that_names_it(cli: Cli, pushed: Pushed) -> None:
    pushed(1)
    ran = cli.on("push", "--profile", "exact", stdin="http://example.com/")
    assert 4 == ran.status
    assert "profile" in ran.error


def test_a_directory_where_nothing_may_be_written_is_status_3(cli: Cli) -> None:
    if os.geteuid() == 0:
        place = "/proc/store"  # there not even root may
    else:
        (cli.directory / "closed").mkdir(mode=0o500)
        place = str(cli.directory / "closed" / "store")
    ran = cli("push", "--store", place, stdin="http://example.com/")
    assert 3 == ran.status
    assert place in ran.error


def test_a_store_on_a_read_only_file_system_is_refused_clearly(cli: Cli, small_disk: Path) -> None:
    store = str(small_disk / "store")
    assert 0 == cli("push", "--store", store, stdin="http://example.com/").status
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    ran = cli("push", "--store", store, stdin="http://example.com/2")
    assert 3 == ran.status
    assert store in ran.error


def test_a_full_disk_is_status_3_and_what_was_acknowledged_is_there(cli: Cli, small_disk: Path) -> None:
    store = str(small_disk / "store")
    urls = b"".join(b"http://site%d.example/%d/%s\n" % (i % 50, i, b"x" * 300) for i in range(20_000))
    ran = cli("push", "--store", store, "--json", "--batch", "500", stdin=urls)
    assert 3 == ran.status
    report, error = map(json.loads, ran.err.splitlines())
    assert ("store_full", 3) == (error["error"], error["exit"])
    assert 0 < report["new"] < 20_000
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    assert report["new"] == cli("stats", "--json", "--store", store).objects[0]["accepted"]
    assert 0 == cli("verify", "--deep", "--store", store).status
    again = cli("push", "--store", store, "--json", stdin=urls).report
    assert (20_000 - report["new"], report["new"]) == (again["new"], again["seen"])


@pytest.mark.parametrize("address", ["nosuch://x/", "redis://user:S3cret@127.0.0.1:1/0", "http://user:S3cret@127.0.0.1/"])
def test_sec_03_an_address_of_an_unknown_kind_is_refused_without_its_password(cli: Cli, address: str) -> None:
    for words in ([], ["--json"]):
        ran = cli("push", "--store", address, *words, stdin="http://example.com/")
        assert (2, b"") == (ran.status, ran.out)
        assert "S3cret" not in ran.err
        assert [] == list(cli.directory.iterdir())


def test_no_error_shows_a_url_s_password(cli: Cli, pushed: Pushed) -> None:
    pushed(1)
    odd = "http://user:S3cret@exa mple/"
    for ran in (cli.on("why", odd), cli("explain", odd), cli("canon", "--base", odd), cli("uniq", odd), cli.on("purge", odd)):
        assert "S3cret" not in ran.err + ran.out.decode(), ran


def test_a_worker_killed_with_its_leases_loses_nothing(cli: Cli, pushed: Pushed) -> None:
    urls = pushed(3)
    process = cli.start("pop", "-n", "3", "--lease", "0.5", "--store", cli.store)
    out, _ = process.communicate(timeout=60)
    assert 3 == len(out.splitlines())
    time.sleep(0.6)
    assert sorted(urls) == sorted(lease["url"] for lease in cli.pop(9))


# -- CLI-01


def finished(cli: Cli) -> Ran:
    return cli.on("push", "--json", stdin="http://example.com/")


def answered_no(cli: Cli) -> Ran:
    finished(cli)
    return cli.on("seen", "--quiet", stdin="http://example.com/never")


def misspelt(cli: Cli) -> Ran:
    return cli.on("push", "--jsno", "--json")


def unreadable(cli: Cli) -> Ran:
    return cli.on("push", "--json", "nowhere.txt")


def missing(cli: Cli) -> Ran:
    return cli.on("stats", "--json")


def corrupt(cli: Cli) -> Ran:
    finished(cli)
    (Path(cli.store) / "ledger.db").write_bytes(b"x" * 10_000)
    return cli.on("stats", "--json")


def mismatched(cli: Cli) -> Ran:
    finished(cli)
    return cli.on("push", "--json", "--profile", "exact")


def partial(cli: Cli) -> Ran:
    return cli.on("push", "--strict", "--json", stdin="http://example.com/\nnonsense")


def lost(cli: Cli) -> Ran:
    finished(cli)
    return cli.on("done", stdin='{"token": "stale"}')


def full(cli: Cli) -> Ran:
    with Path("/dev/full").open("wb") as device:
        process = cli.start("uniq", "--json", stdout=device)
        _, err = process.communicate(b"http://example.com/\n", timeout=60)
    return Ran(process.returncode, b"", err.decode())


def interrupted(cli: Cli) -> Ran:
    process = cli.start("push", "--json", "--store", cli.store)
    while not (Path(cli.store) / "ledger.db").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return Ran(process.returncode, out, err.decode())


SITUATIONS: list[tuple[Callable[[Cli], Ran], int, str | None]] = [
    (finished, 0, None),
    (answered_no, 1, None),
    (misspelt, 2, "usage"),
    (unreadable, 2, "input"),
    (missing, 3, "store_unavailable"),
    (full, 3, "output"),
    (corrupt, 4, "store_corrupt"),
    (mismatched, 4, "store_mismatch"),
    (partial, 5, None),
    (lost, 5, None),
    (interrupted, 130, "interrupted"),
]


@pytest.mark.parametrize(("situation", "status", "word"), SITUATIONS, ids=lambda value: getattr(value, "__name__", None))
def test_cli_01_each_reason_to_stop_has_its_status_and_its_word_in_json(
    cli: Cli, situation: Callable[[Cli], Ran], status: int, word: str | None
) -> None:
    ran = situation(cli)
    assert status == ran.status, ran
    if word is not None:
        assert (word, status) == ((found := json.loads(ran.err.splitlines()[-1]))["error"], found["exit"])


def test_a_bug_of_ours_is_one_line_and_no_answer(cli: Cli) -> None:
    code = "from urlsieve.doors.cli import canon, main; canon.run = lambda words: 1 / 0; raise SystemExit(main.entry(['canon']))"
    ran = subprocess.run([COMMAND[0], "-c", code], capture_output=True, env=environment(), check=False)
    assert 70 == ran.returncode
    assert 1 == len(ran.stderr.splitlines())
    assert b"ZeroDivisionError" in ran.stderr


def test_crawl_and_demo_that_miss_a_library_say_which(cli: Cli) -> None:
    code = (
        "import sys; sys.modules['aiohttp'] = None; from urlsieve.doors.cli.main import entry; "
        "raise SystemExit(entry(['crawl', 'http://127.0.0.1:1/', '--store', 'memory:']))"
    )
    ran = subprocess.run([COMMAND[0], "-c", code], capture_output=True, env=environment(), check=False, cwd=cli.directory)
    assert 2 == ran.returncode
    assert b"aiohttp" in ran.stderr
    assert b"urlsieve[crawler]" in ran.stderr
    assert 1 == len(ran.stderr.splitlines())


def test_a_crawl_of_an_address_where_nobody_answers_ends_by_itself(cli: Cli) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    ran = cli.on("crawl", url, "--allow-private", "--max-pages", "1", "--delay", "0", "--json", timeout=60)
    assert ran.status in (0, 5), ran
    assert 1 == cli.stats()["accepted"]
