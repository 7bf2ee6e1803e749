"""Fingerprints go in; how many different ones there were comes out, about right, from a few kilobytes."""

from __future__ import annotations

import math
import struct
import threading
import zlib
from typing import final

from urlsieve._kernel import hll_add, hll_estimate
from urlsieve.errors import ConfigError, StoreCorrupt
from urlsieve.sketch.blocks import block

_MAGIC, _VERSION = b"USHL", 1
_HEAD = struct.Struct("<4sBBHI")  # magic, version, p, zeros, CRC of the registers


@final
class HyperLogLog:
    """p: 2**p registers of a byte; the standard error is 1.04 / 2**(p/2), 0.81 % at 14. The same set gives the same registers in any order,
    and `a | b` is what one would be that had met both. Usable from any thread."""

    __slots__ = ("_lock", "_registers", "p")

    def __init__(self, p: int = 14) -> None:
        if not isinstance(p, int) or isinstance(p, bool) or not 4 <= p <= 18:
            raise ConfigError(f"p is a whole number from 4 to 18, not {p!r}")
        self.p = p
        self._registers = bytearray(1 << p)
        self._lock = threading.Lock()

    def add(self, fingerprints: bytes) -> bool:
        """Whether the estimate may have changed."""
        keys = block(fingerprints)
        with self._lock:
            return hll_add(self._registers, keys)

    def count(self) -> float:
        """How many different ones it has met; right within `error` in two of three cases."""
        with self._lock:
            return hll_estimate(self._registers)

    @property
    def error(self) -> float:
        """The standard error, as a share."""
        return 1.04 / math.sqrt(1 << self.p)

    def merge(self, *others: HyperLogLog) -> None:
        """Becomes what it would be had it met all that the others met. ConfigError: they have another p."""
        for other in others:
            if other.p != self.p:
                raise ConfigError(f"one of p = {other.p} cannot be merged into one of p = {self.p}")
            theirs = bytes(other._registers)
            with self._lock:
                self._registers[:] = bytes(map(max, self._registers, theirs))

    def __or__(self, other: HyperLogLog) -> HyperLogLog:
        both = HyperLogLog(self.p)
        both.merge(self, other)
        return both

    def overlap(self, other: HyperLogLog) -> tuple[float, float]:
        """(how many both have met, the standard error of that as a number): a sum of estimates; a small overlap of large sets is noise."""
        a, b, both = self.count(), other.count(), (self | other).count()
        return max(0.0, a + b - both), self.error * math.sqrt(a * a + b * b + both * both)

    def to_bytes(self) -> bytes:
        """Its registers, compressed, with a head of format and p. `from_bytes` makes it again."""
        with self._lock:
            registers = bytes(self._registers)
        return _HEAD.pack(_MAGIC, _VERSION, self.p, 0, zlib.crc32(registers)) + zlib.compress(registers, 6)

    @classmethod
    def from_bytes(cls, data: bytes) -> HyperLogLog:
        """StoreCorrupt: it is none, is damaged, or was written by a newer version."""
        if len(data) < _HEAD.size or not data.startswith(_MAGIC):
            raise StoreCorrupt("this is no HyperLogLog of urlsieve")
        _, version, p, _, crc = _HEAD.unpack_from(data)
        if version != _VERSION:
            raise StoreCorrupt(f"this HyperLogLog has format {version}, and this urlsieve reads {_VERSION}: use a newer one")
        if not 4 <= p <= 18:
            raise StoreCorrupt("the head of this HyperLogLog is damaged")
        unpacker = zlib.decompressobj()
        try:
            registers = unpacker.decompress(data[_HEAD.size :], (1 << p) + 1)
        except zlib.error as error:
            raise StoreCorrupt(f"this HyperLogLog is damaged: {error}") from None
        if len(registers) != 1 << p or not unpacker.eof or unpacker.unused_data or zlib.crc32(registers) != crc or max(registers) > 65 - p:
            raise StoreCorrupt("this HyperLogLog is damaged: its checksum does not fit")
        made = cls(p)
        made._registers[:] = registers
        return made

    def __repr__(self) -> str:
        return f"<HyperLogLog of about {self.count():,.0f}, p {self.p}>"
