"""export and import as people use them: through pipes and files, of URLs and of whole stores, killed and repeated."""

import json
import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_lab import COMMAND, Cli, environment

import redis_server
import urlsieve

SAME = ("accepted", "pending", "leased", "delayed", "done", "dead", "known", "seen", "sites", "groups", "rejected", "skipped")

#: Kinds of store → the address of a fresh one of that name.
PLACES: dict[str, Callable[[Path, str], str]] = {
    "embedded": lambda folder, name: str(folder / name),
    "redis": lambda folder, name: redis_server.shared().address(f"{folder.name}-{name}"[-64:].lstrip("-")),
}


@pytest.fixture
def job(cli: Cli) -> Cli:
    """A store in the middle of its work."""
    with urlsieve.open(cli.store, max_attempts=1) as sieve:
        sieve.push([f"https://s{n % 9}.example/{n}" for n in range(300)] + ["mailto:x"])
        sieve.push(b"https://bytes.example/\xff\n")
        leases = sieve.pop(20)
        sieve.done(leases[:8])
        sieve.fail(leases[8:12], "timeout")
        sieve.skip(leases[12:14], "robots")
        sieve.release(leases[14:])
        sieve.mark(["https://known.example/"], known=True)
        sieve.group("s1.example").delay = 3
    return cli


def figures(cli: Cli, store: str) -> dict[str, object]:
    (found,) = cli("stats", "--json", "--store", store).objects
    return {name: found[name] for name in SAME}


@pytest.mark.parametrize("way", [("embedded",), ("redis", "embedded"), ("redis", "redis", "embedded")], ids="-".join)
def test_a_store_that_is_piped_from_store_to_store_is_equal_at_each(job: Cli, way: tuple[str, ...]) -> None:
    source = job.store
    for number, kind in enumerate(way):
        target = PLACES[kind](job.directory, f"target{number}")
        pipe = 'set -o pipefail; source=$1 target=$2; shift 2; "$@" export --store "$source" | "$@" import --json --store "$target"'
        words = ["bash", "-c", pipe, "x", source, target, *COMMAND]
        ran = subprocess.run(words, capture_output=True, cwd=job.directory, env=environment(), check=False)
        assert 0 == ran.returncode, ran.stderr
        assert figures(job, job.store) == figures(job, target)
        assert 0 == job("verify", "--deep", "--store", target).status
        source = target


def test_an_export_to_a_file_is_nobody_else_s_to_read_and_the_report_counts(job: Cli) -> None:
    ran = job.on("export", "-o", "x.jsonl.gz", "--json")
    assert (0, 302, 0) == (ran.status, ran.report["entries"], ran.report["left_out"])
    assert 0o600 == stat.S_IMODE(os.stat(job.directory / "x.jsonl.gz").st_mode)
    assert 2 == job.on("export", "-o", "x.jsonl.gz").status
    (job.directory / "open").touch(0o644)
    assert 0 == job.on("export", "-o", "open", "--force", "-q").status
    assert 0o600 == stat.S_IMODE(os.stat(job.directory / "open").st_mode)
    report = job("import", "--store", "t", "x.jsonl.gz", "--json").report
    assert (302, 0, None) == (report["new"], report["rejected"], report["incomplete"])


def test_export_as_text_prints_urls_of_the_wanted_states(job: Cli) -> None:
    ran = job.on("export", "--format", "text", "--json")
    assert 301 == len(ran.lines) == ran.report["entries"]
    assert 1 == ran.report["left_out"]
    assert b"https://bytes.example/\xff" in ran.lines
    assert b"https://bytes.example/\xff\n\0" in job.on("export", "--format", "text", "-0").out
    have = job.stats()
    assert have["dead"] == len(job.on("export", "--format", "text", "--state", "dead").lines) > 0
    assert have["dead"] + have["done"] == len(job.on("export", "--format", "text", "--state", "dead,done").lines)
    only = job.on("export", "--state", "dead", "-q")
    assert {"dead"} == {row["entry"] for row in only.objects if "entry" in row}
    assert "" == only.err


def test_without_the_secret_the_file_has_none(job: Cli) -> None:
    ran = job.on("export", "--no-secret", "--json")
    assert (301, 1) == (ran.report["entries"], ran.report["left_out"])
    assert "secret" not in json.loads(ran.lines[0])
    (job.directory / "x").write_bytes(ran.out)
    assert 301 == job("import", "--store", "t", "--json", "x").report["new"]


