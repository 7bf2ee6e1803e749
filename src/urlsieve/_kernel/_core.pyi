"""The native core as Python sees it; see the headers for the theory."""

from collections.abc import Callable, Iterator
from typing import Protocol, final

class Buffer(Protocol):
    """bytes, a memoryview, an mmap: collections.abc.Buffer, which Python 3.11 does not have."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

Resolve = Callable[[str | bytes], bytes | int]
"""What becomes of an irregular URL: its WHATWG href (ASCII), or the status it is rejected with."""

STEP_PERCENT: int
STEP_PATH_SESSION: int
STEP_EMPTY_QUERY: int
STEP_EMPTY_PIECES: int
STEP_NOISE: int
STEP_QUERY_SESSION: int
STEP_SORT: int
STEP_USERINFO: int
STEP_HOST_DOT: int
STEP_WWW: int
STEP_HTTPS: int
STEP_SUBDELIMS: int
STEP_PLUS: int
STEP_SHORT_SESSION: int
STEP_COLLAPSE: int
STEP_INDEX: int
STEP_SLASH: int
STEP_BLANK: int
STEP_DEDUP: int
STEP_SORT_FULL: int
STEP_ASCII_ONLY: int
STEP_ALWAYS_PARSE: int
FRAGMENT_DROP: int
FRAGMENT_ROUTES: int
FRAGMENT_KEEP: int
FORM_OURS: int
FORM_SCRAPY: int
FORM_CLASSIC: int

def siphash24(key: bytes, data: bytes) -> int:
    """SipHash-2-4 of `data` under a key of 16 bytes, as an unsigned 64-bit integer."""

@final
class RuleTable:
    """Site rules compiled; immutable, usable from any thread. `lines`: see rules.h; a ValueError names the line that is none."""

    def __init__(self, lines: bytes) -> None: ...
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...

@final
class Regex:
    """A regular expression of rules by itself. ValueError(what, position in the pattern) if it cannot be one."""

    def __init__(self, pattern: bytes) -> None: ...
    @property
    def size(self) -> int:
        """Instructions."""
    @property
    def groups(self) -> int:
        """Without group 0."""
    def match(self, text: bytes) -> tuple[list[tuple[int, int] | None] | None, int]:
        """(the ends of each group of the first match, or None; visits of instructions)."""
    def sample(self, seed: int, room: int = 512) -> bytes:
        """A text it matches, by chance."""

def glob_matches(pattern: bytes, text: bytes) -> bool:
    """Does the glob match all of the text? ValueError if the pattern is too long."""

@final
class Program:
    """A compiled profile; immutable, usable from any thread.

    `noise`: lower-case ASCII names, each ended by LF. `traps`: most segments, most equal segments, most equal names; 0 = none.
    `form`: FORM_OURS, or another program's, which has no steps: `resolve` then answers with the finished key of an irregular URL.
    `base` is the href of an http(s) URL: plain relative references are resolved here, odd ones by `resolve`.
    """

    def __init__(
        self,
        *,
        steps: int,
        fragment: int,
        noise: bytes,
        traps: tuple[int, int, int],
        secret: bytes,
        rules: RuleTable | None = None,
        form: int = 0,
    ) -> None: ...
    def one(
        self, text: str | bytes, resolve: Resolve, base: bytes | None, variant: bytes = b"", href: bool = False
    ) -> tuple[int, bytes, bytes, int, int, bool]:
        """(status, fingerprint, key, site's start in it, site's length, is route); the rest means nothing if status is not 0."""
    def look(self, text: str | bytes, resolve: Resolve, base: bytes | None) -> tuple[int, bytes, int | None, int]:
        """(status, key, number of the rule or None, unsettled: 0; 1: the change of the path would leave the rule; 2: it is restless)."""
    def fingerprint(self, text: str | bytes, resolve: Resolve, base: bytes | None, variant: bytes = b"") -> bytes | int:
        """16 bytes, or the status (not 0) of a rejected URL."""
    def batch(
        self,
        urls: list[str | bytes],
        resolve: Resolve,
        base: bytes | None,
        variants: list[bytes] | None = None,
        keep: bool = False,
        digests: bool = False,
    ) -> Batch: ...
    def lines(self, block: bytes | bytearray | memoryview, resolve: Resolve) -> LineBatch: ...

@final
class Batch:
    """Results in columns; keys only if they were kept (else LookupError)."""

    count: int
    fingerprints: bytes
    status: bytes
    digests: bytes
    """Of a foreign form: 20 (scrapy) or 16 (classic) bytes per URL, zeros where it is rejected; b"" if not asked for."""
    def key(self, i: int) -> bytes | None: ...
    def site(self, i: int) -> bytes | None: ...
    def host(self, i: int) -> bytes | None:
        """The site as found, before rules and switches."""
    def rule(self, i: int) -> tuple[int | None, int]:
        """(number of the rule or None, unsettled as in `look`)."""
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
    """A set of 16-byte fingerprints in about 23 bytes each (and 140 kB at most), at any size and while it grows."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def peak_nbytes(self) -> int: ...
    def add_many(self, fingerprints: bytes, status: bytes | None = None) -> bytes:
        """One byte per key: 1 new, 0 known (the first of equals in a batch wins), 2 skipped because its status is not 0."""
    def contains_many(self, fingerprints: bytes) -> bytes: ...

ABSENT: int
"""-2**63: "not here" in answers; never a value."""
TOMBSTONE: int
"""-2**63 + 1: the value of a forgotten fingerprint."""

