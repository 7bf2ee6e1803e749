"""A ledger, and the moment that a store aside is made from, in; its texts, bare fingerprints and imported levels in that store, out.

Step by step, each with its mark; so it goes on where it was, and is called again after each moment that is followed: what is new has higher
numbers than what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from urlsieve.stores.embedded import imported, packed, queue
from urlsieve.stores.embedded.aside import Aside, Row
from urlsieve.stores.embedded.framing import SLOTS
from urlsieve.stores.embedded.imported import Imported
from urlsieve.stores.embedded.ledger import Ledger
from urlsieve.stores.embedded.runs import FIRST

#: Rows of text of a step.
STEP = 5_000


def fill(ledger: Ledger, aside: Aside, progress: Callable[[int], object]) -> int:
    """How many texts it were."""
    before = aside.at.done
    _bare(aside)
    while rows := _rows_after(ledger, aside.at.last, aside.moment.last_text):
        aside.at.last = rows[-1].id
        aside.at.done += len(rows)
        aside.rows(rows, lambda ids: _waiting(ledger, ids))
        progress(aside.at.done)
    while _block(ledger, aside):
        progress(aside.at.done)
    return aside.at.done - before


def _bare(aside: Aside) -> None:
    if aside.at.bare is None:
        return
    for block, at in aside.moment.bare(bytes.fromhex(aside.at.bare)):
        aside.bare(block)
        aside.at.bare = None if at is None else at.hex()
        aside.mark()


def _block(ledger: Ledger, aside: Aside) -> bool:
    """The next block of packed texts; False: there is none."""
    with ledger.read() as db:
        found = db.execute(
            "SELECT p.block, p.checksum, p.data, s.gone FROM packed p JOIN slots s ON s.block = p.block WHERE p.block > ? "
            "ORDER BY 1 LIMIT 1",
            (aside.at.number,),
        ).fetchone()
    if found is None:
        return False
    number, mark, data, gone = found
    texts_of, bits = packed.opened(number, mark, data), int.from_bytes(gone, "little")
    texts = {slot: text for slot in range(len(texts_of)) if not bits >> slot & 1 and (text := texts_of.text(slot)) is not None}
    aside.at.number = number
    aside.at.done += len(texts)
    aside.block(number, texts, min(len(texts_of), SLOTS), aside.moment.entries)
    return True


_ROWS = (
    "SELECT t.id, t.fp, t.url, t.grp, t.priority, t.depth, coalesce(e.variant, x'') FROM text t LEFT JOIN extra e ON e.id = t.id WHERE t.id"
)


def _rows_after(ledger: Ledger, last: int, end: int) -> list[Row]:
    with ledger.read() as db:
        return [Row._make(row) for row in db.execute(f"{_ROWS} > ? AND t.id <= ? ORDER BY t.id LIMIT ?", (last, end, STEP))]


def rows_of(ledger: Ledger) -> Callable[[Sequence[int]], list[Row]]:
    """Rows of text, of those ids that are not done."""

    def rows(ids: Sequence[int]) -> list[Row]:
        waiting = _waiting(ledger, ids)
        with ledger.look() as tx:
            return list(dict.fromkeys(Row._make(row) for row in tx.rows(f"{_ROWS} IN", waiting)))

    return rows


def _waiting(ledger: Ledger, ids: Sequence[int]) -> list[int]:
    if not ids:
        return []
    with ledger.look() as tx:
        return list(queue.locate(tx, ids))


def copy_levels(ledger: Ledger, levels: Imported, aside: Aside) -> None:
    """Those that are not there yet, or have changed since: their files have other names then."""
    with ledger.look() as tx:
        every = imported.levels(tx.db)
        filed = imported.manifest(tx.db)
    for level in every:
        names = sorted(one.run.name for one in filed if one.level == level.name)
        had, at = aside.at.levels.get(level.name, (None, None))
        if had != names:
            aside.imported.drop(level.name)
            aside.imported.add(level._replace(digests=0, bytes=None), b"")
            at = FIRST.hex()
        if at is None:
            continue
        for block in levels.digests(level.name, bytes.fromhex(at)):
            aside.imported.add(level._replace(digests=0, bytes=None), block)
            aside.at.levels[level.name] = names, block[-16:].hex()
            aside.mark()
        aside.at.levels[level.name] = names, None
        aside.mark()
