"""A ledger's seen set as it is in, kept beside where nobody removes it; what each fingerprint was then, and what is different later, out.

The runs are linked, which costs no room and no time, since they never change; what is in none yet becomes one. So the moment outlives the
process, and whatever is merged or packed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from urlsieve._kernel._core import TOMBSTONE, FingerprintMap, Run, merge_records
from urlsieve.stores.embedded import disk, files, seen
from urlsieve.stores.embedded.ledger import Ledger, scalar
from urlsieve.stores.embedded.runs import FIRST, Folder, merged

#: (old fingerprint, what it was, what it is now); TOMBSTONE: not there.
Change = tuple[bytes, int, int]
#: Counters that only grow: a ledger that has less of one is an older copy.
GROWING = ("entry", "journal", "block", "token")
_BARE_STEP = 1 << 16


class Moment(NamedTuple):
    """names: of the runs, newest first. last_text: the last row of text. rules_generation, grown: counters as they were."""

    names: tuple[str, ...]
    runs: tuple[Run, ...]
    last_text: int
    rules_generation: int
    grown: dict[str, int]

    def entries(self, fingerprints: bytes, since: FingerprintMap | None = None) -> Sequence[int]:
        """One of each; below seen.LEAST: not there. since: what is newer than the moment."""
        values = (FingerprintMap() if since is None else since).get_many(fingerprints)
        for run in self.runs:
            run.get_many(fingerprints, values)
        return memoryview(values).cast("q")

    def bare(self, start: bytes) -> Iterator[tuple[bytes, bytes | None]]:
        """Fingerprints without text, in blocks, and where to go on."""
        at: bytes | None = start
        while at is not None:
            records, at = merge_records(list(self.runs), at, _BARE_STEP, tombstones=False)
            yield b"".join(fp for fp, entry in seen.pairs(records) if is_bare(entry)), at


def is_bare(entry: int) -> bool:
    """Seen, and without text."""
    return seen.PACKED < entry <= 0


def has_text(entry: int) -> bool:
    return entry > 0 or seen.LEAST <= entry <= seen.PACKED


def take(ledger: Ledger, directory: Path, shelf: Folder, place: Path) -> Moment:
    """Of the ledger in `directory`; shelf: of the folder `place`, where it is kept. No runs may be merged meanwhile."""
    with ledger.look() as tx:
        names = [named.name for named, _ in tx.seen.runs]
        recent = tx.seen.recent()
        last_text = scalar(tx.db, "SELECT max(id) FROM text") or 0
        grown = {name: tx.value(name) for name in GROWING}
        generation = tx.value("rules_generation")
    for name in names:
        if not (place / name).exists():
            disk.link(directory / files.RUNS / name, place / name)
    disk.sync(place)
    if recent:
        names.insert(0, shelf.write(merged([recent], tombstones=True)).name)
    return Moment(tuple(names), tuple(shelf.open(name) for name in names), last_text, generation, grown)


def differences(then: Moment, now: Moment, since: FingerprintMap) -> Iterator[list[Change]]:
    """Between the two, and only of what `since` does not say already. What lies in runs that both have is the same."""
    both = set(then.names) & set(now.names)
    own = [run for moment in (now, then) for name, run in zip(moment.names, moment.runs, strict=True) if name not in both]
    for records in merged([since.sorted_records(), *own], tombstones=True, start=FIRST):
        fingerprints = b"".join(records[at : at + 16] for at in range(0, len(records), 24))
        pairs = zip(then.entries(fingerprints, since), now.entries(fingerprints), strict=True)
        found = [(i, before, after) for i, (before, after) in enumerate(pairs) if before != after]
        changes = [(fingerprints[16 * i : 16 * i + 16], _there(before), _there(after)) for i, before, after in found]
        yield [change for change in changes if change[1] != change[2]]


def _there(entry: int) -> int:
    return entry if entry >= seen.LEAST else TOMBSTONE
