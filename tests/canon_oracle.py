"""The canonical form once more, in plain Python and for the tests only: a URL goes in, what the specification says comes out.

Slow and short: every step is written from the specification's sentence, none looks at the kernel. Only step 2, parsing, is the same
reference parser that the package asks about irregular URLs.
"""

import re
import string

import ada_url

from urlsieve.canon.noise import NAMES

LIMIT = 65_536
UNRESERVED = frozenset((string.ascii_letters + string.digits + "-._~").encode())
HEX = frozenset(string.hexdigits.encode())
FORBIDDEN = frozenset(b' "<>\\^`{|}[]')
SESSION_SEGMENT = re.compile(r";jsessionid=[0-9A-Za-z.!_$*-]{8,}(?=;|$)", re.IGNORECASE)
SESSION_PIECE = re.compile(r"PHPSESSID=[0-9A-Za-z,-]{22,}|jsessionid=[0-9A-Za-z.!_$*-]{16,}|ASPSESSIONID[A-Z]{8}=[A-Z]{24}")


class Rejected(Exception):
    pass


def href(text: str, base: str | None = None) -> str | None:
    try:
        return ada_url.normalize_url(text) if base is None else ada_url.join_url(base, text)
    except ValueError:
        return None


def parse(text: str, base: str | None) -> str:
    cleaned = re.sub("[\t\n\r]", "", text.strip("".join(map(chr, range(33)))))
    if not cleaned:
        raise Rejected("empty")
    scheme = re.match("([a-z][a-z0-9+.-]*):", cleaned, re.IGNORECASE)
    if scheme and scheme[1].lower() not in ("http", "https"):
        raise Rejected("scheme")
    if not scheme and base is None:
        raise Rejected("relative")
    found = href(text, base)
    if found is None:
        raise Rejected("host or invalid")
    return found


def percent(part: str) -> str:
    data, out, stray = part.encode(), bytearray(), -1
    i = 0
    while i < len(data):
        byte = data[i]
        if byte != ord("%"):
            out += b"%%%02X" % byte if byte in FORBIDDEN or byte > 0x7F else bytes([byte])
            i += 1
        elif i + 2 < len(data) and data[i + 1] in HEX and data[i + 2] in HEX:
            value = int(data[i + 1 : i + 3], 16)
            completes = stray >= 0 and value in HEX and re.fullmatch(rb"[0-9A-Fa-f]?", bytes(out[stray:])) is not None
            out += bytes([value]) if value in UNRESERVED and not completes else b"%%%02X" % value
            i += 3
        else:
            out += b"%"
            stray = len(out)
            i += 1
    return out.decode("ascii")


def path_sessions(path: str) -> str:
    segments = []
    for segment in path.split("/"):
        left = SESSION_SEGMENT.sub("", segment)
        segments.append(segment if left in (".", "..") else left)
    return "/".join(segments)


def query_pieces(query: str) -> str:
    if "=" not in query:
        return query
    pieces = [
        piece for piece in query.split("&") if piece and piece.partition("=")[0].lower() not in NAMES and not SESSION_PIECE.fullmatch(piece)
    ]
    if all("=" in piece for piece in pieces):
        pieces.sort(key=lambda piece: piece.partition("=")[0].encode())
    return "&".join(pieces)


def canonical(text: str, *, base: str | None = None, profile: str = "safe", fragment: str = "routes") -> str:
    """The key; raises Rejected("reason"), where host and invalid are not told apart."""
    if len(text.encode()) > LIMIT:
        raise Rejected("too_long")
    url = parse(text, base)
    url, _, frag = url.partition("#")
    if profile == "exact":
        return checked(url)
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    path = path_sessions(percent(slash + path))
    query = query_pieces(percent(query))
    keep = fragment == "keep" or (fragment == "routes" and frag[:1] in ("!", "/") and frag not in ("!", "/", "!/"))
    frag = percent(frag) if frag and keep else ""
    return checked(f"{scheme}://{authority}{path}{'?' if query else ''}{query}{'#' if frag else ''}{frag}")


def checked(key: str) -> str:
    if len(key) > LIMIT:
        raise Rejected("too_long")
    return key


def siphash(key: bytes, data: bytes) -> int:
    """SipHash-2-4 from the paper's definition."""
    mask = (1 << 64) - 1

    def rotate(x: int, b: int) -> int:
        return (x << b | x >> (64 - b)) & mask

    def rounds(v: list[int], count: int) -> None:
        for _ in range(count):
            v[0] = (v[0] + v[1]) & mask
            v[1] = rotate(v[1], 13) ^ v[0]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[3]) & mask
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & mask
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & mask
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for i in range(0, len(padded), 8):
        word = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= word
        rounds(v, 2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
