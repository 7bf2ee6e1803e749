"""How many fingerprints a level was asked for and what it said, by this opener; and about how long it took.

A level is one of the places that are asked in turn: the table of what is in no run yet, the runs, an imported level. One call in SAMPLED is
timed, so that counting costs nothing that could be noticed.
"""

from __future__ import annotations

import time

from urlsieve.model import Asked

SAMPLED = 8


class Asking:
    """Of one level. Whoever calls holds the ledger's thread lock."""

    def __init__(self) -> None:
        self._asked = self._yes = self._calls = 0
        self._timed = self._ns = 0  # keys of the calls that were timed, and what those took

    def begin(self) -> int:
        """Before a call; what it gives is for `end`."""
        return 0 if self._calls % SAMPLED else time.perf_counter_ns()

    def end(self, begun: int, keys: int, yes: int) -> None:
        """After it. What fails is not counted."""
        if begun:
            self._ns += time.perf_counter_ns() - begun
            self._timed += keys
        self._calls += 1
        self._asked += keys
        self._yes += yes

    def so_far(self) -> Asked:
        return Asked(self._asked, self._yes, self._calls, self._ns / self._timed if self._timed else None)
