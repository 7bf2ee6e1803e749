"""Hosts, paths and names as somebody wrote them go in; how the canonical form spells them comes out: rules are compared with that.

The canonical form itself is asked, so that the two cannot disagree.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from urlsieve._kernel import glob_matches
from urlsieve.errors import InvalidURL

if TYPE_CHECKING:
    from urlsieve.canon.canonicalizer import Canonicalizer


@lru_cache(maxsize=1)
def _safe() -> "Canonicalizer":
    from urlsieve.canon.canonicalizer import Canonicalizer

    return Canonicalizer(fragment="drop")


def is_address(host: str) -> bool:
    """Of a host as parsed: is it an IP address?"""
    return host.startswith("[") or host.replace(".", "").isdecimal()


def host_problem(host: str, before: str = "") -> str | None:
    """What is wrong with a host (or host:port); None if it is spelled as in keys. `before` stands before what to write instead."""
    if not host:
        return "there is no host"
    if len(host) > 259:
        return "a host has at most 253 characters"
    if any(c in host for c in "/?#@\\*") or host != host.strip():
        return "a host only: no scheme, path, user or *; everything below a host is meant without a *"
    try:
        keys = _safe().canonicalize_many([f"http://{host}/"])
        site = keys.site(0)
    except LookupError:
        return "this is no host that a URL can have"
    if len(site) > 259:
        return "a host has at most 253 characters"
    return None if site == host else f'hosts are written as in keys; write "{before}{site}"'


def site_problem(site: str) -> str | None:
    """The same for host[:port]; the ports of http and https are never written."""
    wrong = host_problem(site)
    if wrong is None and site.endswith((":80", ":443")) and not site.endswith("::80]"):
        wrong = f'ports 80 and 443 are not written; write "{site.rpartition(":")[0]}"'
    return wrong


def and_parents(host: str) -> Iterator[str]:
    """The host, and every name above it."""
    yield host
    while not is_address(host) and "." in host:
        host = host.partition(".")[2]
        yield host


def path_spelling(text: str) -> str:
    """A part of a path in its one spelling (no dot segments in it are looked at)."""
    try:
        return _safe().canonicalize(f"http://h/z{text}").removeprefix("http://h/z")
    except InvalidURL:
        return text


def name_spelling(text: str) -> str:
    """A part of a parameter's name in its one spelling."""
    try:
        return _safe().canonicalize(f"http://h/?z{text}").removeprefix("http://h/?z")
    except InvalidURL:
        return text


def glob_problem(glob: str, spelling: Callable[[str], str]) -> str | None:
    """What is wrong with a glob; None if its literal parts are spelled as in keys."""
    try:
        glob_matches(glob.encode("utf-8", "surrogatepass"), b"")
    except ValueError as error:
        return str(error)
    literal = "name" if spelling is name_spelling else "path"
    forbidden = "&=#" if spelling is name_spelling else "#"
    if any(c in glob for c in forbidden):
        return f"a {literal} has none of {' '.join(forbidden)}; write %{ord(next(c for c in glob if c in forbidden)):02X} for the character"
    if not glob.isprintable() or " " in glob:
        return f'written as in keys; write "{_respelled(glob, spelling)}"'
    wanted = _respelled(glob, spelling)
    return None if wanted == glob else f'a {literal} is written as in keys; write "{wanted}"'


def _respelled(glob: str, spelling: Callable[[str], str]) -> str:
    out, literal, i = "", "", 0
    while i < len(glob):
        if glob[i] in "*?" or (glob[i] == "\\" and glob[i + 1 : i + 2] in ("*", "?")):
            length = 2 if glob[i] == "\\" else 1
            out += (spelling(literal) if literal else "") + glob[i : i + length]
            literal, i = "", i + length
        else:
            literal += glob[i]
            i += 1
    return out + (spelling(literal) if literal else "")
