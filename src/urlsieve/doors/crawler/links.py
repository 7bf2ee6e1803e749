"""A page's bytes in, the URLs it links to out: absolute, as found, in the page's order, each once. `<base>` is honoured.

`rel=canonical` and `hreflang` are links like others, and told apart besides: they are a page's word about itself, which is
evidence and decides nothing. Wrong ones are common: a template that names the home page on every page would merge a whole site.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field

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
    found = [(node, href) for node in nodes if (href := _href(node))]
    keys = exact.canonicalize_many([href for _, href in found], base=base)
    everywhere = _forbids_following(tree)
    followed: dict[str, bool] = {}
    canonical: str | None = None
    alternates: dict[tuple[str, str], None] = {}
    for (node, href), key in zip(found, keys, strict=True):
        link = href if key is None else key + _route(href)
        rel = _words(node, "rel")
        followed[link] = followed.get(link, False) or not (everywhere or "nofollow" in rel)
        if node.tag == "link" and key is not None:
            if "canonical" in rel:
                canonical = canonical or link
            else:
                alternates[((node.attributes.get("hreflang") or "")[:LONGEST_LANGUAGE], link)] = None
    return Page(list(followed), frozenset(link for link, follow in followed.items() if not follow), canonical, tuple(alternates))


def _href(node: LexborNode) -> str | None:
    """What an element leads to; None: it is no link to a page."""
    if node.tag in ("iframe", "frame"):
        return node.attributes.get("src") or None
    if node.tag == "link":
        rel = _words(node, "rel")
        if "canonical" not in rel and not ("alternate" in rel and node.attributes.get("hreflang")):
            return None
    return node.attributes.get("href") or None


def _words(node: LexborNode, name: str) -> list[str]:
    return (node.attributes.get(name) or "").lower().split()


def _forbids_following(tree: LexborHTMLParser) -> bool:
    """`<meta name=robots content=nofollow>` speaks for every link of the page."""
    for node in tree.css("meta[name][content]"):
        if _words(node, "name") == ["robots"]:
            said = (node.attributes.get("content") or "").lower().replace(",", " ").split()
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
