"""The real command in a process of its own; what a test says about bytes, streams and exit statuses is said about that."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urlsieve

#: Compiled once for all runs of a session, and not beside the source.
BYTECODE = tempfile.mkdtemp(prefix="urlsieve-bytecode-")
atexit.register(shutil.rmtree, BYTECODE, ignore_errors=True)
COMMAND = [sys.executable, "-m", "urlsieve"]


def environment(**more: str) -> dict[str, str]:
    """Ours without what the developer may have set, and with the package that these tests have imported."""
    ours = ("URLSIEVE_", "PYTHONDONTWRITEBYTECODE")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    source = str(Path(urlsieve.__file__).parent.parent)
    return {**clean, "PYTHONPATH": source, "PYTHONPYCACHEPREFIX": BYTECODE, "PYTHONWARNINGS": "error", **more}


@dataclass
class Ran:
    """What one run left behind."""

    status: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[bytes]:
        return self.out.splitlines()

    @property
    def objects(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def report(self) -> Any:
        """The JSON object on stderr."""
        (line,) = self.err.splitlines()
        return json.loads(line)

    @property
    def error(self) -> str:
        """The one line that an error is."""
        (line,) = self.err.splitlines()
        assert line.startswith("urlsieve: "), line
        return line


class Cli:
    """Runs the command in a directory of the test's own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.store = str(directory / "store")

    def __call__(
        self, *words: str | bytes | Path, stdin: bytes | str = b"", env: dict[str, str] | None = None, timeout: float = 120
    ) -> Ran:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*COMMAND, *words],
            check=False,
            input=data,
            capture_output=True,
            cwd=self.directory,
            env=environment(**(env or {})),
            timeout=timeout,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode("utf-8", "backslashreplace"))

    def on(self, command: str, *words: str | bytes | Path, **more: Any) -> Ran:
        """The same with the test's store."""
        return self(command, "--store", self.store, *words, **more)

    def start(self, *words: str | Path, **more: Any) -> "subprocess.Popen[bytes]":
        """A process that the test talks to, signals or kills itself."""
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        return subprocess.Popen([*COMMAND, *words], cwd=self.directory, env=environment(), **streams)

    def stats(self) -> Any:
        """The store's figures, as the library says them."""
        with urlsieve.open(self.store, create=False) as sieve:
            return sieve.stats().as_dict()

    def tokens(self, number: int) -> list[str]:
        """Tokens of that many fresh leases on pages that are pushed for it."""
        with urlsieve.open(self.store) as sieve:
            sieve.push([f"https://site{i}.example/page?id={i}" for i in range(number)])
            return [lease.token for lease in sieve.pop(number)]

    def pop(self, number: int = 1, *words: str) -> list[Any]:
        ran = self.on("pop", "-n", str(number), *words)
        assert 0 == ran.status, ran.err
        return ran.objects
