"""`urlsieve uniq` as a whole process on a crawl-like stream, against sort -u, mawk and a Python set, with time and peak memory.

The stream is made once and kept under bench/out. Every program reads the same file and writes its lines to a file; the rounds are
interleaved. Only ours is asked for the truth: the peers compare text, so they keep every spelling of a page.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.report import OUT, emit, machine, median

PYTHON_SET = """
import sys
seen = set()
for line in sys.stdin.buffer:
    if line not in seen:
        seen.add(line)
        sys.stdout.buffer.write(line)
"""


@dataclass(frozen=True, slots=True)
class Stream:
    path: Path
    lines: int
    distinct: int  # pages, by the generator's own numbers


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    cpu: float
    peak_mb: float  # resident, mapped files included
    printed: int


def stream(lines: int) -> Stream:
    """The stream of this length, generated at first use and moved into place when it is whole."""
    OUT.mkdir(exist_ok=True)
    path, facts = OUT / f"stream-{lines}.txt", OUT / f"stream-{lines}.json"
    generator = Path(__file__).with_name("urlstream.py")
    made_by = hashlib.sha256(generator.read_bytes()).hexdigest()  # another generator gives another stream
    if facts.exists() and path.exists() and json.loads(facts.read_text())["made_by"] == made_by:
        return Stream(path, lines, json.loads(facts.read_text())["distinct"])
    print(f"bench: generating {lines:,} lines", file=sys.stderr)
    part, truth = path.with_suffix(".part"), OUT / f"truth-{lines}.part"
    with part.open("wb") as out:
        subprocess.run([sys.executable, generator, str(lines), "--truth", truth], stdout=out, check=True)
    named = bytearray(lines + 1)  # not a set: what this process has held counts as the peak of those it starts
    with truth.open() as numbers:
        for number in numbers:
            named[int(number)] = 1
    distinct = sum(named)
    truth.unlink()
    part.rename(path)
    facts.write_text(json.dumps({"distinct": distinct, "made_by": made_by}))
    return Stream(path, lines, distinct)


def run(command: list[str], source: Path) -> Run:
    """Runs the command with the stream as standard input and its output in a file; waits with wait4 for its own peak memory."""
    target = OUT / "uniq.out"
    with source.open("rb") as stdin, target.open("wb") as stdout:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=stdin, stdout=stdout, env=os.environ | {"LC_ALL": "C"})
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"bench: {command[0]} ended with {child.returncode}")
    printed = count_lines(target)
    target.unlink()
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed)


def count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


def commands() -> dict[str, list[str]]:
    """Whole programs, ours first. mawk is left out where it is not installed, and said so."""
    programs = {
        "urlsieve uniq": [str(Path(sys.executable).with_name("urlsieve")), "uniq"],
        "LC_ALL=C sort -u": ["sort", "-u"],
        "mawk '!s[$0]++'": ["mawk", "!s[$0]++"],
        "python set": [sys.executable, "-c", PYTHON_SET],
    }
    missing = [name for name, command in programs.items() if not shutil.which(command[0])]
    for name in missing:
        print(f"bench: {name} left out: not installed", file=sys.stderr)
        del programs[name]
    return programs


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench uniq", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1 million lines instead of 10 million")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    machine("uniq")
    source = stream(1_000_000 if args.quick else 10_000_000)
    programs = commands()
    runs: dict[str, list[Run]] = {name: [] for name in programs}
    for _ in range(args.rounds):
        for name, command in programs.items():
            runs[name].append(run(command, source.path))
    if "urlsieve uniq" not in runs:
        sys.exit("bench: the urlsieve command is not installed here: run ./dev bench uniq")
    ours = runs.pop("urlsieve uniq")
    distinct = ours[0].printed
    case = f"{source.lines} lines"
    for name, theirs in runs.items():
        seconds = {"ours": median([r.seconds for r in ours]), "peer": median([r.seconds for r in theirs])}
        emit(
            "uniq", case, **seconds, peer_name=name, unit="s",
            cpu=round(median([r.cpu for r in ours]), 2), peer_cpu=round(median([r.cpu for r in theirs]), 2),
            peer_peak_mb=round(median([r.peak_mb for r in theirs])), peer_printed=theirs[0].printed,
        )  # fmt: skip
    limit = 24 * source.distinct / 1e6 + 60
    emit("uniq", f"{case}, peak memory", ours=max(r.peak_mb for r in ours) * 1.048576, unit="MB", limit=round(limit))
    emit("uniq", f"{case}, distinct", ours=distinct, peer=source.distinct, peer_name="truth", unit="lines")
    return 0 if all(r.printed == source.distinct for r in ours) else 1


if __name__ == "__main__":
    sys.exit(main())
