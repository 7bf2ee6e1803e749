"""Every command in every bad situation: one table of commands, and for each situation what all of them must do."""

import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli_lab import COMMAND, Cli, environment

import urlsieve
from urlsieve.doors.cli.main import COMMANDS


@dataclass(frozen=True)
class Kind:
    """words: what the command is called with; reads: FILEs or standard input; needs: a store that is there (makes: it makes one);
    prints: to standard output when it has something to say; garbage: its exit statuses for a file of random bytes."""

    words: tuple[str, ...] = ()
    reads: bool = False
    needs: bool = False
    makes: bool = False
    prints: bool = True
    garbage: tuple[int, ...] = (0,)


RECORDS = Kind(reads=True, needs=True, garbage=(2,))
TABLE = {
    "uniq": Kind(reads=True),
    "canon": Kind(reads=True),
    "explain": Kind(("https://e.example/",)),
    "push": Kind(reads=True, makes=True, prints=False),
    "pop": Kind(needs=True),
    "done": RECORDS,
    "fail": RECORDS,
    "skip": RECORDS,
    "extend": RECORDS,
    "release": RECORDS,
    "seen": Kind(reads=True, needs=True),
    "why": Kind(("e.example",), needs=True),
    "stats": Kind(needs=True),
    "sites": Kind(needs=True),
    "groups": Kind(needs=True),
    "block": Kind(("e.example",), needs=True),
    "unblock": Kind(("e.example",), needs=True),
    "failed": Kind(needs=True, prints=False),
    "rejected": Kind(needs=True, prints=False),
    "forget": Kind(reads=True, needs=True),
    "purge": Kind(("e.example",), needs=True),
    "export": Kind(needs=True),
    "import": Kind(reads=True, makes=True, prints=False),
    "backup": Kind(("copy",), needs=True),
    "restore": Kind(("nosuchbackup",)),
    "verify": Kind(needs=True),
    "compact": Kind(needs=True),
    "upgrade": Kind(needs=True),
    "rekey": Kind(("--secret", "new"), needs=True),
    "doctor": Kind(needs=True),
    "completion": Kind(("bash",)),
}
ELSEWHERE = {"crawl", "demo", "rules"}  # tests/doors/crawler, tests/doors/demo, test_cli_rules.py
READS = [name for name, kind in TABLE.items() if kind.reads]
STORES = [name for name, kind in TABLE.items() if kind.needs or kind.makes]


def words(name: str, *files: str, store: str | None = None) -> list[str]:
    kind = TABLE[name]
    named = ["--store", store] if store is not None and (kind.needs or kind.makes or name == "restore") else []
    return [name, *named, *kind.words, *files]


@pytest.fixture
def job(cli: Cli) -> Cli:
    with urlsieve.open(cli.store) as sieve:
        sieve.push(["https://e.example/", "https://f.example/"])
    return cli


def clean(err: str) -> bool:
    """Nothing that only a programmer would want to see."""
    return not any(mark in err for mark in ("Traceback", "bug in urlsieve", "Error:"))


def test_no_command_is_missing_in_the_table() -> None:
    assert set(COMMANDS) == set(TABLE) | ELSEWHERE


@pytest.mark.parametrize("name", READS)
def test_an_empty_file_is_read_without_complaint(job: Cli, name: str) -> None:
    (job.directory / "empty").touch()
    for ran in (job(*words(name, "empty", store=job.store)), job(*words(name, store=job.store))):
        assert 0 == ran.status, ran
        assert clean(ran.err)


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("seed", [1, 2])
def test_random_bytes_are_data_or_a_clear_error(job: Cli, name: str, seed: int) -> None:
    (job.directory / "noise").write_bytes(random.Random(seed).randbytes(20_000))
    ran = job(*words(name, "noise", store=job.store))
    assert ran.status in TABLE[name].garbage, ran
    assert clean(ran.err)
    assert [] == urlsieve.open(job.store).verify(deep=True)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("name", ["uniq", "canon", "push", "seen", "import"])
def test_random_bytes_in_any_format_are_data_or_a_clear_error(job: Cli, name: str, form: str) -> None:
    (job.directory / "noise").write_bytes(b"url\n" + random.Random(3).randbytes(20_000))
    ran = job(*words(name, "--format", form, "noise", store=job.store))
    assert ran.status in (0, 2), ran
    assert clean(ran.err)


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("file", ["nosuchfile", ".", "nosuch.gz", "no/such/file"])
def test_a_file_that_cannot_be_read_is_status_2_and_named(job: Cli, name: str, file: str) -> None:
    ran = job(*words(name, file, store=job.store))
    assert (2, b"") == (ran.status, ran.out)
    assert file in ran.error


@pytest.mark.parametrize("name", [name for name in STORES if not TABLE[name].makes])
def test_a_missing_store_is_status_3_named_and_not_made(cli: Cli, name: str) -> None:
    for extra in ([], ["--json"]):
        ran = cli(*words(name, store=cli.store), *extra)
        assert (3, b"") == (ran.status, ran.out)
        assert cli.store in ran.err
    assert not Path(cli.store).exists()
    assert not (cli.directory / "copy").exists()


@pytest.mark.parametrize("name", STORES)
def test_a_damaged_store_is_status_4_and_untouched(job: Cli, name: str) -> None:
    ledger = Path(job.store) / "ledger.db"
    data = b"garbage" * 3000
    ledger.write_bytes(data)
    ran = job(*words(name, store=job.store), stdin="https://e.example/" if name in ("push", "import") else "")
    assert (4, b"") == (ran.status, ran.out), ran
    assert job.store in ran.error
    assert data == ledger.read_bytes()


