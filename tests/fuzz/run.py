"""Fuzzes the kernel: builds its C core with AddressSanitizer and UBSan in a temporary folder, feeds it hostile bytes and files, and refuses
it memory.

    python tests/fuzz/run.py --seconds 20 [--seed N]

Two builds must agree on every byte they make: the one that looks at sixteen bytes at a time and the one that looks at each. Exit status:
0 clean, 1 a finding (seed and round are printed: the same arguments repeat it), 2 the harness could not be built or started.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNEL = HERE.parents[1] / "src/urlsieve/_kernel"
FLAGS = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
WRAPPED = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc"  # harness_memory.c refuses some
MANY = 1 << 60


def build(folder: Path, name: str, *extra: str) -> Path:
    """The harness with the kernel's own C files; RuntimeError with the compiler's words if that fails."""
    program = folder / name
    sources = sorted(str(path) for folder in (HERE, KERNEL) for path in folder.glob("*.c") if path.name != "_core.c")
    compiler = os.environ.get("CC", "gcc")
    done = subprocess.run(
        [compiler, *FLAGS, *extra, WRAPPED, f"-I{KERNEL}", *sources, "-o", str(program), "-lpthread", "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{compiler} could not build the harness:\n{done.stderr}")
    return program


def run(program: Path, seed: int, count: int, seconds: float) -> tuple[int, str]:
    """(rounds, digest); RuntimeError with the sanitizer's words on a finding."""
    done = subprocess.run([str(program), str(seed), "0", str(count), str(seconds)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{program.name}, seed {seed}: exit status {done.returncode}\n{done.stderr[-8000:]}")
    rounds, digest = done.stdout.split()
    return int(rounds), digest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    seed = random.randrange(1 << 32) if args.seed is None else args.seed
    with tempfile.TemporaryDirectory(prefix="urlsieve-fuzz-") as folder:
        try:
            wide = build(Path(folder), "wide")
            scalar = build(Path(folder), "scalar", "-DUS_SCALAR")
        except (RuntimeError, OSError) as error:
            print(error, file=sys.stderr)
            return 2
        try:
            rounds, digest = run(wide, seed, MANY, max(1.0, args.seconds / 2))
            _, other = run(scalar, seed, rounds, 0)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
    if digest != other:
        print(f"seed {seed}: the two builds made different results in {rounds} rounds", file=sys.stderr)
        return 1
    print(f"fuzz: {rounds} rounds of seed {seed}, no finding")
    return 0


if __name__ == "__main__":
    sys.exit(main())
