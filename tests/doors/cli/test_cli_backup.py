"""backup and restore: whole copies while others work, and a store that comes back with no old token in it."""

import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_lab import Cli

import urlsieve

Pushed = Callable[..., list[str]]


def test_a_backup_is_restored_with_everything(cli: Cli, pushed: Pushed) -> None:
    pushed(50)
    cli.pop(3)
    before = cli.stats()
    ran = cli.on("backup", "copy", "--json")
    assert 0 == ran.status, ran.err
    assert str(cli.directory / "copy") == ran.objects[0]["backup"]
    shutil.rmtree(cli.store)
    ran = cli.on("restore", "copy", "--json")
    assert (0, 50) == (ran.status, ran.objects[0]["seen"]), ran.err
    after = cli.stats()
    assert {name: before[name] for name in ("accepted", "pending", "leased", "seen")} == {
        name: after[name] for name in ("accepted", "pending", "leased", "seen")
    }
    assert before["epoch"] < after["epoch"]
    assert 0 == cli.on("verify", "--deep").status


def test_tokens_given_after_the_backup_are_refused_after_the_restore(cli: Cli, pushed: Pushed) -> None:
    pushed(5)
    cli.on("backup", "copy")
    (lease,) = cli.pop()
    assert 0 == cli.on("restore", "copy", "--force").status
    ran = cli.on("done", stdin=f'{{"token": "{lease["token"]}"}}\n')
    assert (5, [{"token": lease["token"], "error": "lease_lost"}]) == (ran.status, ran.objects)
    assert 5 == len(cli.pop(9))


def test_an_existing_store_is_not_replaced_without_force(cli: Cli, pushed: Pushed) -> None:
    pushed(5)
    cli.on("backup", "copy")
    cli.on("push", stdin="https://more.example/")
    ran = cli.on("restore", "copy")
    assert (2, b"") == (ran.status, ran.out)
    assert "--force" in ran.error
    assert 6 == cli.stats()["accepted"]
    assert 0 == cli.on("restore", "copy", "--force").status
    assert 5 == cli.stats()["accepted"]


def test_a_backup_while_a_worker_pushes_is_whole(cli: Cli, pushed: Pushed) -> None:
    pushed(1)
    lines = b"".join(b"https://h%d.example/%d\n" % (n % 50, n) for n in range(40_000))
    (cli.directory / "urls").write_bytes(lines)
    process = cli.start("push", "--store", cli.store, "--batch", "200", "urls")
    for number in range(3):
        assert 0 == cli.on("backup", f"copy{number}").status
    process.communicate()
    sizes = []
    for number in range(3):
        place = str(cli.directory / f"copy{number}")
        assert 0 == cli("verify", "--deep", "--store", place).status
        with urlsieve.open(place, create=False) as sieve:
            sizes.append(sieve.stats().accepted)
    assert sorted(sizes) == sizes


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["backup", "full"], 2, "already"),
        (["backup", "a/b/c"], 2, "no folder"),
        (["backup"], 2, "FOLDER"),
        (["restore", "nosuch"], 3, "no backup"),
        (["restore", "full"], 3, "no backup"),
        (["restore", "garbage"], 4, "garbage"),
        (["restore", "garbage", "--force"], 4, "garbage"),
        (["restore"], 2, "BACKUP"),
    ],
    ids=str,
)
def test_what_cannot_be_copied_is_refused_and_nothing_is_changed(
    cli: Cli, pushed: Pushed, words: list[str], status: int, says: str
) -> None:
    pushed(2)
    (cli.directory / "full").mkdir()
    (cli.directory / "full" / "file").write_text("precious")
    (cli.directory / "garbage").mkdir()
    (cli.directory / "garbage" / "ledger.db").write_bytes(b"not a ledger" * 1000)
    before = {path.name: path.read_bytes() for path in Path(cli.store).iterdir() if path.is_file()}
    ran = cli.on(*words)
    assert (status, b"") == (ran.status, ran.out), ran
    assert says in ran.error
    assert before == {path.name: path.read_bytes() for path in Path(cli.store).iterdir() if path.is_file()}
    assert "precious" == (cli.directory / "full" / "file").read_text()


def test_a_store_in_memory_or_elsewhere_says_that_it_has_no_folder(cli: Cli, pushed: Pushed) -> None:
    pushed(1)
    cli.on("backup", "copy")
    for address in ("memory:", "redis://user:S3cret@127.0.0.1:1/0"):
        ran = cli("restore", "copy", "--store", address)
        assert 2 == ran.status
        assert "S3cret" not in ran.err


@pytest.mark.crash
def test_a_restore_that_is_killed_leaves_the_old_store_or_the_new_one(cli: Cli) -> None:
    with urlsieve.open(cli.store, durability="normal") as sieve:
        sieve.push(f"https://s{n % 50}.example/{n}" for n in range(30_000))
    assert 0 == cli.on("backup", "copy").status
    with urlsieve.open(cli.store, durability="normal") as sieve:
        sieve.push("https://new.example/")
    found = set()
    for number in range(8):
        process = cli.start("restore", "copy", "--force", "--store", cli.store)
        time.sleep(0.1 + 0.06 * number)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        found.add(cli.stats()["accepted"])
        assert 0 == cli.on("verify", "--deep").status
    assert found <= {30_000, 30_001}
    assert 0 == cli.on("restore", "copy", "--force").status
    assert 30_000 == cli.stats()["accepted"]


def test_a_backup_to_a_full_disk_is_status_3_and_leaves_nothing(cli: Cli, pushed: Pushed, small_disk: Path) -> None:
    with urlsieve.open(cli.store, durability="normal") as sieve:
        sieve.push(f"https://s{n % 50}.example/{n}/{'x' * 100}" for n in range(30_000))
    ran = cli.on("backup", str(small_disk / "copy"))
    assert 3 == ran.status
    assert "no room" in ran.error
    assert [] == list(small_disk.iterdir())
