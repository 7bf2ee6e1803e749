"""The façade: it brings canonical form, decisions and a store together. Each verb's work is done in the file of its kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from urlsieve import looking
from urlsieve.answers import Compacted, Failed, Finding, Imported, Leases, Rejected, Report, Stats, Why
from urlsieve.arguments import Ticket
from urlsieve.canon import Canonicalizer
from urlsieve.explaining import Known
from urlsieve.keepalive import KeepAlive
from urlsieve.model import Entry, EntryInfo, GroupRow, Lease, Level, Outcome, Policy, Settled, SiteRow, URLItem
from urlsieve.ruling import Applied
from urlsieve.sieve.flow import Flow
from urlsieve.sieve.opened import Opened, URLs
from urlsieve.sieve.questions import Questions
from urlsieve.sieve.ruled import Ruled
from urlsieve.sieve.upkeep import Upkeep
from urlsieve.sites import GroupHandle, SiteHandle
from urlsieve.stores.protocol import Store

if TYPE_CHECKING:
    from urlsieve.canon import Explanation
    from urlsieve.canon.proposals import Proposals
    from urlsieve.canon.rulebook import Book
    from urlsieve.canon.rules import Rules

__all__ = ["Sieve", "URLs"]


class Sieve:
    """One job's URLs. Threads may share it; another process opens its own; after a fork it raises StoreUnavailable.

    A context manager. Every operation takes a batch or one. Errors: only those of `urlsieve.errors`.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float], chance: Callable[[int], bytes]) -> None:
        self._opened = Opened(store, clock=clock, chance=chance)
        self._rules = Ruled(self._opened)
        self._flow = Flow(self._opened, self._rules)
        self._questions = Questions(self._opened)
        self._upkeep = Upkeep(self._opened)

    @property
    def _store(self) -> Store:
        return self._opened.store

    @property
    def canonicalizer(self) -> Canonicalizer:
        """The store's canonical form, under its rules as this sieve has read them."""
        return self._opened.canonicalizer

    # -- the way of a URL

    def push(
        self,
        urls: URLs,
        *,
        priority: int = 0,
        depth: int = 0,
        via: str | None = None,
        meta: Any = None,
        base: str | None = None,
        parent: Lease | None = None,
        mode: str = "new",
    ) -> Report:
        """Offers URLs: what was not seen is marked and queued in one atomic step per 10,000; bad URLs are data, not errors.

        mode: "new"; "raise" also lifts priority and due of one that waits; "again" also brings back one that is done or dead.
        parent: depth + 1, via and base from that lease. A URLItem's own values win over the call's where they are not zero or None.
        What the rules' scope leaves out is refused (scope, rule, depth), and stays unseen.
        """
        return self._flow.push(urls, priority=priority, depth=depth, via=via, meta=meta, base=base, parent=parent, mode=mode)

    def revisit(self, urls: URLs, at: float | None = None) -> Report:
        """push(mode="again"), not before `at` (seconds since the epoch; None: now). The rules' scope does not hinder it."""
        return self._flow.revisit(urls, at)

    def mark(self, urls: URLs, *, known: bool = False) -> Report:
        """Records URLs without queueing them: as done (a URL somebody takes care of otherwise), or as known (an import). Scope says what is
        fetched, and does not hinder it."""
        return self._flow.mark(urls, known=known)

    def pop(self, limit: int = 1, *, lease: float = 60.0, groups: Iterable[str] | None = None) -> Leases:
        """Up to `limit` URLs whose turn it is, each leased for `lease` seconds. Empty when nothing may be fetched now: `.next_at`
        (seconds since the epoch, or None) says when to ask again. groups: only these, each at its turn."""
        return self._flow.pop(limit, lease=lease, groups=groups)

    def extend(self, lease: Ticket | Sequence[Ticket], seconds: float = 60.0) -> Any:
        """A deadline `seconds` from now. One lease: True, or LeaseLost; a list: one bool each."""
        return self._flow.extend(lease, seconds)

    def keepalive(self, leases: Ticket | Sequence[Ticket], seconds: float = 60.0) -> KeepAlive:
        """A context manager that extends these leases every third of `seconds` from a thread of its own; `.lost` has the lost ones."""
        return self._flow.keepalive(leases, seconds)

    def done(
        self,
        lease: Ticket | Sequence[Ticket],
        *,
        status: int = 200,
        signature: Any = None,
        final_url: str | None = None,
        redirects: Iterable[str] = (),
        links: Iterable[str | URLItem] = (),
        etag: str | None = None,
        last_modified: str | None = None,
        elapsed: float | None = None,
        size: int | None = None,
    ) -> Any:
        """Fetched. Links are accepted first, then the lease is settled; redirect hops and the final URL become entries of their own,
        done. An error status acts as `fail`. size: bytes fetched, for the rules' budgets."""
        return self._flow.done(
            lease,
            status=status,
            signature=signature,
            final_url=final_url,
            redirects=redirects,
            links=links,
            etag=etag,
            last_modified=last_modified,
            elapsed=elapsed,
            size=size,
        )

    def fail(
        self,
        lease: Ticket | Sequence[Ticket],
        reason: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        elapsed: float | None = None,
        size: int | None = None,
    ) -> Any:
        """Not fetched. Delayed with backoff and dead after max_attempts, or as the status says; retry_after (seconds) blocks the group."""
        return self._flow.fail(lease, reason, status=status, retry_after=retry_after, elapsed=elapsed, size=size)

    def skip(self, lease: Ticket | Sequence[Ticket], reason: str) -> Any:
        """Not for us (robots, type, size): done, counted under its reason; can be offered again."""
        return self._flow.skip(lease, reason)

    def release(self, lease: Ticket | Sequence[Ticket], *, not_before: float | None = None, group_until: float | None = None) -> Any:
        """Given back untouched, the attempt not counted. not_before holds back this URL, group_until its whole group (epoch seconds)."""
        return self._flow.release(lease, not_before=not_before, group_until=group_until)

    def settle(self, pairs: Iterable[tuple[Ticket, Outcome]]) -> list[Settled]:
        """Different outcomes, one step. In the same order; a lost lease has state "lost" and the others go through."""
        return self._flow.settle(pairs)

    # -- questions

    def seen(self, urls: URLs) -> list[bool]:
        """Whether each was taken already (a rejected URL never is). Writes nothing."""
        return self._questions.seen(urls)

    def explain(self, url_a: str | bytes, url_b: str | bytes | None = None, *, base: str | None = None) -> Explanation:
        """Which steps change a URL under the store's profile and rules, and of two URLs whether they are one page's, and why."""
        return self._questions.explain(url_a, url_b, base=base)

    def known(self, url: str | bytes, *, base: str | None = None, variant: bytes = b"") -> Known:
        """What the store knows of one URL: whether it is seen, which level answered, its entry, other keys of it. InvalidURL."""
        return self._questions.known(url, base=base, variant=variant)

    def info(self, url: str | bytes, *, variant: bytes = b"") -> EntryInfo:
        """State, attempts and place of one URL. InvalidURL if it is none."""
        return self._questions.info(url, variant=variant)

    def why(self, site_or_url: str) -> Why:
        """Why is nothing fetched of this group, site or URL."""
        return self._questions.why(site_or_url)

    def wait(self, timeout: float, *, groups: Iterable[str] | None = None) -> bool:
        """Until something may be popped (True; with `groups`, of these) or `timeout` seconds have passed (False)."""
        return self._questions.wait(timeout, groups=groups)

    def stats(self) -> Stats:
        return self._questions.stats()

    def unique(self, day: str | None = None) -> float:
        """How many different URLs were offered (on one day, YYYY-MM-DD, UTC), about: right within 0.8 % in two of three cases. What a
        worker met in its last ten seconds before it was killed may be missing."""
        return self._questions.unique(day)

    def overlap(self, day: str, other: str) -> tuple[float, float]:
        """(how many URLs were offered on both days, about; the standard error of that, as a number)."""
        return self._questions.overlap(day, other)

    def failed(self, *, site: str | None = None, reason: str | None = None) -> Iterator[Failed]:
        """The dead URLs (of one site; whose reason matches, where `*` stands for any text), read in slices."""
        return self._questions.failed(site=site, reason=reason)

    def retry(self, chosen: Iterable[Failed] | None = None, *, site: str | None = None, reason: str | None = None) -> int:
        """Brings dead URLs back with a new count of attempts: those of `failed(…)`, or `chosen` of them. How many: one whose text is
        no longer kept stays dead."""
        return self._questions.retry(chosen, site=site, reason=reason)

    def rejected(self, reason: str | None = None) -> Iterator[Rejected]:
        """The newest 100 URLs of each reason under which `stats` counts some as rejected or skipped, newest first. reason: only these:
        "scope", "rejected.scope", "skipped.*", where `*` stands for any text."""
        return self._questions.rejected(reason)

    def verify(self, *, deep: bool = False) -> list[str]:
        """What is wrong with the store, in words; empty when sound. deep: everything is enumerated."""
        return self._questions.verify(deep=deep)

    def doctor(self) -> list[Finding]:
        return self._questions.doctor()

    # -- sites, groups, whole stores

    def forget(self, urls: URLs) -> int:
        """Not seen any more, in no imported level either; queue entries and leases go too. How many were seen."""
        return self._upkeep.forget(urls)

    def purge(self, site: str) -> int:
        """Forgets everything of one exact site (host[:port]). How many URLs."""
        return self._upkeep.purge(site)

    def sites(self) -> Iterator[SiteRow]:
        return self._upkeep.sites()

    def groups(self) -> Iterator[GroupRow]:
        return self._upkeep.groups()

    def site(self, name: str) -> SiteHandle:
        """What is set for a site, and for the group that its fetches go by."""
        return self._upkeep.site(name)

    def group(self, name: str) -> GroupHandle:
        return self._upkeep.group(name)

    def group_of(self, name: str) -> GroupHandle:
        """The group of this name, or the one that the fetches of this site go by, in any spelling. InvalidURL if it is neither."""
        return self._upkeep.group_of(name)

    def entries(self, states: Iterable[str] | None = None) -> Iterator[Entry]:
        """Everything that is known of every URL (of these states: pending, leased, delayed, done, dead, known), in slices. Pending ones
        come first, in the order in which their group gives them."""
        return self._upkeep.entries(states)

    def admit(self, entries: Iterable[Entry]) -> Report:
        """Takes entries of a store with the same secret and canonical form as they are, in steps of 10,000; what is seen stays as it
        is, a leased one becomes pending. Limits and high_water do not apply."""
        return self._upkeep.admit(entries)

    def export(self, *, states: Iterable[str] | None = None, secret: bool = True) -> Iterator[bytes]:
        """The store as JSON lines, each with its newline: see docs/operate.md. They hold its secret; without it only URLs whose text is
        kept can move."""
        return self._upkeep.export(states=states, secret=secret)

    def import_lines(
        self, lines: Iterable[bytes], *, rejected: Callable[[str, str, bytes], None] | None = None, report: Imported | None = None
    ) -> Imported:
        """What `export` gave, of this or another store; repeating it changes nothing. `rejected` is told of lines that cannot be taken:
        a word, why, the line. `report`: one to count in, for who wants to know how far it came when this raises."""
        return self._upkeep.import_lines(lines, rejected=rejected, report=report)

    def import_fingerprints(self, kind: str, digests: Iterable[bytes], *, name: str | None = None) -> int:
        """What another program has seen, by its own digests, 20 or 16 bytes each: of kind scrapy-sha1, classic-md5, sha1 or md5
        (docs/operate.md). A URL that the level `name` (default: the kind) has counts as seen from now on, for all workers; when it is
        pushed it is marked under a fingerprint of our own. In steps of 10,000; repeating it is harmless. How many were not there."""
        return self._upkeep.import_fingerprints(kind, digests, name=name)

    def imported(self) -> list[Level]:
        """The imported levels with their counts."""
        return self._upkeep.imported()

    def drop_imported(self, name: str) -> bool:
        """Forgets an imported level; what was marked from it stays. Whether it was there."""
        return self._upkeep.drop_imported(name)

    # -- rules

    def proposals(self) -> Proposals:
        """What pages with one signature and redirects have told of this store's sites: rules that a person could confirm, and how far
        the rest is from it (see docs/rules.md). Changes nothing."""
        return self._rules.proposals()

    def proposed_rules(self) -> str:
        """The same as a file of rules: today's, and the proposals, of which none is applied before somebody has looked."""
        return self._rules.proposed_rules()

    @property
    def rules(self) -> Rules | None:
        """The store's site rules as they are now; None: it has none."""
        return self._rules.rules

    def rules_history(self) -> Book:
        """Today's rules with their generation, those before that still matter, and who changed what."""
        return self._rules.rules_history()

    def apply_rules(self, rules: Rules | str | os.PathLike[str] | None, *, by: str = "", dry_run: bool = False) -> Applied:
        """The rules of a file or set become the store's, for all workers, in one step; None: no rules from now on. Workers that have older
        ones are told at their next push. dry_run: only says what it would do. ConfigError: mistakes, or it cannot be applied here."""
        return self._rules.apply_rules(rules, by=by, dry_run=dry_run)

    def confirm_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        """What a rule (its match, and its path after a blank where there are several) only proposes is applied from now on."""
        return self._rules.confirm_rule(match, by=by, evidence=evidence)

    def suspend_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        """A rule is as if it were not there, until it is resumed."""
        return self._rules.suspend_rule(match, by=by, evidence=evidence)

    def resume_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        """A suspended rule holds again."""
        return self._rules.resume_rule(match, by=by, evidence=evidence)

    # -- settings and end

    def backup(self, place: str | os.PathLike[str]) -> None:
        """A copy of the store in a new folder, consistent at one moment, made while others work. `urlsieve.opening.restore` makes a store
        of it; opened where it lies it is one too. ConfigError if the folder has something, or the store has another way to be copied."""
        self._opened.store.backup(os.fspath(place))

    def compact(self) -> Compacted:
        """Merges the whole seen set into one file, without what was forgotten, while others may work; the store does most of that by
        itself. What it takes on the disk before and after. A stop loses the last step only: say it again. ConfigError: the store has no
        such files; StoreUnavailable: another process is merging."""
        return Compacted(*self._opened.store.compact())

    def now(self) -> float:
        """The time this sieve goes by, in seconds since the epoch."""
        return self._opened.clock()

    @property
    def address(self) -> str:
        return self._opened.store.address

    @property
    def policy(self) -> Policy:
        return self._opened.store.policy()

    def set_policy(self, **change: Any) -> None:
        """Replaces fields of the policy (see model.Policy) for all workers."""
        self._opened.store.set_policy(**looking.checked_policy(change))

    def close(self) -> None:
        """Twice is fine."""
        self._opened.unique.close()
        self._opened.store.close()

    def __enter__(self) -> Sieve:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sieve({self.address!r})"
