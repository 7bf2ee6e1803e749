"""A store in, its failed list out: the dead URLs with their reasons; and those of them that are wanted again back into the queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from urlsieve import checks
from urlsieve.answers import Failed
from urlsieve.batch import as_found, readable, storable
from urlsieve.errors import ConfigError
from urlsieve.model import Entry, Mode, OfferRow, Offers, State, Verdict
from urlsieve.stores.protocol import Offered, Store

#: URLs brought back in one atomic step.
STEP = 1_000


def failed(store: Store, now: float, *, site: str | None = None, reason: str | None = None) -> Iterator[Failed]:
    """`site`: only this one; `reason`: only these, where `*` stands for any text."""
    for entry in store.entries(now, frozenset([State.DEAD])):
        if (site is None or entry.site == site) and (reason is None or fnmatchcase(entry.reason or "", reason)):
            yield _of(entry)


def _of(entry: Entry) -> Failed:
    return Failed(
        None if entry.url is None else readable(entry.url),
        entry.site,
        entry.group or None,
        entry.reason,
        entry.attempt,
        entry.settled if entry.failed_at is None else entry.failed_at,
        entry.priority,
        entry.depth,
        entry.via,
        None if entry.meta is None else json.loads(entry.meta),
        entry.variant,
        entry.fingerprint,
    )


def retry(store: Store, chosen: Iterable[Failed], offered: Callable[[Offers, Mode], Offered], name_hash: Callable[[str], int]) -> int:
    """Those of `chosen` that are still dead, and whose text is kept, wait again with a new count of attempts. How many.
    `offered`: what becomes of an offer; where somebody has changed the rules meanwhile, what is dead is looked for again: it may have
    another fingerprint now, and would be taken for a new URL under this one."""
    source, total = iter(chosen), 0
    while batch := list(islice(source, STEP)):
        while True:
            rows = [_row(one, name_hash) for one in batch if _is_dead(store, one)]
            found = [row for row in rows if row is not None]
            if not found:
                break
            given = [row for _, row in found]
            offers = Offers(b"".join(fingerprint for fingerprint, _ in found), lambda at, given=given: [given[i] for i in at])  # type: ignore[misc]
            answer = offered(offers, Mode.AGAIN)
            total += answer.verdicts.count(Verdict.REQUEUED)
            if not answer.stale_rules:
                break
    return total


def _is_dead(store: Store, one: Any) -> bool:
    """The list may be old: what was brought back since, and perhaps fetched, must not be fetched again."""
    if not isinstance(one, Failed):
        raise ConfigError(f"retry takes what failed() gives, not {type(one).__name__}")
    return store.info(one.site, one.fingerprint).state == State.DEAD.name.lower()


def _row(one: Failed, name_hash: Callable[[str], int]) -> tuple[bytes, OfferRow] | None:
    if one.url is None:
        return None
    group = one.group or one.site
    url = storable(as_found(one.url))
    meta = checks.to_json(one.meta)
    return one.fingerprint, OfferRow(one.site, group, name_hash(group), url, one.priority, one.depth, one.via, meta, None, one.variant)
