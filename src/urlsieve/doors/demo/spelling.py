"""A place on the made web in, one of its many spellings out: all of them mean the same page to its server and to the URL Standard.

Each trick below is one that real pages use, and one that makes a naive crawler fetch a page again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from urllib.parse import quote

TRACKING = ("utm_source", "utm_medium", "utm_campaign", "gclid", "fbclid", "msclkid", "yclid", "mc_eid")
#: Loopback in other clothes: what follows `http://` is an IPv4 address to every browser.
NUMERIC = ("127.0.0.1", "127.1", "0x7f.1", "2130706433", "127.0.0.1.")
FRAGMENTS = ("#top", "#comments", "#:~:text=page", "#")


@dataclass(frozen=True, slots=True)
class Place:
    """`path` and `query` as people read them; `charset` is what the server takes the query for."""

    host: str
    port: int
    path: str
    query: tuple[tuple[str, str], ...] = ()
    charset: str = "utf-8"

    def plain(self) -> str:
        """Path and query, encoded in the dullest way."""
        query = "&".join(f"{self._quote(name)}={self._quote(value)}" for name, value in self.query)
        return quote(self.path, safe="/~") + ("?" + query if query else "")

    def _quote(self, text: str) -> str:
        return quote(text.encode(self.charset), safe="~")


def write(place: Place, chance: random.Random, *, here: Place, base: str, charset: str) -> str:
    """An href for `place` on the page `here`, whose relative links start at the folder `base` and whose text is in `charset`."""
    path = _path(place.path, chance)
    query = _query(place, chance, charset)
    fragment = chance.choice(FRAGMENTS) if chance.random() < 0.25 else ""
    if (place.host, place.port) == (here.host, here.port) and chance.random() < 0.6:
        return _blanks(_relative(place.path, path, base, chance) + query + fragment, chance)
    authority = f"{_host(place.host, chance)}:{place.port:0{chance.choice((1, 1, 1, 6))}d}"
    scheme = chance.choice(("http://", "http://", "HTTP://", "Http://", "http:\\\\"))
    return _blanks(scheme + authority + path + query + fragment, chance)


def _host(host: str, chance: random.Random) -> str:
    if host[0].isdigit():
        return chance.choice(NUMERIC)
    return chance.choice((host, host, host.upper(), host.title(), "%6C" + host[1:]))


def _path(path: str, chance: random.Random) -> str:
    """Non-ASCII raw or in triplets of either case; unreserved letters needlessly encoded; dot segments; a session parameter."""
    trick = chance.randrange(8)
    written = path.replace(" ", "%20") if trick < 3 else quote(path, safe="/~")
    if trick == 4:
        written = quote(path, safe="/").lower() if not path.isascii() else written
    if trick == 5:
        written = written.replace("~", "%7E").replace("e", "%65", 1)
    if trick == 6:
        written = chance.choice(("/./", "/x/../", "/a/b/../%2e%2E/", "/%2e/")) + written[1:]
    if trick == 7 and not path.endswith("/"):
        written += ";jsessionid=" + "".join(chance.choice("0123456789ABCDEF") for _ in range(16))
    return written


def _query(place: Place, chance: random.Random, charset: str) -> str:
    """Any order, tracking in between, empty pieces, a lonely `?`; text raw where the page's charset makes it right, else encoded."""
    pieces = []
    for name, value in place.query:
        piece = f"{place._quote(name)}={place._quote(value)}"
        if charset == place.charset and chance.random() < 0.5:
            piece = f"{name}={value}"
        elif chance.random() < 0.3:
            piece = piece.replace("%e", "%E") if chance.random() < 0.5 else piece.lower() if "%" in piece else piece
        pieces.append(piece)
    chance.shuffle(pieces)
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        tracking = f"{chance.choice(TRACKING)}={chance.randrange(16**8):x}"
        pieces.insert(chance.randrange(len(pieces) + 1), tracking)
    if pieces and chance.random() < 0.1:
        pieces.append("")
    if not pieces:
        return "?" if chance.random() < 0.1 else ""
    return "?" + "&".join(pieces)


def _relative(path: str, written: str, base: str, chance: random.Random) -> str:
    """From the root, or from the page's folder where the goal lies in it."""
    if path == written and path.startswith(base) and len(path) > len(base) and chance.random() < 0.6:
        return chance.choice(("", "./")) + path[len(base) :]
    return written


def _blanks(href: str, chance: random.Random) -> str:
    """Blanks around it, a line break in it: the URL Standard takes them away."""
    trick = chance.randrange(12)
    if trick == 0:
        return f"  {href}\n"
    if trick == 1 and len(href) > 4:
        return href[:3] + "\t" + href[3:5] + "\n" + href[5:]
    return href
