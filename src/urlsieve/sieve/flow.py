"""URLs and outcomes in, reports and leases out: the way of a URL through the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from urlsieve import arguments, checks, deciding, linking, ruling, spending, watching, witnessing
from urlsieve.answers import Leases, Report, lease_of
from urlsieve.arguments import Ticket
from urlsieve.batch import Defaults, Prepared, as_given, readable, slices
from urlsieve.keepalive import KeepAlive
from urlsieve.model import Lease, Mode, Outcome, Row, Settled, URLItem
from urlsieve.sieve.opened import URLs
from urlsieve.sieve.ruled import Ruled
from urlsieve.stores.protocol import Leased, Witnessed

MODES = {"new": Mode.NEW, "raise": Mode.RAISE, "again": Mode.AGAIN}


class Flow(Ruled):
    """The verbs of the queue."""

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

        given = spending.first(self._store, self._form, limit, take, now)
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
