"""Fuzzes what stands around the kernel, led by the coverage of its Python: made-up bytes go into public functions, and what these promise
for any bytes must hold.

    python tests/fuzz/wrapper.py --seconds 600 [--target rules] [--corpus FOLDER] [--if-possible]

What a run learns stays in the corpus (build/fuzz/wrapper). A finding's input is kept in build/fuzz/found, and the command that repeats it is
printed. Exit status: 0 clean, 1 a finding, 2 atheris is missing (with --if-possible: 0, and a word about it).
"""

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CASES = ROOT / "tests/cases"
ENCODINGS = ("utf-8", "gb18030", "big5", "shift_jis", "euc-kr", "windows-1252", "iso-2022-jp")
PROFILES = ("safe", "exact", "aggressive", "safe+strip_www+trailing_slash", "scrapy", "classic")
FORMAT_LINE = (
    b'{"urlsieve_export": 1, "profile": "safe", "identity": "content", "group_by": "host", "canonical_version": 1, "vectors": ""}\n'
)


def forms() -> Callable[[bytes], None]:
    """One URL: one call, a batch and lines say the same; a key's key is the key; what is wrong is InvalidURL and nothing else."""
    from urlsieve.canon import Canonicalizer
    from urlsieve.errors import InvalidURL

    made = [
        Canonicalizer(profile=profile, encoding=encoding)
        for profile in PROFILES
        for encoding in ENCODINGS[: 1 if profile == "classic" else 7]
    ]

    def one(data: bytes) -> None:
        if len(data) < 2:
            return
        canon, base_at, url = made[data[0] % len(made)], data[1], data[2:]
        base = url[: base_at % 64].decode("latin-1") if base_at & 128 else None
        keys = canon.canonicalize_many([url], base=base)
        try:
            assert canon.canonicalize(url, base=base) == keys[0]
            assert canon.fingerprint(url, base=base) == keys.fingerprints
        except InvalidURL as error:
            assert keys[0] is None
            assert keys.reasons[0] == error.reason
            assert keys.fingerprints == bytes(16)
            return
        assert keys[0] is not None
        if canon.profile not in ("scrapy", "classic"):
            assert keys[0].isascii()
            assert Canonicalizer(profile=canon.profile).canonicalize(keys[0]) == keys[0]
            assert keys.site(0) in keys[0]
        if b"\n" not in url and b"\r" not in url and base is None:
            assert canon.lines(url + b"\n").fingerprints == keys.fingerprints
        told = canon.explain(url, base=base)
        assert told.key == keys[0]
        json.dumps(told.as_dict())

    return one


