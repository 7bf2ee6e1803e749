"""Fuzzes the kernel led by coverage: builds the targets with clang's libFuzzer, AddressSanitizer and UBSan, seeds them from tests/cases and
runs them in turn.

    python tests/fuzz/guided.py --seconds 600 [--target forms] [--corpus FOLDER] [--if-possible]

What a run learns stays in the corpus (build/fuzz), so that the next one goes on from there. A finding's input is kept in build/fuzz/found, and
the command that repeats it is printed. Exit status: 0 clean, 1 a finding, 2 clang is missing or cannot build (with --if-possible: 0, and a
word about it).
"""

import argparse
import hashlib
import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KERNEL = ROOT / "src/urlsieve/_kernel"
CASES = ROOT / "tests/cases"
TARGETS = ("forms", "runs", "rules")
FLAGS = ["-std=c11", "-O1", "-g", "-Wall", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]
PROGRAMS = 9  # of target_forms.c
LONGEST = {"forms": 4096, "runs": 8192, "rules": 1024}
OWNER = 77  # of target_runs.c
WORDS = r"""
http:// https:// HTTP:// // :// : :80 :443 @ u:p@ [::1] [v1.x] xn-- www. e.com m.e.com / /../ /./ /%2e%2E/ % %25 %41 %2f %c3%a9 %zz ? # #!/ #/
& && = ; ;jsessionid=0123456789 utm_source= utm_medium= ts= PHPSESSID= index.html + a=1 b=2 \ (?: )*? [^a] {1,3} \d ^ $ |
"""


class Missing(RuntimeError):
    """clang is not there, or has no libFuzzer."""


def build(target: str, folder: Path) -> Path:
    """The target's program; Missing with the compiler's words if that fails."""
    clang = shutil.which("clang")
    if clang is None:
        raise Missing("clang is not installed (Debian 12: apt-get install clang libclang-rt-14-dev)")
    own = [HERE / "targets/target.c", HERE / f"targets/target_{target}.c", HERE / "laws.c", HERE / "seal.c"]
    sources = [*own, *sorted(path for path in KERNEL.glob("*.c") if path.name != "_core.c")]
    headers = [*sorted(KERNEL.glob("*.h")), *sorted(HERE.rglob("*.h"))]
    digest = hashlib.sha1(b"".join(path.read_bytes() for path in [*sources, *headers])).hexdigest()[:12]
    program = folder / f"target_{target}-{digest}"
    if program.exists():
        return program
    for old in folder.glob(f"target_{target}-*"):
        old.unlink()
    done = subprocess.run(
        [clang, *FLAGS, f"-I{KERNEL}", *map(str, sources), "-o", f"{program}.new"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Missing(f"clang could not build target_{target}.c:\n{done.stderr[-4000:]}")
    Path(f"{program}.new").rename(program)
    return program


def _jsonl(name: str) -> Iterator[dict[str, str]]:
    for line in (CASES / name).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _texts() -> Iterator[bytes]:
    for case in _jsonl("canon_vectors.jsonl"):
        yield case["input"].encode("utf-8", "replace")
    for number, case in enumerate(_jsonl("classic_vectors.jsonl")):
        if number % 8 == 1:
            yield case["url"].encode() if "url" in case else bytes.fromhex(case["hex"])
    for case in json.loads((CASES / "data/wpt/urltestdata.json").read_text(encoding="utf-8")):
        if isinstance(case, dict):
            yield case["input"].encode("utf-8", "replace")


def _forms() -> Iterator[bytes]:
    for number, text in enumerate(_texts()):
        yield bytes([number % PROGRAMS]) + text


def _records(count: int, crowd: int) -> list[tuple[int, int, int]]:
    """Sites of seven keys, and one with a crowd of hashes, which a block has as a long stretch."""
    small = [(n // 7, n * 0x9E3779B97F4A7C15 % 2**61 if n % 7 == 6 else n, n) for n in range(count)]
    return sorted(small + [(2**63, n * 0x9E3779B97F4A7C15 % 2**64, -n) for n in range(crowd)])


def _runs() -> Iterator[bytes]:
    from urlsieve._kernel import RunWriter

    for count, crowd in ((0, 0), (1, 0), (3, 0), (200, 0), (0, 60), (20, 500), (3, 900)):
        writer = RunWriter(owner=OWNER)
        text = writer.add(b"".join(struct.pack("<QQq", *record) for record in _records(count, crowd))) + writer.finish()
        yield b"\x00" + text
        yield b"\x01" + text


def _rules() -> Iterator[bytes]:
    for pattern in (r"^(/dp/[A-Z0-9]{10})(/.*)?$", r"(a|ab)(c|bcd)*?\d+", r"(?:a*)*b", r"[^\w\s]{2,5}$"):
        yield b"\x00" + pattern.encode() + b"\n/dp/B00ABCDEFG/ref=x"
    for pattern in ("ref_*", "*_id", "a?b*c*", r"\**"):
        yield b"\x01" + pattern.encode() + b"\nref_abc_id"
    yield b"\x02r\tb\te.com\t\nd\tsid\nd\tref_*\nr\te\twww.e.com\t/shop/*\nk\nk\tid\nh\tm.e.com\twww.e.com\nw\t^(/a)(/.*)?$\t$1\nf\t2\ns\nc\nt\no\nn\n"


def seed(target: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for text in {"forms": _forms, "runs": _runs, "rules": _rules}[target]():
        (folder / hashlib.sha1(text).hexdigest()).write_bytes(text)


def dictionary(path: Path) -> Path:
    escaped = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in WORDS.split())
    path.write_text("".join(f'"{word}"\n' for word in escaped))
    return path


def run(target: str, seconds: int, place: Path) -> bool:
    """Was it clean?"""
    program, corpus, found = build(target, place), place / "corpus" / target, place / "found"
    seed(target, corpus)
    found.mkdir(exist_ok=True)
    command = [
        *(str(program), f"-max_total_time={seconds}", f"-max_len={LONGEST[target]}", "-timeout=10", "-rss_limit_mb=2048", "-verbosity=0"),
        *(f"-dict={dictionary(place / 'words')}", f"-artifact_prefix={found}/{target}-", "-print_final_stats=1", str(corpus)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        print(
            f"{done.stderr[-6000:]}\nguided: a finding in target {target}; the input is in {found}, to repeat: {program} FILE",
            file=sys.stderr,
        )
        return False
    counts = [line.rpartition(" ")[2] for line in done.stderr.splitlines() if line.startswith("stat::number_of_executed_units")]
    print(f"guided: target {target}, {counts[0] if counts else '?'} inputs, {len(list(corpus.iterdir()))} in the corpus, no finding")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="for all targets together")
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--corpus", type=Path, default=ROOT / "build/fuzz")
    parser.add_argument("--if-possible", action="store_true", help="no clang: say so, and that is all")
    args = parser.parse_args()
    targets = args.target or TARGETS
    args.corpus.mkdir(parents=True, exist_ok=True)
    try:
        clean = [run(target, max(1, args.seconds // len(targets)), args.corpus.resolve()) for target in targets]
    except Missing as error:
        print(f"guided: {'left out, ' if args.if_possible else ''}{error}", file=sys.stderr)
        return 0 if args.if_possible else 2
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
