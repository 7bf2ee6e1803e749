"""Everything a ledger knows of its URLs out, entry by entry, and entries of another store in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from urlsieve.model import Entry, Klass, Policy, State, Verdict
from urlsieve.stores.counting import STATE_NAMES
from urlsieve.stores.embedded import look, packed, queue, seen, unpacking
from urlsieve.stores.embedded.groups import Arrivals
from urlsieve.stores.embedded.ledger import Ledger, Transaction, scalar
from urlsieve.stores.embedded.queue import Spot
from urlsieve.stores.embedded.runs import FIRST
from urlsieve.stores.embedded.sites import Limits, Sites, site_id
from urlsieve.stores.protocol import refuse_unfit

SLICE = 1000
_WITHOUT_TEXT: dict[int, State | None] = {seen.KNOWN: None, seen.DONE_WITHOUT_TEXT: State.DONE, seen.DEAD_WITHOUT_TEXT: State.DEAD}


class _Given:
    """Ids of text that were given already: one bit each, for they are dense."""

    def __init__(self) -> None:
        self._bits = bytearray()

    def add(self, number: int) -> None:
        at = number >> 3
        if at >= len(self._bits):
            self._bits.extend(bytes(at + 1 - len(self._bits) + 4096))
        self._bits[at] |= 1 << (number & 7)

    def __contains__(self, number: int) -> bool:
        at = number >> 3
        return at < len(self._bits) and bool(self._bits[at] >> (number & 7) & 1)


def entries(ledger: Ledger, states: frozenset[State | None] | None) -> Iterator[Entry]:
    """In four passes, each in slices: the queue in its order, what is held, the blocks of texts, then the seen set. Whatever moved
    between the others is met in the last, which leaves out what was given already. Where only held ones are wanted, the held are looked
    at twice instead, and of the seen set only what has no text: the failed list of a large store is short."""
    wanted = frozenset([None, *State]) if states is None else states
    given = _Given()
    only_held = wanted <= _HELD
    for ids in chain(_queue_slices(ledger, wanted), _held_slices(ledger, wanted), _held_slices(ledger, wanted) if only_held else ()):
        for number, entry in _slice(ledger, [number for number in ids if number not in given]):
            if entry.state in wanted:
                given.add(number)
                yield entry
    last_block = 0
    if State.DONE in wanted:
        with ledger.read() as db:
            last_block = scalar(db, "SELECT max(block) FROM slots") or 0
        yield from unpacking.entries(ledger, last_block)
    if not only_held or State.DEAD in wanted:
        yield from _the_rest(ledger, wanted, given, last_block, texts=not only_held)


_HELD = frozenset([State.LEASED, State.DELAYED, State.DEAD])


_NEXT_PENDING = "SELECT grp, class, np, seq, id FROM pending WHERE (grp, class, np, seq) > (?, ?, ?, ?) ORDER BY 1, 2, 3, 4 LIMIT ?"


def _queue_slices(ledger: Ledger, wanted: frozenset[State | None]) -> Iterator[list[int]]:
    if State.PENDING in wanted:
        at: tuple[Any, ...] = (-(2**63), -1, 0, 0)
        while True:
            with ledger.read() as db:
                rows = db.execute(_NEXT_PENDING, (*at, SLICE)).fetchall()
            if not rows:
                break
            at = rows[-1][:4]
            yield [row[4] for row in rows]


def _held_slices(ledger: Ledger, wanted: frozenset[State | None]) -> Iterator[list[int]]:
    if wanted & _HELD:
        last = 0
        while True:
            with ledger.read() as db:
                ids = [row[0] for row in db.execute("SELECT id FROM held WHERE id > ? ORDER BY id LIMIT ?", (last, SLICE))]
            if not ids:
                break
            last = ids[-1]
            yield ids


def _the_rest(ledger: Ledger, wanted: frozenset[State | None], given: _Given, last_block: int, *, texts: bool) -> Iterator[Entry]:
    """Without what is in the blocks up to this one: those were given."""
    newer = packed.entry_of(last_block + 1, 0)
    at: bytes | None = FIRST
    while at is not None:
        with ledger.look() as tx:  # marks and texts of one moment: one that is done meanwhile may lose its text
            pairs, at = seen.part(tx, at)
            found = _full(tx, [entry for _, entry in pairs if entry > 0 and entry not in given]) if texts else {}
            names = look.site_names(tx, [fp for fp, entry in pairs if entry <= 0])
            of_new_blocks = unpacking.read(tx, [(fp, entry) for fp, entry in pairs if entry <= newer]) if State.DONE in wanted else []
        yield from of_new_blocks
        for fp, entry in pairs:
            if entry > 0:
                full = found.get(entry)
                if full is not None and full.state in wanted:
                    yield full
            elif entry > seen.PACKED and _WITHOUT_TEXT[entry] in wanted:
                yield Entry(fp, _WITHOUT_TEXT[entry], names.get(site_id(fp), ""))


def _slice(ledger: Ledger, ids: Sequence[int]) -> Iterator[tuple[int, Entry]]:
    """Those that have a text, in the order given."""
    if not ids:
        return
    with ledger.look() as tx:
        found = _full(tx, ids)
    for number in ids:
        if number in found:
            yield number, found[number]


def _full(tx: Transaction, ids: Sequence[int]) -> dict[int, Entry]:
    spots = queue.locate(tx, ids)
    texts = {row[0]: row[1:] for row in tx.rows("SELECT id, fp, url, grp, priority, depth FROM text WHERE id IN", ids)}
    extras = {row[0]: row[1:] for row in tx.rows("SELECT id, via, meta, variant FROM extra WHERE id IN", ids)}
    reasons = {row[0]: row[1:] for row in tx.rows("SELECT id, reason, settled FROM held WHERE id IN", ids)}
    groups = dict(tx.rows("SELECT id, name FROM grp WHERE id IN", list({text[2] for text in texts.values()})))
    names = dict(tx.rows("SELECT id, name FROM site WHERE id IN", list({site_id(text[0]) for text in texts.values()})))
    found = {}
    for number, (fp, url, grp, priority, depth) in texts.items():
        via, meta, variant = extras.get(number, (None, None, None))
        reason, settled = reasons.get(number, (None, None))
        spot = spots.get(number) or Spot(number, State.DONE, grp, Klass.NEW, priority, 0, 0.0)
        found[number] = Entry(
            fp,
            spot.state,
            names.get(site_id(fp), ""),
            groups.get(grp, ""),
            grp,
            url,
            spot.priority,
            depth,
            via,
            meta,
            variant or b"",
            Klass(spot.klass),
            spot.attempt,
            spot.excused,
            spot.failed_at,
            spot.due if spot.state is State.DELAYED else None,
            reason,
            settled,
            None if spot.state is State.DONE else spot.since,
        )
    return found


# -- in


def admit(
    tx: Transaction,
    given: Sequence[Entry],
    skipped: Mapping[str, int],
    groups: Mapping[int, str],
    *,
    policy: Policy,
    now: float,
    sites: Sites,
) -> bytes:
    """One verdict per entry. What is not seen is taken as it is; the first of equals in the batch wins."""
    refuse_unfit(given)
    keys = [entry.fingerprint for entry in given]
    found = seen.find(tx, keys)
    fresh: dict[bytes, Entry] = {}
    verdicts = bytearray(len(given))
    for i, entry in enumerate(given):
        if entry.fingerprint not in found and entry.fingerprint not in fresh:
            fresh[entry.fingerprint] = entry
            verdicts[i] = Verdict.NEW
    _take(tx, list(fresh.values()), groups, policy, now, sites)
    for reason, many in skipped.items():
        tx.tally("skipped", reason, many)
    return bytes(verdicts)


def _take(tx: Transaction, fresh: Sequence[Entry], groups: Mapping[int, str], policy: Policy, now: float, sites: Sites) -> None:
    first = tx.take("entry", len(fresh))
    arrivals = Arrivals()
    for group_id, name in groups.items():
        arrivals.name(group_id, name)
    sites.add(tx, {entry.fingerprint[:8]: entry.site for entry in fresh})
    marks = [_mark(entry, number, policy.keep_urls) for number, entry in enumerate(fresh, first)]
    kept = [(number, entry) for number, entry in enumerate(fresh, first) if marks[number - first] > 0]
    tx.executemany(
        "INSERT INTO text (id, fp, url, grp, priority, depth) VALUES (?, ?, ?, ?, ?, ?)",
        [(number, bytearray(e.fingerprint), e.url, e.group_id, e.priority, e.depth) for number, e in kept],
    )
    tx.finished += [number for number, entry in kept if entry.state is State.DONE]
    variants = [(number, e.variant) for number, e in kept if e.state is State.DONE and e.variant]
    tx.executemany("INSERT INTO extra (id, variant) VALUES (?, ?)", variants)
    waiting = [(number, entry) for number, entry in kept if entry.state is not State.DONE]
    extras = [(number, e.via, e.meta, e.variant or None) for number, e in waiting if e.via is not None or e.meta is not None or e.variant]
    tx.executemany("INSERT INTO extra (id, via, meta, variant) VALUES (?, ?, ?, ?)", extras)
    for entry in fresh:
        if entry.group:
            arrivals.name(entry.group_id, entry.group)
        tx.count("known" if entry.state is None else "accepted")
        if entry.state in (State.DONE, State.DEAD, State.DELAYED):
            tx.count(STATE_NAMES[entry.state])
    pending = [_spot(number, e, now) for number, e in waiting if e.state in (State.PENDING, State.LEASED)]
    queue.put_pending(tx, pending, arrivals)
    _hold(tx, [(number, e) for number, e in waiting if e.state in (State.DELAYED, State.DEAD)], now)
    seen.add(tx, [entry.fingerprint for entry in fresh], marks)
    limits = Limits(tx, (entry.fingerprint for entry in fresh))
    for entry in fresh:
        if entry.state is not None:
            limits.taken(entry.fingerprint)
    limits.write(None)  # an import is not today's work
    arrivals.write(tx, policy, now)


def _hold(tx: Transaction, held: Sequence[tuple[int, Entry]], now: float) -> None:
    rows = []
    for number, e in held:
        spot = _spot(number, e, now)
        due = (now if e.due is None else e.due) if e.state is State.DELAYED else None
        settled = (now if e.settled is None else e.settled) if e.state is State.DEAD else None
        rows.append((number, int(spot.state), *spot[2:10], due, e.reason, settled))
    tx.executemany(
        "INSERT INTO held (id, state, grp, class, priority, seq, since, attempt, excused, failed_at, due, reason, settled) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )


def _mark(entry: Entry, number: int, keep_urls: bool) -> int:
    """What the seen set says of it: the id of its text, or why it has none."""
    if entry.state is None:
        return seen.KNOWN
    if entry.url is not None and (keep_urls or entry.state is not State.DONE):
        return number
    return seen.DEAD_WITHOUT_TEXT if entry.state is State.DEAD else seen.DONE_WITHOUT_TEXT


def _spot(number: int, entry: Entry, now: float) -> Spot:
    """A leased one comes back as it was before it was given."""
    state = State.PENDING if entry.state is State.LEASED else entry.state or State.PENDING
    attempt = max(0, entry.attempt - 1) if entry.state is State.LEASED else entry.attempt
    since = now if entry.since is None else entry.since
    known = (entry.group_id, int(entry.klass), entry.priority, number, since, attempt, entry.excused, entry.failed_at)
    return Spot(number, state, *known, entry.due)
