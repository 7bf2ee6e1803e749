"""The façade: URLs and outcomes in, reports and leases out. It brings canonical form, decisions and a store together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from urlsieve import arguments, checks, deciding, explaining, failed, levels, linking, looking, ruling, spending, watching, witnessing
from urlsieve.answers import Failed, Finding, Imported, Leases, Rejected, Report, Stats, Why, lease_of
from urlsieve.arguments import Ticket
from urlsieve.batch import MOST, Defaults, Prepared, as_found, as_given, merge, overlaid, prepare, readable, slices, spread
from urlsieve.canon import CANONICAL_VERSION, Canonicalizer
from urlsieve.errors import ConfigError
from urlsieve.explaining import Known
from urlsieve.keepalive import KeepAlive
from urlsieve.model import Entry, EntryInfo, GroupRow, Lease, Level, Mode, Offers, Outcome, Policy, Row, Settled, SiteRow, URLItem
from urlsieve.moving import arriving, leaving
from urlsieve.ruling import Applied
from urlsieve.sites import GroupHandle, SiteHandle
from urlsieve.stores.protocol import Leased, Offered, StaleRules, Store, Witnessed
from urlsieve.unique import Unique

if TYPE_CHECKING:
    from urlsieve.canon import Explanation
    from urlsieve.canon.proposals import Proposals
    from urlsieve.canon.rulebook import Book
    from urlsieve.canon.rules import Rules

T = TypeVar("T")
URLs = str | bytes | URLItem | Iterable[str | bytes | URLItem]
MODES = {"new": Mode.NEW, "raise": Mode.RAISE, "again": Mode.AGAIN}


class Sieve:
    """One job's URLs. Threads may share it; another process opens its own; after a fork it raises StoreUnavailable.

    A context manager. Every operation takes a batch or one. Errors: only those of `urlsieve.errors`.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float], chance: Callable[[int], bytes]) -> None:
        self._store, self._clock, self._random = store, clock, chance
        self._unique = Unique(store, clock)
        self._form = ruling.finished(store)
        self._witness = witnessing.Witness(store)
        self._watch = watching.Watch(store)

    @property
    def canonicalizer(self) -> Canonicalizer:
        """The store's canonical form, under its rules as this sieve has read them."""
        return self._form.canonicalizer

    def _group_of(self, host: str) -> str:
        return self._form.group_of(host)

    # -- in

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
        checks.choice("mode", mode, tuple(MODES))
        base = checks.text("base", base)
        defaults = arguments.defaults(priority, depth, via, meta, parent)
        return self._offer(urls, defaults, base or (parent.url if parent else None), MODES[mode])

    def revisit(self, urls: URLs, at: float | None = None) -> Report:
        """push(mode="again"), not before `at` (seconds since the epoch; None: now). The rules' scope does not hinder it."""
        return self._offer(urls, Defaults(due=checks.optional("at", at)), None, Mode.AGAIN, judged=False)

    def mark(self, urls: URLs, *, known: bool = False) -> Report:
        """Records URLs without queueing them: as done (a URL somebody takes care of otherwise), or as known (an import). Scope says what is
        fetched, and does not hinder it."""
        return self._offer(urls, Defaults(), None, Mode.MARK_KNOWN if known else Mode.MARK_DONE, judged=False)

    def _offer(self, urls: URLs, defaults: Defaults, base: str | None, mode: Mode, *, judged: bool = True) -> Report:
        report = Report()
        for part in slices(urls):
            self._offer_parts([linking.Part(part, defaults, base, judged=judged)], mode, report)
        return report

    def _offer_parts(self, parts: list[linking.Part], mode: Mode, report: Report) -> None:
        """One atomic step. Where somebody has changed the rules meanwhile, under theirs: their keys may be others."""
        taken: list[bytes] = []  # what parts of a store took of it that had not heard of the newer rules yet
        while True:
            form = self._form
            prepared = [levels.asked(self._store, form.levels, part.prepared(form)) for part in parts]
            offers = merge(prepared)
            offered = self._store.offer(offers, mode, form.generation, self._clock())
            if not offered.stale_rules:
                break
            if offered.verdicts:
                taken = overlaid(prepared, taken, spread(prepared, offered.verdicts))
            self._reload_rules()
        self._unique.add(offers.fingerprints)
        answers = overlaid(prepared, taken, spread(prepared, offered.verdicts))
        for part, verdicts in zip(prepared, answers, strict=True):
            report.add(verdicts, part.refused)
        if mode in (Mode.NEW, Mode.RAISE):
            self._watch.offer(form, prepared, answers, self._clock())

    def _offered(self, offers: Offers, mode: Mode) -> Offered:
        """Of entries that the store has: their fingerprints are what it says. Where the rules have changed meanwhile they may not be."""
        offered = self._store.offer(offers, mode, self._form.generation, self._clock())
        if offered.stale_rules:
            self._reload_rules()
        return offered

    def _count(self, offers: Offers) -> None:
        """An offer of no URLs, for its counts of rejected ones."""
        while self._offered(offers, Mode.NEW).stale_rules:
            pass

    def _asked(self, urls: list[str | bytes | URLItem], ask: Callable[[Offers, int], T]) -> tuple[Prepared, T]:
        """A question of these URLs to the store, under its rules as they are now."""
        while True:
            prepared = levels.asked(self._store, self._form.levels, self._prepare(urls, Defaults(), None))
            try:
                return prepared, ask(prepared.offers, prepared.generation)
            except StaleRules:
                self._reload_rules()

    def _prepare(self, urls: list[str | bytes | URLItem], defaults: Defaults, base: str | None) -> Prepared:
        return prepare(urls, defaults, self._form, base=base)

    def _reload_rules(self) -> None:
        """Another worker has changed the rules: theirs hold from now on."""
        self._read_rules()

    def _read_rules(self) -> ruling.Form:
        self._form = ruling.finished(self._store)
        return self._form

    # -- out

    def pop(self, limit: int = 1, *, lease: float = 60.0, groups: Iterable[str] | None = None) -> Leases:
        """Up to `limit` URLs whose turn it is, each leased for `lease` seconds. Empty when nothing may be fetched now: `.next_at`
        (seconds since the epoch, or None) says when to ask again. groups: only these, each at its turn."""
        checks.number("limit", limit, least=1, whole=True)
        checks.number("lease", lease, above=0)
        names = None if groups is None else arguments.names(groups)
        ids = [self.canonicalizer.name_hash(name) for name in names] if names else ()
        now = self._clock()

        def take(many: int) -> Leased:
            return self._store.lease(many, float(lease), now, chance=self._random(8), groups=names, group_ids=ids)

        given = spending.whole_job(self._store, self._form, now) or take(limit)
        if given.generation > self._form.generation:
            self._read_rules()
        if self._form.limited is not None and self._form.limited.meters:
            given = spending.within(self._store, self._form, limit, take, given, now)
        keys = self.canonicalizer.canonicalize_many([as_given(row.url) for row in given.rows])
        return Leases((lease_of(row, keys[i]) for i, row in enumerate(given.rows)), given.next_at)

    def extend(self, lease: Ticket | Sequence[Ticket], seconds: float = 60.0) -> Any:
        """A deadline `seconds` from now. One lease: True, or LeaseLost; a list: one bool each."""
        checks.number("seconds", seconds, above=0)
        many, tickets = arguments.tickets(lease)
        flags = self._store.extend([arguments.token_of(ticket) for ticket in tickets], float(seconds), self._clock())
        if many:
            return [bool(flag) for flag in flags]
        if not flags[0]:
            raise arguments.lost(tickets[0])
        return True

    def keepalive(self, leases: Ticket | Sequence[Ticket], seconds: float = 60.0) -> KeepAlive:
        """A context manager that extends these leases every third of `seconds` from a thread of its own; `.lost` has the lost ones."""
        checks.number("seconds", seconds, above=0)
        return KeepAlive(self.extend, arguments.tickets(leases)[1], float(seconds))

    # -- back

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
        outcome = Outcome(
            "done",
            status=status,
            signature=signature,
            final_url=final_url,
            redirects=arguments.strings("redirects", redirects),
            links=arguments.links_of(links),
            etag=etag,
            last_modified=last_modified,
            elapsed=elapsed,
            size=size,
        )
        return self._settle_same(lease, outcome)

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
        return self._settle_same(lease, Outcome("fail", reason=reason, status=status, retry_after=retry_after, elapsed=elapsed, size=size))

    def skip(self, lease: Ticket | Sequence[Ticket], reason: str) -> Any:
        """Not for us (robots, type, size): done, counted under its reason; can be offered again."""
        return self._settle_same(lease, Outcome("skip", reason=reason))

    def release(self, lease: Ticket | Sequence[Ticket], *, not_before: float | None = None, group_until: float | None = None) -> Any:
        """Given back untouched, the attempt not counted. not_before holds back this URL, group_until its whole group (epoch seconds)."""
        return self._settle_same(lease, Outcome("release", not_before=not_before, group_until=group_until))

    def _settle_same(self, lease: Ticket | Sequence[Ticket], outcome: Outcome) -> Any:
        many, tickets = arguments.tickets(lease)
        outcome = arguments.checked(outcome)
        for ticket in tickets:
            arguments.token_of(ticket)
        settled = self._settle([(ticket, outcome) for ticket in tickets]) if tickets else []
        if many:
            return settled
        if settled[0].state == "lost":
            raise arguments.lost(tickets[0])
        return settled[0]

    def settle(self, pairs: Iterable[tuple[Ticket, Outcome]]) -> list[Settled]:
        """Different outcomes, one step. In the same order; a lost lease has state "lost" and the others go through."""
        checked = arguments.pairs_of(pairs)
        return self._settle(checked) if checked else []

    def _settle(self, pairs: list[tuple[Ticket, Outcome]]) -> list[Settled]:
        if any(outcome.links or outcome.refused for _, outcome in pairs):
            self._accept_links(pairs)
        return deciding.settle(
            self._store,
            [ticket for ticket, _ in pairs],
            [outcome for _, outcome in pairs],
            now=self._clock(),
            chance=self._chances,
            targets=self._targets,
            reload=self._reload_rules,
            witnessed=self._witnessed(pairs),
            metered=self._form.limited is not None and self._form.limited.meters,
        )

    def _witnessed(self, pairs: list[tuple[Ticket, Outcome]]) -> list[Witnessed]:
        """What the pages tell about which URLs are one. Nothing is asked where nothing is told."""
        told = {id(outcome): witnessing.tells(outcome) for outcome in {id(outcome): outcome for _, outcome in pairs}.values()}
        telling = [pair for pair in pairs if told[id(pair[1])]]
        if not telling:
            return []
        pages = witnessing.pages(self._store, telling)
        found = self._witness.witnessed(pages, self.canonicalizer)
        if self._witness.added(len(found)):
            self._witness.tend(self.canonicalizer)
        return found + self._compared(pages)

    def _compared(self, pages: list[tuple[Lease | Row, Outcome]]) -> list[Witnessed]:
        """Addresses of one page that confirmed rules have made one: equal is counted, different suspends the rule at once."""
        now, equal = self._clock(), []
        for found in watching.compared(self._store, self._form, pages, now):
            if found.equal:
                equal.append(watching.verified(found))
                continue
            said = ruling.said(watching.BY, found.evidence, now)
            distrust = partial(ruling.distrusted, rule=found.one.rule, said=said)
            name = found.one.rule.name
            if self._change_rules(distrust, "suspend", by=said.by, match=name, evidence=said.evidence).touched:
                watching.logger.warning("the rule %s is suspended: %s", name, said.evidence)
        return equal

    def _accept_links(self, pairs: list[tuple[Ticket, Outcome]]) -> None:
        """Every page's links under that page's depth and base, all in one step. Those that are refused (bad, or the store is full) are
        counted like those of any push."""
        rows: list[Row | None] = [None] * len(pairs)
        if any(isinstance(ticket, str) for ticket, _ in pairs):
            rows = self._store.load([arguments.token_of(ticket) for ticket, _ in pairs])[0]
        for step in linking.steps(pairs, rows):
            self._offer_parts(step, Mode.NEW, Report())

    def _targets(self, row: Row, outcome: Outcome) -> Prepared | None:
        """Redirect hops and the final URL, resolved against the page."""
        urls: list[str | bytes | URLItem] = [*outcome.redirects]
        if outcome.final_url is not None:
            urls.append(outcome.final_url)
        return self._prepare(urls, Defaults(depth=row.depth), readable(row.url)) if urls else None

    def _chances(self, many: int) -> list[float]:
        noise = self._random(8 * many)
        return [int.from_bytes(noise[i : i + 8], "little") / 2.0**64 for i in range(0, 8 * many, 8)]

    # -- questions

    def seen(self, urls: URLs) -> list[bool]:
        """Whether each was taken already (a rejected URL never is). Writes nothing."""
        answers: list[bool] = []
        for part in slices(urls):
            prepared, flags = self._asked(part, self._store.contains)
            answers += map(bool, spread([prepared], flags)[0])
        return answers

    def explain(self, url_a: str | bytes, url_b: str | bytes | None = None, *, base: str | None = None) -> Explanation:
        """Which steps change a URL under the store's profile and rules, and of two URLs whether they are one page's, and why."""
        return explaining.explain(self._store, self._read_rules(), url_a, url_b, base)

    def known(self, url: str | bytes, *, base: str | None = None, variant: bytes = b"") -> Known:
        """What the store knows of one URL: whether it is seen, which level answered, its entry, other keys of it. InvalidURL."""
        return explaining.known(self._store, self._read_rules(), url, base=base, variant=variant)

    def info(self, url: str | bytes, *, variant: bytes = b"") -> EntryInfo:
        """State, attempts and place of one URL. InvalidURL if it is none."""
        if not isinstance(url, (str, bytes)) or not isinstance(variant, bytes):
            raise ConfigError("a URL is str or bytes, its variant bytes")
        found = as_found(url)
        self.canonicalizer.canonicalize(found)  # which raises
        prepared = self._prepare([URLItem(found, variant=variant)], Defaults(), None)
        offers = prepared.offers
        names = [(offers.fingerprints, offers.rows([0])[0].site), *offers.earlier.get(0, ())]
        info = looking.readable_info(looking.first_info(self._store, names))
        return levels.info(self._store, self._form.levels, prepared, info)

    def why(self, site_or_url: str) -> Why:
        """Why is nothing fetched of this group, site or URL."""
        found = looking.why(self._store, self._form, site_or_url, self._clock())
        if found.reasons == ("unseen",) and self._form.levels and (level := self.info(site_or_url).level) is not None:
            return replace(found, reasons=("known",), sentences=(f"{level} has it: it counts as seen",))
        return found

    def wait(self, timeout: float, *, groups: Iterable[str] | None = None) -> bool:
        """Until something may be popped (True; with `groups`, of these) or `timeout` seconds have passed (False)."""
        checks.number("timeout", timeout, least=0)
        names = None if groups is None else arguments.names(groups)
        return looking.wait(self._store, float(timeout), self._clock, names, [self.canonicalizer.name_hash(name) for name in names or ()])

    def stats(self) -> Stats:
        counts, imported = self._store.counts(self._clock()), self._store.imported()
        form = self._form if self._form.generation == counts.rules_generation else self._read_rules()
        suspended = 0 if form.rules is None else form.rules.counts.suspended
        unique = round(self._unique.sketch().count())
        profile = self._store.header.profile
        stats = Stats.of(counts, profile=profile, version=CANONICAL_VERSION, imported=imported, rules_suspended=suspended, unique=unique)
        return replace(stats, budgets=spending.shown(self._store, form, self._clock()))

    def unique(self, day: str | None = None) -> float:
        """How many different URLs were offered (on one day, YYYY-MM-DD, UTC), about: right within 0.8 % in two of three cases. What a
        worker met in its last ten seconds before it was killed may be missing."""
        return self._unique.sketch(day).count()

    def overlap(self, day: str, other: str) -> tuple[float, float]:
        """(how many URLs were offered on both days, about; the standard error of that, as a number)."""
        return self._unique.sketch(day).overlap(self._unique.sketch(other))

    def failed(self, *, site: str | None = None, reason: str | None = None) -> Iterator[Failed]:
        """The dead URLs (of one site; whose reason matches, where `*` stands for any text), read in slices."""
        name = None if site is None else self._site_name(site)
        return failed.failed(self._store, self._clock(), site=name, reason=checks.text("reason", reason))

    def retry(self, chosen: Iterable[Failed] | None = None, *, site: str | None = None, reason: str | None = None) -> int:
        """Brings dead URLs back with a new count of attempts: those of `failed(…)`, or `chosen` of them. How many: one whose text is
        no longer kept stays dead."""
        found = self.failed(site=site, reason=reason) if chosen is None else chosen
        return failed.retry(self._store, found, self._offered, self.canonicalizer.name_hash)

    def rejected(self, reason: str | None = None) -> Iterator[Rejected]:
        """The newest 100 URLs of each reason under which `stats` counts some as rejected or skipped, newest first. reason: only these:
        "scope", "rejected.scope", "skipped.*", where `*` stands for any text."""
        return looking.rejected(self._store.refused(), checks.text("reason", reason))

    def verify(self, *, deep: bool = False) -> list[str]:
        """What is wrong with the store, in words; empty when sound. deep: everything is enumerated."""
        return self._store.verify(deep)

    def doctor(self) -> list[Finding]:
        return [*looking.doctor(self._store, self._clock()), *watching.findings(self._read_rules())]

    # -- sites and groups

    def forget(self, urls: URLs) -> int:
        """Not seen any more, in no imported level either; queue entries and leases go too. How many were seen."""
        total = 0
        for part in slices(urls):
            prepared, gone = self._asked(part, self._drop)
            levels.forget(self._store, self._form.levels, prepared)
            self._watch.forget(self._form, prepared, self._clock())
            total += gone
        return total

    def _drop(self, offers: Offers, generation: int) -> int:
        """How many the store had, or only a level."""
        only = 0
        if offers.elsewhere:
            seen = self._store.contains(replace(offers, elsewhere=frozenset()), generation)
            only = len({offers.fingerprints[16 * at : 16 * at + 16] for at in offers.elsewhere if not seen[at]})
        return only + self._store.forget(offers, self._clock(), generation)

    def purge(self, site: str) -> int:
        """Forgets everything of one exact site (host[:port]). How many URLs."""
        name = self._site_name(site)
        looking.unmapped(self.canonicalizer, self._form.rules, site)
        names = [name] if self._form.rules is None else [name, *self._form.rules.sources_of(name)]  # under earlier rules they were sites
        return sum(self._store.purge(one, self.canonicalizer.name_hash(one), self._clock()) for one in names)

    def sites(self) -> Iterator[SiteRow]:
        return self._store.sites()

    def groups(self) -> Iterator[GroupRow]:
        return self._store.groups()

    def site(self, name: str) -> SiteHandle:
        """What is set for a site, and for the group that its fetches go by."""
        site = self._site_name(name)
        group = self._group_of(site if self._form.rules is None else looking.host_name(self.canonicalizer, name))
        hash_of = self.canonicalizer.name_hash
        return SiteHandle(self._store, group, hash_of(group), self._clock, site=site, site_id=hash_of(site))

    def group(self, name: str) -> GroupHandle:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"a group's name is text, not {name!r}")
        name = checks.text("name", name) or ""
        return GroupHandle(self._store, name, self.canonicalizer.name_hash(name), self._clock)

    def group_of(self, name: str) -> GroupHandle:
        """The group of this name, or the one that the fetches of this site go by, in any spelling. InvalidURL if it is neither."""
        named = self.group(name)
        if named.row is not None:
            return named
        self._site_name(name)  # which raises
        return self.group(self._group_of(looking.host_name(self.canonicalizer, name)))

    def _site_name(self, name: object) -> str:
        return looking.site_name(self._store, self.canonicalizer, name)

    # -- out and in as a whole

    def entries(self, states: Iterable[str] | None = None) -> Iterator[Entry]:
        """Everything that is known of every URL (of these states: pending, leased, delayed, done, dead, known), in slices. Pending ones
        come first, in the order in which their group gives them."""
        return self._store.entries(self._clock(), leaving.states_of(states))

    def admit(self, entries: Iterable[Entry]) -> Report:
        """Takes entries of a store with the same secret and canonical form as they are, in steps of 10,000; what is seen stays as it
        is, a leased one becomes pending. Limits and high_water do not apply."""
        report, source = Report(), iter(entries)
        while part := [arguments.entry(one) for one in islice(source, MOST)]:
            report.add(self._store.admit(part, self._clock()), {})
        return report

    def export(self, *, states: Iterable[str] | None = None, secret: bool = True) -> Iterator[bytes]:
        """The store as JSON lines, each with its newline: see docs/operate.md. They hold its secret; without it only URLs whose text is
        kept can move."""
        chosen = leaving.states_of(states)
        return leaving.export(self._store, self.canonicalizer, self._group_of, self._clock(), states=chosen, secret=secret)

    def import_lines(
        self, lines: Iterable[bytes], *, rejected: Callable[[str, str, bytes], None] | None = None, report: Imported | None = None
    ) -> Imported:
        """What `export` gave, of this or another store; repeating it changes nothing. `rejected` is told of lines that cannot be taken:
        a word, why, the line. `report`: one to count in, for who wants to know how far it came when this raises."""
        arrival = arriving.Arrival(
            self._store,
            self._read_rules,
            clock=self._clock,
            offered=self._count,
            reject=rejected or (lambda word, why, line: None),
            report=Imported() if report is None else report,
        )
        try:
            arrival.take(lines)
            return arrival.finish()
        finally:
            self._read_rules()  # there may be imported levels now

    # -- imported levels

    def import_fingerprints(self, kind: str, digests: Iterable[bytes], *, name: str | None = None) -> int:
        """What another program has seen, by its own digests, 20 or 16 bytes each: of kind scrapy-sha1, classic-md5, sha1 or md5
        (docs/operate.md). A URL that the level `name` (default: the kind) has counts as seen from now on, for all workers; when it is
        pushed it is marked under a fingerprint of our own. In steps of 10,000; repeating it is harmless. How many were not there."""
        level, source, total = levels.level_of(kind, name), iter(digests), 0
        total = self._store.add_imported(level, b"")
        while part := list(islice(source, MOST)):
            total += self._store.add_imported(level, levels.cut(kind, part))
        self._read_rules()
        return total

    def imported(self) -> list[Level]:
        """The imported levels with their counts."""
        return self._store.imported()

    def drop_imported(self, name: str) -> bool:
        """Forgets an imported level; what was marked from it stays. Whether it was there."""
        dropped = self._store.drop_imported(checks.text("name", name) or "")
        self._read_rules()
        return dropped

    # -- rules

    def proposals(self) -> Proposals:
        """What pages with one signature and redirects have told of this store's sites: rules that a person could confirm, and how far
        the rest is from it (see docs/rules.md). Changes nothing."""
        form = self._read_rules()
        return witnessing.proposals(self._store, form.canonicalizer, form.rules)

    def proposed_rules(self) -> str:
        """The same as a file of rules: today's, and the proposals, of which none is applied before somebody has looked."""
        from urlsieve.canon.proposaltext import toml

        found = self.proposals()
        return toml(found, "" if self._form.rules is None else self._form.rules.text)

    @property
    def rules(self) -> Rules | None:
        """The store's site rules as they are now; None: it has none."""
        return self._read_rules().rules

    def rules_history(self) -> Book:
        """Today's rules with their generation, those before that still matter, and who changed what."""
        return ruling.book_of(self._store)

    def apply_rules(self, rules: Rules | str | os.PathLike[str] | None, *, by: str = "", dry_run: bool = False) -> Applied:
        """The rules of a file or set become the store's, for all workers, in one step; None: no rules from now on. Workers that have older
        ones are told at their next push. dry_run: only says what it would do. ConfigError: mistakes, or it cannot be applied here."""
        from urlsieve.canon.rules import rules_of

        new = rules_of(rules)
        return self._change_rules(lambda old: new, "apply", by=by, dry_run=dry_run)

    def confirm_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        """What a rule (its match, and its path after a blank where there are several) only proposes is applied from now on."""
        return self._mark_rule(match, "confirm", by, evidence)

    def suspend_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        """A rule is as if it were not there, until it is resumed."""
        return self._mark_rule(match, "suspend", by, evidence)

    def resume_rule(self, match: str, *, by: str, evidence: str = "") -> Applied:
        """A suspended rule holds again."""
        return self._mark_rule(match, "resume", by, evidence)

    def _mark_rule(self, match: str, what: str, by: str, evidence: str) -> Applied:
        if not checks.text("by", by):
            raise ConfigError(f"{what} needs the name of who says so (by=)")
        said = ruling.said(by, evidence, self._clock())
        return self._change_rules(lambda old: ruling.marked(old, match, what, said), what, by=by, match=match, evidence=evidence)

    def _change_rules(
        self,
        make: Callable[[Rules | None], Rules | None],
        what: str,
        *,
        by: str,
        match: str = "",
        evidence: str = "",
        dry_run: bool = False,
    ) -> Applied:
        from urlsieve.canon.rulebook import Changed

        applied = ruling.change(self._store, make, Changed(0, self._clock(), what, by, match, evidence), dry=dry_run)
        self._read_rules()
        return applied

    # -- settings and end

    def backup(self, place: str | os.PathLike[str]) -> None:
        """A copy of the store in a new folder, consistent at one moment, made while others work. `urlsieve.opening.restore` makes a store
        of it; opened where it lies it is one too. ConfigError if the folder has something, or the store has another way to be copied."""
        self._store.backup(os.fspath(place))

    def now(self) -> float:
        """The time this sieve goes by, in seconds since the epoch."""
        return self._clock()

    @property
    def address(self) -> str:
        return self._store.address

    @property
    def policy(self) -> Policy:
        return self._store.policy()

    def set_policy(self, **change: Any) -> None:
        """Replaces fields of the policy (see model.Policy) for all workers."""
        self._store.set_policy(**looking.checked_policy(change))

    def close(self) -> None:
        """Twice is fine."""
        self._unique.close()
        self._store.close()

    def __enter__(self) -> Sieve:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sieve({self.address!r})"
