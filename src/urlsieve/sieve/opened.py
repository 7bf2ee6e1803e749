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

    def _site_name(self, name: object) -> str:
        return looking.site_name(self._store, self.canonicalizer, name)
