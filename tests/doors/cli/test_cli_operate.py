"""What an operator does to sites and groups: list, limit, delay, pause, block, and end a block."""

import time
from pathlib import Path

import pytest
from cli_lab import Cli

import redis_server
import urlsieve


@pytest.fixture(params=["embedded", "redis"])
def cli(request: pytest.FixtureRequest, tmp_path: Path) -> Cli:
    """With a store of each kind."""
    cli = Cli(tmp_path)
    if request.param == "redis":
        cli.store = redis_server.shared().address(tmp_path.name[-64:].lstrip("-_"))
    return cli


@pytest.fixture
def job(cli: Cli) -> Cli:
    """Three sites: three URLs pending, two, and one done."""
    with urlsieve.open(cli.store) as sieve:
        sieve.push([f"https://a.example/{n}" for n in range(3)] + [f"https://b.example/{n}" for n in range(2)])
        sieve.push("https://c.example/")
        sieve.done(sieve.pop(1, groups=["c.example"]))
    return cli


def test_sites_are_listed_by_name_with_their_counts(job: Cli) -> None:
    ran = job.on("sites")
    assert 0 == ran.status, ran.err
    rows = [line.split() for line in ran.out.decode().splitlines()]
    assert ["seen", "pending", "leased", "delayed", "done", "dead", "limit", "site"] == rows[0]
    assert [["3", "3", "0", "0", "0", "0", "-", "a.example"], ["2", "2", "0", "0", "0", "0", "-", "b.example"]] == rows[1:3]
    assert ["1", "0", "0", "0", "1", "0", "-", "c.example"] == rows[3]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["a", "b", "c"]),
        (["--reverse"], ["c", "b", "a"]),
        (["--sort", "pending"], ["a", "b", "c"]),
        (["--sort", "pending", "--reverse"], ["c", "b", "a"]),
        (["--sort", "done", "-n", "1"], ["c"]),
        (["--sort", "site", "-n", "2"], ["a", "b"]),
        (["--sort", "site", "-n", "2", "--reverse"], ["c", "b"]),
        (["b.example", "a.example"], ["a", "b"]),
    ],
    ids=str,
)
def test_sites_are_sorted_and_cut_as_asked(job: Cli, words: list[str], expected: list[str]) -> None:
    assert [f"{name}.example" for name in expected] == [row["site"] for row in job.on("sites", "--json", *words).objects]


def test_a_listing_as_stored_has_every_site_once(job: Cli) -> None:
    assert {"a.example", "b.example", "c.example"} == {row["site"] for row in job.on("sites", "--json", "--sort", "none").objects}
    assert 2 == len(job.on("sites", "--json", "--sort", "none", "-n", "2").objects)


def test_a_limit_that_is_set_refuses_further_urls_and_none_ends_it(job: Cli) -> None:
    (row,) = job.on("sites", "A.example", "--limit", "3", "--json").objects
    assert ("a.example", 3) == (row["site"], row["limit"])
    assert {"limit": 1} == job.on("push", "--json", stdin="https://a.example/more").report["reasons"]
    (row,) = job.on("sites", "a.example", "--limit", "none", "--json").objects
    assert row["limit"] is None
    assert 1 == job.on("push", "--json", stdin="https://a.example/more").report["new"]


def test_groups_are_listed_with_settings_and_what_holds_them(job: Cli) -> None:
    assert 0 == job.on("groups", "a.example", "--delay", "2.5", "--concurrency", "4").status
    assert 0 == job.on("groups", "https.example", "--pause").status  # one that has no URL yet
    rows = [line.split() for line in job.on("groups").out.decode().splitlines()]
    assert ["pending", "leased", "delay", "concurrency", "now", "group"] == rows[0]
    assert ["3", "0", "2.5", "4", "ready", "a.example"] == rows[1]
    assert ["0", "0", "-", "-", "empty", "c.example"] == rows[3]
    assert ["0", "0", "-", "-", "paused", "https.example"] == rows[4]
    (row,) = job.on("groups", "a.example", "--delay", "none", "--json").objects
    assert (None, 4, False) == (row["delay"], row["concurrency"], row["paused"])


def test_groups_take_their_turn_again_after_a_pause(job: Cli) -> None:
    job.on("groups", "a.example", "b.example", "--pause")
    assert [] == job.pop(9)
    job.on("groups", "b.example", "--resume")
    assert ["b.example"] * 2 == [lease["group"] for lease in job.pop(9)]


def test_a_blocked_group_gives_nothing_until_it_is_unblocked(job: Cli) -> None:
    before = time.time()
    (row,) = job.on("block", "B.example", "--for", "3600", "--json").objects
    assert before + 3600 <= row["blocked_until"] <= time.time() + 3600
    assert ["a.example"] * 3 == [lease["group"] for lease in job.pop(9)]
    assert "blocked" in job.on("why", "b.example").out.decode()
    ran = job.on("unblock", "b.example")
    assert b"b.example: unblocked; 2 URLs wait\n" == ran.out
    assert 2 == len(job.pop(9))


def test_a_block_without_a_time_lasts_until_it_is_ended(job: Cli) -> None:
    assert b"a.example: blocked until it is unblocked; 3 URLs wait\n" == job.on("block", "a.example").out
    assert b"a.example: unblocked; 3 URLs wait\n" == job.on("unblock", "a.example").out
    assert b"a.example: was not blocked; 3 URLs wait\n" == job.on("unblock", "a.example").out


def test_a_block_until_a_time_says_when_it_ends(job: Cli) -> None:
    assert b"a.example: blocked until 2096-10-02 07:06:40 UTC; 3 URLs wait\n" == job.on("block", "a.example", "--until", "4000000000").out


