""".gz and .zst in and out: streams, members, what is cut off or damaged, and bombs. gzip and zstd themselves say what is right."""

import gzip
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_lab import COMMAND, Cli, environment

zstandard = pytest.importorskip("zstandard")

URLS = b"".join(b"https://site%d.example/page/%d?id=%d\n" % (n % 97, n, n * n) for n in range(20_000))


def packed(data: bytes, kind: str) -> bytes:
    return gzip.compress(data) if kind == "gz" else zstandard.ZstdCompressor().compress(data)


def unpacked(data: bytes, kind: str) -> bytes:
    """By the program everybody has, which also checks that the archive is whole."""
    tool = shutil.which("gzip" if kind == "gz" else "zstd")
    if tool is None:
        pytest.skip(f"there is no program for .{kind} here")
    return subprocess.run([tool, "-dc"], input=data, capture_output=True, check=True).stdout


@pytest.fixture(params=["gz", "zst"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_packed_files_are_read_and_written_by_their_suffix(cli: Cli, kind: str) -> None:
    (cli.directory / f"in.{kind}").write_bytes(packed(URLS + URLS, kind))
    ran = cli("uniq", f"in.{kind}", "-o", f"out.{kind}", "--json")
    assert (0, 20_000, 20_000) == (ran.status, ran.report["new"], ran.report["seen"])
    assert URLS == unpacked((cli.directory / f"out.{kind}").read_bytes(), kind)


def test_members_one_after_the_other_are_one_input(cli: Cli, kind: str) -> None:
    half = len(URLS) // 2  # in the middle of a line
    padding = bytes(512) if kind == "gz" else b""
    data = packed(URLS[:half], kind) + packed(b"", kind) + packed(URLS[half:], kind) + padding
    (cli.directory / f"in.{kind}").write_bytes(data)
    assert URLS == cli("uniq", f"in.{kind}", "-q").out


def test_a_cut_off_archive_is_status_2_after_what_it_has(cli: Cli, kind: str) -> None:
    data = packed(URLS, kind)
    for name, part in (("cut", data[: len(data) // 2]), ("last", data[:-1]), ("empty", b"")):
        (cli.directory / f"{name}.{kind}").write_bytes(part)
        ran = cli("uniq", f"{name}.{kind}", "-q")
        assert 2 == ran.status, name
        assert f"{name}.{kind}: ends too early" in ran.error
        assert URLS.startswith(ran.out)
        assert ran.out.endswith(b"\n") or not ran.out  # half a URL is another URL
    assert ran.out == b""


def test_what_is_not_an_archive_or_is_damaged_is_status_2(cli: Cli, kind: str) -> None:
    (cli.directory / f"plain.{kind}").write_bytes(URLS)
    data = bytearray(packed(URLS, kind))
    data[len(data) // 2 : len(data) // 2 + 20] = random.Random(1).randbytes(20)
    (cli.directory / f"bad.{kind}").write_bytes(data)
    (cli.directory / f"more.{kind}").write_bytes(packed(URLS, kind) + b"garbage")
    for name in ("plain", "bad", "more"):
        ran = cli("uniq", f"{name}.{kind}", "-q")
        assert 2 == ran.status, name
        assert f"{name}.{kind}: is damaged, or not what its suffix says" in ran.error
    assert URLS == ran.out


def test_an_archive_of_nothing_is_an_archive(cli: Cli, kind: str) -> None:
    (cli.directory / f"in.{kind}").write_bytes(packed(b"", kind))
    assert 0 == cli("uniq", f"in.{kind}", "-o", f"out.{kind}", "-q").status
    assert b"" == unpacked((cli.directory / f"out.{kind}").read_bytes(), kind)


def test_a_bomb_takes_time_and_no_memory(cli: Cli, kind: str) -> None:
    zeros = bytes(1 << 24)
    if kind == "gz":
        data = packed(zeros, kind) * 64
    else:
        data = zstandard.ZstdCompressor(level=19).compress(zeros * 64)
    assert len(data) < 2 << 20
    (cli.directory / f"bomb.{kind}").write_bytes(data)

    def little_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))

    ran = subprocess.run(
        [*COMMAND, "uniq", f"bomb.{kind}", "--json"],
        capture_output=True,
        cwd=cli.directory,
        env=environment(),
        preexec_fn=little_memory,
        check=False,
    )
    assert (0, b"") == (ran.returncode, ran.stdout), ran.stderr
    assert b'"too_long": 1' in ran.stderr


def test_records_and_other_commands_read_packed_files_too(cli: Cli, kind: str) -> None:
    (cli.directory / f"in.{kind}").write_bytes(packed(b"url,n\n" + b"https://e.example/,1\n", kind))
    assert 1 == cli.on("push", f"in.{kind}", "--format", "csv", "--json").report["new"]
    (cli.directory / f"done.{kind}").write_bytes(packed(b'{"token": "%s"}\n' % cli.pop()[0]["token"].encode(), kind))
    assert "done" == cli.on("done", f"done.{kind}").objects[0]["state"]


def test_what_a_killed_durable_uniq_had_marked_can_be_unpacked(cli: Cli, kind: str) -> None:
    process = cli.start("uniq", "--store", cli.store, "-o", f"out.{kind}")
    assert process.stdin
    process.stdin.write(b"https://e.example/1\n" * 3)
    process.stdin.flush()
    wait_for(lambda: Path(cli.store, "ledger.db").exists() and cli.stats()["done"] == 1)
    process.stdin.write(b"https://e.example/2\n")
    process.stdin.flush()
    wait_for(lambda: cli.stats()["done"] == 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert b"https://e.example/1\nhttps://e.example/2\n" == unpacked((cli.directory / f"out.{kind}").read_bytes(), kind)


def wait_for(what: object) -> None:
    end = time.monotonic() + 30
    while not what():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_full_disk_is_status_3_also_for_an_archive(cli: Cli, kind: str, small_disk: Path) -> None:
    noise = b"".join(b"https://e.example/%s\n" % os.urandom(60).hex().encode() for _ in range(60_000))
    ran = cli("uniq", "-q", "-o", str(small_disk / f"out.{kind}"), stdin=noise)
    assert 3 == ran.status
    assert "No space left" in ran.error


def test_an_output_is_not_made_when_zstandard_is_missing_and_the_error_says_what_to_install(cli: Cli) -> None:
    if sys.version_info >= (3, 14):
        pytest.skip("this Python has its own")
    (cli.directory / "in.zst").write_bytes(b"x")
    (cli.directory / "zstandard.py").write_text("raise ModuleNotFoundError('none', name='zstandard')")
    for words in (["uniq", "in.zst"], ["uniq", "-o", "out.zst"], ["canon", "--rejected", "out.zst"]):
        ran = cli(*words, env={"PYTHONPATH": f"{cli.directory}:{environment()['PYTHONPATH']}"})
        assert 2 == ran.status
        assert "pip install 'urlsieve[cli]'" in ran.error
        assert not (cli.directory / "out.zst").exists()
