"""A URL of a page that is not in UTF-8 goes in; the same with its query percent-encoded as browsers send it comes out."""

import codecs

from urlsieve.canon.whatwg import PERCENT, text_of
from urlsieve.errors import ConfigError

# The Encoding Standard's labels whose meaning is not Python's codec of that name.
_WHATWG = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gbk",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
}
_SHIFTING = ("utf_7", "utf-7", "hz", "iso2022")  # ASCII bytes that are characters after an escape sequence
_UTF8_OUT = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
_STRIPPED = "".join(map(chr, range(0x21)))
_REMOVED = dict.fromkeys(map(ord, "\t\n\r"))
# WHATWG's special-query percent-encode set.
_ENCODED = frozenset([*range(0x21), *b"\"#<>'", *range(0x7F, 0x100)])


def codec_of(encoding: str) -> str | None:
    """Python's codec for an encoding's label; None for UTF-8, which needs no conversion. ConfigError if there is none."""
    try:
        name = codecs.lookup(encoding.strip()).name
    except LookupError:
        raise ConfigError(f"unknown encoding {encoding!r}") from None
    if name == "utf-8":
        return None
    return _WHATWG.get(name, name)


def keeps_ascii(codec: str) -> bool:
    """Do ASCII bytes mean ASCII in this codec? Not in UTF-16, and not in ISO-2022-JP."""
    if codec.startswith(_SHIFTING):
        return False
    plain = bytes(range(0x80))
    try:
        return plain.decode(codec) == plain.decode("ascii")
    except UnicodeDecodeError:
        return False


def in_encoding(url: str | bytes, codec: str) -> str:
    """Decodes bytes in `codec`, and percent-encodes the query after encoding (what cannot be encoded as `&#N;`, encoded)."""
    text = url.decode(codec, PERCENT) if isinstance(url, bytes) else text_of(url)
    if text.isascii() or codec in _UTF8_OUT:
        return text
    # the parser takes these away, but only where they are not percent-encoded yet
    text = text.strip(_STRIPPED).translate(_REMOVED)
    rest, hash_, fragment = text.partition("#")
    path, mark, query = rest.partition("?")
    if query.isascii():
        return text
    return path + mark + _percent_encode(query, codec) + hash_ + fragment


def _percent_encode(query: str, codec: str) -> str:
    out: list[str] = []
    for piece in _encodable(query, codec):
        out.append(piece if isinstance(piece, str) else "".join(f"%{b:02X}" if b in _ENCODED else chr(b) for b in piece))
    return "".join(out)


def _encodable(query: str, codec: str) -> list[bytes | str]:
    """Runs of encoded bytes, and `%26%23N%3B` for each character between them that the codec has not."""
    pieces: list[bytes | str] = []
    start = 0
    while start < len(query):
        try:
            pieces.append(query[start:].encode(codec))
            break
        except UnicodeEncodeError as error:
            bad = start + error.start
            if bad > start:
                pieces.append(query[start:bad].encode(codec))
            pieces.append(f"%26%23{ord(query[bad])}%3B")
            start = bad + 1
    return pieces
