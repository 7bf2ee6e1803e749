"""URLs go in, what Go makes of them comes out; run as a program it writes the vectors of profile classic.

python tests/go_classic.py > tests/cases/classic_vectors.jsonl       (needs Go; Debian: apt-get install golang-go)
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "go/classic.go"
#: The minor release whose net/url the profile is.
VERSION = "go1.19"


def missing() -> str | None:
    """Why Go cannot be asked here, or None."""
    if shutil.which("go") is None:
        return "Go is not installed"
    version = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()
    return None if version == VERSION or version.startswith(f"{VERSION}.") else f"the vectors are of {VERSION}, this is {version}"


def is_ours_to_refuse(url: bytes, reason: str | None) -> bool:
    """What Go parses and this program takes from nobody: no scheme, another scheme, or `http:` and no slash before what is not ASCII."""
    rest = url.partition(b":")[2].partition(b"?")[0]
    return reason in ("empty", "relative", "scheme") or (reason == "host" and not rest.isascii() and not rest.startswith(b"/"))


class Go:
    """The compiled program, in a temporary folder as long as this lives."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="urlsieve-go-")
        self.program = Path(self._folder.name) / "classic"
        environment = os.environ | {"GO111MODULE": "off", "GOCACHE": f"{self._folder.name}/cache", "GOFLAGS": ""}
        subprocess.run(["go", "build", "-o", str(self.program), str(SOURCE)], check=True, env=environment)

    def __enter__(self) -> "Go":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    @property
    def version(self) -> str:
        return subprocess.run([str(self.program), "-version"], capture_output=True, text=True, check=True).stdout.strip()

    def forms(self, urls: Sequence[bytes]) -> list[bytes | None]:
        text = "".join(url.hex() + "\n" for url in urls)
        done = subprocess.run([str(self.program)], input=text, capture_output=True, text=True, check=True)
        return [None if line == "-" else bytes.fromhex(line) for line in done.stdout.splitlines()]


def _vectors() -> list[bytes]:
    import foreign_urls

    real = gzip.decompress((HERE / "cases/data/kasztp_urls.txt.gz").read_bytes()).splitlines()[::40]
    hostile = foreign_urls.urls(20261130, 6000)
    given = [json.loads(line)["input"] for line in (HERE / "cases/canon_vectors.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = [text.encode("utf-8", "replace") for text in given if isinstance(text, str)]
    return [url for url in dict.fromkeys([*texts, *real, *foreign_urls.as_bytes(hostile, 1)]) if len(url) < 1000]


def main() -> None:
    with Go() as go:
        print(json.dumps({"go": go.version, "made_by": "tests/go_classic.py", "null": "Go cannot parse it"}))
        urls = _vectors()
        for url, form in zip(urls, go.forms(urls), strict=True):
            try:
                shown = {"url": url.decode()}
            except UnicodeDecodeError:
                shown = {"hex": url.hex()}
            print(json.dumps(shown | {"key": None if form is None else form.decode()}, ensure_ascii=True))


if __name__ == "__main__":
    if (reason := missing()) is not None:
        sys.exit(f"{reason}; Debian 12: apt-get install golang-go")
    main()
