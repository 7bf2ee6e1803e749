"""Counts go in while something long is done; a line that rewrites itself comes out, on a terminal and nowhere else."""

from __future__ import annotations

import os
import time

from urlsieve.doors.cli.output import say

#: Seconds between two writes.
PACE = 0.2


class Progress:
    """A context manager. `quiet`: not even on a terminal."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self._what = what
        self._shown = not quiet and os.isatty(2)
        self._began = self._last = time.monotonic()
        self._written = False

    def show(self, many: int) -> None:
        now = time.monotonic()
        if self._shown and now - self._last >= PACE:
            self._last, self._written = now, True
            say(f"\r{many:,} {self._what}, {many / (now - self._began):,.0f} a second \x1b[K".encode())

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._written:
            say(b"\r\x1b[K")
