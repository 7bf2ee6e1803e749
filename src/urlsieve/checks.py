"""Arguments in, the same or a ConfigError that names them out."""

from __future__ import annotations

import json
from typing import Any

from urlsieve.errors import ConfigError

BIGGEST = 2**53
#: Characters of meta (as JSON), and of a reason that is kept.
MOST_META, MOST_REASON = 524_288, 500


def number(name: str, value: object, *, least: float | None = None, above: float | None = None, whole: bool = False) -> Any:
    """A finite int or float (bool is none) in range."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (whole and not isinstance(value, int)):
        raise ConfigError(f"{name} must be {'a whole number' if whole else 'a number'}, not {value!r}")
    if not -BIGGEST <= value <= BIGGEST:  # false for NaN too
        raise ConfigError(f"{name} is out of range: {str(value)[:40]}" if isinstance(value, float) else f"{name} is out of range")
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
        found = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"meta must be JSON: {error}") from error
    if len(found) > MOST_META:
        raise ConfigError(f"meta has {len(found)} characters as JSON; at most {MOST_META} are kept with a URL")
    return found
