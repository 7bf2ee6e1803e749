"""The native core as Python sees it; see the headers for the theory."""

from collections.abc import Callable
from typing import final

Resolve = Callable[[str | bytes], bytes | int]
"""What becomes of an irregular URL: its WHATWG href (ASCII), or the status it is rejected with."""

STEP_PERCENT: int
STEP_PATH_SESSION: int
STEP_EMPTY_QUERY: int
STEP_EMPTY_PIECES: int
STEP_NOISE: int
STEP_QUERY_SESSION: int
STEP_SORT: int
STEP_ASCII_ONLY: int
STEP_ALWAYS_PARSE: int
FRAGMENT_DROP: int
FRAGMENT_ROUTES: int
FRAGMENT_KEEP: int

def siphash24(key: bytes, data: bytes) -> int:
    """SipHash-2-4 of `data` under a key of 16 bytes, as an unsigned 64-bit integer."""

@final
class Program:
    """A compiled profile; immutable, usable from any thread.

    `noise`: lower-case ASCII names, each ended by LF. `traps`: most segments, most equal segments, most equal names; 0 = none.
    `base` is the href of an http(s) URL: plain relative references are resolved here, odd ones by `resolve`.
    """

    def __init__(self, *, steps: int, fragment: int, noise: bytes, traps: tuple[int, int, int], secret: bytes) -> None: ...
    def one(
        self, text: str | bytes, resolve: Resolve, base: bytes | None, variant: bytes = b"", href: bool = False
    ) -> tuple[int, bytes, bytes, int, int, bool]:
        """(status, fingerprint, key, site's start in it, site's length, is route); the rest means nothing if status is not 0."""
    def fingerprint(self, text: str | bytes, resolve: Resolve, base: bytes | None, variant: bytes = b"") -> bytes | int:
        """16 bytes, or the status (not 0) of a rejected URL."""
    def batch(
        self,
        urls: list[str | bytes],
        resolve: Resolve,
        base: bytes | None,
        variants: list[bytes] | None = None,
        keep: bool = False,
    ) -> Batch: ...
    def lines(self, block: bytes | bytearray | memoryview, resolve: Resolve) -> LineBatch: ...

@final
class Batch:
    """Results in columns; keys only if they were kept (else LookupError)."""

    count: int
    fingerprints: bytes
    status: bytes
    def key(self, i: int) -> bytes | None: ...
    def site(self, i: int) -> bytes | None: ...
    def route(self, i: int) -> bool: ...

@final
class LineBatch:
    """Results of a block's lines; the block is referenced, not copied."""

    count: int
    @property
    def fingerprints(self) -> bytes: ...
    @property
    def status(self) -> bytes: ...
    def line(self, i: int) -> bytes: ...
    def key(self, i: int) -> bytes | None: ...
    def select(self, flags: bytes, keys: bool = False, ending: bytes = b"\n") -> bytes: ...

@final
class FingerprintSet:
    """A set of 16-byte fingerprints in at most 24 bytes each, at any size and while it grows."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def peak_nbytes(self) -> int: ...
    def add_many(self, fingerprints: bytes, status: bytes | None = None) -> bytes:
        """One byte per key: 1 new, 0 known (the first of equals in a batch wins), 2 skipped because its status is not 0."""
    def contains_many(self, fingerprints: bytes) -> bytes: ...
