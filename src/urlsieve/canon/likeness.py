"""A key goes in; the same key with one thing taken out, for each thing that duplicates of a page may differ in, comes out.

Two keys that are different and have the same rest for one kind differ in that thing and in nothing else. The kinds are what a site rule
can merge: `host` (www., m., amp. or mobile. before the name), `scheme`, `slash` (one at the path's end), `case` (of the path), and
`parameter NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

HOST, SCHEME, SLASH, CASE, PARAMETER = "host", "scheme", "slash", "case", "parameter "
PREFIXES = ("www.", "m.", "amp.", "mobile.")

DomainOf = Callable[[str], str | None]

_KEY = re.compile(r"(https?)://([^/?#@:\[\]]+)(/[^?#]*)(?:\?([^#]*))?(#.*)?", re.DOTALL)
_TRIPLET = re.compile("(%[0-9A-F]{2})")


class Parts(NamedTuple):
    """Of a key. query: None if there is none; rest: the fragment with its #, or nothing."""

    scheme: str
    host: str
    path: str
    query: str | None
    rest: str

    @property
    def text(self) -> str:
        return f"{self.scheme}://{self.host}{self.path}{'' if self.query is None else '?' + self.query}{self.rest}"


def parts_of(key: str) -> Parts | None:
    """None where no rule could speak of it: it has a port or user info, or its host is an IPv6 address."""
    found = _KEY.fullmatch(key)
    return None if found is None else Parts(found[1], found[2], found[3], found[4], found[5] or "")


def base_of(host: str, domain_of: DomainOf) -> str:
    """The host without one of PREFIXES, where what is left is no less than the registrable domain."""
    prefix, dot, rest = host.partition(".")
    if prefix + dot not in PREFIXES or host == domain_of(host):
        return host
    return rest if domain_of(rest) is not None else host


def rests(parts: Parts, domain_of: DomainOf) -> dict[str, str]:
    """Kind → the key without that thing."""
    scheme, host, path, query, rest = parts
    tail = rest if query is None else f"?{query}{rest}"
    found = {
        HOST: f"{scheme}://{base_of(host, domain_of)}{path}{tail}",
        SCHEME: f"://{host}{path}{tail}",
        CASE: f"{scheme}://{host}{lowered(path)}{tail}",
    }
    if path != "/" and not path.endswith("//"):
        found[SLASH] = f"{scheme}://{host}{path.removesuffix('/')}{tail}"
    for name in names_of(parts):
        found[PARAMETER + name] = without(parts, name).text
    return found


@lru_cache(maxsize=4096)
def lowered(path: str) -> str:
    """ASCII letters small, but not in %XX."""
    if "%" not in path:
        return path.lower()
    return "".join(part if i % 2 else part.lower() for i, part in enumerate(_TRIPLET.split(path)))


def names_of(parts: Parts) -> list[str]:
    """Its parameters' names, once each. None where a piece has no value: such a query may be no list of parameters."""
    if not parts.query:
        return []
    pieces = [piece.partition("=") for piece in parts.query.split("&")]
    if not all(equals for _, equals, _ in pieces):
        return []
    return list(dict.fromkeys(name for name, _, _ in pieces))


def without(parts: Parts, name: str) -> Parts:
    """All parameters of this name dropped."""
    pieces = [piece for piece in (parts.query or "").split("&") if piece.partition("=")[0] != name]
    return parts._replace(query="&".join(pieces) or None)


def values_of(parts: Parts, name: str) -> str:
    """What the parameters of this name are, as text; nothing where there is none."""
    pieces = (piece.partition("=") for piece in (parts.query or "").split("&"))
    return "&".join(value for this, _, value in pieces if this == name)


def difference(one: Parts, other: Parts, domain_of: DomainOf) -> str | None:
    """The kind of the one thing in which two keys differ; None if they are equal or differ in more."""
    if one == other:
        return None
    ours, theirs = rests(one, domain_of), rests(other, domain_of)
    for kind, rest in ours.items():
        if theirs.get(kind) == rest or (kind.startswith(PARAMETER) and rest == other.text):
            return kind
    return next((kind for kind, rest in theirs.items() if kind.startswith(PARAMETER) and rest == one.text), None)


def page_of(text: str) -> str:
    """What all URLs of one page have in common, whatever kinds they differ in, of a URL as found: its host's base and its path. Made for
    choosing: others may share it."""
    head = text.partition("#")[0].partition("?")[0].lower()
    host, _, path = head.partition("://")[2].partition("/")
    for prefix in PREFIXES:
        if host.startswith(prefix):
            host = host[len(prefix) :]
            break
    return f"{host}/{path.removesuffix('/')}"
