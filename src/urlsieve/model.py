"""The values that travel between the rooms: frozen, slotted, without behaviour. Times are float seconds since the epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

#: Why a URL is not taken: a closed list (interface.md).
REASONS = ("empty", "invalid", "scheme", "host", "too_long", "relative", "trap", "limit", "scope", "depth", "rule", "budget", "full")

#: On the command line P0…P3.
PRIORITIES = {"P0": 300, "P1": 200, "P2": 100, "P3": 0}


class State(IntEnum):
    """Where an accepted URL is; it is in exactly one of these."""

    PENDING = 0
    LEASED = 1
    DELAYED = 2
    DONE = 3
    DEAD = 4


class Klass(IntEnum):
    """Shares of a group's turns: so that retries and revisits neither starve new URLs nor are starved by them."""

    NEW = 0
    RETRY = 1
    REVISIT = 2


class Mode(IntEnum):
    """What an offer does with a fingerprint. MARK_DONE and MARK_KNOWN record without queueing (uniq, import)."""

    NEW = 0
    RAISE = 1
    AGAIN = 2
    MARK_DONE = 3
    MARK_KNOWN = 4


class Verdict(IntEnum):
    """A store's answer to one offer. FULL, LIMIT and BUDGET are rejections and mark nothing as seen."""

    SEEN = 0
    NEW = 1
    RAISED = 2
    REQUEUED = 3
    FULL = 4
    LIMIT = 5
    BUDGET = 6


@dataclass(frozen=True, slots=True)
class Budget:
    """At most so many of a site, a domain, a job, or a job's day: URLs accepted, pages fetched, bytes fetched. None: no limit."""

    urls: int | None = None
    pages: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class URLItem:
    """A URL to push, with its own values instead of the call's. `due`: not before; `variant`: further identity (method, body)."""

    url: str | bytes
    _: KW_ONLY
    priority: int = 0
    depth: int = 0
    via: str | None = None
    meta: Any = None
    due: float | None = None
    group: str | None = None
    variant: bytes = b""


class OfferRow(NamedTuple):
    """What a store keeps of a URL that it takes. `meta` is JSON text."""

    site: str
    group: str
    group_id: int
    url: str | bytes
    priority: int = 0
    depth: int = 0
    via: str | None = None
    meta: str | None = None
    due: float | None = None
    variant: bytes = b""


class Columns(NamedTuple):
    """Many rows that differ only in these: what a push of plain texts is. The rest stands once, as in OfferRow."""

    site: list[str]
    group: list[str]
    group_id: list[int]
    url: list[str | bytes]
    priority: int
    depth: int
    via: str | None
    meta: str | None
    due: float | None


class Earlier(NamedTuple):
    """What a URL's fingerprint was under earlier rules that told apart what today's merge, and the site that half of it is of."""

    fingerprint: bytes
    site: str


class Example(NamedTuple):
    """One URL of those that are counted as refused (kind "rejected") or left out by the caller ("skipped"), for people to look at."""

    kind: str
    reason: str
    url: str | bytes
    via: str | None = None
    depth: int = 0


class Refused(NamedTuple):
    """The same as a store has kept it. name: kind and reason with a dot between. Long texts are cut."""

    name: str
    at: float
    url: str | bytes
    via: str | None
    depth: int


#: Kept of each reason, and handed over at once, at most.
MOST_EXAMPLES = 100
#: Characters (or bytes) of a URL that are kept of an example.
LONGEST_EXAMPLE = 2000


class Level(NamedTuple):
    """A list of what another program has seen, as digests of 16 bytes: an imported level. kind: what they are digests of (levels.py).
    about: what is needed to make them, as text; "" where the kind says it all. digests: how many; bytes: their room, where it is known."""

    name: str
    kind: str
    about: str = ""
    digests: int = 0
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Offers:
    """A batch for `offer`: 16 bytes of fingerprint per URL in one block; `rows(positions)` is asked only for what the store must write.

    earlier: position → the fingerprints under which a URL may have been seen before today's rules, newest first; seen under one of them it
    is seen, and its own fingerprint is marked as known. elsewhere: positions of URLs that a list of another program has: the same.
    """

    fingerprints: bytes
    rows: Callable[[Sequence[int]], list[OfferRow]]
    rejected: Mapping[str, int] = field(default_factory=dict)  # refused before the store, by reason: counted there
    columns: Callable[[Sequence[int]], Columns] | None = None  # the same as rows where all are alike: much cheaper
    sites: Callable[[Sequence[int]], list[str]] | None = None  # only their sites: what a sharded store needs to find a fingerprint
    earlier: Mapping[int, tuple[Earlier, ...]] = field(default_factory=dict)
    elsewhere: frozenset[int] = frozenset()
    limits: Callable[[int], Mapping[str, Budget]] | None = None  # of a position, by unit: site, domain, job, day
    examples: Sequence[Example] = ()  # of the rejected, at most MOST_EXAMPLES, cut already


