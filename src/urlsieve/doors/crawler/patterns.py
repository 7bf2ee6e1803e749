"""Scope patterns in, whether a URL's canonical form is in scope out.

A pattern is `[!][scheme://][host][:port][/path][?query][#route]`; a part that is left out matches anything. `*` stands for any
characters, and for nothing else is there a sign.

  example.com          that host and every one below it; `=example.com` only itself; `*.example.com` only those below it
  example.com/docs/    everything below /docs/: a path that ends with / is a beginning; any other path is the whole path
  /*.pdf               on any host
  !example.com/login   left out, whatever else would let it in

A URL is in scope if one of the including patterns matches (or there are none) and none of the excluding ones does, so their
order means nothing. Pattern and URL are compared in the store's canonical form: no spelling of a URL gets round a pattern.
The time is bounded by the lengths of the two: there is nothing to go back to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

import urlsieve
from urlsieve.errors import ConfigError

LONGEST = 2_048
MOST = 10_000
#: Patterns of any host, or of a host with `*`, are all tried on every link; the others are found by their host.
MOST_WILD = 1_000
_PARTS = re.compile(r"(?:(?P<scheme>[^/?#:]*)://)?(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?P<fragment>#.*)?", re.DOTALL)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>[0-9]{1,5}))?")
_PORTS = {"http": 80, "https": 443}

Glob = tuple[str, ...]


class Address(NamedTuple):
    """A canonical form in parts. host without brackets and without the root's dot."""

    scheme: str
    host: str
    port: int
    path: str
    query: str
    fragment: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """None matches anything. `host`: None is any; `below`: hosts below it, too."""

    excludes: bool
    scheme: str | None
    host: Glob | None
    below: bool
    port: int | None
    path: Glob | None
    query: Glob | None
    fragment: Glob | None

    def matches(self, at: Address) -> bool:
        parts = ((self.path, at.path), (self.query, at.query), (self.fragment, at.fragment))
        # what the URL does not have no glob fits, `*` neither
        return self.matches_host(at) and all(glob is None or (text != "" and fits(glob, text)) for glob, text in parts)

    def matches_host(self, at: Address) -> bool:
        if self.scheme not in (None, at.scheme) or self.port not in (None, at.port):
            return False
        return self.host is None or fits(self.host, at.host) or (self.below and at.host.endswith("." + self.host[0]))

    @property
    def whole_host(self) -> bool:
        """It says nothing about what comes after the host."""
        return self.path is None and self.query is None and self.fragment is None


def fits(glob: Glob, text: str) -> bool:
    """`glob` is the pattern split at its stars. Each piece is looked for once, from where the one before ended."""
    if len(glob) == 1:
        return text == glob[0]
    first, *middle, last = glob
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for piece in middle:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def parse(text: str, canonicalizer: urlsieve.Canonicalizer) -> Pattern:
    """One pattern. Raises ConfigError, which names it."""
    try:
        return _parse(text.strip(), canonicalizer)
    except ValueError as error:
        raise ConfigError(f"scope pattern {text[:80]!r}: {error}") from None


def _parse(text: str, canonicalizer: urlsieve.Canonicalizer) -> Pattern:
    excludes = text.startswith("!")
    text = text.removeprefix("!").strip()
    if not text:
        raise ValueError("is empty")
    if len(text) > LONGEST:
        raise ValueError(f"is longer than {LONGEST} characters")
    found = _PARTS.fullmatch(text)
    authority = _AUTHORITY.fullmatch(found["authority"]) if found else None
    if found is None or authority is None:
        raise ValueError("is not [scheme://]host[:port][/path]; a path alone begins with /")
    scheme = (found["scheme"] or "").lower()
    if found["scheme"] is not None and scheme not in ("http", "https", "*"):
        raise ValueError("only http, https and * are schemes here")
    if authority["port"] is not None and int(authority["port"]) > 65_535:
        raise ValueError("there is no such port")
    host, below = _host(authority["host"], canonicalizer)
    path, query, fragment = _rest(found, canonicalizer)
    return Pattern(
        excludes=excludes,
        scheme=None if scheme in ("", "*") else scheme,
        host=host,
        below=below,
        port=None if authority["port"] is None else int(authority["port"]),
        path=path,
        query=query,
        fragment=fragment,
    )


