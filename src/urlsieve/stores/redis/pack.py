"""What travels to the scripts and back, as bytes: each form stands here once, and once in lua/common or beside its script."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from urlsieve.errors import StoreCorrupt
from urlsieve.frontier.admit import DEAD_KEPT
from urlsieve.frontier.turn import pattern
from urlsieve.model import Change, Entry, Example, GroupRow, Health, HealthChange, Klass, Policy, Refused, Row, State

NONE = math.nan
HEAD = struct.Struct("<9d")
SPOT = struct.Struct("<BB8s16sdQdIIddd")
TAIL = struct.Struct("<16s8sdddB")
SINCE = struct.Struct("<Bd")
GROUP = struct.Struct("<BdddqddddIBdIIB16sBIdd")
ROW = struct.Struct("<dBdIId")
STAMP = struct.Struct("<dd8s")
TOKEN = struct.Struct("<d24s")
CHANGE = struct.Struct("<d24sBdBIIdddHdd")
HEALTH = struct.Struct("<IIB16sBIdd")
SITE = struct.Struct("<dd")
#: What of a site was fetched: pages, bytes; and what a domain has used: URLs, pages, bytes.
PAGES, DOMAIN = struct.Struct("<dd"), struct.Struct("<ddd")
POLICY = struct.Struct("<dddddB")
CONTEXT = struct.Struct("<dddd")
EXAMPLE = struct.Struct("<dBH")
EXAMPLE_AT = struct.Struct("<d")  # stands before it
_SIZE = struct.Struct("<I")

IS_BYTES, HAS_VIA, HAS_META, HAS_VARIANT = 1, 2, 4, 8
#: A shard's numbers, as lua/common/shard.lua names them; the policy follows.
COUNTERS = (
    *("entry", "ticket", "token", "turn", "accepted", "known", "seen", "pending", "leased", "delayed", "done", "dead"),
    *("pending.new", "pending.retry", "pending.revisit", "sites", "groups", "generation", "writes", "pgen", "rgen", "epoch", "relook"),
    "job",
)
_COUNTERS = struct.Struct(f"<{len(COUNTERS)}d")
EMPTY_SHARD = bytes(_COUNTERS.size)
#: The last four, and their first and last byte, for GETRANGE: the generation of its rules, and the number of the job it belongs to.
RULES_AND_JOB = struct.Struct("<4d")
RULES_AND_JOB_AT = (8 * COUNTERS.index("rgen"), 8 * COUNTERS.index("job") + 7)

KLASSES = tuple(Klass)
STATES = tuple(State)
KNOWN_STATE = 9


def some(value: float) -> float | None:
    return None if math.isnan(value) else value


def or_none(value: float | None) -> float:
    return NONE if value is None else value


def half_of(number: int) -> bytes:
    """A name's hash as the keys have it."""
    return number.to_bytes(8, "little", signed=True)


def number_of(half: bytes) -> int:
    return int.from_bytes(half, "little", signed=True)


class Head(NamedTuple):
    """What every answer of a shard begins with. wake, bury: by the server's clock, which is `shift` ahead of the caller's."""

    shift: float
    pgen: int
    rgen: int
    epoch: int
    top: float | None
    wake: float | None
    ready: int
    pending: int
    bury: float | None


def job_number(secret: int) -> int:
    """Tells a job from one made anew under its name, which has another secret. Never 0, which stands for none."""
    return 1 + int.from_bytes(hashlib.blake2b(secret.to_bytes(16, "little"), digest_size=6).digest(), "little")


def head(text: bytes) -> Head:
    shift, pgen, rgen, epoch, top, wake, ready, pending, bury = HEAD.unpack(text)
    return Head(shift, int(pgen), int(rgen), int(epoch), some(top), some(wake), int(ready), int(pending), some(bury))


def policy(value: Policy) -> bytes:
    """The part that the scripts go by; the order of class turns is `frontier.turn`'s."""
    numbers = (value.delay, or_none(value.concurrency), value.max_attempts, or_none(value.high_water), DEAD_KEPT)
    return POLICY.pack(*numbers, value.keep_urls) + bytes(pattern(value.shares))


def counters(text: bytes | None) -> dict[str, int]:
    """None: the shard is gone."""
    if text is None or len(text) < _COUNTERS.size:
        raise StoreCorrupt("the counters of a shard are gone or damaged: restore the server's data")
    return {name: int(value) for name, value in zip(COUNTERS, _COUNTERS.unpack_from(text), strict=True)}