@dataclass(frozen=True, slots=True)
class Policy:
    """What `open` stores for all workers and the pure decisions read. Seconds where not said otherwise."""

    delay: float = 0.0
    concurrency: int | None = None
    max_attempts: int = 3
    backoff: float = 10.0
    factor: float = 0.0  # next turn at least factor x fetch time after a settle
    block: float = 60.0  # first block of a group that asks for none in particular; doubles
    high_water: int | None = None  # pending + delayed from which low priorities are refused
    shares: tuple[int, int, int] = (6, 2, 2)  # turns for new, retry, revisit
    keep_urls: bool = True  # the text of done URLs stays


@dataclass(frozen=True, slots=True)
class Header:
    """What is bound to a store at creation; a difference is a StoreMismatch that names the field."""

    profile: str
    secret: int
    group_by: str
    identity: str
    canonical_version: int
    vectors: str  # digest of the canonical form's own test vectors
    suffixes: str = ""  # group_by "domain": the public suffix list as it was at creation (zlib, base85)


class Entry(NamedTuple):
    """All that a store knows of one URL: what `Store.entries` gives, `Store.admit` takes, and an export carries.

    url: as found, None where its text is not kept (known; done and old dead ones of a store without keep_urls).
    group: "" where it is not known any more. due: of delayed ones. reason, failed_at: of the last failure. settled: when it became dead.
    since: when it began to wait.
    """

    fingerprint: bytes
    state: State | None  # None: known (marked seen by an import, never accepted)
    site: str
    group: str = ""
    group_id: int = 0
    url: str | bytes | None = None
    priority: int = 0
    depth: int = 0
    via: str | None = None
    meta: str | None = None
    variant: bytes = b""
    klass: Klass = Klass.NEW
    attempt: int = 0
    excused: int = 0
    failed_at: float | None = None
    due: float | None = None
    reason: str | None = None
    settled: float | None = None
    since: float | None = None


class Row(NamedTuple):
    """A leased entry as the store has it: what the worker gets and what `settle` decides on."""

    token: str
    fingerprint: bytes
    url: str | bytes
    site: str
    group: str
    group_id: int
    priority: int
    depth: int
    attempt: int
    klass: Klass
    deadline: float
    via: str | None
    meta: str | None
    variant: bytes
    excused: int  # times a block took this URL's attempt back
    failed_at: float | None  # its last failure
    again: float | None  # asked for again while leased: when it is wanted (0: at once)


@dataclass(frozen=True, slots=True)
class Health:
    """What a group's last answers say about it; changed only by compare-and-set on `version`."""

    version: int = 0
    failures: int = 0  # in a row
    failed_url: bytes = b""  # fingerprint of the last failure: the probe must be another
    several: bool = False  # the failures in a row come from more than one URL
    blocks: int = 0  # blocks in a row; > 0 means: one probe at a time until one succeeds
    blocked_until: float = 0.0
    ok_at: float = 0.0  # last success


class Change(NamedTuple):
    """One leased entry's new state. The store applies it only if `token` is current."""

    token: str
    state: State
    due: float | None = None
    klass: Klass = Klass.NEW
    attempt: int = 0
    excused: int = 0
    failed_at: float | None = None
    reason: str | None = None
    counted: str | None = None  # name under which a skip is counted
    next_turn: float = 0.0  # the group's turn is not before this; less than 0: minus the lease's seconds, the turn it took is given back
    again: float | None = None  # the row's, as the decision saw it: compared, like the token
    pages: int = 0  # used of the budgets of its site, domain, job and day
    size: int = 0  # bytes
    targets: tuple[tuple[bytes, OfferRow], ...] = ()  # redirect targets: entries of their own, done


