"""A store's header in; the function from a URL's host to its politeness group out."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from functools import lru_cache

from urlsieve.model import Header


def grouping(header: Header) -> Callable[[str], str]:
    """By host[:port], or by registrable domain under the suffix list that is pinned in the store."""
    if header.group_by == "host":
        return str
    from urlsieve.canon import registrable_domain, suffix_list

    suffixes = suffix_list(zlib.decompress(base64.b85decode(header.suffixes)).decode())

    @lru_cache(maxsize=65_536)
    def domain(host: str) -> str:
        return registrable_domain(host, suffixes) or host

    return domain
