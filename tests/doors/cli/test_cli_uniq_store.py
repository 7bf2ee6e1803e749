"""`uniq --store`: durable; a crash or a second one can print a line twice, but never lose it."""

import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from cli_lab import Cli


def write_urls(path: Path, number: int, *, twice: bool = True) -> list[bytes]:
    urls = [b"http://site%d.example/page/%d" % (i % 97, i) for i in range(number)]
    path.write_bytes(b"\n".join(urls + (urls if twice else [])) + b"\n")
    return urls


def test_what_was_printed_is_not_printed_again(cli: Cli) -> None:
    first = cli.on("uniq", "--json", stdin=b"http://example.com/a\r\nhttp://EXAMPLE.com/a\nnonsense\n\nhttp://example.com/b\n")
    assert (0, b"http://example.com/a\r\nhttp://example.com/b\n") == (first.status, first.out)
    expected = {"lines": 5, "ignored": 1, "new": 2, "seen": 1, "rejected": 1, "reasons": {"relative": 1}}
    assert expected == {name: first.report[name] for name in expected}
    second = cli.on("uniq", "--json", "--key", stdin=b"http://example.com/c#x\nhttp://example.com/b\n")
    assert (b"http://example.com/c\n", 1, 1) == (second.out, second.report["new"], second.report["seen"])


def test_what_uniq_printed_is_done_and_counted_and_never_queued(cli: Cli) -> None:
    cli.on("uniq", stdin=b"http://example.com/a\nnonsense\n")
    stats = cli.stats()
    assert (1, 1, 0, {"relative": 1}) == (stats["accepted"], stats["done"], stats["pending"], stats["rejected"])
    assert [] == cli.pop(1)
    assert 0 == cli.on("verify", "--deep").status


def test_what_was_pushed_is_known_to_uniq_and_the_other_way_round(cli: Cli) -> None:
    cli.on("push", stdin="http://example.com/a")
    assert b"http://example.com/b\n" == cli.on("uniq", stdin="http://example.com/a\nhttp://example.com/b").out
    assert 1 == cli.on("push", "--json", stdin="http://example.com/b").report["seen"]


def test_the_environment_makes_uniq_durable_too(cli: Cli) -> None:
    env = {"URLSIEVE_STORE": cli.store}
    assert b"http://example.com/a\n" == cli("uniq", stdin="http://example.com/a", env=env).out
    assert b"" == cli("uniq", stdin="http://example.com/a", env=env).out


def test_lines_of_several_batches_come_out_in_order(cli: Cli) -> None:
    urls = write_urls(cli.directory / "urls", 25_000)
    ran = cli.on("uniq", "--json", "urls")
    assert urls == ran.lines
    assert (50_000, 25_000, 25_000) == tuple(ran.report[name] for name in ("lines", "new", "seen"))


def test_nothing_is_marked_that_could_not_be_written(cli: Cli) -> None:
    with Path("/dev/full").open("wb") as full:
        process = cli.start("uniq", "--store", cli.store, stdout=full)
        _, err = process.communicate(b"http://example.com/a\n", timeout=60)
    assert 3 == process.returncode
    assert b"standard output" in err
    assert b"http://example.com/a\n" == cli.on("uniq", stdin="http://example.com/a").out


@pytest.mark.crash
def test_killed_at_any_moment_and_run_again_no_line_is_lost(cli: Cli) -> None:
    urls = write_urls(cli.directory / "urls", 60_000, twice=False)
    printed: Counter[bytes] = Counter()
    for part in range(4):
        out = cli.directory / f"out{part}"
        with out.open("wb") as file:
            process = cli.start("uniq", "-q", "--store", cli.store, "urls", stdin=subprocess.DEVNULL, stdout=file)
            while part < 3 and process.poll() is None and out.stat().st_size < (part + 1) * 300_000:
                time.sleep(0.002)
            if part < 3:
                process.kill()
            process.communicate(timeout=120)
        printed.update(out.read_bytes().split(b"\n")[:-1])  # a line that was cut off is not a line
    assert 0 == process.returncode
    assert set(urls) == set(printed)
    assert 60_000 == cli.stats()["done"]
    assert 0 == cli.on("verify", "--deep").status


@pytest.mark.crash
def test_two_at_once_print_every_line_and_only_what_they_raced_for_twice(cli: Cli) -> None:
    urls = write_urls(cli.directory / "urls", 40_000)
    cli.on("uniq", stdin="")  # the store is there when they start
    outs = [cli.directory / "one", cli.directory / "two"]
    both = []
    for out in outs:
        both.append(cli.start("uniq", "-q", "--store", cli.store, "-o", str(out), "urls", stdin=subprocess.DEVNULL))
    for process in both:
        assert (b"", b"") == process.communicate(timeout=120)
        assert 0 == process.returncode
    printed = [out.read_bytes().splitlines() for out in outs]
    assert set(urls) == {*printed[0], *printed[1]}
    assert [len(set(lines)) for lines in printed] == [len(lines) for lines in printed]
    assert 40_000 == cli.stats()["done"]
    assert 0 == cli.on("verify", "--deep").status
