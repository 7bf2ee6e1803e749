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


class Upkeep(Opened):
    """The verbs of whoever looks after a store."""

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
