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
        self._width = 0  # of what stands on the line now

    def show(self, many: int) -> None:
        now = time.monotonic()
        if self._shown and now - self._last >= PACE:
            text = f"{many:,} {self._what}, {many / (now - self._began):,.0f} a second"
            say(f"\r{text:<{self._width}}".encode())
            self._last, self._width = now, len(text)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            say(b"\r" + b" " * self._width + b"\r")
