#!/usr/bin/env python3
"""Runs every ```sh and ```python block of README.md and docs/*.md, and compares what they print with the ```text after them.

    run_doc_blocks.py [FILE…]

The blocks of one page run in order, each as a process of its own, in one temporary folder, so that a reader may type them one
after the other. A ```text block that follows a block directly is its expected output; `…` in it stands for anything on that line.
A block with a name (```python worker.py, in any language) is saved under it, for a later block to run. ```console blocks are not run:
they are for what needs the checkout itself. Nothing here reaches the network.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 120
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    page: Path
    line: int
    language: str
    file: str | None  # save it under this name instead of running it
    text: str
    expected: str | None


def blocks(page: Path) -> Iterator[Block]:
    """The runnable blocks of a page in order, each with the output that the page promises."""
    text = page.read_text(encoding="utf-8")
    fences = list(FENCE.finditer(text))
    for fence, after in zip_longest(fences, fences[1:]):
        if fence[1] not in ("sh", "python") and fence[2] is None:
            continue
        follows = after is not None and after[1] == "text" and not text[fence.end() : after.start()].strip()
        expected = after[3] if after is not None and follows else None
        yield Block(page, text.count("\n", 0, fence.start()) + 1, fence[1], fence[2], fence[3], expected)


def command(block: Block) -> list[str]:
    return ["sh", "-euc", block.text] if block.language == "sh" else [sys.executable, "-c", block.text]


def environment(home: str) -> dict[str, str]:
    """The caller's, without our own settings, with this Python's programs first on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("URLSIEVE_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return kept | {"PATH": path, "HOME": home, "PYTHONWARNINGS": "error", "NO_COLOR": "1"}


def matches(expected: str, printed: str) -> bool:
    pattern = ".*".join(map(re.escape, expected.rstrip().split("…")))
    return re.fullmatch(pattern, printed.rstrip()) is not None


def fault(block: Block, folder: str) -> str | None:
    """What went wrong when the block ran, or None."""
    if block.file is not None:
        Path(folder, block.file).write_text(block.text, encoding="utf-8")
        return None
    child = subprocess.Popen(
        command(block),
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed, said = child.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"still running after {SECONDS} s"
    finally:
        with suppress(ProcessLookupError):  # what a block left running in the background
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
    if child.returncode != 0:
        return f"exit status {child.returncode}\n{printed}{said}"
    if block.expected is not None and not matches(block.expected, printed):
        return f"printed\n{printed}instead of\n{block.expected}{said}"
    return None


def main() -> int:
    pages = [Path(name).resolve() for name in sys.argv[1:]] or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    count = failed = 0
    for page in pages:
        with tempfile.TemporaryDirectory(prefix="docs-") as folder:
            for block in blocks(page):
                count += 1
                wrong = fault(block, folder)
                if wrong:
                    failed += 1
                    print(f"{os.path.relpath(page, ROOT)}:{block.line}: {wrong}", file=sys.stderr)
    print(f"{count} blocks ran, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