def test_an_export_does_not_wait_for_others_nor_they_for_it(job: Cli) -> None:
    process = job.start("export", "--store", job.store, stderr=subprocess.DEVNULL)
    assert process.stdout
    process.stdout.readline()  # it has begun, and nobody reads on
    assert 1 == job.on("push", "--json", stdin="https://new.example/").report["new"]
    assert b'"end":true' in process.stdout.read().splitlines()[-1]
    process.communicate()
    assert 0 == process.returncode


def test_a_closed_pipe_ends_an_export_without_a_word(job: Cli) -> None:
    pipe = f'"$@" export --store {job.store} | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}'
    ran = subprocess.run(["bash", "-c", pipe, "x", *COMMAND], capture_output=True, cwd=job.directory, env=environment(), check=True)
    assert b"0\n" == ran.stdout
    assert b"Traceback" not in ran.stderr and b"rror" not in ran.stderr


# -- lines of URLs

SEEDS = b"https://e.example/a\n\n# a comment\nhttps://E.example/a\r\nnot a url\nhttps://e.example/b\n\n"


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        ([], {"known": 2, "accepted": 0}),
        (["--as", "known"], {"known": 2}),
        (["--as", "done"], {"done": 2, "known": 0}),
        (["--as", "pending"], {"pending": 2}),
    ],
    ids=str,
)
def test_lines_of_urls_are_marked_as_asked_and_the_default_is_known(cli: Cli, words: list[str], counts: dict[str, int]) -> None:
    ran = cli.on("import", "--json", *words, "--rejected", "bad", stdin=SEEDS)
    assert 0 == ran.status
    assert (7, 2, 1, 1, 3) == tuple(ran.report[name] for name in ("lines", "new", "seen", "rejected", "ignored"))
    found = cli.stats()
    assert counts == {name: found[name] for name in counts}
    assert b"relative\tnot a url\n" == (cli.directory / "bad").read_bytes()
    again = cli.on("import", "--json", *words, stdin=SEEDS).report
    assert (0, 3) == (again["new"], again["seen"])
    assert 5 == cli.on("import", "--strict", stdin=SEEDS).status


def test_imp_07_blank_lines_and_comments_of_an_import_are_ignored_and_counted(cli: Cli) -> None:
    report = cli.on("import", "--json", stdin="https://e.example/\n\n# seeds\nhttps://f.example/\n\n").report
    assert (2, 3) == (report["new"], report["ignored"])


def test_csv_and_jsonl_are_imported_by_their_column(cli: Cli) -> None:
    assert 1 == cli.on("import", "--format", "csv", "--column", "u", "--json", stdin=b"n,u\n1,https://e.example/\n").report["new"]
    report = cli.on("import", "--format", "jsonl", "--json", stdin=b'{"url":"https://f.example/"}\nx\n').report
    assert (1, 1) == (report["new"], report["malformed"]["count"])


# -- exports that are not whole


