"""Texts of done URLs in, one compressed block of bytes out, and back: all of them, or the one in a slot.

A block has the texts of neighbours, so that what they share is written once:

    zlib of    slots 4, groups 4
               columns, one number of 8 bytes per slot each: length of the URL (-1: the slot is empty), 1 if it is text and 0 if it is
               bytes, number of its group, priority, depth, length of the variant
               the groups' ids, 8 bytes each; the URLs; the variants

All integers are little-endian. A column stands as its lowest bytes, then the next ones and so on: seven of the eight hardly differ.
The checksum that guards a block has the block's number as its key: a block that stands at another's place is damaged too.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from urlsieve._kernel._core import siphash24

#: URLs per block at most: twice as many are a fifth of a byte per URL smaller, and twice as slow to read one of.
SLOTS = 1024
_LEVEL = 9
_COLUMNS = 6
_HEAD = struct.Struct("<II")
#: More than this no block has when it is unpacked: SQLite takes no larger value either.
_LONGEST = 1 << 30


class Text(NamedTuple):
    """What is kept of a done URL."""

    url: str | bytes
    group_id: int
    priority: int
    depth: int
    variant: bytes = b""


class Damaged(ValueError):
    """These bytes are no block, or not the one they stand for."""


def checksum(number: int, data: bytes) -> bytes:
    mark: int = siphash24(struct.pack("<8sQ", b"texts", number), data)
    return mark.to_bytes(8, "little")


def pack(texts: Sequence[Text | None]) -> bytes:
    """None: an empty slot, which takes next to nothing."""
    rows, urls = [], []
    numbers: dict[int, int] = {}
    for text in texts:
        if text is None:
            rows.append((-1, 0, 0, 0, 0, 0))
            continue
        url = text.url.encode() if isinstance(text.url, str) else text.url
        urls.append(url)
        number = numbers.setdefault(text.group_id, len(numbers))
        rows.append((len(url), isinstance(text.url, str), number, text.priority, text.depth, len(text.variant)))
    columns = [_planes(column) for column in zip(*rows, strict=True)]
    groups = struct.pack(f"<{len(numbers)}q", *numbers)
    variants = b"".join(text.variant for text in texts if text is not None)
    return zlib.compress(b"".join((_HEAD.pack(len(texts), len(numbers)), *columns, groups, *urls, variants)), _LEVEL)


def _planes(numbers: Sequence[int]) -> bytes:
    raw = struct.pack(f"<{len(numbers)}q", *numbers)
    return b"".join(raw[byte::8] for byte in range(8))


def _numbers(planes: bytes) -> Sequence[int]:
    many = len(planes) // 8
    if planes.count(0, many) == 7 * many:  # most columns have small numbers only
        return planes[:many]
    raw = bytearray(len(planes))
    for byte in range(8):
        raw[byte::8] = planes[byte * many : (byte + 1) * many]
    return struct.unpack(f"<{many}q", raw)


def unpack(data: bytes) -> list[Text | None]:
    """One per slot. Damaged if it is no block."""
    block = Block(data)
    return [block.text(slot) for slot in range(len(block))]


class Block:
    """A block that was unpacked: texts by their slot. Damaged if the bytes are none."""

    def __init__(self, data: bytes) -> None:
        try:
            opened = zlib.decompressobj()
            self._raw = opened.decompress(data, _LONGEST)
            if not opened.eof or opened.unused_data:
                raise Damaged("it is cut off, or longer than it was")
            self._slots: int
            self._slots, groups = _HEAD.unpack_from(self._raw)
            ends = [_HEAD.size + 8 * self._slots * column for column in range(_COLUMNS + 1)]
            if ends[-1] > len(self._raw):
                raise Damaged("its columns are cut off")
            columns = [_numbers(self._raw[start:end]) for start, end in pairwise(ends)]
            self._groups = struct.unpack_from(f"<{groups}q", self._raw, ends[-1])
        except (zlib.error, struct.error, MemoryError) as error:
            raise Damaged(str(error)) from error
        self._lengths, self._kinds, self._numbers, self._priorities, self._depths, variants = columns
        at = ends[-1] + 8 * groups
        filled = self._lengths if min(self._lengths, default=0) >= 0 else [max(length, 0) for length in self._lengths]
        self._urls = list(accumulate(filled, initial=at))
        self._variants = list(accumulate(variants, initial=self._urls[-1]))
        fit = 0 <= min(self._numbers, default=0) <= max(self._numbers, default=0) < max(groups, 1) and min(variants, default=0) >= 0
        if self._variants[-1] != len(self._raw) or not fit:
            raise Damaged("its parts do not fit")

    def __len__(self) -> int:
        return self._slots

    def text(self, slot: int) -> Text | None:
        """None: the slot is empty, or there is no such slot."""
        if slot >= self._slots or self._lengths[slot] < 0:
            return None
        raw = self._raw[self._urls[slot] : self._urls[slot + 1]]
        try:
            url = raw.decode() if self._kinds[slot] else raw
        except UnicodeDecodeError as error:
            raise Damaged(str(error)) from error
        variant = self._raw[self._variants[slot] : self._variants[slot + 1]]
        group = self._groups[self._numbers[slot]]
        return Text(url, group, self._priorities[slot], self._depths[slot], variant)
