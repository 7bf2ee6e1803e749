"""URL text goes in, its canonical form (an identity, not an address) and a keyed fingerprint come out. Pure: no I/O, no clock.

Policy is here: profiles, noise names, reasons, explanations. Mechanism is the kernel's.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from urlsieve.canon.canonicalizer import Canonicalizer
from urlsieve.canon.keys import Keys, Lines
from urlsieve.canon.reasons import REASON_OF_CODE
from urlsieve.canon.suffixes import registrable_domain, suffix_list, suffix_list_text
from urlsieve.canon.vectors import vectors_digest
from urlsieve.errors import mask_userinfo

if TYPE_CHECKING:
    from urlsieve.canon.explanation import Explanation, Step
    from urlsieve.canon.rules import Rules

CANONICAL_VERSION = 1
"""Bound into every store: a key made by another version is not comparable."""

__all__ = [
    "CANONICAL_VERSION",
    "REASON_OF_CODE",
    "Canonicalizer",
    "Explanation",
    "Keys",
    "Lines",
    "Rules",
    "Step",
    "canonicalize",
    "canonicalize_many",
    "explain",
    "fingerprint",
    "mask_userinfo",
    "registrable_domain",
    "suffix_list",
    "suffix_list_text",
    "vectors_digest",
]


def __getattr__(name: str) -> object:
    # Explaining and rules are rare, and the filter is started thousands of times: they are imported when somebody asks.
    if name == "Rules":
        from urlsieve.canon.rules import Rules

        return Rules
    if name in ("Explanation", "Step"):
        from urlsieve.canon import explanation

        return getattr(explanation, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@lru_cache(maxsize=8)
def _shared(profile: str) -> Canonicalizer:
    return Canonicalizer(profile=profile)


@lru_cache(maxsize=32)
def _keyed(secret: int) -> Canonicalizer:
    return Canonicalizer(secret=secret)


@lru_cache(maxsize=8)
def _ruled(profile: str, rules: "Rules") -> Canonicalizer:
    return Canonicalizer(profile=profile, rules=rules)


def _for(profile: str, rules: object) -> Canonicalizer:
    if rules is None:
        return _shared(profile)
    from urlsieve.canon.rules import Rules

    # a path is read anew each time: the file may have changed
    return _ruled(profile, rules) if isinstance(rules, Rules) else Canonicalizer(profile=profile, rules=rules)


def canonicalize(url: str | bytes, *, base: str | None = None, profile: str = "safe", rules: object = None) -> str:
    """The canonical form of one URL. Raises InvalidURL, whose `reason` is one word of the closed list."""
    return _for(profile, rules).canonicalize(url, base=base)


def canonicalize_many(
    urls: Iterable[str | bytes],
    *,
    base: str | None = None,
    profile: str = "safe",
    rules: object = None,
    variants: Sequence[bytes] | None = None,
) -> Keys:
    """The canonical forms of all URLs, in order; never raises for data (keys[i] is None and keys.reasons[i] the word)."""
    return _for(profile, rules).canonicalize_many(urls, base=base, variants=variants)


def fingerprint(url: str | bytes, *, variant: bytes = b"", secret: int = 0) -> bytes:
    """16 bytes: site half, then URL half, little-endian, keyed with `secret` (below 2**128). Raises InvalidURL."""
    canonicalizer = _keyed(secret)
    # Straight to the kernel: one call less in Python is a fifth of the time.
    answer = canonicalizer._program.fingerprint(url, canonicalizer._resolve, None, variant)
    return answer if type(answer) is bytes else canonicalizer.fingerprint(url, variant=variant)  # which raises


def explain(
    url_a: str | bytes, url_b: str | bytes | None = None, *, base: str | None = None, profile: str = "safe", rules: object = None
) -> "Explanation":
    """Which steps change a URL; with two URLs: whether they are the same, and why."""
    return _for(profile, rules).explain(url_a, url_b, base=base)
