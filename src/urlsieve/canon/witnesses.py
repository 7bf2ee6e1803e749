"""What fetched pages told, as lines that a store keeps; the same as values out, and fewer lines that tell as much where they are too many.

A line is one of these, in ASCII, its fields divided by tabs (a mark is 16 hexadecimal digits: the keyed hash of a signature):
    p MARK URL            this URL had this content
    r MARK|- URL FINAL    this URL led to that one by redirects, and there was this content
    v NUMBER MATCH        so many pages that this rule merges were fetched all the same and found equal
    t NUMBER HOST         lines of this host are kept only for pages whose number is below (see `share_of`)

Lines are chosen by page, not by age: of a site that is too large a share of its *pages* stays, with all URLs of each, so that what belongs
together stays together, however far apart it was fetched.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from urlsieve.canon.likeness import page_of

#: A URL that is longer, or has user info, or other than visible ASCII, is not told of.
LONGEST = 1000
_FIT = re.compile(rf"https?://[^/?#@\s]+(?:[/?#][!-~]{{0,{LONGEST}}})?", re.ASCII | re.IGNORECASE)
#: Pages are numbered from 0 to this.
ALL_PAGES = 1 << 32
#: Lines of one page that stay when there are too many.
MOST_OF_A_PAGE = 64
#: Lines of counter-examples of one site that stay beside those of its share.
MOST_KEPT = 50


class Told(NamedTuple):
    """mark: None where the content is not known. final: where redirects led to."""

    url: str
    mark: str | None
    final: str | None = None


@dataclass(slots=True)
class Log:
    """told: the lines of pages, each once. verified: match → pages found equal. shares: host → its pages that are kept, of ALL_PAGES."""

    told: list[Told] = field(default_factory=list)
    verified: dict[str, int] = field(default_factory=dict)
    shares: dict[str, int] = field(default_factory=dict)


def fits(url: str) -> bool:
    """Can a line tell of it?"""
    return _FIT.fullmatch(url) is not None


def line_of(told: Told) -> bytes:
    if told.final is None:
        return f"p\t{told.mark}\t{told.url}\n".encode("ascii")
    return f"r\t{told.mark or '-'}\t{told.url}\t{told.final}\n".encode("ascii")


def verified_line(match: str, number: int = 1) -> bytes:
    return f"v\t{number}\t{match}\n".encode()


def read(texts: Iterable[bytes]) -> Log:
    """Lines that cannot be read are left out: they are a sample, and a newer version may have more kinds."""
    log = Log()
    seen: dict[Told, None] = {}
    for text in texts:
        for line in text.decode("utf-8", "replace").splitlines():
            match line.split("\t"):
                case ["p", mark, url]:
                    seen[Told(url, mark)] = None
                case ["r", mark, url, final]:
                    seen[Told(url, None if mark == "-" else mark, final)] = None
                case ["v", number, match_] if number.isdecimal():
                    log.verified[match_] = log.verified.get(match_, 0) + int(number)
                case ["t", number, host] if number.isdecimal():
                    log.shares[host] = min(int(number), log.shares.get(host, ALL_PAGES))
    log.told = list(seen)
    return log


def written(log: Log) -> bytes:
    lines = [verified_line(match, number) for match, number in log.verified.items()]
    lines += [f"t\t{share}\t{host}\n".encode() for host, share in log.shares.items()]
    return b"".join([*lines, *map(line_of, log.told)])


def host_of(url: str) -> str:
    """Of a URL as found, in small letters; with its port."""
    rest = url.partition("://")[2]
    return rest[: next((i for i, sign in enumerate(rest) if sign in "/?#"), len(rest))].lower()


def number_of(url: str) -> int:
    """The number of its page: even, and the same for all URLs of the page."""
    return zlib.crc32(page_of(url).encode("ascii", "replace"))


def thinned(log: Log, most: int, kept: Callable[[Told], bool], site_of: Callable[[str], str]) -> Log:
    """At most about `most` bytes of lines. kept: those that stay as long as their site does. site_of: the site a host is counted with; all
    of a site have one share. A site that would be left with too little goes as a whole, the one first that was told of longest ago."""
    by_site: dict[str, list[Told]] = {}
    before: dict[str, int] = {}
    for host, number in log.shares.items():
        before[site_of(host)] = min(number, before.get(site_of(host), ALL_PAGES))
    for told in log.told:
        site = site_of(host_of(told.url))
        lines = by_site.pop(site, [])  # sites stand in the order in which they were last told of
        lines.append(told)
        by_site[site] = lines
    share = most
    shares, chosen = _chosen(by_site, before, share, kept)
    while share > LEAST_OF_A_SITE and sum(map(_size, chosen.values())) > most:
        share //= 2
        shares, chosen = _chosen(by_site, before, share, kept)
    left = sum(map(_size, chosen.values()))
    for site in list(chosen):
        if left <= most:
            break
        left -= _size(chosen.pop(site))
    hosts = {host_of(told.url): site_of(host_of(told.url)) for told in log.told}
    limits = {host: shares[site] for host, site in hosts.items() if site in chosen and shares[site] < ALL_PAGES}
    return Log([told for lines in chosen.values() for told in lines], dict(log.verified), limits)


#: Bytes of lines of a site below which it is not thinned: about a hundred URLs.
LEAST_OF_A_SITE = 8192


def _chosen(
    by_site: Mapping[str, list[Told]], before: Mapping[str, int], most: int, kept: Callable[[Told], bool]
) -> tuple[dict[str, int], dict[str, list[Told]]]:
    shares, chosen = {}, {}
    for site, lines in by_site.items():
        share, chosen[site] = _of_a_site(lines, most, kept)
        shares[site] = min(share, before.get(site, ALL_PAGES))  # what was let go before does not come back
    return shares, chosen


def _of_a_site(lines: list[Told], most: int, kept: Callable[[Told], bool]) -> tuple[int, list[Told]]:
    """(its share, its lines)."""
    if _size(lines) <= most:
        return ALL_PAGES, lines
    pages: dict[int, list[Told]] = {}
    for told in lines:
        pages.setdefault(number_of(told.url), []).append(told)
    chosen: list[Told] = []
    room, share = most, ALL_PAGES
    for number in sorted(pages):
        part = pages[number][-MOST_OF_A_PAGE:]
        room -= _size(part)
        if room < 0 and chosen:
            share = number
            break
        chosen += part
    taken = set(chosen)
    clashing = [told for told in lines if told not in taken and kept(told)]
    return share, chosen + clashing[:MOST_KEPT]


def _size(lines: Iterable[Told]) -> int:
    return sum(_length(told) for told in lines)


def _length(told: Told) -> int:
    return 20 + len(told.url) + len(told.final or "")
