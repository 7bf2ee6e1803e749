"""What every store does: batch operations on fingerprints and tokens, each with its guarantee.

A store compares and sets; `frontier` and the façade decide. `now` and `chance` are arguments, so that tests run in virtual time.
Every operation is atomic (whole or not at all) unless its docstring says otherwise, and is durable when it returns, as configured at
opening. `lease` and `extend` need not be durable: a lease lost in a power cut is a URL given again under a token of another epoch.

A store may have shards: everything of one registrable domain lies in one. What is said of a batch, a call or an order then holds in each
shard; a batch over several is one step in each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from urlsieve.errors import ConfigError
from urlsieve.frontier.budget import Usage
from urlsieve.model import (
    Change,
    Counts,
    Entry,
    EntryInfo,
    GroupRow,
    Header,
    HealthChange,
    Level,
    Mode,
    Offers,
    Policy,
    Refused,
    Row,
    SiteRow,
    State,
)


class Offered(NamedTuple):
    """One `Verdict` value per offer, in order. `stale_rules`: the caller's rules are older than the store's, and it comes again under
    newer ones; nothing was done but what the verdicts say (if there are any): by shards that had not heard of those yet."""

    verdicts: bytes
    stale_rules: bool = False


class Leased(NamedTuple):
    """Rows given, and when asking again is worth it (None: not before something is pushed or settled)."""

    rows: list[Row]
    next_at: float | None
    reaped: int = 0
    generation: int = 0  # of the store's rules


class Ruled(NamedTuple):
    """The rules as a store has them: their generation, the book (opaque to stores), and whether the last change of them is complete."""

    generation: int
    book: str
    swept: bool = True


class Kept(NamedTuple):
    """An entry whose text is kept: what its fingerprint may be made of again."""

    fingerprint: bytes
    url: str | bytes
    variant: bytes


class Sweep(NamedTuple):
    """What a change of rules makes of the entries of the sites that it touches.

    covers(site): URLs of this site may have other fingerprints than before. moved(entries): for each its own fingerprint and site under the
    new rules, None where its text is no URL under them. forgets(site): fingerprints of this site may stand for pages that are told
    apart now and were not before: those that no text speaks for are taken back.
    """

    covers: Callable[[str], bool]
    forgets: Callable[[str], bool]
    moved: Callable[[Sequence[Kept]], list[tuple[bytes, str] | None]]


class Swept(NamedTuple):
    """sites: how many were looked at. forgotten: fingerprints that are not seen any more because no text speaks for them; moved: entries
    under another fingerprint than before; merged: entries that went because there was one under it already; left: without text, as they
    were."""

    sites: int = 0
    forgotten: int = 0
    moved: int = 0
    merged: int = 0
    left: int = 0


class Witnessed(NamedTuple):
    """A line about a fetched page, opaque to stores, of a site."""

    site: str
    line: bytes


class Evidence(NamedTuple):
    """What is witnessed in one part of the store: lines. most: bytes that fit into the part. version: changes whenever something else
    happens to it than that lines are added."""

    part: int
    most: int
    version: int
    text: bytes


class Keyed(NamedTuple):
    """A kept text under another header: its new fingerprint and site, or why it is none there (a word of REASONS). olds: fingerprints that
    it may have had in this store."""

    fingerprint: bytes
    site: str
    refused: str | None
    olds: tuple[bytes, ...]


class Rekeying(NamedTuple):
    """How a store gets another header. level: where fingerprints go that no text accounts for. `keyed(entries)`: in order; of an entry from
    a block the fingerprint is b"". name_hash: the id of a site or group under it. exact: what texts were called here can be computed; else
    a text is taken to account for its fingerprint, whatever that is. estimates: the name of blobs that count fingerprints; they go.
    random: the secret was drawn, so that another rekey for a drawn one means the same."""

    header: Header
    level: Level
    keyed: Callable[[Sequence[Kept]], list[Keyed]]
    name_hash: Callable[[str], int]
    exact: bool
    estimates: str
    random: bool = False


class Rekeyed(NamedTuple):
    """entries: under new fingerprints. merged: entries that went because another became the same; refused: by reason, texts that are no URL
    under the new form. imported: fingerprints that no text accounts for, which the imported level `level` has now ("": there were none).
    kept: URLs that an interrupted rekey had through, with which this one went on; anew: why it could not ("": it did, or there was
    none)."""

    entries: int = 0
    merged: int = 0
    refused: Mapping[str, int] = MappingProxyType({})
    imported: int = 0
    level: str = ""
    kept: int = 0
    anew: str = ""


class StaleRules(Exception):
    """Nothing was done, but by shards that had not heard of it: the caller's rules are older than the store's. It reads them and comes
    again; what was done in vain is found again, or swept."""


#: Bytes of evidence in a store, and in one of its parts at least.
MOST_EVIDENCE, LEAST_EVIDENCE = 16 << 20, 512 << 10

#: Flags of `settle`.
LOST, APPLIED, OUTDATED = 0, 1, 2


def refuse_unfit(entries: Sequence[Entry]) -> None:
    """ConfigError for the first entry that `admit` cannot take: what waits must be fetchable, and some group must give it."""
    for entry in entries:
        if entry.state in (None, State.DONE, State.DEAD):
            continue
        lacks = "URL: it could not be fetched" if entry.url is None else "" if entry.group else "group: nobody would give it"
        if lacks:
            raise ConfigError(f"an entry of {entry.site or 'an unknown site'} is {entry.state.name.lower()} but has no {lacks}")


class Store(Protocol):
    """One job's URLs."""

    header: Header
    address: str

    def policy(self, *, fresh: bool = True) -> Policy:
        """The policy all workers share, as it is now. Not `fresh`: as of this store's last answer, without asking; `settle` refuses
        what was decided under an older one."""

    def set_policy(self, **change: Any) -> None:
        """Replaces these fields only, whatever others change at the same time."""

    def offer(self, offers: Offers, mode: Mode, generation: int, now: float) -> Offered:
        """Mark and enqueue what is new, as one atomic step for the whole batch; the first of equals in a batch wins.

        - NEW: each fingerprint not seen is marked and queued. RAISE: also lifts priority and due of one pending or delayed.
        - AGAIN: done or dead becomes pending (or delayed until `due`) with a new count of attempts; a leased one returns after it is
          settled; one that was never seen is taken as new, one pending or delayed is lifted like RAISE.
        - MARK_DONE / MARK_KNOWN: not seen becomes done (accepted) or known, never queued.
        - FULL above the high-water mark, LIMIT above a site's limit: not marked seen. With `limits`, in a store that reckons, LIMIT and
          BUDGET as `frontier.budget.refusal` says of each that would be accepted for the first time, one after the other; in a sharded
          store the job's and the day's other shards are as they were before the call.
        - One that is seen under an `earlier` fingerprint only is that entry in all of this; its own is marked as known. One that is seen
          `elsewhere` only is marked as known, and SEEN.
        """

    def reckon(self) -> None:
        """From now on what is used up of sites, domains, job and day is counted, by everybody; what sites have accepted already is
        counted once. Pages and bytes count from now on. Repeating it is harmless and cheap."""

    def used(self, sites: Mapping[str, int], now: float, *, whole: bool = True) -> Usage:
        """What is used up, with that of these sites (name → id) and their domains. In a sharded store the job's and the day's are read
        shard by shard; not `whole`: nobody looks at these."""

    def contains(self, offers: Offers, generation: int | None = None) -> bytes:
        """One flag per offer: 1 seen, also under an earlier fingerprint or elsewhere. Writes nothing. StaleRules: the fingerprints were
        made under rules of an older `generation`, and may be those of other pages now."""

    def lease(
        self, limit: int, ttl: float, now: float, *, chance: bytes, groups: Sequence[str] | None = None, group_ids: Sequence[int] = ()
    ) -> Leased:
        """First (at most 1,000 of each) due delayed → pending and expired leases → pending or dead; then groups whose turn it is give URLs.

        One worker at a time; attempt + 1, a fresh token and the group's next turn are set in the same step.
        Order: highest waiting priority among groups whose turn it is, then longest waiting; every 20th turn to the longest waiting
        whatever its priority; inside a group class share, priority, arrival. `chance`: 8 random bytes that go into the tokens.
        """

    def extend(self, tokens: Sequence[str], ttl: float, now: float) -> bytes:
        """A later deadline for the current tokens. Flags: 1 extended, 0 lost."""

    def load(self, tokens: Sequence[str], *, whole: bool = True) -> tuple[list[Row | None], dict[int, GroupRow]]:
        """The leased rows of current tokens (None: lost) and their groups by id, for the decision. Without `whole` the rows have no
        fingerprint, URL and site: most decisions need none of them."""

    def settle(
        self,
        changes: Sequence[Change],
        health: Sequence[HealthChange],
        now: float,
        *,
        clean: bool = False,
        generation: int | None = None,
        witnessed: Sequence[Witnessed] = (),
    ) -> bytes:
        """Compare-and-set each change on its token: APPLIED, LOST, or OUTDATED: not done, load and decide it again, because a group's
        version, a row's `again` or the policy differs, because with `clean` a group turned out to have a delay of its own, failures or a
        block, or because redirect targets were named under rules of an older `generation`. The changes of one shard are outdated together
        or not at all; a store without shards is one shard. In a store that reckons, a change's pages and bytes count for its site,
        domain, job and day. A reason with PENDING: the group sleeps until `next_turn` for a spent budget. A `next_turn` below 0:
        where the group has had no turn since this lease, it has its turn again. Redirect targets may be
        recorded although the change itself is lost or outdated, and so may `witnessed`, which is kept as long as there is room (see
        `evidence`)."""

    def evidence(self, least: float = 0.0) -> Iterator[Evidence]:
        """What was witnessed, of each part that is at least so full (0 … 1, of its `most`) and has some. When a part is full its older half
        goes. It need not be durable."""

    def fold_evidence(self, seen: Evidence, text: bytes) -> bool:
        """What was seen of a part is replaced by `text`, and what came after it stays. False: somebody else was faster, or it is full and
        its older half has gone; nothing was done."""

    def forget(self, offers: Offers, now: float, generation: int | None = None) -> int:
        """Not seen any more, under no earlier fingerprint either; queue entries and leases go too. The count of those that were seen.
        StaleRules: see `contains`; shards that had not heard of the newer rules may have forgotten theirs."""

    def purge(self, site: str, site_id: int, now: float) -> int:
        """Forget everything of one exact site. The count."""

    def sites(self) -> Iterator[SiteRow]:
        """All sites with their counts, in slices that hold no long read."""

    def site(self, name: str, site_id: int) -> SiteRow | None: ...

    def limit(self, name: str, site_id: int) -> int | None:
        """Without counting anything."""

    def groups(self) -> Iterator[GroupRow]: ...

    def group(self, name: str, group_id: int, *, counted: bool = False) -> GroupRow | None:
        """`pending` only if `counted`."""

    def update_site(self, name: str, site_id: int, **change: Any) -> None:
        """limit=int|None."""

    def update_group(self, name: str, group_id: int, now: float, **change: Any) -> None:
        """delay=, concurrency=, paused=, blocked_until= (never shortens a block), unblocked=True (ends a block and its probing).
        Takes effect for the next lease of any worker."""

    def blob(self, name: str, key: str, now: float) -> bytes | None: ...

    def set_blob(self, name: str, key: str, value: bytes | None, now: float, ttl: float) -> None:
        """At most 512 KiB; None deletes."""

    def rules(self) -> Ruled:
        """The rules as data. Not `swept`: somebody who changed them has not finished; whoever reads it does so by `sweep_rules` before
        it offers anything under them."""

    def replace_rules(self, book: str, expected: int, now: float, sweep: Sweep | None = None) -> Swept | None:
        """Compare-and-set on the generation, which grows by one; None: it is another than `expected`, or the change before is not swept
        yet; nothing was done. Groups and URLs that sleep for a spent budget wake.

        With `sweep`, before anything is accepted under the new rules and when nothing is any more under older ones, in one step or in
        slices between which others write: of every site that it covers, entries whose text gives another fingerprint move to it, with
        their state. Of two that become one a leased one stays, else one that is done, one that waits, one that is dead; one that is
        there and stays wins. Only one that waits goes so: others stay under their old fingerprint, unless it is of a site that the sweep
        forgets. Of the sites that it forgets, entries without text, and those whose text is no URL any more, are forgotten, unless they
        still wait.

        Between slices what waits may be leased, be done and lose its text: then it is forgotten like others without text.
        """

    def sweep_rules(self, sweep: Sweep, generation: int, now: float) -> Swept:
        """Finishes what a `replace_rules` to this generation, or before, has begun; repeating it is harmless, and so are several at once.
        What this caller did of it."""

    def sweep_size(self, sweep: Sweep) -> Swept:
        """What such a sweep would do now. Changes nothing."""

    def together(self, one: str, other: str) -> bool:
        """Whether URLs of one of these sites (or groups) may become entries of the other: not where they lie in two shards."""

    def imported(self) -> list[Level]:
        """The imported levels, by name. Making or dropping one raises the rules' generation, so that every worker reads of it."""

    def add_imported(self, level: Level, digests: bytes) -> int:
        """Adds digests (16 bytes each in one block) to the level of this name, which is made if it is missing. One step per call; repeating
        it is harmless. How many were not there. ConfigError: there is one of this name and of another kind, or about something else."""

    def in_imported(self, name: str, digests: bytes) -> bytes:
        """One flag per digest: 1 it is there. Of a level that is not there nothing is."""

    def imported_digests(self, name: str) -> Iterator[bytes]:
        """All of them, in blocks and in no order, in slices that hold no long read."""

    def forget_imported(self, name: str, digests: bytes) -> int:
        """Takes them out of the level. How many were there."""

    def drop_imported(self, name: str) -> bool:
        """The level is gone; whether it was there."""

    def lock(self, name: str, owner: str, ttl: float, now: float) -> tuple[int | None, str]:
        """(token, owner) if taken or already ours, (None, holder) otherwise. The token only grows."""

    def unlock(self, name: str, token: int) -> bool: ...

    def info(self, site: str, fingerprint: bytes) -> EntryInfo: ...

    def entries(self, now: float, states: frozenset[State | None] | None = None) -> Iterator[Entry]:
        """Everything the store has (of these states; None among them: the known), in slices that hold no long read.

        - Pending ones come first and in the order in which their group gives them; then leased, delayed and dead; then done and known.
        - What was there when the iteration began, and is not forgotten meanwhile, is given at least once, in a state it had since then.
          One that changes its state meanwhile may be given twice.
        - A leased one is given as leased, with its attempt counted.
        """

    def admit(
        self,
        entries: Sequence[Entry],
        now: float,
        *,
        skipped: Mapping[str, int] = MappingProxyType({}),
        groups: Mapping[int, str] = MappingProxyType({}),
        generation: int | None = None,
    ) -> bytes:
        """One `Verdict` per entry, NEW or SEEN: those that are not seen are taken as they are (an import), with their state, attempts,
        due, reason and class; a leased one becomes pending, its attempt not counted. In one atomic step per call (at most 10,000), in
        the order given among equal priorities. Limits and the high-water mark do not apply. Without text (`url` None) only done, dead
        and known can be taken: ConfigError otherwise. `skipped`: counts by reason to add. `groups`:
        id → name of some that are to be there, though no entry tells of them. StaleRules: the fingerprints were made under rules of an
        older `generation`."""

    def ready(self, now: float, groups: Sequence[str] | None = None, group_ids: Sequence[int] = ()) -> tuple[bool, float | None]:
        """Whether a lease (of these groups) would give something now; if not, when it may (None: not by time alone)."""

    def counts(self, now: float) -> Counts: ...

    def refused(self) -> list[Refused]:
        """The newest MOST_EXAMPLES of each reason under which URLs are counted as rejected or skipped, all of them newest first: what
        `offer` got as examples, what it refused itself, and the skipped ones of `settle`. Bounded: other reasons than those that are
        counted by name stand together under "other"."""

    def verify(self, deep: bool = False) -> list[str]:
        """Damage and broken equalities, in words; empty when sound. deep: by enumeration of everything."""

    def doctor(self) -> list[tuple[str, str, str]]:
        """(ok | warn | error, what, advice) about the engine and the place."""

    def backup(self, place: str) -> None:
        """A copy that opens as a store, consistent at one moment, made while others work. ConfigError where the engine has its own way."""

    def compact(self) -> tuple[int, int]:
        """Everything the engine merges in the background, now, while others work. Bytes of the seen set before and after. ConfigError where
        there is nothing of that kind, StoreUnavailable while another opener is at it."""

    def changed(self) -> object:
        """A value that differs when another may have written; cheap enough to ask a hundred times a second."""

    def close(self) -> None:
        """Twice is fine."""
