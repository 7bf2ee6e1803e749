"""For tests: a sieve whose time and chance are the test's own."""

from __future__ import annotations

import os
import random
from typing import Any

from urlsieve.opening import open as _open
from urlsieve.sieve import Sieve


class VirtualClock:
    """Seconds since the epoch that pass only by `advance`."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Also backwards: clocks are set."""
        self.now += seconds


def open(address: str | os.PathLike[str], *, clock: VirtualClock, seed: int = 0, **options: Any) -> Sieve:
    """`urlsieve.open` in virtual time; `seed` makes backoff jitter and tokens repeatable."""
    return _open(address, _clock=clock, _chance=random.Random(seed).randbytes, **options)
