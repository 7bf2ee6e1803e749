"""The bytes of a sitemap in (XML, an index, plain text, each perhaps gzipped), the URLs it lists out.

What can be read is taken: a sitemap that breaks off or is not well-formed in the middle gives what stands before, and by a look at
its bytes alone also what stands behind. Entities are never expanded: a sitemap that declares one is refused.
"""

from __future__ import annotations

import html
import re
import zlib
from dataclasses import dataclass, field
from xml.parsers import expat

#: The protocol's own limits, for one file.
MOST_BYTES = 52_428_800
MOST_URLS = 50_000
#: Longer than any URL that is taken, so that it is refused as too long and never cut into another one.
MOST_TEXT = 65_536 + 64
LONGEST_WORD = 64
_GZIP = b"\x1f\x8b"
_URL = re.compile(rb"\s*https?://", re.IGNORECASE)
_LOC = re.compile(rb"<(?:\w+:)?(loc)>([^<]{1,65600})<", re.IGNORECASE)


class NotASitemap(Exception):
    """`reason`: type, size or entities."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Listed:
    """A page that a sitemap lists. `lastmod` as written there: evidence, nothing is decided by it."""

    url: str
    lastmod: str | None = None


@dataclass(slots=True)
class Sitemap:
    """`alternates`: URL → hreflang, of the pages in other languages. `children`: the sitemaps that an index names. `cut`: there are
    more than MOST_URLS. `fault`: why not all of it could be read."""

    pages: list[Listed] = field(default_factory=list)
    alternates: dict[str, str] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)
    cut: bool = False
    fault: str | None = None

    @property
    def full(self) -> bool:
        return len(self.pages) + len(self.children) >= MOST_URLS


class _Enough(Exception):
    pass


def read(body: bytes) -> Sitemap:
    """Raises NotASitemap."""
    body, fault = _unpacked(body)
    start = body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"<" or body.startswith((b"\xff\xfe", b"\xfe\xff")):
        found = _Reader().read(body)
    else:
        found = _text(body)
    found.fault = found.fault or fault
    return found


def _unpacked(body: bytes) -> tuple[bytes, str | None]:
    """Unzipped, twice where a server zips what is zipped. A broken end is left off."""
    fault = None
    for _ in range(2):
        if not body.startswith(_GZIP):
            break
        body, fault = _gunzip(body)
    if body.startswith(_GZIP):
        raise NotASitemap("type")
    if len(body) > MOST_BYTES:
        raise NotASitemap("size")
    return body, fault


def _gunzip(packed: bytes) -> tuple[bytes, str | None]:
    out = bytearray()
    while packed.startswith(_GZIP):  # a file of several members is one file
        unzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            out += unzip.decompress(packed, MOST_BYTES + 1 - len(out))
        except zlib.error as error:
            return bytes(out), f"gzip: {error}"
        if len(out) > MOST_BYTES:
            raise NotASitemap("size")
        if not unzip.eof:
            return bytes(out), "gzip: it breaks off"
        packed = unzip.unused_data
    return bytes(out), None


def _text(body: bytes) -> Sitemap:
    """One URL per line. A file whose first line is none is no sitemap; other lines that are none are passed over."""
    found = Sitemap()
    lines = [line for line in body.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    if not lines or not _URL.match(lines[0]):
        raise NotASitemap("type")
    for line in lines:
        if found.full:
            found.cut = True
            break
        if _URL.match(line):
            found.pages.append(Listed(line.strip()[:MOST_TEXT].decode("utf-8", "surrogateescape")))
        else:
            found.fault = "a line that is no URL"
    return found


class _Reader:
    """One XML sitemap. Names are compared without their prefix: many use one that they do not declare."""

    def __init__(self) -> None:
        self.found = Sitemap()
        self.path: list[str] = []
        self.text: list[str] = []
        self.room = 0  # characters of the current element that are still taken
        self.loc = self.lastmod = ""
        self.loc_at = 0
        self.parser = expat.ParserCreate()

    def read(self, body: bytes) -> Sitemap:
        # whole: bit by bit, an expat before 2.6 reads a long element again and again
        parser = self.parser
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.EntityDeclHandler = self.entity
        try:
            parser.Parse(body, True)
        except _Enough:
            self.found.cut = True
        except expat.ExpatError as error:
            if not self.path:
                raise NotASitemap("type") from error
            self.found.fault = f"XML: {expat.ErrorString(error.code)} in line {error.lineno}"
            self.look_behind(body, max(0, parser.ErrorByteIndex))
            self.found.cut = self.found.full
        return self.found

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2].lower()
        depth = len(self.path)
        if depth == 0 and name not in ("urlset", "sitemapindex"):
            raise NotASitemap("type")
        self.path.append(name)
        self.text.clear()
        self.room = 0
        if depth == 1:
            self.loc = self.lastmod = ""
        elif depth == 2 and name in ("loc", "lastmod"):
            self.room = MOST_TEXT
            if name == "loc":
                self.loc_at = self.parser.CurrentByteIndex
        elif depth == 2 and name == "link" and len(self.found.alternates) < MOST_URLS:
            href = attributes.get("href", "").strip()
            if href and "alternate" in attributes.get("rel", "").lower().split():
                self.found.alternates[href[:MOST_TEXT]] = attributes.get("hreflang", "")[:LONGEST_WORD]

    def end(self, name: str) -> None:
        name = self.path.pop()
        depth = len(self.path)
        if depth == 2 and name == "loc":
            self.loc = self.loc or "".join(self.text).strip()
        elif depth == 2 and name == "lastmod":
            self.lastmod = self.lastmod or "".join(self.text).strip()[:LONGEST_WORD]
        elif depth == 1:
            self.add(self.path[0], name)
        if not depth:
            self.path.append(name)  # something was read: what follows the end is no reason to refuse it

    def characters(self, text: str) -> None:
        if self.room > 0:
            self.text.append(text[: self.room])
            self.room -= len(text)

    def entity(self, *_: object) -> None:
        raise NotASitemap("entities")

    def add(self, root: str, name: str) -> None:
        if (root, name) not in (("sitemapindex", "sitemap"), ("urlset", "url")) or not self.loc:
            return
        if self.found.full:
            raise _Enough
        if root == "urlset":
            self.found.pages.append(Listed(self.loc, self.lastmod or None))
        else:
            self.found.children.append(self.loc)

    def look_behind(self, body: bytes, at: int) -> None:
        """Behind a fault there is no structure any more, but there are still URLs."""
        if self.path[1:] and self.loc and not self.found.full:
            self.add(*self.path[:2])  # its URL was read, what broke came after
        elif self.path[2:] == ["loc"]:
            at = self.loc_at
        for match in _LOC.finditer(body, at):
            if self.found.full:
                return
            url = html.unescape(match[2].decode("utf-8", "replace")).strip()
            if self.path[0] == "sitemapindex":
                self.found.children.append(url)
            else:
                self.found.pages.append(Listed(url))
