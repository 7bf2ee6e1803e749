"""A page's bytes in, the URLs it links to out: absolute, as found, in the page's order, each once. `<base>` is honoured.

`rel=canonical` and `hreflang` are links like others, and told apart besides: they are a page's word about itself, which is
evidence and decides nothing. Wrong ones are common: a template that names the home page on every page would merge a whole site.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

import urlsieve

#: What a label means on the web (Encoding Standard), where Python's codec of that name is narrower.
LABELS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "gb_2312-80": "gb18030",
    "x-gbk": "gb18030",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "iso-8859-9": "cp1254",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
}
META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
XML = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.:-]{2,40})["']""")
PRESCAN = 4096
#: Of a hreflang: longer ones are no language.
LONGEST_LANGUAGE = 64


@dataclass(frozen=True, slots=True)
class Page:
    """`links`: all of them. `nofollow`: those that every anchor to them marks so. `canonical`: the first rel=canonical that is a URL.
    `alternates`: (hreflang, URL) in the page's order."""

    links: list[str] = field(default_factory=list)
    nofollow: frozenset[str] = frozenset()
    canonical: str | None = None
    alternates: tuple[tuple[str, str], ...] = ()


def extract(body: bytes, *, url: str, charset: str | None = None) -> Page:
    """Targets of a, area, iframe, frame, rel=canonical and hreflang. `charset`: from the HTTP header. What is no URL stays as written."""
    encoding = encoding_of(body, charset)
    tree = LexborHTMLParser(body.decode(encoding, errors="replace"))
    # queries follow the page's encoding; UTF-16 pages send theirs in UTF-8
    query = "utf-8" if encoding.startswith("utf") else encoding
    exact = urlsieve.Canonicalizer(profile="exact", encoding=query)
    base = _base(tree, url, exact)
    nodes = tree.css("a[href], area[href], iframe[src], frame[src], link[href]")
    found = [element for node in nodes if (element := _element(node)) is not None]
    keys = exact.canonicalize_many([element.href for element in found], base=base)
    everywhere = _forbids_following(tree)
    followed: dict[str, bool] = {}
    canonical: str | None = None
    alternates: dict[tuple[str, str], None] = {}
    for element, key in zip(found, keys, strict=True):
        link = element.href if key is None else key + _route(element.href)
        followed[link] = followed.get(link, False) or not (everywhere or "nofollow" in element.rel)
        if element.hreflang is not None and key is not None:
            if "canonical" in element.rel:
                canonical = canonical or link
            else:
                alternates[(element.hreflang[:LONGEST_LANGUAGE], link)] = None
    return Page(list(followed), frozenset(link for link, follow in followed.items() if not follow), canonical, tuple(alternates))


class _Element(NamedTuple):
    """`hreflang`: of a link element only, empty where it has none."""

    href: str
    rel: list[str]
    hreflang: str | None


def _element(node: LexborNode) -> _Element | None:
    """None: it is no link to a page."""
    tag, attributes = node.tag, node.attributes  # once: selectolax makes the dict at every access
    href = attributes.get("src" if tag in ("iframe", "frame") else "href")
    if not href:
        return None
    rel = (attributes.get("rel") or "").lower().split()
    if tag != "link":
        return _Element(href, rel, None)
    hreflang = attributes.get("hreflang") or ""
    return _Element(href, rel, hreflang) if "canonical" in rel or ("alternate" in rel and hreflang) else None


def _forbids_following(tree: LexborHTMLParser) -> bool:
    """`<meta name=robots content=nofollow>` speaks for every link of the page."""
    for node in tree.css("meta[name][content]"):
        attributes = node.attributes
        if (attributes.get("name") or "").strip().lower() == "robots":
            said = (attributes.get("content") or "").lower().replace(",", " ").split()
            if "nofollow" in said or "none" in said:
                return True
    return False


def encoding_of(body: bytes, charset: str | None) -> str:
    """A byte order mark, else the header, else `<meta charset>` or an XML declaration, else UTF-8: a codec's name."""
    for mark, name in ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if body.startswith(mark):
            return name
    named = _codec(charset) if charset is not None else None
    if named is not None:
        return named
    found = META.search(body, 0, PRESCAN) or XML.match(body, 0, PRESCAN)
    named = _codec(found[1].decode("ascii")) if found else None
    # a declaration that could be read as ASCII is not in UTF-16, whatever it says
    return "utf-8" if named is None or named.startswith("utf-16") else named


def _route(href: str) -> str:
    """The fragment if it may name a page of its own: exact form has none."""
    fragment = href.partition("#")[2].strip()
    return "#" + fragment if fragment.startswith(("!", "/")) else ""


def _codec(label: str) -> str | None:
    label = label.strip().lower()
    try:
        info = codecs.lookup(LABELS.get(label, label))
    except LookupError:
        return None
    # "rot13" and the like are codecs too, but not of text to bytes
    return info.name if getattr(info, "_is_text_encoding", True) else None


def _base(tree: LexborHTMLParser, url: str, exact: urlsieve.Canonicalizer) -> str:
    node = tree.css_first("base[href]")
    href = node.attributes.get("href") if node is not None else None
    if not href:
        return url
    return exact.canonicalize_many([href], base=url)[0] or url  # a base that is no http URL counts for nothing
