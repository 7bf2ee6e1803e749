"""The first bytes of a body and what its server says they are in, whether it is HTML out.

Servers are wrong about it in both directions. What begins like HTML is HTML whatever the header says; what the header calls HTML
is HTML unless its bytes are of a binary format. A binary is never parsed.
"""

from __future__ import annotations

import re

HTML = ("text/html", "application/xhtml+xml")
#: Types that say nothing: a server's default, or what it gives to a file whose name it does not know.
VAGUE = ("", "text/plain", "application/octet-stream", "unknown/unknown", "application/unknown", "*/*")
XML = ("text/xml", "application/xml")
#: As much as is looked at.
HEAD = 1_024

_SPACE = rb"(?:\xef\xbb\xbf)?[ \t\r\n\f]*"
#: MIME Sniffing's signatures: a tag that is followed by a space, by > or by the line's end.
_TAGS = rb"(?:!doctype html|html|head|body|script|iframe|h1|div|font|table|a|style|title|b|br|p|meta|link)(?=[ \t\r\n\f>/])"
_LIKE_HTML = re.compile(_SPACE + rb"<(?:" + _TAGS + rb"|!--)", re.IGNORECASE)
#: Comments and an XML declaration may come first; nothing else may.
_BEFORE = rb"(?:<\?xml[^>]{0,200}\?>[ \t\r\n\f]*)?(?:<!--.{0,600}?-->[ \t\r\n\f]*){0,4}"
_SURELY_HTML = re.compile(_SPACE + _BEFORE + rb"<(?:!doctype[ \t\r\n\f]+html|html)(?=[ \t\r\n\f>])", re.IGNORECASE | re.DOTALL)
_MAGIC = re.compile(
    rb"%PDF-|\x89PNG\r\n|GIF8[79]a|\xff\xd8\xff|PK\x03\x04|PK\x05\x06|\x1f\x8b|RIFF....(?:WEBP|WAVE|AVI )|\x7fELF|ID3|OggS|wOF[F2]|"
    rb"Rar!|7z\xbc\xaf|BZh[1-9]|\xfd7zXZ|\x28\xb5\x2f\xfd|\xd0\xcf\x11\xe0|\xca\xfe\xba\xbe|\x1a\x45\xdf\xa3|II\*\x00|MM\x00\*|"
    rb"....ftyp|\x00\x00\x01\x00|%!PS-|SQLite format 3\x00|\x00asm",
    re.DOTALL,
)
_CONTROLS = bytes((*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)))
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def is_html(head: bytes, declared: str | None, charset: str | None = None) -> bool:
    """`head`: at least HEAD bytes of the body, or all of it. `declared`: the media type in lower case, None if there was none."""
    head = head[:HEAD]
    if declared in HTML:
        return not is_binary(head, charset)
    if head.startswith(_UTF16):
        head = head[2:].replace(b"\0", b"")  # near enough for signatures, which are ASCII
    if declared is None or declared in VAGUE:
        return _LIKE_HTML.match(head) is not None or _SURELY_HTML.match(head) is not None
    return _SURELY_HTML.match(head) is not None


def is_binary(head: bytes, charset: str | None = None) -> bool:
    """Of a known binary format, or more than one byte in sixteen is one that no text has (UTF-16 has its own zeros)."""
    head = head[:HEAD]
    if _MAGIC.match(head):
        return True
    if head.startswith(_UTF16) or (charset or "").lower().startswith("utf-16"):
        return False
    return 16 * sum(head.count(sign) for sign in _CONTROLS) > len(head)