def test_a_site_of_a_domain_group_blocks_the_group(cli: Cli) -> None:
    with urlsieve.open(cli.store, group_by="domain") as sieve:
        sieve.push(["https://a.shop.example/1", "https://b.shop.example/1", "https://else.example/"])
    (row,) = cli.on("block", "b.shop.example", "--json").objects
    assert "shop.example" == row["group"]
    assert ["else.example"] == [lease["group"] for lease in cli.pop(9)]


@pytest.mark.parametrize(
    "words",
    [
        ["sites", "--limit", "3"],
        ["sites", "nosuch.example"],
        ["sites", "a.example", "--limit", "few"],
        ["sites", "--sort", "size"],
        ["groups", "--pause"],
        ["groups", "--delay", "1"],
        ["groups", "nosuch.example"],
        ["groups", "a.example", "--pause", "--resume"],
        ["groups", "a.example", "--concurrency", "0"],
        ["block"],
        ["block", "http://a.example/"],
        ["block", "a.example", "--for", "0"],
        ["block", "a.example", "--for", "5", "--until", "5"],
        ["unblock", "no site"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_a_usage_error_and_changes_nothing(job: Cli, words: list[str]) -> None:
    before = job.on("groups", "--json").out
    ran = job.on(*words)
    assert (2, b"") == (ran.status, ran.out), ran
    assert ran.error
    assert before == job.on("groups", "--json").out


def test_a_list_goes_into_a_file_that_is_not_overwritten(job: Cli) -> None:
    assert 0 == job.on("sites", "-o", "list", "--json").status
    assert 3 == len((job.directory / "list").read_bytes().splitlines())
    assert 2 == job.on("sites", "-o", "list").status
    assert 0 == job.on("groups", "-o", "list", "--force").status


@pytest.fixture
def broken(cli: Cli) -> Cli:
    """Two dead URLs of a site, one of another with a password in it."""
    with urlsieve.open(cli.store) as sieve:
        sieve.push(["https://a.example/1", "https://a.example/2", "https://me:S3cret@b.example/3"])
        leases = {lease.url: lease for lease in sieve.pop(3)}
        sieve.fail(leases.pop("https://me:S3cret@b.example/3"), "not\tfound\x1b[31m", status=400)
        sieve.fail(list(leases.values()), "forbidden", status=403)
    return cli


def test_failed_lists_dead_urls_a_line_each_without_passwords_or_control_characters(broken: Cli) -> None:
    ran = broken.on("failed")
    assert 0 == ran.status, ran.err
    rows = [line.split("\t") for line in ran.out.decode().splitlines()]
    assert {"https://a.example/1", "https://a.example/2", "https://***@b.example/3"} == {row[3] for row in rows}
    assert {"1"} == {row[1] for row in rows}
    assert b"S3cret" not in ran.out and b"\x1b" not in ran.out


def test_failed_as_json_has_the_url_as_found(broken: Cli) -> None:
    (row,) = broken.on("failed", "--site", "b.example", "--json").objects
    assert ("https://me:S3cret@b.example/3", "b.example", 1) == (row["url"], row["site"], row["attempts"])
    assert 2 == len(broken.on("failed", "--json", "--reason", "forbidden*").objects)
    assert 1 == len(broken.on("failed", "--json", "-n", "1").objects)


def test_failed_retry_brings_back_what_would_be_listed(broken: Cli) -> None:
    assert b"2 of 2 dead URLs wait again\n" == broken.on("failed", "--retry", "--site", "a.example").out
    assert {"https://a.example/1", "https://a.example/2"} == {lease["url"] for lease in broken.pop(9)}
    (report,) = broken.on("failed", "--retry", "--json").objects
    assert {"retried": 1, "failed": 1, "expired": 0} == report
    assert [] == broken.on("failed", "--json").objects


def test_a_failed_list_of_a_store_without_failures_is_empty(job: Cli) -> None:
    assert (0, b"") == (job.on("failed").status, job.on("failed").out)


def test_the_columns_of_a_listing_never_run_into_each_other(job: Cli) -> None:
    job.on("block", "a.example")
    job.on("groups", "b.example", "--delay", "123456789012")
    heading, a, b = job.on("groups", "a.example", "b.example").out.decode().splitlines()
    assert ["pending", "leased", "delay", "concurrency", "now", "group"] == heading.split()
    assert ["3", "0", "-", "-", "blocked", ">99y", "a.example"] == a.split()
    assert 6 == len(b.split())


def test_rejected_lists_what_was_refused_or_skipped_a_line_each_without_passwords(job: Cli) -> None:
    with urlsieve.open(job.store) as sieve:
        sieve.push("mailto:\x1b[31m", via="http://u:p@b.example/")
        sieve.skip(sieve.pop(), "robots")
    first, second = job.on("rejected").out.decode().splitlines()
    assert {"rejected.scheme", "skipped.robots"} == {first.split("\t")[1], second.split("\t")[1]}
    assert "***@b.example" in first + second and "\x1b" not in first + second
    (row,) = job.on("rejected", "--json", "--reason", "scheme").objects
    assert {"kind": "rejected", "reason": "scheme", "url": "mailto:\x1b[31m", "via": "http://***@b.example/", "depth": 0} == {
        name: value for name, value in row.items() if name != "at"
    }
    assert 1 == len(job.on("rejected", "--json", "-n", "1").objects)
    assert (0, b"") == (job.on("rejected", "--reason", "depth").status, job.on("rejected", "--reason", "depth").out)
