"""`upgrade`: a store of an older version is refused by every command until it is upgraded by this one."""

import shutil
from pathlib import Path

import pytest
from cli_lab import Cli

GOLDEN = Path(__file__).parents[2] / "golden" / "embedded-1"


@pytest.fixture
def old(cli: Cli) -> Cli:
    shutil.copytree(GOLDEN, cli.store)
    return cli


@pytest.mark.parametrize("command", ["push", "pop", "stats", "verify", "uniq"])
def test_an_older_store_is_refused_with_the_command_that_upgrades_it(old: Cli, command: str) -> None:
    ran = old.on(command, stdin="http://a.example/\n")
    assert 4 == ran.status
    assert f"urlsieve upgrade --store {old.store}" in ran.error
    assert b"" == ran.out


def test_it_is_upgraded_once_and_works_then(old: Cli) -> None:
    ran = old.on("upgrade")
    assert (0, b"schema 1 is schema 3 now\n", "") == (ran.status, ran.out, ran.err)
    assert b"schema 3: nothing to do\n" == old.on("upgrade").out
    assert [{"before": 3, "now": 3}] == old.on("upgrade", "--json").objects
    assert 0 == old.on("verify", "--deep").status
    assert [480] == [stats["accepted"] for stats in old.on("stats", "--json").objects]


def test_there_is_nothing_to_upgrade_where_there_is_no_store(cli: Cli) -> None:
    ran = cli.on("upgrade")
    assert 3 == ran.status
    assert cli.store in ran.error
    assert not Path(cli.store).exists()


def test_what_is_no_ledger_is_left_as_it_is(cli: Cli) -> None:
    Path(cli.store).mkdir()
    ledger = Path(cli.store) / "ledger.db"
    ledger.write_bytes(b"this was a ledger once\n" * 100)
    assert 4 == cli.on("upgrade").status
    assert b"this was a ledger once\n" * 100 == ledger.read_bytes()
