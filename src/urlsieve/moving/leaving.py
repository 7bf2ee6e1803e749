"""A store in, the lines of its export out, in slices: nothing is held back or locked while somebody reads them.

{"urlsieve_export": 1, …}         the header: profile, secret, policy, rules
{"group": …}                      each group that has settings or a block
{"entry": "pending", "url": …}    each URL, the pending ones first and in the order in which they are given
{"site": …} {"group": …}          each site with a limit, and those of which no entry speaks
{"imported": …} {"digests": …}    each imported level, and what it has
{"counts": …}                     rejected and skipped, by reason
{"end": true, …}                  how many there were, and a checksum: a file without it was cut off
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from urlsieve.batch import as_given
from urlsieve.canon import Canonicalizer
from urlsieve.errors import ConfigError
from urlsieve.levels import OWN, WIDTH
from urlsieve.model import Entry, GroupRow, State
from urlsieve.moving.lines import STATES, entry_line, line_of
from urlsieve.moving.origin import first_record
from urlsieve.stores.protocol import Store

STEP = 1_000
#: Bytes of an imported level in a line.
DIGESTS = 1 << 14


def states_of(names: Iterable[str] | None) -> frozenset[State | None] | None:
    if names is None:
        return None
    if isinstance(names, str):
        raise ConfigError("states are a list of names")
    found = list(names)
    for name in found:
        if name not in STATES:
            raise ConfigError(f"there is no state {name!r}; states are {', '.join(STATES)}")
    return frozenset(STATES[name] for name in found)


def export(
    store: Store,
    canonicalizer: Canonicalizer,
    group_of: Callable[[str], str],
    now: float,
    *,
    states: frozenset[State | None] | None,
    secret: bool,
) -> Iterator[bytes]:
    """Each line with its newline. `states`: only these entries, and then no counts: they would not be true of them."""
    crc = 0
    counts = {"entries": 0, "left_out": 0, "sites": 0, "groups": 0, "digests": 0, "levels_left_out": 0}
    for line in _lines(store, canonicalizer, group_of, now, states, secret, counts):
        crc = zlib.crc32(line, crc)
        yield line
    yield line_of({"end": True, **counts, "crc32": f"{crc:08x}"})


def _lines(
    store: Store,
    canonicalizer: Canonicalizer,
    group_of: Callable[[str], str],
    now: float,
    states: frozenset[State | None] | None,
    secret: bool,
    counts: dict[str, int],
) -> Iterator[bytes]:
    yield line_of(first_record(store.header, store.policy(), store.rules().book, now, secret=secret))
    for row in store.groups():
        if _has_settings(row, now):
            counts["groups"] += 1
            yield _group_line(row, now)
    source = store.entries(now, states)
    while batch := list(islice(source, STEP)):
        usual = _usual_groups(batch, canonicalizer, group_of)
        for entry, group in zip(batch, usual, strict=True):
            if entry.url is None and not secret:
                counts["left_out"] += 1
                continue
            counts["entries"] += 1
            yield entry_line(entry, usual_group=group, secret=secret)
    for site in store.sites():
        if site.limit is not None or (states is None and not site.seen):
            counts["sites"] += 1
            yield line_of({"site": site.name} if site.limit is None else {"site": site.name, "limit": site.limit})
    if states is None:
        for row in store.groups():
            if not row.pending and not row.leased and not _has_settings(row, now):
                counts["groups"] += 1
                yield line_of({"group": row.name})
        yield from _levels(store, secret, counts)
        have = store.counts(now)
        yield line_of({"counts": {"rejected": dict(have.rejected), "skipped": dict(have.skipped)}})


def _levels(store: Store, secret: bool, counts: dict[str, int]) -> Iterator[bytes]:
    """Those of our own fingerprints hold the secret that they were made with."""
    for level in store.imported():
        if level.kind == OWN and not secret:
            counts["levels_left_out"] += 1
            continue
        yield line_of({"imported": level.name, "kind": level.kind, "about": level.about})
        for block in store.imported_digests(level.name):
            for start in range(0, len(block), DIGESTS):
                part = block[start : start + DIGESTS]
                counts["digests"] += len(part) // WIDTH
                yield line_of({"digests": base64.b64encode(part).decode("ascii"), "of": level.name})


def _usual_groups(batch: list[Entry], canonicalizer: Canonicalizer, group_of: Callable[[str], str]) -> list[str | None]:
    """The group that a URL has if nobody says another."""
    keys = canonicalizer.canonicalize_many([b"" if entry.url is None else as_given(entry.url) for entry in batch])
    return [None if code else group_of(keys.host(i)) for i, code in enumerate(keys.status)]


def _has_settings(row: GroupRow, now: float) -> bool:
    return row.delay is not None or row.concurrency is not None or row.paused or row.health.blocked_until > now


def _group_line(row: GroupRow, now: float) -> bytes:
    record: dict[str, object] = {"group": row.name}
    for name in ("delay", "concurrency"):
        if getattr(row, name) is not None:
            record[name] = getattr(row, name)
    if row.paused:
        record["paused"] = True
    if row.health.blocked_until > now:
        record["blocked_until"] = row.health.blocked_until
    return line_of(record)
