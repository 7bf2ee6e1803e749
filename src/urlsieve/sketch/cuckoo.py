"""Fingerprints, with or without a number each, go in; exact answers come out. In memory, with removal."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from typing import final

from urlsieve._kernel import Cuckoo
from urlsieve.errors import ConfigError
from urlsieve.sketch.blocks import block


@final
class CuckooTable:
    """An exact set of fingerprints (16 bytes each), or with `values` a map from them to int64; usable by many threads at a time.

    capacity: room made at once for so many. It grows by itself, a 64th at a time and each part only when 0.95 full: 17 to 23 bytes a
    fingerprint, 26 to 34 with values. Nothing is lost when it grows. Methods take blocks of fingerprints and answer with one byte for
    each, 1 or 0. ConfigError for what is no block of them; MemoryError when memory is out (then some of a batch may be in).
    """

    __slots__ = ("_table", "_values")

    def __init__(self, capacity: int = 0, *, values: bool = False) -> None:
        if not isinstance(capacity, int) or isinstance(capacity, bool) or not 0 <= capacity < 1 << 48:
            raise ConfigError(f"capacity is a number of fingerprints, not {capacity!r}")
        self._values = bool(values)
        self._table = Cuckoo(self._values, int.from_bytes(os.urandom(8), "little"))
        if capacity:
            self._table.reserve(capacity)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._table.nbytes

    def add(self, fingerprints: bytes, values: Sequence[int] | None = None) -> bytes:
        """1: it is new. One that is there keeps its value; of equals in a batch the first counts."""
        return self._table.add(block(fingerprints), self._packed(values), False)

    def set(self, fingerprints: bytes, values: Sequence[int]) -> bytes:
        """1: it is new. One that is there gets the new value; of equals in a batch the last counts."""
        if not self._values:
            raise ConfigError("a table made without values=True keeps none")
        return self._table.add(block(fingerprints), self._packed(values), True)

    def contains(self, fingerprints: bytes) -> bytes:
        """1: it is there."""
        return self._table.get(block(fingerprints), False, 0)[0]

    def get(self, fingerprints: bytes, missing: int = -1) -> Sequence[int]:
        """The value of each, `missing` where it is not there."""
        if not self._values:
            raise ConfigError("a table made without values=True keeps none")
        if not isinstance(missing, int) or not -(2**63) <= missing < 2**63:
            raise ConfigError(f"missing is a whole number of 64 bits, not {missing!r}")
        found = self._table.get(block(fingerprints), True, missing)[1]
        return memoryview(found or b"").cast("q")

    def discard(self, fingerprints: bytes) -> bytes:
        """1: it was there, and is no longer. Of equals in a batch the first one was."""
        return self._table.discard(block(fingerprints))

    def blocks(self) -> Iterator[tuple[bytes, Sequence[int]]]:
        """Everything, in no order, block by block: (fingerprints, values; of a set none). Others may work on meanwhile: what is moved or
        added then may be missed or met twice."""
        for keys, values in self._table.parts():
            yield keys, memoryview(values or b"").cast("q")

    def clear(self) -> None:
        """Empties it and gives its memory back."""
        self._table.clear()

    def __repr__(self) -> str:
        return f"<CuckooTable of {len(self):,} fingerprints, {self.nbytes:,} bytes>"

    def _packed(self, values: Sequence[int] | None) -> bytes | None:
        if (values is not None) != self._values:
            raise ConfigError("a table made with values=True wants one for each fingerprint" if self._values else "it keeps no values")
        try:
            return None if values is None else struct.pack(f"<{len(values)}q", *values)
        except struct.error as error:
            raise ConfigError(f"a value is a whole number of 64 bits: {error}") from None
