"""What happened in, Scrapy's stats and lines of the log out; no user info of a URL in either."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from urlsieve.errors import mask_userinfo

if TYPE_CHECKING:
    from scrapy import Request, Spider

logger = logging.getLogger("urlsieve.doors.scrapy")

#: Different complaints that are said aloud.
MOST_TOLD = 100
#: Seconds between two lines about what is so in every round.
PAUSE = 60.0


@dataclass(slots=True)
class Telling:
    """`stats`: the crawler's."""

    stats: Any
    spider: Spider
    clock: Callable[[], float] = time.monotonic
    _told: set[str] = field(default_factory=set)
    _said: dict[str, float] = field(default_factory=dict)

    def count(self, name: str, many: int = 1) -> None:
        self.stats.inc_value(name, many)

    def moved(self, what: str, where: str) -> None:
        """`what`: enqueued or dequeued; `where`: memory or urlsieve."""
        self.count(f"scheduler/{what}")
        self.count(f"scheduler/{what}/{where}")

    def filtered(self, request: Request) -> None:
        logger.debug("Filtered duplicate request: %s", shown(request), extra={"spider": self.spider})
        self.count("dupefilter/filtered")

    def error(self, message: str, *values: object, exc_info: BaseException | None = None) -> None:
        logger.error(message, *values, exc_info=exc_info, extra={"spider": self.spider})

    def once(self, level: int, key: str, message: str, *values: object) -> None:
        """The first of its kind at its level, the others for those who debug."""
        first = key not in self._told and len(self._told) < MOST_TOLD
        if first:
            self._told.add(key)
        logger.log(level if first else logging.DEBUG, message, *values, extra={"spider": self.spider})

    def now_and_then(self, level: int, key: str, message: str, *values: object) -> None:
        """`once`, for what may be so twice a second for minutes: Scrapy shows DEBUG unless told otherwise."""
        now = self.clock()
        if key not in self._said or now - self._said[key] >= PAUSE:
            self._said[key] = now
            self.once(level, key, message, *values)


def shown(request: Request) -> str:
    return f"<{request.method} {mask_userinfo(request.url)}>"