def rules() -> Callable[[bytes], None]:
    """One file: its mistakes are told with lines, or it is read as it is written, and keys' keys are keys under it."""
    from urlsieve.canon import Canonicalizer
    from urlsieve.canon.rules import Rules

    urls = ["http://www.e.com/a?sid=1&b=2", "https://m.e.com/A/index.html", "http://e.com:8080/shop/x/#/r", "http://a.b.e.com/a//b/?x"]

    def one(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        found, problems = Rules.examined(text)
        assert (found is None) == bool(problems)
        if found is None:
            lines = text.count("\n") + 1
            assert all(problem.text and 1 <= problem.line <= lines for problem in problems)
            return
        assert Rules.parse(found.text).text == found.text
        canon = Canonicalizer(rules=found, traps=(256, 8, 32))
        keys = [key for key in canon.canonicalize_many(urls) if key is not None]
        assert keys == [canon.canonicalize(key) for key in keys]

    return one


def exports() -> Callable[[bytes], None]:
    """Lines of an export, broken as they may be: told, or taken; the store is sound."""
    import urlsieve
    from urlsieve.errors import UrlsieveError

    def one(data: bytes) -> None:
        with urlsieve.open("memory:") as sieve:
            sieve.push(["http://e.com/a"])
            try:
                sieve.import_lines(data.split(b"\n"))
            except UrlsieveError:
                pass
            assert sieve.verify(deep=True) == []
            assert sieve.seen("http://e.com/a") == [True]
            states = sieve.stats()
            assert states.accepted == states.pending + states.leased + states.delayed + states.done + states.dead

    return one


def records() -> Callable[[bytes], None]:
    """What a worker of another language sends back: settled, refused by a word of ours, or a lost lease."""
    import urlsieve
    from urlsieve.errors import UrlsieveError
    from urlsieve.model import Outcome

    sieve = urlsieve.open("memory:")

    def one(data: bytes) -> None:
        try:
            given = json.loads(data)
        except (ValueError, RecursionError):
            return
        if not isinstance(given, dict):
            return
        sieve.push("http://e.com/a", mode="again")
        sieve.retry()
        for lease in sieve.pop(1):
            known = {name: value for name, value in given.items() if name in Outcome.__dataclass_fields__}
            try:
                sieve.settle([(lease, Outcome(**known))])
            except UrlsieveError:
                sieve.release(lease)
        assert sieve.verify() == []

    return one


TARGETS: dict[str, Callable[[], Callable[[bytes], None]]] = {"forms": forms, "rules": rules, "exports": exports, "records": records}


def seeds(target: str, folder: Path) -> None:
    """Inputs to begin with, from the cases and from what the documentation shows."""
    folder.mkdir(parents=True, exist_ok=True)
    if target == "forms":
        lines = [json.loads(line) for line in (CASES / "canon_vectors.jsonl").read_text().splitlines()[:400]]
        inputs = [
            bytes((i % 40, 0)) + str(line.get("url", line.get("input", ""))).encode("utf-8", "surrogatepass")
            for i, line in enumerate(lines)
        ]
    elif target == "rules":
        text = (ROOT / "docs/rules.md").read_text()
        inputs = [block.partition("\n")[2].encode() for block in text.split("```")[1::2] if block.startswith("toml")]
    elif target == "exports":
        entry = {"entry": "pending", "url": "http://e.com/b", "priority": 3}
        inputs = [FORMAT_LINE, FORMAT_LINE + json.dumps(entry).encode() + b"\n", *_an_export()]
    else:
        inputs = [
            b'{"status": 200, "links": ["/b"], "final_url": "http://e.com/c", "redirects": ["/d"]}',
            b'{"kind": "fail", "reason": "x"}',
        ]
        inputs += [b'{"kind": "release", "not_before": 1e9}', b'{"kind": "skip", "reason": "robots"}', b'{"status": 503, "retry_after": 3}']
    for data in inputs:
        (folder / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


def _an_export() -> list[bytes]:
    import urlsieve

    with urlsieve.open("memory:") as sieve:
        sieve.push(["http://e.com/x", "http://m.e.com/y?a=1"], via="http://e.com/", meta={"a": [1]})
        sieve.done(sieve.pop(1), links=["/z"])
        return [b"".join(sieve.export())]


def fuzz(target: str, arguments: list[str]) -> None:
    """In a process of its own: libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["urlsieve"]):
        import urlsieve.canon.explanation
        import urlsieve.canon.rules
        import urlsieve.moving.arriving
        import urlsieve.opening  # noqa: F401
    check = TARGETS[target]()
    atheris.Setup([sys.argv[0], *arguments], check)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--target", choices=TARGETS)
    parser.add_argument("--corpus", type=Path, default=ROOT / "build/fuzz/wrapper")
    parser.add_argument("--if-possible", action="store_true")
    parser.add_argument("--repeat", type=Path)
    options = parser.parse_args()
    try:
        import atheris  # noqa: F401
    except ImportError:
        print("wrapper: atheris is not installed (it is made for CPython 3.11 to 3.13 on x86_64): its part of the fuzzing is left out")
        return 0 if options.if_possible else 2
    if options.repeat:
        TARGETS[options.target]()(options.repeat.read_bytes())
        return 0
    chosen = [options.target] if options.target else list(TARGETS)
    found = ROOT / "build/fuzz/found"
    found.mkdir(parents=True, exist_ok=True)
    for target in chosen:
        corpus = options.corpus / target
        seeds(target, corpus)
        seconds = max(1, int(options.seconds / len(chosen)))
        words = [f"-max_total_time={seconds}", "-timeout=20", "-max_len=4096", f"-artifact_prefix={found}/wrapper-{target}-", str(corpus)]
        code = f"import sys; sys.path.insert(0, {str(HERE)!r}); import wrapper; wrapper.fuzz({target!r}, {words!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stdout, done.stderr, sep="\n")
            print(f"wrapper {target}: a finding; python tests/fuzz/wrapper.py --target {target} --repeat FILE repeats it")
            return 1
        runs = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("Done ")), "")
        print(f"wrapper {target}: {runs.removeprefix('Done ')}, {len(list(corpus.iterdir()))} in the corpus, no finding")
    return 0


if __name__ == "__main__":
    sys.exit(main())
