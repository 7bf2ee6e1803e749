"""A host goes in, the domain somebody registered comes out; the bundled list of public suffixes is read at first use."""

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def _bundled() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()  # the private section counts: sites of github.io are separate


def suffix_list_text() -> str:
    """The bundled list as text, comments dropped: what a store pins at its creation."""
    from publicsuffixlist import PSLFILE

    with open(PSLFILE, encoding="utf-8") as file:
        lines = (line.strip() for line in file)
        return "\n".join(line for line in lines if line and not line.startswith("//"))


def suffix_list(text: str) -> Any:
    """A list as `registrable_domain` takes it, from the text a store has pinned."""
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(text.splitlines())


def registrable_domain(host: str, suffixes: Any = None) -> str | None:
    """The registrable domain of a host (with or without port); None for an IP address, a public suffix itself and a bare name."""
    if host.startswith("["):
        return None
    name = host.partition(":")[0].lower().rstrip(".")
    if not name or name.replace(".", "").isdecimal():  # an IPv4 address: no name ends in a number
        return None
    domain = (_bundled() if suffixes is None else suffixes).privatesuffix(name)
    return None if domain is None else str(domain)
