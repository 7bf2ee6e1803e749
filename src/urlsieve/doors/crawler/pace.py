"""A host's name and a pause in, the seconds to wait before it is asked out.

Where a host may have several leases out at once (`--per-host`), the store's delay lies between two leases, but a robots.txt and a
redirect are requests of their own. Here all of this process's requests to a host stand in one line.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

#: Hosts remembered; those whose time has passed are forgotten then.
MOST = 10_000


@dataclass(slots=True)
class Pace:
    """Seconds are monotonic ones."""

    _next: dict[str, float] = field(default_factory=dict)

    def turn(self, group: str, pause: float) -> float:
        """Takes the host's next turn; the one after it comes `pause` seconds later."""
        now = time.monotonic()
        at = max(now, self._next.get(group, now))
        if len(self._next) >= MOST:
            self._next = {name: turn for name, turn in self._next.items() if turn > now}
        self._next[group] = at + pause
        return at - now