# A record is 24 bytes: a fingerprint (site half, URL half: uint64, little-endian) and a value (int64, little-endian). The order is that of
# (site half, URL half) as unsigned integers. Lengths that are no whole number of entries are a ValueError everywhere.

@final
class FingerprintMap:
    """An exact map from fingerprints to values in 32 to 48 bytes each; usable from any thread. Keys somebody else can choose make it
    slow, never wrong."""

    def __init__(self) -> None: ...
    def __len__(self) -> int:
        """Fingerprints, those with TOMBSTONE included."""
    @property
    def nbytes(self) -> int: ...
    def set_many(self, records: bytes) -> None:
        """Of equal fingerprints the last one stands. ValueError for the value ABSENT, and nothing is set. After a MemoryError the first
        ones of the records are set, the rest is not."""
    def get_many(self, fingerprints: bytes) -> bytearray:
        """One int64 per key: its value, or ABSENT."""
    def sorted_records(self) -> bytes: ...
    def clear(self) -> None:
        """Empties the map and gives its memory back."""

@final
class RunWriter:
    """Makes the bytes of a run from records in ascending order; the caller writes and syncs them.

    `owner`: the number (64 bits, unsigned) of the store's secret. ABSENT and a record that is not after the one before it are a
    ValueError, and nothing is taken. After a MemoryError, and after `finish`, every call is a ValueError.
    """

    def __init__(self, *, owner: int) -> None: ...
    @property
    def count(self) -> int:
        """Records so far."""
    def add(self, records: bytes) -> bytes:
        """What of the file became ready, maybe nothing."""
    def finish(self) -> bytes:
        """The rest of the file."""

RUN_VERSION: int

@final
class Run:
    """Reads a run from a buffer, which is held as long as this lives and must not change; usable from any thread.

    ValueError if it is none that can be used: "not a run", "version 7, this program knows 1 to 2", "of another store",
    "cut off: 812 of 4096 bytes" or "cut off: 812 bytes of a run whose end is missing", "header damaged", "footer damaged", "index damaged".
    """

    def __init__(self, buffer: Buffer, *, owner: int) -> None: ...
    @property
    def count(self) -> int:
        """Records, tombstones included."""
    @property
    def blocks(self) -> int: ...
    @property
    def version(self) -> int:
        """The format of its blocks: 1 is read, 2 is written."""
    @property
    def first(self) -> bytes:
        """The first fingerprint; b"" in an empty run."""
    @property
    def last(self) -> bytes:
        """The last fingerprint; b"" in an empty run."""
    def get_many(self, fingerprints: bytes, values: bytearray) -> int:
        """Fills values[i] (int64) where it is ABSENT and key i is here (TOMBSTONE is a value); how many were filled. ValueError
        "block 17 is damaged": what was filled before is right, the rest is unknown."""
    def check(self) -> list[int]:
        """Verifies every block now, also those that were verified before; the numbers of the damaged ones."""

def count_absent(values: bytearray) -> int:
    """How many of these int64 values are ABSENT."""

def merge_records(sources: list[Run | bytes], start: bytes, limit: int, *, tombstones: bool) -> tuple[bytes, bytes | None]:
    """Records in order from the fingerprint `start` (inclusive) on, at most `limit` (1 or more) of them, and the fingerprint to go on with;
    None: that was all.

    `sources`, newest first: runs, or bytes of records in order; of equal fingerprints the newest one's record stands. Records that are
    TOMBSTONE are left out unless `tombstones`. Every block touched is verified anew. ValueError "source 1: block 17 is damaged",
    "source 0: record 5 does not come after the one before it".
    """

@final
class Cuckoo:
    """The table of `urlsieve.sketch.CuckooTable`; usable from any thread, many at a time. `values`: a map to int64, else a set. seed:
    64 bits of chance, so that nobody can choose keys that meet."""

    def __init__(self, values: bool, seed: int) -> None: ...
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def reserve(self, keys: int) -> None: ...
    def add(self, fingerprints: bytes, values: bytes | None, replace: bool) -> bytes:
        """One flag per key: 1 new. `replace`: those that are there get the new value. After a MemoryError some keys are in."""
    def get(self, fingerprints: bytes, values: bool, missing: int) -> tuple[bytes, bytes | None]:
        """(one flag per key: 1 there; one int64 per key, or None where none are wanted)."""
    def discard(self, fingerprints: bytes) -> bytes:
        """One flag per key: 1 it was there."""
    def parts(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Everything, a part at a time: (fingerprints, their values or None)."""
    def clear(self) -> None: ...

@final
class BloomBits:
    """Blocks of a Bloom filter in a writable buffer, 64 bytes each, aligned to 64; `bits`: a key's, 1 to 21. Threads and processes that
    share the buffer may add and ask at the same time. ValueError after `release`."""

    def __init__(self, buffer: Buffer, bits: int) -> None: ...
    def add(self, fingerprints: bytes) -> tuple[bytes, int]:
        """(one flag per key: 1 it may have been there; how many were not)."""
    def get(self, fingerprints: bytes) -> bytes: ...
    def set_bits(self) -> int: ...
    def checksum(self) -> int: ...
    def release(self) -> None: ...
    @property
    def released(self) -> bool:
        """Is the buffer given back? Not while a call works on it."""

def hll_add(registers: bytearray, fingerprints: bytes) -> bool:
    """Whether a register changed. 2**p registers, p from 4 to 18."""

def hll_estimate(registers: bytearray) -> float:
    """ValueError: a register has a value that none can have."""