def test_a_cut_off_export_is_status_2_and_can_be_repeated(job: Cli) -> None:
    data = job.on("export").out
    ran = job("import", "--store", "t", stdin=data[: len(data) // 2])
    assert 2 == ran.status
    assert "cut off" in ran.err and "import the whole of it again" in ran.err
    assert 0 == job("import", "--store", "t", stdin=data).status
    assert figures(job, job.store) == figures(job, str(job.directory / "t"))


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_packed_export_that_is_cut_off_comes_in_up_to_there_and_is_counted(job: Cli, kind: str) -> None:
    job.on("push", stdin="".join(f"https://{n * 7919 % 1000}.example/{n * n}\n" for n in range(12_000)))
    job.on("export", "-o", f"all.{kind}")
    data = (job.directory / f"all.{kind}").read_bytes()
    (job.directory / f"half.{kind}").write_bytes(data[: len(data) // 8])
    ran = job("import", "--store", "t", f"half.{kind}")
    report, error = ran.err.splitlines()
    assert 2 == ran.status
    assert "ends too early" in error and "what came before is done" in error
    with urlsieve.open(job.directory / "t") as sieve:
        taken = sieve.stats().seen
    assert 0 < taken < 5_000, "less than one step, and more than nothing"
    assert report.startswith(f"urlsieve: {taken:,} URLs new")
    assert 0 == job("import", "--store", "t", f"all.{kind}").status
    assert figures(job, job.store) == figures(job, str(job.directory / "t"))


def test_an_import_that_runs_into_a_full_disk_says_how_far_it_came(cli: Cli, small_disk: Path) -> None:
    cli.on("push", stdin="".join(f"https://{n % 9}.example/{n}\n" for n in range(30_000)))
    cli.on("export", "-o", "all.jsonl")
    store = str(small_disk / "t")
    ran = cli("import", "--store", store, "all.jsonl")
    report, error = ran.err.splitlines()
    assert 3 == ran.status
    assert "no room" in error and "nothing was changed" not in error
    cli.store = store
    found = cli.stats()["seen"]
    assert found
    assert report.startswith(f"urlsieve: {found:,} URLs new, 0 seen")


def test_what_cannot_be_taken_into_another_secret_is_status_5_with_a_count(job: Cli) -> None:
    data = job.on("export").out
    job("push", "--store", "other", stdin="https://else.example/")
    ran = job("import", "--store", "other", "--json", "--rejected", "left", stdin=data)
    assert (5, 301, 1) == (ran.status, ran.report["new"], ran.report["refused"])
    assert (job.directory / "left").read_bytes().startswith(b"no_text: ")
    ran = job("import", "--store", "other", stdin=data)
    assert "1 refused" in ran.err


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["--as", "maybe"], b""),
        (["--as", "done"], b'{"urlsieve_export":1}'),
        (["--profile", "exact"], b'{"urlsieve_export":1}'),
        ([], b'{"urlsieve_export":99}\n'),
        ([], b'{"urlsieve_export":1}\n'),
        (["--column", "x"], b"x"),
        (["nosuchfile"], b""),
        (["."], b""),
    ],
    ids=str,
)
def test_an_import_that_makes_no_sense_is_status_2_and_makes_no_store(cli: Cli, words: list[str], stdin: bytes) -> None:
    ran = cli.on("import", *words, stdin=stdin)
    assert (2, b"") == (ran.status, ran.out), ran
    assert ran.error
    assert not Path(cli.store).exists()


@pytest.mark.crash
def test_an_import_that_is_killed_and_repeated_is_whole(cli: Cli) -> None:
    with urlsieve.open(cli.store, durability="normal") as sieve:
        sieve.push(f"https://s{n % 50}.example/{n}" for n in range(60_000))
    assert 0 == cli.on("export", "-o", "x", "-q").status
    target = str(cli.directory / "t")
    for number in range(4):
        process = cli.start("import", "--store", target, "x")
        ledger = Path(target) / "ledger.db"
        end = time.monotonic() + 60
        while not ledger.exists() and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.1 + 0.3 * number)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    ran = cli("import", "--store", target, "x", "--json")
    assert (0, 60_000, None) == (ran.status, ran.report["new"] + ran.report["seen"], ran.report["incomplete"])
    assert figures(cli, cli.store) == figures(cli, target)
    assert 0 == cli("verify", "--deep", "--store", target).status


def test_ctrl_c_ends_an_import_with_130_and_what_came_is_kept(job: Cli) -> None:
    data = job.on("export").out
    process = job.start("import", "--store", str(job.directory / "t"))
    assert process.stdin
    process.stdin.write(data)
    process.stdin.flush()
    end = time.monotonic() + 30
    while not (job.directory / "t" / "ledger.db").exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert 130 == process.returncode, said
    assert 0 == job("import", "--store", "t", stdin=data).status


def test_a_full_disk_stops_an_import_with_3_and_it_can_go_on(cli: Cli, small_disk: Path) -> None:
    store = str(small_disk / "store")
    urls = b"".join(b"http://site%d.example/%d/%s\n" % (i % 50, i, b"x" * 300) for i in range(20_000))
    ran = cli("import", "--as", "pending", "--store", store, "--json", stdin=urls)
    assert 3 == ran.status
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    assert 0 == cli("import", "--as", "pending", "--store", store, stdin=urls).status
    assert 0 == cli("verify", "--deep", "--store", store).status


def test_progress_is_shown_on_a_terminal_and_nowhere_else(cli: Cli) -> None:
    import pty

    with urlsieve.open(cli.store, durability="normal") as sieve:
        sieve.push(f"https://s{n % 50}.example/{n}" for n in range(20_000))
    ours, theirs = pty.openpty()
    process = cli.start("export", "--store", cli.store, "-o", "x", stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:
            break
        if not part:
            break
        shown += part
    process.communicate()
    os.close(ours)
    assert 0 == process.returncode
    assert b" lines, " in shown and b"20,000 URLs" in shown
    assert "" == cli.on("export", "-o", "y", "-q").err
