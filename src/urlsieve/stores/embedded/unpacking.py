"""Blocks of texts in, the entries of their done URLs out, with the fingerprints that only the seen set knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from urlsieve.model import Entry, State
from urlsieve.stores.embedded import packed, seen
from urlsieve.stores.embedded.framing import SLOTS
from urlsieve.stores.embedded.ledger import Ledger, Transaction
from urlsieve.stores.embedded.look import site_names
from urlsieve.stores.embedded.runs import FIRST
from urlsieve.stores.embedded.sites import site_id


def entries(ledger: Ledger, last: int) -> Iterator[Entry]:
    """Block by block, so that each is unpacked once: in the order of fingerprints neighbours lie in different blocks. Which
    fingerprint a slot has only the seen set knows: it is walked through once for every BLOCKS blocks."""
    first = 1
    while first <= last:
        with ledger.read() as db:
            numbers = [row[0] for row in db.execute(_BLOCKS_FROM, (first, last, BLOCKS))]
        end = numbers[-1] if len(numbers) == BLOCKS else last
        keys, lost = _keys_of(ledger, first, end, numbers)
        for at, number in enumerate(numbers):
            part = keys[16 * SLOTS * at : 16 * SLOTS * (at + 1)]
            slots = [slot for slot in range(SLOTS) if part[16 * slot : 16 * slot + 16] != _NO_KEY]
            yield from _still(ledger, [(part[16 * slot : 16 * slot + 16], packed.entry_of(number, slot)) for slot in slots])
        yield from _still(ledger, lost)
        first = end + 1


def _keys_of(ledger: Ledger, first: int, end: int, numbers: Sequence[int]) -> tuple[bytes, list[tuple[bytes, int]]]:
    """The fingerprints of these blocks' slots, 16 bytes each; and those of blocks between the first and the end that are not there."""
    low, high = packed.entry_of(end + 1, 0) + 1, packed.entry_of(first, 0)
    places = {number: SLOTS * at for at, number in enumerate(numbers)}
    keys, lost = bytearray(_NO_KEY * (SLOTS * len(numbers))), []
    at: bytes | None = FIRST
    while at is not None:
        with ledger.look() as tx:
            records, at = tx.seen.slice(at, LONG_SLICE)
        for i, entry in enumerate(memoryview(records).cast("q")[2::3].tolist()):
            if low <= entry <= high:
                key = records[24 * i : 24 * i + 16]
                number, slot = packed.place_of(entry)
                if number in places:
                    place = 16 * (places[number] + slot)
                    keys[place : place + 16] = key
                else:
                    lost.append((key, entry))
    return bytes(keys), lost


def _still(ledger: Ledger, pairs: Sequence[tuple[bytes, int]]) -> list[Entry]:
    """Those that are still there: what returned to the queue meanwhile is met in the last pass."""
    if not pairs:
        return []
    with ledger.look() as tx:
        now = seen.find(tx, [fp for fp, _ in pairs])
        return read(tx, [(fp, entry) for fp, entry in pairs if now.get(fp) == entry])


_BLOCKS_FROM = "SELECT block FROM packed WHERE block BETWEEN ? AND ? ORDER BY block LIMIT ?"
#: The fingerprint of no URL; of one in 2^128.
_NO_KEY = bytes(16)
#: Blocks whose fingerprints are collected at once: 34 MiB.
BLOCKS = 2048
LONG_SLICE = 1 << 16


def read(tx: Transaction, pairs: Sequence[tuple[bytes, int]]) -> list[Entry]:
    """Of (fingerprint, entry) whose texts are in blocks."""
    texts = packed.read(tx, [entry for _, entry in pairs])
    groups = dict(tx.rows("SELECT id, name FROM grp WHERE id IN", list({text.group_id for text in texts.values()})))
    sites = site_names(tx, [fp for fp, _ in pairs])
    found = []
    for fp, entry in pairs:
        text = texts[entry]
        where = (sites.get(site_id(fp), ""), groups.get(text.group_id, ""), text.group_id)
        found.append(Entry(fp, State.DONE, *where, text.url, text.priority, text.depth, variant=text.variant))
    return found
