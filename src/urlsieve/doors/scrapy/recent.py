"""Fingerprints in, whether the store was asked about them lately out: most links of a site are on every page, and one question is enough.

Nothing is decided here that the store has not decided: only what it was offered is remembered, a refusal is taken back, and all is
forgotten after a minute, so that what somebody has forgotten or purged in the store is offered again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

#: Seconds for which an answer is good, and the number of fingerprints that are remembered at most (some 10 MB).
GOOD_FOR, MOST = 60.0, 100_000


@dataclass(slots=True)
class Recent:
    clock: Callable[[], float]
    _known: set[bytes] = field(default_factory=set)
    _until: float = 0.0

    def __contains__(self, fingerprint: bytes) -> bool:
        if self.clock() >= self._until:
            self._known.clear()
        return fingerprint in self._known

    def add(self, fingerprint: bytes) -> None:
        if not self._known or len(self._known) >= MOST:
            self._known.clear()
            self._until = self.clock() + GOOD_FOR
        self._known.add(fingerprint)

    def discard(self, fingerprint: bytes) -> None:
        self._known.discard(fingerprint)
