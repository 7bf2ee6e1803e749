"""A request in, what tells it from others of the same URL out: the `variant` of its entry.

Every part is hashed with its length before it, so that no border between method, body and the rest can move.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from urlsieve.errors import ConfigError

if TYPE_CHECKING:
    from scrapy import Request

#: In a request's meta: text or bytes that make it another request than one with the same URL, method and body.
VARIANT_KEY = "urlsieve_variant"
#: Kept by Scrapy's own parts while a request is on its way: two requests that differ only in these ask for the same.
_BOOKKEEPING = frozenset(
    {
        "depth",
        "download_latency",
        "download_slot",
        "is_start_request",
        "redirect_reasons",
        "redirect_times",
        "redirect_ttl",
        "redirect_urls",
        "retry_times",
    }
)


def variant_of(request: Request) -> bytes:
    """Empty for a GET without a body. ConfigError where the user's variant is neither text nor bytes."""
    meta = request.meta
    own = meta.get(VARIANT_KEY)
    verbatim = request.url.encode("utf-8", "surrogatepass") if meta.get("verbatim_url") else None
    if request.method == "GET" and not request.body and own is None and verbatim is None:
        return b""
    if own is not None and not isinstance(own, (str, bytes)):
        raise ConfigError(f"meta[{VARIANT_KEY!r}] must be text or bytes, not {type(own).__name__}")
    parts = [request.method.encode("utf-8", "surrogatepass"), request.body]
    if own is not None:
        parts += [b"own", own.encode("utf-8", "surrogatepass") if isinstance(own, str) else own]
    if verbatim is not None:
        parts += [b"verbatim", verbatim]
    return _digest(parts)


def again_variant(variant: bytes, written: dict[str, Any]) -> bytes:
    """Of a request that must not be filtered while another of its identity waits: what else was written of it is part of it, too."""
    told = {key: value for key, value in written.items() if key not in ("url", "meta", "headers")}
    told["meta"] = {key: value for key, value in written.get("meta", {}).items() if key not in _BOOKKEEPING}
    told["headers"] = [pair for pair in written.get("headers", ()) if pair[0].lower() != "referer"]
    return _digest([b"again", variant, json.dumps(told, sort_keys=True).encode()])


def _digest(parts: list[bytes]) -> bytes:
    hashed = blake2b(digest_size=16)
    for part in parts:
        hashed.update(len(part).to_bytes(8, "little"))
        hashed.update(part)
    return hashed.digest()
