"""URLs and outcomes in, reports and leases out: the way of a URL through the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from urlsieve import arguments, checks, deciding, linking, ruling, spending, watching, witnessing
from urlsieve.answers import Leases, Report, lease_of
from urlsieve.arguments import Ticket
from urlsieve.batch import Defaults, Prepared, as_given, readable, slices
from urlsieve.errors import UrlsieveError
from urlsieve.keepalive import KeepAlive
from urlsieve.model import Lease, Mode, Outcome, Row, Settled, URLItem
from urlsieve.sieve.opened import Opened, URLs
from urlsieve.sieve.ruled import Ruled
from urlsieve.stores.protocol import Leased, Witnessed
from urlsieve.watching import Found

MODES = {"new": Mode.NEW, "raise": Mode.RAISE, "again": Mode.AGAIN}


class Flow:
    """The verbs of the queue. What each promises is said in `Sieve`."""

    def __init__(self, opened: Opened, rules: Ruled) -> None:
        self._opened = opened
        self._rules = rules

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
        checks.choice("mode", mode, tuple(MODES))
        base = checks.text("base", base)
        defaults = arguments.defaults(priority, depth, via, meta, parent)
        return self._offer(urls, defaults, base or (parent.url if parent else None), MODES[mode])

    def revisit(self, urls: URLs, at: float | None = None) -> Report:
        return self._offer(urls, Defaults(due=checks.optional("at", at)), None, Mode.AGAIN, judged=False)

    def mark(self, urls: URLs, *, known: bool = False) -> Report:
        return self._offer(urls, Defaults(), None, Mode.MARK_KNOWN if known else Mode.MARK_DONE, judged=False)

    def _offer(self, urls: URLs, defaults: Defaults, base: str | None, mode: Mode, *, judged: bool = True) -> Report:
        report = Report()
        for part in slices(urls):
            self._opened.offer_parts([linking.Part(part, defaults, base, judged=judged)], mode, report)
        return report

    # -- out

    def pop(self, limit: int = 1, *, lease: float = 60.0, groups: Iterable[str] | None = None) -> Leases:
        checks.number("limit", limit, least=1, whole=True)
        checks.number("lease", lease, above=0)
        names = None if groups is None else arguments.names(groups)
        ids = [self._opened.canonicalizer.name_hash(name) for name in names] if names else ()
        now = self._opened.clock()

        def take(many: int) -> Leased:
            return self._opened.store.lease(many, float(lease), now, chance=self._opened.random(8), groups=names, group_ids=ids)

        given = spending.first(self._opened.store, self._opened.form, limit, take, now)
        if given.generation > self._opened.form.generation and self._opened.store.rules().swept:  # else it would wait: who offers does
            self._opened.read_rules()
        if self._opened.form.limited is not None and self._opened.form.limited.meters:
            given = spending.within(self._opened.store, self._opened.form, limit, take, given, float(lease), now)
        keys = self._opened.canonicalizer.canonicalize_many([as_given(row.url) for row in given.rows])
        return Leases((lease_of(row, keys[i]) for i, row in enumerate(given.rows)), given.next_at)

    def extend(self, lease: Ticket | Sequence[Ticket], seconds: float = 60.0) -> Any:
        checks.number("seconds", seconds, above=0)
        many, tickets = arguments.tickets(lease)
        flags = self._opened.store.extend([arguments.token_of(ticket) for ticket in tickets], float(seconds), self._opened.clock())
        if many:
            return [bool(flag) for flag in flags]
        if not flags[0]:
            raise arguments.lost(tickets[0])
        return True

    def keepalive(self, leases: Ticket | Sequence[Ticket], seconds: float = 60.0) -> KeepAlive:
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
        return self._settle_same(lease, Outcome("fail", reason=reason, status=status, retry_after=retry_after, elapsed=elapsed, size=size))

    def skip(self, lease: Ticket | Sequence[Ticket], reason: str) -> Any:
        return self._settle_same(lease, Outcome("skip", reason=reason))

    def release(self, lease: Ticket | Sequence[Ticket], *, not_before: float | None = None, group_until: float | None = None) -> Any:
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
        checked = arguments.pairs_of(pairs)
        return self._settle(checked) if checked else []

    def _settle(self, pairs: list[tuple[Ticket, Outcome]]) -> list[Settled]:
        if any(outcome.links or outcome.refused for _, outcome in pairs):
            self._accept_links(pairs)
        witnessed, different = self._witnessed(pairs)
        settled = deciding.settle(
            self._opened.store,
            [ticket for ticket, _ in pairs],
            [outcome for _, outcome in pairs],
            now=self._opened.clock(),
            chance=self._chances,
            targets=self._targets,
            reload=self._opened.reload_rules,
            witnessed=witnessed,
            metered=self._opened.form.limited is not None and self._opened.form.limited.meters,
        )
        if different:
            lost = {one.token for one in settled if one.state == "lost"}
            for token, found in different:
                if token not in lost:
                    self._suspend(found)
        return settled

    def _witnessed(self, pairs: list[tuple[Ticket, Outcome]]) -> tuple[list[Witnessed], list[tuple[str, Found]]]:
        """What the pages tell about which URLs are one; and those that tell, with their tokens, that a confirmed rule has made one of two
        pages. Nothing is asked where nothing is told."""
        told = {id(outcome): witnessing.tells(outcome) for outcome in {id(outcome): outcome for _, outcome in pairs}.values()}
        telling = [pair for pair in pairs if told[id(pair[1])]]
        if not telling:
            return [], []
        opened = self._opened
        pages = witnessing.pages(opened.store, telling)
        lines = opened.witness.witnessed(pages, opened.canonicalizer)
        if opened.witness.added(len(lines)):
            opened.witness.tend(opened.canonicalizer)
        now, different = opened.clock(), []
        for page in pages:
            for found in watching.compared(opened.store, opened.form, [page], now):
                if found.equal:
                    lines.append(watching.verified(found))
                else:
                    different.append((page[0].token, found))
        return lines, different

    def _suspend(self, found: Found) -> None:
        """At once. The page is settled already: if this fails, the next difference does it."""
        said = ruling.said(watching.BY, found.evidence, self._opened.clock())
        name = found.one.rule.name
        try:
            distrust = partial(ruling.distrusted, rule=found.one.rule, said=said)
            done = self._rules.change(distrust, "suspend", by=said.by, match=name, evidence=said.evidence)
        except UrlsieveError as error:
            watching.logger.warning("the rule %s should be suspended (%s), but that failed: %s", name, said.evidence, error)
            return
        if done.touched:
            watching.logger.warning("the rule %s is suspended: %s", name, said.evidence)

    def _accept_links(self, pairs: list[tuple[Ticket, Outcome]]) -> None:
        """Every page's links under that page's depth and base, all in one step. Those that are refused (bad, or the store is full) are
        counted like those of any push."""
        rows: list[Row | None] = [None] * len(pairs)
        if any(isinstance(ticket, str) for ticket, _ in pairs):
            rows = self._opened.store.load([arguments.token_of(ticket) for ticket, _ in pairs])[0]
        for step in linking.steps(pairs, rows):
            self._opened.offer_parts(step, Mode.NEW, Report())

    def _targets(self, row: Row, outcome: Outcome) -> Prepared | None:
        """Redirect hops and the final URL, resolved against the page."""
        urls: list[str | bytes | URLItem] = [*outcome.redirects]
        if outcome.final_url is not None:
            urls.append(outcome.final_url)
        return self._opened.prepare(urls, Defaults(depth=row.depth), readable(row.url)) if urls else None

    def _chances(self, many: int) -> list[float]:
        noise = self._opened.random(8 * many)
        return [int.from_bytes(noise[i : i + 8], "little") / 2.0**64 for i in range(0, 8 * many, 8)]
