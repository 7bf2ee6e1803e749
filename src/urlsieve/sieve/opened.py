"""A store in; what every verb of the façade needs of it: its rules as they are now, and a way to offer and to ask under them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from urlsieve import levels, linking, looking, ruling, watching, witnessing
from urlsieve.answers import Report
from urlsieve.batch import Defaults, Prepared, merge, overlaid, prepare, spread
from urlsieve.canon import Canonicalizer
from urlsieve.model import Mode, Offers, URLItem
from urlsieve.stores.protocol import Offered, StaleRules, Store
from urlsieve.unique import Unique

T = TypeVar("T")
URLs = str | bytes | URLItem | Iterable[str | bytes | URLItem]


class Opened:
    """An open store and how this opener sees it."""

    def __init__(self, store: Store, *, clock: Callable[[], float], chance: Callable[[int], bytes]) -> None:
        self.store, self.clock, self.random = store, clock, chance
        self.unique = Unique(store, clock)
        self.form = ruling.finished(store, clock())
        self.witness = witnessing.Witness(store)
        self.watch = watching.Watch(store)

    @property
    def canonicalizer(self) -> Canonicalizer:
        """The store's canonical form, under its rules as this sieve has read them."""
        return self.form.canonicalizer

    def group_of(self, host: str) -> str:
        return self.form.group_of(host)

    def offer_parts(self, parts: list[linking.Part], mode: Mode, report: Report) -> None:
        """One atomic step. Where somebody has changed the rules meanwhile, under theirs: their keys may be others."""
        taken: list[bytes] = []  # what parts of a store took of it that had not heard of the newer rules yet
        while True:
            form = self.form
            prepared = [levels.asked(self.store, form.levels, part.prepared(form)) for part in parts]
            offers = merge(prepared)
            offered = self.store.offer(offers, mode, form.generation, self.clock())
            if not offered.stale_rules:
                break
            if offered.verdicts:
                taken = overlaid(prepared, taken, spread(prepared, offered.verdicts))
            self.reload_rules()
        self.unique.add(offers.fingerprints)
        answers = overlaid(prepared, taken, spread(prepared, offered.verdicts))
        for part, verdicts in zip(prepared, answers, strict=True):
            report.add(verdicts, part.refused)
        if mode in (Mode.NEW, Mode.RAISE):
            self.watch.offer(form, prepared, answers, self.clock())

    def offered(self, offers: Offers, mode: Mode) -> Offered:
        """Of entries that the store has: their fingerprints are what it says. Where the rules have changed meanwhile they may not be."""
        offered = self.store.offer(offers, mode, self.form.generation, self.clock())
        if offered.stale_rules:
            self.reload_rules()
        return offered

    def count(self, offers: Offers) -> None:
        """An offer of no URLs, for its counts of rejected ones."""
        while self.offered(offers, Mode.NEW).stale_rules:
            pass

    def asked(self, urls: list[str | bytes | URLItem], ask: Callable[[Offers, int], T]) -> tuple[Prepared, T]:
        """A question of these URLs to the store, under its rules as they are now."""
        while True:
            prepared = levels.asked(self.store, self.form.levels, self.prepare(urls, Defaults(), None))
            try:
                return prepared, ask(prepared.offers, prepared.generation)
            except StaleRules:
                self.reload_rules()

    def prepare(self, urls: list[str | bytes | URLItem], defaults: Defaults, base: str | None) -> Prepared:
        return prepare(urls, defaults, self.form, base=base)

    def reload_rules(self) -> None:
        """Another worker has changed the rules: theirs hold from now on."""
        self.read_rules()

    def read_rules(self) -> ruling.Form:
        self.form = ruling.finished(self.store, self.clock())
        return self.form

    def site_name(self, name: object) -> str:
        return looking.site_name(self.store, self.canonicalizer, name)