@pytest.mark.parametrize("name", [*STORES, "restore"])
def test_without_a_store_s_name_every_command_says_how_to_name_one(cli: Cli, name: str) -> None:
    ran = cli(*words(name))
    assert (2, b"") == (ran.status, ran.out)
    assert "URLSIEVE_STORE" in ran.error


@pytest.mark.parametrize("name", TABLE)
def test_an_unknown_option_is_status_2(cli: Cli, name: str) -> None:
    ran = cli(*words(name, store=cli.store), "--frobnicate")
    assert (2, b"") == (ran.status, ran.out)
    assert "--frobnicate" in ran.error


def lines_for(name: str, job: Cli) -> bytes:
    if TABLE[name] is RECORDS:
        reason = '"reason": "x", ' if name in ("fail", "skip") else ""
        return "".join(f'{{{reason}"token": "{token}"}}\n' for token in job.tokens(3)).encode()
    return b"https://e.example/\nhttps://g.example/\n"


PRINTS = [name for name, kind in TABLE.items() if kind.prints and name not in ("restore", "upgrade")]


@pytest.mark.parametrize("name", PRINTS)
def test_a_full_output_is_status_3_and_says_so(job: Cli, name: str) -> None:
    data = lines_for(name, job)
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [*COMMAND, *words(name, store=job.store)],
            input=data, stdout=full, stderr=subprocess.PIPE, cwd=job.directory, env=environment(), check=False,
        )  # fmt: skip
    assert 3 == ran.returncode, ran.stderr
    assert b"standard output: No space left on device" in ran.stderr
    assert clean(ran.stderr.decode())
    assert [] == urlsieve.open(job.store).verify(deep=True)


@pytest.mark.parametrize("name", PRINTS)
def test_a_closed_pipe_is_no_error_and_not_a_word(job: Cli, name: str) -> None:
    data = lines_for(name, job)
    ours, theirs = os.pipe()
    os.close(ours)
    ran = subprocess.run(
        [*COMMAND, *words(name, store=job.store)],
        input=data, stdout=theirs, stderr=subprocess.PIPE, cwd=job.directory, env=environment(), check=False,
    )  # fmt: skip
    os.close(theirs)
    assert ran.returncode in (0, -signal.SIGPIPE), ran.stderr
    assert b"" == ran.stderr


@pytest.mark.parametrize("name", READS)
def test_ctrl_c_is_130_and_one_line(job: Cli, name: str) -> None:
    process = job.start(*words(name, store=job.store))
    assert process.stdin and process.stderr
    process.stdin.write(lines_for(name, job))
    process.stdin.flush()
    end = time.monotonic() + 30
    while time.monotonic() < end and not _reads(process.pid):
        time.sleep(0.02)
    assert _reads(process.pid)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert 130 == process.returncode, said
    assert said.splitlines()[-1].startswith(b"urlsieve: interrupted")
    assert clean(said.decode())
    assert [] == urlsieve.open(job.store).verify(deep=True)


def _reads(pid: int) -> bool:
    """It sleeps in a read of its standard input, a pipe: whatever it does at the start is behind it."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            call = (task / "syscall").read_text().split()
        except OSError:
            continue
        if call[:2] == ["0", "0x0"]:  # read(0, …) on this architecture
            return True
    return False


@pytest.mark.parametrize("name", ["uniq", "canon", "seen", "sites", "groups", "failed", "rejected", "export"])
def test_an_output_file_is_not_overwritten_without_force(job: Cli, name: str) -> None:
    (job.directory / "out").write_text("precious")
    ran = job(*words(name, store=job.store), "-o", "out", stdin="https://e.example/")
    assert 2 == ran.status
    assert "--force" in ran.error
    assert "precious" == (job.directory / "out").read_text()
    assert 0 == job(*words(name, store=job.store), "-o", "out", "--force", stdin="https://e.example/").status
    assert "precious" not in (job.directory / "out").read_text()


@pytest.mark.parametrize("name", ["uniq", "canon", "push", "import"])
def test_a_rejects_file_is_not_overwritten_without_force(job: Cli, name: str) -> None:
    (job.directory / "bad").write_text("precious")
    ran = job(*words(name, store=job.store), "--rejected", "bad", stdin="nonsense\n")
    assert 2 == ran.status
    assert "precious" == (job.directory / "bad").read_text()
    assert 0 == job(*words(name, store=job.store), "--rejected", "bad", "--force", stdin="nonsense\n").status
    assert "relative\tnonsense\n" == (job.directory / "bad").read_text()


@pytest.mark.parametrize("name", ["uniq", "canon", "push", "seen", "import"])
def test_an_input_is_never_its_own_output(job: Cli, name: str) -> None:
    (job.directory / "urls").write_text("https://e.example/\n")
    option = "--rejected" if name in ("push", "import") else "-o"
    ran = job(*words(name, "urls", store=job.store), option, "urls", "--force")
    assert (2, b"") == (ran.status, ran.out)
    assert "input and output at once" in ran.error
    assert "https://e.example/\n" == (job.directory / "urls").read_text()


@pytest.mark.parametrize("name", ["uniq", "canon", "push", "seen", "forget", "import"])
def test_with_null_lines_end_with_nul(job: Cli, name: str) -> None:
    ran = job(*words(name, store=job.store), "-0", stdin=b"https://e.example/\0https://f.example/a\nb\0")
    assert 0 == ran.status, ran
    if name in ("uniq", "canon", "seen"):
        assert 2 == ran.out.count(b"\0")