# -- what was pushed


def common(priority: int, depth: int, via: str | None, meta: str | None, due: float | None, variant: bytes = b"") -> tuple[bytes, bytes]:
    """The middle of a body, for a URL that is text and for one that is bytes."""
    parts = [None if text is None else text.encode() for text in (via, meta)]
    flags, sizes, values = 0, b"", b""
    for bit, value in ((HAS_VIA, parts[0]), (HAS_META, parts[1]), (HAS_VARIANT, variant or None)):
        if value is not None:
            flags, sizes, values = flags | bit, sizes + _SIZE.pack(len(value)), values + value
    numbers = struct.pack("<ddd", priority, depth, or_none(due))
    rest = sizes + values
    return numbers + bytes((flags,)) + rest, numbers + bytes((flags | IS_BYTES,)) + rest


def body(fingerprint: bytes, group: bytes, middle: tuple[bytes, bytes], url: str | bytes) -> bytes:
    if isinstance(url, str):
        return b"".join((fingerprint, group, middle[0], url.encode()))
    return b"".join((fingerprint, group, middle[1], url))


class Body(NamedTuple):
    fingerprint: bytes
    group: bytes
    priority: int
    depth: int
    url: str | bytes
    via: str | None
    meta: str | None
    variant: bytes


def read_body(text: bytes) -> Body:
    """As the store has it: with its version and since."""
    if text[:1] != b"\1":
        raise StoreCorrupt("an entry has a form that this version of urlsieve does not know: use a newer one, or run verify")
    fingerprint, group, priority, depth, _, flags = TAIL.unpack_from(text, SINCE.size)
    at = SINCE.size + TAIL.size
    values: list[bytes | None] = []
    sizes = []
    for bit in (HAS_VIA, HAS_META, HAS_VARIANT):
        if flags & bit:
            sizes.append(_SIZE.unpack_from(text, at)[0])
            at += _SIZE.size
    for bit in (HAS_VIA, HAS_META, HAS_VARIANT):
        if flags & bit:
            size = sizes.pop(0)
            values.append(text[at : at + size])
            at += size
        else:
            values.append(None)
    via, meta, variant = values
    url: str | bytes = text[at:] if flags & IS_BYTES else text[at:].decode()
    words = (None if via is None else via.decode(), None if meta is None else meta.decode())
    return Body(fingerprint, group, int(priority), int(depth), url, *words, variant or b"")


class Spot(NamedTuple):
    """Where an entry is; times by the server's clock, shifted by whoever shows them."""

    state: int
    klass: Klass
    group: bytes
    fingerprint: bytes
    priority: int
    seq: int
    since: float
    attempt: int
    excused: int
    failed_at: float | None
    time: float | None
    again: float | None
    tail: bytes


def read_spot(text: bytes) -> Spot:
    state, klass, group, fp, priority, seq, since, attempt, excused, failed, time, again = SPOT.unpack_from(text)
    numbers = (int(priority), seq, since, attempt, excused, some(failed), some(time), some(again))
    return Spot(state, KLASSES[klass], group, fp, *numbers, text[SPOT.size :])


# -- tokens


def token(shard: int, number: int, stamp: bytes) -> str:
    """Opaque to workers: epoch, shard and entry, a number that only grows, and the chance of the call."""
    epoch, counter, chance = STAMP.unpack(stamp)
    return f"{int(epoch):x}-{shard:x}.{number:x}-{int(counter):x}-{chance.hex()}"


class Ticket(NamedTuple):
    shard: int
    number: int
    stamp: bytes


def read_token(text: str, shards: int) -> Ticket | None:
    """None: no token of this store."""
    parts = text.split("-")
    if len(parts) != 4 or len(parts[3]) != 16:
        return None
    try:
        shard, _, number = parts[1].partition(".")
        found = Ticket(int(shard, 16), int(number, 16), STAMP.pack(int(parts[0], 16), int(parts[2], 16), bytes.fromhex(parts[3])))
    except (ValueError, OverflowError):
        return None
    if not (0 <= found.shard < shards and 0 < found.number < 2**53) or token(*found) != text:
        return None
    return found


# -- rows, groups, changes


