"""Scrapy's settings in, this door's options out; a name that begins with URLSIEVE_ and is none of ours is an error."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from urlsieve.checks import BIGGEST
from urlsieve.errors import ConfigError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

PREFIX = "URLSIEVE_"
FOREVER = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Times in seconds.

    lease: how long a request stays ours without a sign of life. prefetch: requests fetched ahead. idle_wait: the spider stays for what is
    due within this time (None: for ever). patience: how long a store may not answer before the spider is closed. opening: for
    `urlsieve.open`."""

    store: str
    lease: float = 60.0
    prefetch: int = 16
    idle_wait: float | None = 300.0
    patience: float = 300.0
    opening: Mapping[str, Any] = field(default_factory=dict)


def read(settings: BaseSettings) -> Options:
    """ConfigError names the setting that is missing, unknown or makes no sense."""
    given = {name: settings.get(name) for name in settings if isinstance(name, str) and name.startswith(PREFIX)}
    for name in given:
        if name not in _READERS:
            near = difflib.get_close_matches(name, _READERS, n=1)
            hint = f": did you mean {near[0]}?" if near else f"; there are {', '.join(_READERS)}"
            raise ConfigError(f"{name} is no setting of urlsieve{hint}")
    values = {name: _READERS[name](name, value) for name, value in given.items() if value is not None}
    if not values.get("URLSIEVE_STORE"):
        raise ConfigError("URLSIEVE_STORE is not set: give the address of a store, for example the name of a folder")
    taken: dict[str, Any] = {name.removeprefix(PREFIX).lower(): value for name, value in values.items()}
    opening = {name: taken.pop(name) for name in _OPENING if name in taken}
    taken.setdefault("prefetch", max(1, settings.getint("CONCURRENT_REQUESTS") or 16))
    if taken.get("idle_wait") == FOREVER:
        taken["idle_wait"] = None
    return Options(opening=opening, **taken)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be text, not {type(value).__name__}")
    return value


def _seconds(least: float) -> Callable[[str, object], float]:
    def seconds(name: str, value: object) -> float:
        number = _number(name, value)
        if not least <= number:
            raise ConfigError(f"{name} must be a number of seconds, at least {least:g}, not {value!r}")
        return number

    return seconds


def _count(name: str, value: object) -> int:
    number = _number(name, value)
    if number < 1 or not number.is_integer():
        raise ConfigError(f"{name} must be a whole number, at least 1, not {value!r}")
    return int(number)


def _idle_wait(name: str, value: object) -> float:
    return FOREVER if value == "forever" else _seconds(0)(name, value)


def _number(name: str, value: object) -> float:
    """Numbers come as text from the command line (`-s NAME=VALUE`)."""
    try:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError
        number = float(value)
    except (ValueError, OverflowError):
        raise ConfigError(f"{name} must be a number, not {value!r}") from None
    if not -BIGGEST <= number <= BIGGEST:  # false for NaN too
        raise ConfigError(f"{name} must be a number, not {value!r}")
    return number


_READERS: dict[str, Callable[[str, object], Any]] = {
    "URLSIEVE_STORE": _text,
    "URLSIEVE_LEASE": _seconds(0.1),
    "URLSIEVE_PREFETCH": _count,
    "URLSIEVE_IDLE_WAIT": _idle_wait,
    "URLSIEVE_PATIENCE": _seconds(0),
    "URLSIEVE_DURABILITY": _text,
    "URLSIEVE_PROFILE": _text,
    "URLSIEVE_MAX_ATTEMPTS": _count,
    "URLSIEVE_BACKOFF": _seconds(0),
}
_OPENING = ("durability", "profile", "max_attempts", "backoff")
