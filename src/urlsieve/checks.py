"""Arguments in, the same or a ConfigError that names them out."""

from __future__ import annotations

import json
import math
from typing import Any

from urlsieve.errors import ConfigError

BIGGEST = 2**53


def number(name: str, value: object, *, least: float | None = None, above: float | None = None, whole: bool = False) -> Any:
    """A finite int or float (bool is none) in range."""
    kinds: tuple[type, ...] = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise ConfigError(f"{name} must be {'a whole number' if whole else 'a number'}, not {value!r}")
    if not math.isfinite(value) or abs(value) > BIGGEST:
        raise ConfigError(f"{name} is out of range: {value!r}")
    if least is not None and value < least:
        raise ConfigError(f"{name} must be at least {least:g}, not {value!r}")
    if above is not None and value <= above:
        raise ConfigError(f"{name} must be more than {above:g}, not {value!r}")
    return value


def optional(name: str, value: object, **limits: Any) -> Any:
    return None if value is None else number(name, value, **limits)


def text(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be text, not {type(value).__name__}")
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ConfigError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
    return str(value)


def to_json(value: object) -> str | None:
    """The caller's small value as JSON text; None stays None."""
    if value is None:
        return None
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"meta must be JSON: {error}") from error
