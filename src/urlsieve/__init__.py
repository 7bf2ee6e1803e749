"""urlsieve: the URL repository of a crawler. A queue with memory that never loses a URL.

    sieve = urlsieve.open("crawl")
    sieve.push(["https://example.com/"])
    for lease in sieve.pop(10):
        ...                                  # fetch lease.url
        sieve.done(lease, status=200, links=found)

The names below are the public interface; everything else may change. They are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urlsieve import aio as aio
    from urlsieve import testing as testing
    from urlsieve.answers import Failed as Failed
    from urlsieve.answers import Finding as Finding
    from urlsieve.answers import Leases as Leases
    from urlsieve.answers import Report as Report
    from urlsieve.answers import Stats as Stats
    from urlsieve.answers import Why as Why
    from urlsieve.canon import Canonicalizer as Canonicalizer
    from urlsieve.canon import Explanation as Explanation
    from urlsieve.canon import Keys as Keys
    from urlsieve.canon import Rules as Rules
    from urlsieve.canon import canonicalize as canonicalize
    from urlsieve.canon import canonicalize_many as canonicalize_many
    from urlsieve.canon import explain as explain
    from urlsieve.canon import fingerprint as fingerprint
    from urlsieve.errors import ConfigError as ConfigError
    from urlsieve.errors import InvalidURL as InvalidURL
    from urlsieve.errors import LeaseLost as LeaseLost
    from urlsieve.errors import StoreCorrupt as StoreCorrupt
    from urlsieve.errors import StoreFull as StoreFull
    from urlsieve.errors import StoreMismatch as StoreMismatch
    from urlsieve.errors import StoreUnavailable as StoreUnavailable
    from urlsieve.errors import UrlsieveError as UrlsieveError
    from urlsieve.model import Lease as Lease
    from urlsieve.model import Outcome as Outcome
    from urlsieve.model import Settled as Settled
    from urlsieve.model import URLItem as URLItem
    from urlsieve.opening import open as open
    from urlsieve.sieve import Sieve as Sieve

__version__ = "0.1.0"

_HOME = {
    "aio": "",
    "testing": "",
    "Failed": "answers",
    "Finding": "answers",
    "Leases": "answers",
    "Report": "answers",
    "Stats": "answers",
    "Why": "answers",
    "Canonicalizer": "canon",
    "Explanation": "canon",
    "Keys": "canon",
    "Rules": "canon",
    "canonicalize": "canon",
    "canonicalize_many": "canon",
    "explain": "canon",
    "fingerprint": "canon",
    "ConfigError": "errors",
    "InvalidURL": "errors",
    "LeaseLost": "errors",
    "StoreCorrupt": "errors",
    "StoreFull": "errors",
    "StoreMismatch": "errors",
    "StoreUnavailable": "errors",
    "UrlsieveError": "errors",
    "Lease": "model",
    "Outcome": "model",
    "Settled": "model",
    "URLItem": "model",
    "open": "opening",
    "Sieve": "sieve",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - a list, made from the table


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'urlsieve' has no attribute {name!r}")
    found = getattr(import_module(f"urlsieve.{home}"), name) if home else import_module(f"urlsieve.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
