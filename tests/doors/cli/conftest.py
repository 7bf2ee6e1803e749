"""Fixtures of the command line's tests; the helpers beside this file become importable."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cli_lab import Cli  # found through the line above

import urlsieve


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def pushed(cli: Cli) -> Callable[..., list[str]]:
    """Push some pages, one site each, and give their URLs."""

    def push(number: int) -> list[str]:
        urls = [f"https://site{i}.example/page?id={i}" for i in range(number)]
        with urlsieve.open(cli.store) as sieve:
            assert number == sieve.push(urls).new
        return urls

    return push


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes, where that can be had."""
    if os.geteuid() != 0:
        pytest.skip("a small file system can only be mounted by root")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)
