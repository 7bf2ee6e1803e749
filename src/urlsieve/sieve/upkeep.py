"""Sites, groups, whole stores: what an operator forgets, limits, moves and imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from urlsieve import arguments, checks, levels, looking
from urlsieve.answers import Imported, Report
from urlsieve.batch import MOST, slices
from urlsieve.errors import ConfigError
from urlsieve.model import Entry, GroupRow, Level, Offers, SiteRow
from urlsieve.moving import arriving, leaving
from urlsieve.sieve.opened import Opened, URLs
from urlsieve.sites import GroupHandle, SiteHandle


class Upkeep:
    """The verbs of whoever looks after a store. What each promises is said in `Sieve`."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    # -- sites and groups

    def forget(self, urls: URLs) -> int:
        total = 0
        for part in slices(urls):
            prepared, gone = self._opened.asked(part, self._drop)
            levels.forget(self._opened.store, self._opened.form.levels, prepared)
            self._opened.watch.forget(self._opened.form, prepared, self._opened.clock())
            total += gone
        return total

    def _drop(self, offers: Offers, generation: int) -> int:
        """How many the store had, or only a level."""
        only = 0
        if offers.elsewhere:
            seen = self._opened.store.contains(replace(offers, elsewhere=frozenset()), generation)
            only = len({offers.fingerprints[16 * at : 16 * at + 16] for at in offers.elsewhere if not seen[at]})
        return only + self._opened.store.forget(offers, self._opened.clock(), generation)

    def purge(self, site: str) -> int:
        name = self._opened.site_name(site)
        looking.unmapped(self._opened.canonicalizer, self._opened.form.rules, site)
        names = (
            [name] if self._opened.form.rules is None else [name, *self._opened.form.rules.sources_of(name)]
        )  # under earlier rules they were sites
        return sum(self._opened.store.purge(one, self._opened.canonicalizer.name_hash(one), self._opened.clock()) for one in names)

    def sites(self) -> Iterator[SiteRow]:
        return self._opened.store.sites()

    def groups(self) -> Iterator[GroupRow]:
        return self._opened.store.groups()

    def site(self, name: str) -> SiteHandle:
        site = self._opened.site_name(name)
        group = self._opened.group_of(site if self._opened.form.rules is None else looking.host_name(self._opened.canonicalizer, name))
        hash_of = self._opened.canonicalizer.name_hash
        return SiteHandle(self._opened.store, group, hash_of(group), self._opened.clock, site=site, site_id=hash_of(site))

    def group(self, name: str) -> GroupHandle:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"a group's name is text, not {name!r}")
        name = checks.text("name", name) or ""
        return GroupHandle(self._opened.store, name, self._opened.canonicalizer.name_hash(name), self._opened.clock)

    def group_of(self, name: str) -> GroupHandle:
        named = self.group(name)
        if named.row is not None:
            return named
        self._opened.site_name(name)  # which raises
        return self.group(self._opened.group_of(looking.host_name(self._opened.canonicalizer, name)))

    # -- out and in as a whole

    def entries(self, states: Iterable[str] | None = None) -> Iterator[Entry]:
        return self._opened.store.entries(self._opened.clock(), leaving.states_of(states))

    def admit(self, entries: Iterable[Entry]) -> Report:
        report, source = Report(), iter(entries)
        while part := [arguments.entry(one) for one in islice(source, MOST)]:
            report.add(self._opened.store.admit(part, self._opened.clock()), {})
        return report

    def export(self, *, states: Iterable[str] | None = None, secret: bool = True) -> Iterator[bytes]:
        chosen = leaving.states_of(states)
        return leaving.export(
            self._opened.store, self._opened.canonicalizer, self._opened.group_of, self._opened.clock(), states=chosen, secret=secret
        )

    def import_lines(
        self, lines: Iterable[bytes], *, rejected: Callable[[str, str, bytes], None] | None = None, report: Imported | None = None
    ) -> Imported:
        arrival = arriving.Arrival(
            self._opened.store,
            self._opened.read_rules,
            clock=self._opened.clock,
            offered=self._opened.count,
            reject=rejected or (lambda word, why, line: None),
            report=Imported() if report is None else report,
        )
        try:
            arrival.take(lines)
            return arrival.finish()
        finally:
            self._opened.read_rules()  # there may be imported levels now

    # -- imported levels

    def import_fingerprints(self, kind: str, digests: Iterable[bytes], *, name: str | None = None) -> int:
        level, source, total = levels.level_of(kind, name), iter(digests), 0
        total = self._opened.store.add_imported(level, b"")
        while part := list(islice(source, MOST)):
            total += self._opened.store.add_imported(level, levels.cut(kind, part))
        self._opened.read_rules()
        return total

    def imported(self) -> list[Level]:
        return self._opened.store.imported()

    def drop_imported(self, name: str) -> bool:
        dropped = self._opened.store.drop_imported(checks.text("name", name) or "")
        self._opened.read_rules()
        return dropped