def _host(text: str, canonicalizer: urlsieve.Canonicalizer) -> tuple[Glob | None, bool]:
    """The host as a canonical form has it, and whether those below it count, too."""
    exactly = text.startswith("=")
    text = text.removeprefix("=")
    if text in ("", "*"):
        if exactly:
            raise ValueError("= needs a host")
        return None, False
    if "*" in text:
        labels = [label if label.isascii() else _canonical_host(label, canonicalizer) for label in text.lower().split(".")]
        return tuple(".".join(labels).removesuffix(".").split("*")), False
    return (_canonical_host(text, canonicalizer),), not exactly


def _canonical_host(text: str, canonicalizer: urlsieve.Canonicalizer) -> str:
    key = None if any(sign in text for sign in "@\\%") else canonicalizer.canonicalize_many([f"http://{text}/"])[0]
    if key is None:
        raise ValueError(f"{text[:80]!r} is no host")
    return _address(key).host


def _rest(found: re.Match[str], canonicalizer: urlsieve.Canonicalizer) -> tuple[Glob | None, Glob | None, Glob | None]:
    path, query, fragment = found["path"], found["query"], found["fragment"]
    if path is query is fragment is None:
        return None, None, None
    keys = canonicalizer.canonicalize_many([f"http://h{path or '/'}{query or ''}{fragment or ''}"])
    if keys[0] is None:
        raise ValueError(f"no URL can be like this ({keys.reasons[0]})")
    at = _address(keys[0])
    for given, text in ((query, at.query), (fragment, at.fragment)):
        if given is not None and not text:
            # as "anything" it would leave out, or let in, far more than was meant
            raise ValueError(f"{given[:80]} is no part of any page's identity (explain shows what the canonical form drops)")
    if path is not None and path.endswith("/") and query is fragment is None:
        at = at._replace(path=at.path + "*")
    return (
        None if path is None else tuple(at.path.split("*")),
        None if query is None else tuple(at.query.split("*")),
        None if fragment is None else tuple(at.fragment.split("*")),
    )


def _address(key: str) -> Address:
    parts = urlsplit(key)
    host = (parts.hostname or "").removesuffix(".")
    port = _PORTS[parts.scheme] if parts.port is None else parts.port
    return Address(parts.scheme, host, port, parts.path, parts.query, parts.fragment)


@dataclass(slots=True)
class _Table:
    """Patterns found by the host they name; those that name none stand in `wild`."""

    by_host: dict[str, list[Pattern]] = field(default_factory=dict)
    wild: list[Pattern] = field(default_factory=list)

    def add(self, pattern: Pattern) -> None:
        if pattern.host is not None and len(pattern.host) == 1:
            self.by_host.setdefault(pattern.host[0], []).append(pattern)
        else:
            self.wild.append(pattern)

    def near(self, host: str) -> Iterator[Pattern]:
        yield from self.by_host.get(host, ())
        dot = host.find(".")
        while dot >= 0:
            yield from self.by_host.get(host[dot + 1 :], ())
            dot = host.find(".", dot + 1)
        yield from self.wild


class Patterns:
    """All patterns of a crawl. Raises ConfigError for one that is none, or for too many."""

    def __init__(self, texts: Iterable[str], canonicalizer: urlsieve.Canonicalizer) -> None:
        self._including, self._excluding = _Table(), _Table()
        self._some = False
        for number, text in enumerate(texts, 1):
            if number > MOST:
                raise ConfigError(f"more than {MOST:,} scope patterns; put what they have in common into fewer")
            pattern = parse(text, canonicalizer)
            (self._excluding if pattern.excludes else self._including).add(pattern)
            self._some |= not pattern.excludes
        if len(self._including.wild) + len(self._excluding.wild) > MOST_WILD:
            raise ConfigError(f"more than {MOST_WILD:,} scope patterns without a host of their own, or with * in it; name hosts instead")

    def allow(self, key: str) -> bool:
        """`key`: a URL's canonical form."""
        at = _address(key)
        if any(pattern.matches(at) for pattern in self._excluding.near(at.host)):
            return False
        return not self._some or any(pattern.matches(at) for pattern in self._including.near(at.host))

    def allow_host(self, key: str) -> bool:
        """Whether something on this URL's host may be in scope: what decides on a sitemap, which is no page of the crawl."""
        at = _address(key)
        if any(pattern.whole_host and pattern.matches(at) for pattern in self._excluding.near(at.host)):
            return False
        return not self._some or any(pattern.matches_host(at) for pattern in self._including.near(at.host))
