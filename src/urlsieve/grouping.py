"""A store's header in; the functions from a URL's host to its politeness group and to its registrable domain out."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from urlsieve.model import Header


def grouping(header: Header) -> Callable[[str], str]:
    """By host[:port], or by registrable domain under the suffix list that is pinned in the store."""
    return str if header.group_by == "host" else _domains(header.suffixes, False)


def domains(suffixes: str) -> Callable[[str], str]:
    """From a site or group to what all of one registrable domain share, under a pinned list ("": the bundled one); an address or a bare
    name stands for itself, without its port."""
    return _domains(suffixes, True)


@lru_cache(maxsize=8)
def _domains(suffixes: str, without_port: bool) -> Callable[[str], str]:
    from urlsieve.canon import registrable_domain

    listed = _listed(suffixes) if suffixes else None

    @lru_cache(maxsize=65_536)
    def domain(host: str) -> str:
        found = registrable_domain(host, listed)
        if found is not None or not without_port:
            return found or host
        return host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0].lower().rstrip(".")

    return domain


@lru_cache(maxsize=8)
def registrable(suffixes: str) -> Callable[[str], str | None]:
    """From a host to its registrable domain, under a pinned list, or the bundled one where none is; None: it has none."""
    from urlsieve.canon import registrable_domain

    listed = _listed(suffixes) if suffixes else None

    @lru_cache(maxsize=65_536)
    def domain(host: str) -> str | None:
        return registrable_domain(host, listed)

    return domain


@lru_cache(maxsize=4)
def _listed(suffixes: str) -> Any:
    """Read once for each list: a process may open many stores."""
    from urlsieve.canon import suffix_list

    return suffix_list(zlib.decompress(base64.b85decode(suffixes)).decode())
