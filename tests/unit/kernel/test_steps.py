"""No text makes the kernel slow: its steps on inputs made to be slow grow as their length, or as n log n, up to the limit of 64 KB."""

import math
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
KERNEL = TESTS.parent / "src/urlsieve/_kernel"
PROGRAMS = ("exact with limits", "safe", "aggressive", "with rules", "scrapy", "classic")
WRAPPED = "-Wl," + ",".join(f"--wrap={name}" for name in ("memcpy", "memmove", "memset", "memchr", "memcmp"))
COMPILER = os.environ.get("CC", "gcc")
LONG = 60_000
NO_REWRITE = 4096  # US_REWRITE_PATH: what a regular expression costs is bounded by this length

Make = Callable[[int], str]

SLOW: dict[str, Make] = {
    "plain path": lambda n: "/" + "a" * n,
    "segments": lambda n: "/a" * (n // 2),
    "slashes": lambda n: "/" * n,
    "up and down": lambda n: "/a/.." * (n // 5),
    "down, then up": lambda n: "/a" * (n // 5) + "/.." * (n // 5),
    "up a long segment": lambda n: "/" + "a" * (n // 2) + "/../b" * (n // 10),
    "encoded dots": lambda n: "/%2e%2E" * (n // 7),
    "single dots": lambda n: "/." * (n // 2),
    "percents": lambda n: "/" + "%" * n,
    "stray digits": lambda n: "/" + "%%34%31" * (n // 7),
    "triplets": lambda n: "/" + "%c3%a9" * (n // 6),
    "controls": lambda n: "/" + "\x01" * (n // 2),
    "sessions": lambda n: "/" + ";jsessionid=12345678" * (n // 20),
    "almost sessions": lambda n: "/" + ";jsessionid=1234567" * (n // 19),
    "one long almost session": lambda n: "/a;jsessionid=" + "1" * n + "%",
    "semicolons": lambda n: "/" + ";" * n,
    "semicolons in segments": lambda n: "/;a" * (n // 3),
    "index files": lambda n: "/index.html" * (n // 11),
    "ampersands": lambda n: "/?a=" + "&" * n,
    "equals": lambda n: "/?" + "=" * n,
    "the same name": lambda n: "/?" + "a=&" * (n // 3),
    "names downwards": lambda n: "/?" + "&".join(f"{i:05}=" for i in range(n // 7, 0, -1)),
    "long names that differ at their end": lambda n: "/?" + "&".join("n" * 200 + f"{i * 7919 % 9973:05}=" for i in range(n // 207)),
    "values that differ at their end": lambda n: "/?" + "&".join("a=" + "n" * 200 + f"{i * 7919 % 9973:05}" for i in range(n // 208)),
    "names without a value": lambda n: "/?x=1&" + "&".join(f"{i * 7919 % 99_991}" for i in range(n // 6)),
    "pluses": lambda n: "/?a=" + "+" * n,
    "question marks": lambda n: "/?" + "?" * n,
    "noise": lambda n: "/?" + "gclid=1&" * (n // 8),
    "names for a glob": lambda n: "/?" + "a" * n + "=1",
    "a path for a regular expression": lambda n: "/" + "a" * n,
    "a path for a nested repetition": lambda n: "/a/aa/aaa" * (n // 9),
    "fragment": lambda n: "/#!/" + "%41" * (n // 3),
    "hashes": lambda n: "/#!" + "#" * n,
    "host": lambda n: "." + "a." * (n // 2) + "com/",
    "host of hyphens": lambda n: "-a" * (n // 2) + "/",
    "ats": lambda n: "@" * n + "/",
    "colons": lambda n: ":" * n + "/",
    "brackets": lambda n: "[" * n + "/",
    "zones": lambda n: "/[" + "%25" * (n // 3) + "]",
    "zeros of a port": lambda n: ":" + "0" * n + "/",
}
HEADS = {"host": "http://a", "host of hyphens": "http://a", "ats": "http://a", "brackets": "http://", "zones": "http:/"}


def text(name: str, size: int) -> bytes:
    return (HEADS.get(name, "http://e.com") + SLOW[name](size)).encode()


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[tuple[int, bytes]]], list[int]]:
    """Builds the counter once; cases (program, text) go in, their steps come out."""
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} is not installed")
    program = tmp_path_factory.mktemp("steps") / "steps"
    sources = [TESTS / "fuzz/steps/steps.c", *(path for path in KERNEL.glob("*.c") if path.name != "_core.c")]
    flags = ["-std=c11", "-O1", "-DUS_SCALAR", "-fno-builtin", "-fsanitize-coverage=trace-pc", WRAPPED, f"-I{KERNEL}"]
    subprocess.run([COMPILER, *flags, *map(str, sources), "-o", str(program), "-lpthread", "-lm"], check=True)

    def count(cases: list[tuple[int, bytes]]) -> list[int]:
        data = b"".join(b"%d %d\n%s\n" % (number, len(url), url) for number, url in cases)
        done = subprocess.run([str(program)], input=data, capture_output=True, check=True)
        found = [int(line.split()[1]) for line in done.stdout.splitlines()]
        assert len(cases) == len(found)
        return found

    return count


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=PROGRAMS)
def test_the_steps_of_no_text_grow_faster_than_n_log_n(steps: Callable[..., list[int]], number: int) -> None:
    sizes = [LONG // 16, LONG // 4, LONG]
    found = steps([(number, text(name, size)) for name in SLOW for size in sizes])
    small, middle, large = found[0::3], found[1::3], found[2::3]
    slow = {}
    for name, a, b, c in zip(SLOW, small, middle, large, strict=True):
        # four times the text: four times the work, with the logarithm of few pieces not quite six; quadratic would be sixteen times
        if b > 7 * a + 2000 or c > 7 * b + 2000:
            slow[name] = (a, b, c)
    assert {} == slow


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=PROGRAMS)
def test_the_longest_texts_cost_a_few_steps_a_byte(steps: Callable[..., list[int]], number: int) -> None:
    found = steps([(number, text(name, LONG)) for name in SLOW])
    most = 12 * math.log2(LONG) * LONG
    assert {} == {name: count for name, count in zip(SLOW, found, strict=True) if count > most}


def test_what_a_rewrite_costs_is_bounded_by_the_length_it_looks_at(steps: Callable[..., list[int]]) -> None:
    rules = PROGRAMS.index("with rules")
    [short, longest, beyond] = steps(
        [(rules, b"http://e.com/" + b"a" * size) for size in (NO_REWRITE // 4, NO_REWRITE - 1, NO_REWRITE + 1)]
    )
    assert longest < 6 * short
    assert beyond < longest


def test_a_counter_that_counts_nothing_would_be_seen(steps: Callable[..., list[int]]) -> None:
    assert all(count > LONG / 16 for count in steps([(number, text("triplets", LONG)) for number in range(len(PROGRAMS))]))
