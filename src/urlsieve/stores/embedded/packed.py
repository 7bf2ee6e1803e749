"""Entries of the seen set in, the texts of done URLs out of their blocks; and what the ledger's tables say of those blocks.

A done URL whose text lies in a block has its place as its entry: the block's number and the slot. So nothing is searched, and the
fingerprint is written in the seen set only. Blocks are made by packing.py. A slot that is no longer named by an entry stays until its
block is written anew; none is ever used again, so that an entry that was read a moment ago never means another URL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from urlsieve.errors import StoreCorrupt
from urlsieve.stores.embedded.framing import SLOTS, Block, Damaged, Text, checksum, pack
from urlsieve.stores.embedded.ledger import PAGE_SIZE, Transaction, scalar
from urlsieve.stores.embedded.seen import PACKED

#: What SQLite adds to a block, about: the row, its pages' links, and half of its last page.
_OVERHEAD = 40 + PAGE_SIZE // 2
#: Newest rows of text that are looked at, to say how long one is.
_SAMPLE = 100


#: Whatever damage has made of their types.
_BLOCK = "CAST(checksum AS BLOB), CAST(data AS BLOB)"


def entry_of(block: int, slot: int) -> int:
    return PACKED - (block * SLOTS + slot)


def place_of(entry: int) -> tuple[int, int]:
    """(block, slot) of an entry."""
    return divmod(PACKED - entry, SLOTS)


def by_block(entries: Iterable[int]) -> dict[int, list[int]]:
    """block → slots, of those entries whose text is in a block."""
    found: dict[int, list[int]] = {}
    for entry in entries:
        if entry <= PACKED:
            block, slot = place_of(entry)
            found.setdefault(block, []).append(slot)
    return found


# -- read


def read(tx: Transaction, entries: Iterable[int]) -> dict[int, Text]:
    """entry → text, of those whose text is in a block. StoreCorrupt for what a mark names and is not there."""
    found = {}
    for number, slots in by_block(entries).items():
        with _named(tx, number):
            block = load(tx.db, number)
            for slot in slots:
                text = block.text(slot)
                if text is None:
                    raise Damaged(f"slot {slot} is empty")
                found[entry_of(number, slot)] = text
    return found


def load(db: sqlite3.Connection, number: int) -> Block:
    row = db.execute(f"SELECT {_BLOCK} FROM packed WHERE block = ?", (number,)).fetchone()
    if row is None:
        raise Damaged("it is missing")
    return opened(number, *row)


def opened(number: int, mark: bytes, data: bytes) -> Block:
    if mark != checksum(number, data):
        raise Damaged("its checksum is another")
    return Block(data)


@contextmanager
def _named(tx: Transaction, number: int) -> Iterator[None]:
    try:
        yield
    except Damaged as error:
        raise StoreCorrupt(
            f"block {number} of the texts of done URLs of {tx.where} is damaged ({error}): nothing was answered from it; run verify, "
            "restore a backup"
        ) from error


# -- written


class Made(NamedTuple):
    """A block that has no number yet."""

    many: int
    data: bytes

    @classmethod
    def of(cls, texts: Sequence[Text]) -> Made:
        return cls(len(texts), pack(texts))


def add(tx: Transaction, made: Made) -> range:
    """One more block. Its entries, in the order of its texts."""
    number = tx.take("block")
    _write(tx, number, made.data)
    tx.execute("INSERT INTO slots (block, live, gone, freed) VALUES (?, ?, x'', 0)", (number, made.many))
    tx.count("packed", made.many)
    return range(entry_of(number, 0), entry_of(number, made.many), -1)


def put(tx: Transaction, number: int, texts: Sequence[Text | None]) -> None:
    """A block of another ledger, under its number. None: a slot that is not in use. A block of nothing is none."""
    live = sum(text is not None for text in texts)
    if live:
        _write(tx, number, pack(texts))
        bits = sum(1 << slot for slot, text in enumerate(texts) if text is None)
        tx.execute("INSERT INTO slots (block, live, gone, freed) VALUES (?, ?, ?, 0)", (number, live, _bytes(bits)))
        tx.count("packed", live)


def is_live(db: sqlite3.Connection, entry: int) -> bool:
    number, slot = place_of(entry)
    bits = scalar(db, "SELECT gone FROM slots WHERE block = ?", (number,))
    return bits is not None and not int.from_bytes(bits, "little") >> slot & 1


def _write(tx: Transaction, number: int, data: bytes) -> None:
    had = scalar(tx.db, "SELECT length(data) FROM packed WHERE block = ?", (number,))
    tx.execute("INSERT OR REPLACE INTO packed (block, checksum, data) VALUES (?, ?, ?)", (number, checksum(number, data), data))
    tx.count("packed_bytes", len(data) + _OVERHEAD - (0 if had is None else had + _OVERHEAD))


def free(tx: Transaction, entries: Iterable[int]) -> None:
    """They are no longer named by the seen set. Their room comes back when the block is mostly such slots."""
    for number, slots in by_block(entries).items():
        bits = gone(tx.db, number)
        for slot in slots:
            bits |= 1 << slot
        tx.execute(
            "UPDATE slots SET live = live - ?, freed = freed + ?, gone = ? WHERE block = ?", (len(slots), len(slots), _bytes(bits), number)
        )
        tx.count("packed", -len(slots))
        tx.freed = True


def gone(db: sqlite3.Connection, number: int) -> int:
    """A bit per slot that is no longer in use."""
    return int.from_bytes(scalar(db, "SELECT gone FROM slots WHERE block = ?", (number,)) or b"", "little")


def _bytes(bits: int) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def sparse(db: sqlite3.Connection) -> int | None:
    """A block of which half or more was freed since it was written."""
    found: int | None = scalar(db, "SELECT block FROM slots WHERE freed >= live LIMIT 1")
    return found


def rewrite(tx: Transaction, number: int) -> None:
    """Without what is gone; what stays keeps its slot. A block of nothing goes."""
    bits = gone(tx.db, number)
    with _named(tx, number):
        block = load(tx.db, number)
        texts = [None if bits >> slot & 1 else block.text(slot) for slot in range(len(block))]
    if any(text is not None for text in texts):
        _write(tx, number, pack(texts))
        tx.execute("UPDATE slots SET freed = 0 WHERE block = ?", (number,))
        return
    size = scalar(tx.db, "SELECT length(data) FROM packed WHERE block = ?", (number,))
    tx.count("packed_bytes", -size - _OVERHEAD)
    tx.execute("DELETE FROM packed WHERE block = ?", (number,))
    tx.execute("DELETE FROM slots WHERE block = ?", (number,))


# -- looked at


def size(db: sqlite3.Connection, number: dict[str, int]) -> int:
    """Bytes of the texts of done URLs: those of the blocks, and about those of the rows that wait to be packed."""
    lengths = db.execute("SELECT length(url) FROM text ORDER BY id DESC LIMIT ?", (_SAMPLE,)).fetchall()
    row = sum(length for (length,) in lengths) // len(lengths) + _ROW if lengths else 0
    return number.get("packed_bytes", 0) + row * number.get("unpacked", 0)


_ROW = 40  # of a row of text, beside its URL


class Named(NamedTuple):
    """What the seen set names, by enumeration: block → a bit per slot."""

    slots: dict[int, int]

    def add(self, entries: Iterable[int]) -> int:
        """How many of them were named before."""
        twice = 0
        for number, slots in by_block(entries).items():
            bits = self.slots.get(number, 0)
            for slot in slots:
                twice += bits >> slot & 1
                bits |= 1 << slot
            self.slots[number] = bits
        return twice


def problems(db: sqlite3.Connection, named: Named, number: dict[str, int]) -> Iterator[str]:
    """Every block is whole, and has what the seen set names, and nothing else that counts."""
    total = 0
    rows = db.execute(f"SELECT block, {_BLOCK}, live, gone FROM packed LEFT JOIN slots USING (block) ORDER BY 1")
    there = set()
    for block_number, mark, data, its_live, its_gone in rows:
        there.add(block_number)
        total += len(data) + _OVERHEAD
        wanted = named.slots.get(block_number, 0)
        try:
            block = opened(block_number, mark, data)
            filled = sum(1 << slot for slot in range(len(block)) if block.text(slot) is not None)
        except Damaged as error:
            yield f"block {block_number} of texts is damaged ({error}), {wanted.bit_count()} of it are named"
            continue
        if lacks := (wanted & ~filled).bit_count():
            yield f"block {block_number} of texts lacks {lacks} of the {wanted.bit_count()} that are named"
        if its_live is None:
            yield f"block {block_number} of texts has no row of its slots"
        elif its_live != wanted.bit_count() or filled & ~int.from_bytes(its_gone, "little") != wanted:
            yield f"block {block_number} of texts has {its_live} slots in use, {wanted.bit_count()} are named"
    for lost in sorted(named.slots.keys() - there):
        yield f"block {lost} of texts is missing, {named.slots[lost].bit_count()} of it are named"
    every = sum(bits.bit_count() for bits in named.slots.values())
    if number.get("packed", 0) != every:
        yield f"count packed says {number.get('packed', 0)}, there are {every}"
    if number.get("packed_bytes", 0) != total:
        yield f"count packed_bytes says {number.get('packed_bytes', 0)}, there are {total}"
    stray = scalar(db, "SELECT count(*) FROM slots WHERE block NOT IN (SELECT block FROM packed)")
    if stray:
        yield f"{stray} rows of slots have no block"
