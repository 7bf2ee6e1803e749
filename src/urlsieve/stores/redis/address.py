"""The text of an address in, where the server is and how patient to be with it out. The password is never shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from urlsieve.errors import ConfigError

JOB = re.compile(r"[A-Za-z0-9._-]{1,64}")
MOST_SHARDS = 4096
DEFAULT_SHARDS = 64
DEFAULT_PORT = 6379
#: No `@` behind the slashes: in messages that would be masked as user and password.
SHAPE = "redis://HOST[:PORT][/DB]?job=NAME (before HOST, where the server asks for it: USER:PASSWORD and @)"
ESCAPES = "in a password write # / ? @ as %23 %2F %3F %40"


@dataclass(frozen=True, slots=True)
class Address:
    """Times in seconds. shards None: what the job has, 64 for a new one."""

    host: str
    port: int
    db: int
    job: str
    tls: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout: float = 10.0
    connect_timeout: float = 5.0
    max_connections: int = 32
    patience: float = 30.0
    shards: int | None = None
    accept_data_loss: bool = False

    @property
    def shown(self) -> str:
        """For messages: without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'rediss' if self.tls else 'redis'}://{host}:{self.port}/{self.db}?job={self.job}"


def parse(text: str) -> Address:
    """ConfigError says what is wrong with it, without repeating it: it may hold a password."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(f"the address of the Redis store cannot be read (a port is a number): it looks like {SHAPE}; {ESCAPES}") from None
    if not host or parts.fragment or "@" in parts.path + parts.query:  # else what follows would be shown, and may be of a password
        raise ConfigError(f"the address of the Redis store names no host, or has a # or a second @: it looks like {SHAPE}; {ESCAPES}")
    path = parts.path.strip("/")
    if path and not (path.isdecimal() and path.isascii() and len(path) < 6):
        raise ConfigError(f"a Redis database is a number, not {path!r}: the address looks like {SHAPE}")
    options = _options(parts.query)
    job = options.pop("job", None)
    if job is None:
        raise ConfigError(f"the address names no job: it looks like {SHAPE}")
    if not JOB.fullmatch(job):
        raise ConfigError(f"a job's name is 1 to 64 letters, digits, dots, _ and -, not {job!r}")
    return Address(
        host=host,
        port=DEFAULT_PORT if port is None else port,
        db=int(path or 0),
        job=job,
        tls=parts.scheme == "rediss",
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        timeout=_seconds(options, "timeout", 10.0),
        connect_timeout=_seconds(options, "connect_timeout", 5.0),
        max_connections=_whole(options, "max_connections", 1, 10_000) or 32,
        patience=_seconds(options, "patience", 30.0, least=0.0),
        shards=_whole(options, "shards", 1, MOST_SHARDS),
        accept_data_loss=_whole(options, "i_accept_data_loss", 0, 1) == 1,
    )


OPTIONS = ("job", "timeout", "connect_timeout", "max_connections", "patience", "shards", "i_accept_data_loss")


def _options(query: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in OPTIONS:
            raise ConfigError(f"the address of a Redis store has no option {name!r}; it has {', '.join(OPTIONS)}")
        if name in found:
            raise ConfigError(f"the address names {name} twice")
        found[name] = value
    return found


def _seconds(options: dict[str, str], name: str, default: float, *, least: float = 0.001) -> float:
    text = options.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= 86_400:
        raise ConfigError(f"{name} in the address is a number of seconds from {least:g} to 86400, not {text!r}")
    return value


def _whole(options: dict[str, str], name: str, least: int, most: int) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not (text.isdecimal() and text.isascii() and len(text) < 10 and least <= int(text) <= most):
        raise ConfigError(f"{name} in the address is a whole number from {least} to {most}, not {text!r}")
    return int(text)
