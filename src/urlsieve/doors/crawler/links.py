"""A page's bytes in, the URLs it links to out: absolute, as found, in the page's order, each once. `<base>` is honoured."""

from __future__ import annotations

import codecs
import re

from selectolax.lexbor import LexborHTMLParser

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
PRESCAN = 4096


def extract(body: bytes, *, url: str, charset: str | None = None) -> list[str]:
    """Targets of a, area, iframe and frame. `charset`: from the HTTP header. A link that is no URL at all stays as written."""
    encoding = encoding_of(body, charset)
    tree = LexborHTMLParser(body.decode(encoding, errors="replace"))
    # queries follow the page's encoding; UTF-16 pages send theirs in UTF-8
    query = "utf-8" if encoding.startswith("utf") else encoding
    exact = urlsieve.Canonicalizer(profile="exact", encoding=query)
    base = _base(tree, url, exact)
    found = dict.fromkeys(
        value
        for node in tree.css("a[href], area[href], iframe[src], frame[src]")
        if (value := node.attributes.get("src" if node.tag in ("iframe", "frame") else "href"))
    )
    written = list(found)
    keys = exact.canonicalize_many(written, base=base)
    return list(dict.fromkeys(href if key is None else key + _route(href) for href, key in zip(written, keys, strict=True)))


def encoding_of(body: bytes, charset: str | None) -> str:
    """A byte order mark, else the header, else `<meta charset>`, else UTF-8: a codec's name."""
    for mark, name in ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if body.startswith(mark):
            return name
    named = _codec(charset) if charset is not None else None
    if named is not None:
        return named
    found = META.search(body, 0, PRESCAN)
    return (_codec(found[1].decode("ascii")) if found else None) or "utf-8"


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
