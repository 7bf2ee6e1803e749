"""A host goes in, the domain somebody registered comes out; the list of public suffixes is bundled with its library and read at first use."""

import re
from functools import lru_cache
from typing import Any

_IPV4 = re.compile(r"\d+(\.\d+){3}$")


@lru_cache(maxsize=1)
def _list() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()   # the private section counts: sites of github.io are separate


def registrable_domain(host: str) -> str | None:
    """The registrable domain of a host (with or without port); None for an IP address, a public suffix itself and a bare name."""
    if host.startswith("["):
        return None
    name = host.partition(":")[0].lower().rstrip(".")
    if not name or _IPV4.match(name):
        return None
    domain = _list().privatesuffix(name)
    return None if domain is None else str(domain)