def group_row(half: bytes, text: bytes, shift: float, pending: int | None) -> GroupRow:
    paused, delay, concurrency, turn, leased, t0, t1, t2, _, _, _, _, version, failures, has, url, several, blocks, blocked, ok = (
        GROUP.unpack_from(text)
    )
    health = Health(version, failures, url if has else b"", bool(several), blocks, _back(blocked, shift), _back(ok, shift))
    most = some(concurrency)
    tops = tuple(None if (top := some(one)) is None else int(top) for one in (t0, t1, t2))
    return GroupRow(
        text[GROUP.size :].decode(),
        number_of(half),
        some(delay),
        None if most is None else int(most),
        bool(paused),
        _back(turn, shift),
        leased,
        pending,
        (tops[0], tops[1], tops[2]),
        health,
    )


def _back(time: float, shift: float) -> float:
    """By the caller's clock; 0 stands for never."""
    return time - shift if time else 0.0


def change(ticket: Ticket, value: Change) -> tuple[bytes, bytes]:
    reason = (value.reason or "").encode("utf-8", "replace")
    packed = CHANGE.pack(
        ticket.number,
        ticket.stamp,
        value.state,
        or_none(value.due),
        value.klass,
        value.attempt,
        value.excused,
        or_none(value.failed_at),
        value.next_turn,
        or_none(value.again),
        len(reason),
        value.pages,
        value.size,
    )
    counted = b"" if value.counted is None else value.counted[:80].encode("utf-8", "replace")
    return packed, reason + counted


def example(value: Example) -> bytes:
    via = (value.via or "").encode("utf-8", "replace")
    url = value.url if isinstance(value.url, bytes) else value.url.encode()
    return EXAMPLE.pack(value.depth, isinstance(value.url, bytes), len(via)) + via + url


def read_example(name: str, text: bytes) -> Refused:
    (at,) = EXAMPLE_AT.unpack_from(text)
    depth, is_bytes, size = EXAMPLE.unpack_from(text, EXAMPLE_AT.size)
    start = EXAMPLE_AT.size + EXAMPLE.size
    via, url = text[start : start + size].decode("utf-8", "replace"), text[start + size :]
    return Refused(name, at, url if is_bytes else url.decode("utf-8", "replace"), via or None, int(depth))


def health(value: HealthChange) -> bytes:
    h = value.health
    url = h.failed_url or bytes(16)
    numbers = (value.expected, h.failures, bool(h.failed_url), url, h.several, h.blocks, h.blocked_until, h.ok_at)
    return HEALTH.pack(*numbers)


def leased_row(token_text: str, spot: Spot, text: Body | None, group: str, site: str, shift: float) -> Row:
    """What `load` gives: a row whose times are the caller's."""
    again = None if spot.again is None else _back(spot.again, shift)
    failed = None if spot.failed_at is None else spot.failed_at - shift
    who = (token_text, spot.fingerprint if text else b"", text.url if text else "", site, group, number_of(spot.group))
    numbers = (spot.priority, text.depth if text else 0, spot.attempt, spot.klass, (spot.time or 0.0) - shift)
    return Row(*who, *numbers, None, None, b"", spot.excused, failed, again)


def admitted(entry: Entry) -> tuple[bytes, bytes]:
    """A spot with its reason, and what was pushed ("" without text). A leased one comes back as it was before it was given."""
    state, attempt = entry.state, entry.attempt
    if state is State.LEASED:
        state, attempt = State.PENDING, max(0, attempt - 1)
    time = entry.due if state is State.DELAYED else entry.settled if state is State.DEAD else None
    number = KNOWN_STATE if state is None else int(state)
    group = half_of(entry.group_id)
    numbers = (entry.priority, 0, or_none(entry.since), attempt, entry.excused, or_none(entry.failed_at), or_none(time), NONE)
    spot = SPOT.pack(number, entry.klass, group, entry.fingerprint, *numbers)
    reason = b"" if state not in (State.DELAYED, State.DEAD) else (entry.reason or "").encode("utf-8", "replace")
    if entry.url is None:
        return spot + reason, b""
    middle = common(entry.priority, entry.depth, entry.via, entry.meta, None, entry.variant)
    return spot + reason, body(entry.fingerprint, group, middle, entry.url)


def pairs(flat: Sequence[Any]) -> list[tuple[Any, Any]]:
    """[a, 1, b, 2] as pairs."""
    return list(zip(flat[::2], flat[1::2], strict=True))
