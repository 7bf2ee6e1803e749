"""A store of an older version goes in; it is one of this version afterwards."""

from __future__ import annotations

import sys
import time

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_json, add_store, store_address
from urlsieve.doors.cli.output import Output, json_line


def run(arguments: list[str]) -> int:
    parser = Parser(
        "upgrade",
        "Make a store of an older version one of this version. Stop its workers first. Interrupted, it goes on when it is called again.",
        example="urlsieve upgrade --store S",
    )
    add_store(parser)
    add_json(parser, 'one object: {"before", "now"}')
    namespace = parser.parse(arguments)
    from urlsieve.opening import upgrade

    progress = _Progress(sys.stderr.isatty())
    try:
        before, now = upgrade(store_address(namespace), progress=progress)
    finally:
        progress.end()
    if namespace.json:
        Output().write(json_line({"before": before, "now": now}))
    else:
        same = f"schema {now}: nothing to do\n"
        Output().write((same if before == now else f"schema {before} is schema {now} now\n").encode())
    return failures.OK


class _Progress:
    """A line on the terminal, at most twice a second."""

    def __init__(self, shown: bool) -> None:
        self._shown, self._written, self._next = shown, False, 0.0

    def __call__(self, done: int) -> None:
        if self._shown and time.monotonic() >= self._next:
            self._written, self._next = True, time.monotonic() + 0.5
            print(f"\rupgrade: {done:,} URLs", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._written:
            print(file=sys.stderr)