@dataclass(frozen=True, slots=True)
class HealthChange:
    group_id: int
    expected: int  # version the decision was made on
    health: Health
    group: str = ""  # its name: where a sharded store has it


@dataclass(frozen=True, slots=True)
class Lease:
    """A URL that belongs to this worker until `deadline`. `url` is as found; `key` its canonical form; `meta` what was pushed."""

    url: str
    key: str
    site: str
    group: str
    token: str
    attempt: int
    priority: int
    depth: int
    via: str | None
    meta: Any
    deadline: float
    previous: Previous | None = None
    variant: bytes = b""
    klass: str = "new"  # or retry, revisit


@dataclass(frozen=True, slots=True)
class Previous:
    etag: str | None = None
    last_modified: str | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a lease. kind: done | fail | skip | release. Fields as the arguments of the methods of these names."""

    kind: str = "done"
    _: KW_ONLY
    status: int | None = None
    reason: str | None = None
    retry_after: float | None = None
    elapsed: float | None = None
    final_url: str | None = None
    redirects: tuple[str, ...] = ()
    links: tuple[str | URLItem, ...] = ()
    #: Links the caller left out, by a word of REASONS: counted as rejected. Some of them may follow, for people to look at.
    refused: tuple[tuple[str, int] | tuple[str, int, Sequence[str]], ...] = ()
    signature: Any = None
    etag: str | None = None
    last_modified: str | None = None
    size: int | None = None  # bytes fetched: they count where there are budgets
    not_before: float | None = None
    group_until: float | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """state: done | delayed | dead | pending | lost. change: new | changed | unchanged | … (None: nothing known about content)."""

    token: str
    state: str
    change: str | None = None
    due: float | None = None


class SiteRow(NamedTuple):
    """A site as the store counts it."""

    name: str
    seen: int
    pending: int
    leased: int
    delayed: int
    done: int
    dead: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A politeness group: settings (None: the policy's), turn, health, and its queue. `tops`: highest waiting priority per class."""

    name: str
    id: int
    delay: float | None
    concurrency: int | None
    paused: bool
    next_turn: float
    leased: int
    pending: int | None  # None where it was not counted
    tops: tuple[int | None, int | None, int | None]
    health: Health
    asleep: str | None = None  # why its next turn is late; None also where nobody asked for that


@dataclass(frozen=True, slots=True)
class EntryInfo:
    """What `explain --store` and `why` show of one URL."""

    state: str  # State's name in lower case, or "known", or "unseen"
    group: str | None = None
    klass: str | None = None
    priority: int | None = None
    attempt: int | None = None
    due: float | None = None
    deadline: float | None = None
    depth: int | None = None
    via: str | None = None
    url: str | bytes | None = None
    reason: str | None = None
    ahead: int | None = None  # pending URLs of its group that come first (counted up to 1,000)
    level: str | None = None  # what of the seen set answered: table (not in a run yet), runs, server, or "imported" and the level's name


@dataclass(frozen=True, slots=True)
class Asked:
    """What this opener of a store has asked one level of its seen set. asked, yes: fingerprints, and those that it knew, also as
    forgotten; calls: batches; ns: nanoseconds for a fingerprint, of a sample of the calls (None: none yet)."""

    asked: int
    yes: int
    calls: int
    ns: float | None

    def as_dict(self) -> dict[str, int | float | None]:
        ns = None if self.ns is None else round(self.ns, 1)
        return {"asked": self.asked, "yes": self.yes, "no": self.asked - self.yes, "calls": self.calls, "ns": ns}


@dataclass(frozen=True, slots=True)
class Counts:
    """A store's own counts, kept independently of one another. `rejected` by reason, `skipped` by the caller's reason."""

    accepted: int
    known: int
    seen: int
    states: Mapping[State, int]
    classes: Mapping[Klass, int]  # pending by class
    rejected: Mapping[str, int]
    skipped: Mapping[str, int]
    sites: int
    groups: int
    oldest_pending: float | None
    oldest_sampled: bool  # not all groups were looked at
    bytes: Mapping[str, int | None]
    epoch: int
    generation: int
    rules_generation: int
    levels: Mapping[str, Asked] = field(default_factory=dict)  # of this opener, where the store counts it
