"""Outcomes in, lines about the pages they tell of out, for the store to keep; and what the store has kept out again as proposals.

Only pages count that were fetched with a status of 2xx, and of which a signature or redirects are told; nothing else costs anything.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from urlsieve._kernel import siphash24
from urlsieve.batch import as_found, readable
from urlsieve.canon import Canonicalizer
from urlsieve.canon.switches import switched
from urlsieve.grouping import registrable
from urlsieve.model import Lease, Outcome, Row
from urlsieve.stores.protocol import Evidence, Store, Witnessed

if TYPE_CHECKING:  # a filter is started often: imported when something is witnessed
    from urlsieve.canon.evidence import Weighed
    from urlsieve.canon.likeness import DomainOf
    from urlsieve.canon.proposals import Proposals
    from urlsieve.canon.rules import Rules
    from urlsieve.canon.witnesses import Log, Told

#: After so many lines of its own a worker looks whether there are too many in the store.
LOOK = 2_000
#: A part that is so full is folded, to so much.
FULL, FOLDED = 0.5, 0.25


def mark_of(signature: object, key: bytes) -> str | None:
    """16 hexadecimal digits that are equal if the signatures are; None where it says nothing."""
    data = signature if isinstance(signature, bytes) else b"" if signature is None else str(signature).encode("utf-8", "surrogatepass")
    return f"{siphash24(key, b'signature' + data):016x}" if data else None


def tells(outcome: Outcome) -> bool:
    """Does it say something about what is one page?"""
    if outcome.signature is None and outcome.final_url is None and not outcome.redirects:
        return False
    status = 200 if outcome.status is None else outcome.status
    return outcome.kind == "done" and 200 <= status < 300


def pages(store: Store, pairs: Sequence[tuple[Lease | str, Outcome]]) -> list[tuple[Lease | Row, Outcome]]:
    """What was fetched: of a token alone the store knows it. A lost one is left out."""
    tokens = list({ticket for ticket, _ in pairs if isinstance(ticket, str)})
    rows = dict(zip(tokens, store.load(tokens)[0], strict=True)) if tokens else {}
    known = ((ticket if isinstance(ticket, Lease) else rows[ticket], outcome) for ticket, outcome in pairs)
    return [(one, outcome) for one, outcome in known if one is not None]


class Witness:
    """Of one sieve. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._works = switched(store.header.profile).base == "safe"  # others take no rules
        self._shares: dict[str, int] = {}
        self._left, self._lock = LOOK, threading.Lock()

    def witnessed(self, pairs: Iterable[tuple[Lease | Row, Outcome]], canonicalizer: Canonicalizer) -> list[Witnessed]:
        """(what was fetched, outcome) each, of outcomes that tell something."""
        if not self._works:
            return []
        from urlsieve.canon.witnesses import ALL_PAGES, Told, fits, host_of, line_of, number_of

        key = self._store.header.secret.to_bytes(16, "little")
        found: list[Witnessed] = []
        for fetched, outcome in pairs:
            if fetched.variant:
                continue
            given = fetched.url if isinstance(fetched, Lease) else readable(fetched.url)
            url = given if fits(given) else _fitting(given, None, canonicalizer)
            if url is None or (self._shares and number_of(url) >= self._shares.get(host_of(url), ALL_PAGES)):
                continue
            final = outcome.final_url or (outcome.redirects[-1] if outcome.redirects else None)
            final = None if final in (None, url) else _fitting(final, url, canonicalizer)
            mark = mark_of(outcome.signature, key)
            if mark is not None or final is not None:
                found.append(Witnessed(fetched.site, line_of(Told(url, mark, final))))
        return found

    def added(self, many: int) -> bool:
        """So many lines were kept. Is it time to look for too many?"""
        with self._lock:
            self._left -= many
            if self._left > 0:
                return False
            self._left = LOOK
            return True

    def tend(self, canonicalizer: Canonicalizer) -> None:
        """Where there are too many lines, those of some pages go; of which, this and all other workers learn from those that stay."""
        from urlsieve.canon.witnesses import read

        for part in self._store.evidence(FULL):
            folded = _folded(part, canonicalizer, registrable(self._store.header.suffixes))
            if self._store.fold_evidence(part, folded):
                self._shares.update(read([folded]).shares)


def _fitting(url: str, base: str | None, canonicalizer: Canonicalizer) -> str | None:
    """The URL, absolute, as it is or else its key, as it can stand in a line; None: it cannot."""
    from urlsieve.canon.witnesses import fits

    keys = canonicalizer.canonicalize_many([as_found(url)], base=base)
    key = keys[0]
    absolute = "" if key is None else keys.absolute(0)
    return next((one for one in (absolute, key) if isinstance(one, str) and fits(one)), None)


def _folded(part: Evidence, canonicalizer: Canonicalizer, domain_of: DomainOf) -> bytes:
    from urlsieve.canon.evidence import kept_by, weighed
    from urlsieve.canon.witnesses import read, thinned, written

    log = read([part.text])
    keys = _keys(log.told, canonicalizer)
    kept = kept_by(weighed(log.told, keys, domain_of), keys)
    return written(thinned(log, int(FOLDED * part.most), kept, lambda host: domain_of(host) or host))


def _keys(told: Sequence[Told], canonicalizer: Canonicalizer) -> dict[str, str | None]:
    urls = list(dict.fromkeys(url for one in told for url in (one.url, one.final) if url is not None))
    return dict(zip(urls, canonicalizer.canonicalize_many(urls), strict=True))


def gathered(store: Store, canonicalizer: Canonicalizer) -> tuple[Weighed, Log]:
    """All that the store has, under today's rules."""
    from urlsieve.canon.evidence import weighed
    from urlsieve.canon.witnesses import read

    log = read(part.text for part in store.evidence())
    return weighed(log.told, _keys(log.told, canonicalizer), registrable(store.header.suffixes)), log


def proposals(store: Store, canonicalizer: Canonicalizer, rules: Rules | None) -> Proposals:
    from urlsieve.canon.proposals import proposals as made_of

    result, log = gathered(store, canonicalizer)
    return made_of(result, rules, log.verified, registrable(store.header.suffixes))
