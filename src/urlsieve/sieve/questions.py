"""Questions in; what the store knows, out. Nothing is changed, but for `retry`, which follows from its list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from urlsieve import arguments, checks, explaining, failed, levels, looking, spending, watching
from urlsieve.answers import Failed, Finding, Rejected, Stats, Why
from urlsieve.batch import Defaults, as_found, slices, spread
from urlsieve.canon import CANONICAL_VERSION
from urlsieve.errors import ConfigError
from urlsieve.explaining import Known
from urlsieve.model import EntryInfo, URLItem

if TYPE_CHECKING:
    from urlsieve.canon import Explanation

from urlsieve.sieve.opened import Opened, URLs


class Questions:
    """The verbs that ask. What each promises is said in `Sieve`."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def seen(self, urls: URLs) -> list[bool]:
        answers: list[bool] = []
        for part in slices(urls):
            prepared, flags = self._opened.asked(part, self._opened.store.contains)
            answers += map(bool, spread([prepared], flags)[0])
        return answers

    def explain(self, url_a: str | bytes, url_b: str | bytes | None = None, *, base: str | None = None) -> Explanation:
        return explaining.explain(self._opened.store, self._opened.read_rules(), url_a, url_b, base)

    def known(self, url: str | bytes, *, base: str | None = None, variant: bytes = b"") -> Known:
        return explaining.known(self._opened.store, self._opened.read_rules(), url, base=base, variant=variant)

    def info(self, url: str | bytes, *, variant: bytes = b"") -> EntryInfo:
        if not isinstance(url, (str, bytes)) or not isinstance(variant, bytes):
            raise ConfigError("a URL is str or bytes, its variant bytes")
        found = as_found(url)
        self._opened.canonicalizer.canonicalize(found)  # which raises
        prepared = self._opened.prepare([URLItem(found, variant=variant)], Defaults(), None)
        offers = prepared.offers
        names = [(offers.fingerprints, offers.rows([0])[0].site), *offers.earlier.get(0, ())]
        info = looking.readable_info(looking.first_info(self._opened.store, names))
        return levels.info(self._opened.store, self._opened.form.levels, prepared, info)

    def why(self, site_or_url: str) -> Why:
        found = looking.why(self._opened.store, self._opened.form, site_or_url, self._opened.clock())
        if found.reasons == ("unseen",) and self._opened.form.levels and (level := self.info(site_or_url).level) is not None:
            return replace(found, reasons=("known",), sentences=(f"{level} has it: it counts as seen",))
        return found

    def wait(self, timeout: float, *, groups: Iterable[str] | None = None) -> bool:
        checks.number("timeout", timeout, least=0)
        names = None if groups is None else arguments.names(groups)
        ids = [self._opened.canonicalizer.name_hash(name) for name in names or ()]
        return looking.wait(
            self._opened.store,
            float(timeout),
            self._opened.clock,
            lambda now: spending.whole_job(self._opened.store, self._opened.form, now),
            names,
            ids,
        )

    def stats(self) -> Stats:
        counts, imported = self._opened.store.counts(self._opened.clock()), self._opened.store.imported()
        form = self._opened.form if self._opened.form.generation == counts.rules_generation else self._opened.read_rules()
        suspended = 0 if form.rules is None else form.rules.counts.suspended
        unique = round(self._opened.unique.sketch().count())
        profile = self._opened.store.header.profile
        stats = Stats.of(counts, profile=profile, version=CANONICAL_VERSION, imported=imported, rules_suspended=suspended, unique=unique)
        return replace(stats, budgets=spending.shown(self._opened.store, form, self._opened.clock()))

    def unique(self, day: str | None = None) -> float:
        return self._opened.unique.sketch(day).count()

    def overlap(self, day: str, other: str) -> tuple[float, float]:
        return self._opened.unique.sketch(day).overlap(self._opened.unique.sketch(other))

    def failed(self, *, site: str | None = None, reason: str | None = None) -> Iterator[Failed]:
        name = None if site is None else self._opened.site_name(site)
        return failed.failed(self._opened.store, self._opened.clock(), site=name, reason=checks.text("reason", reason))

    def retry(self, chosen: Iterable[Failed] | None = None, *, site: str | None = None, reason: str | None = None) -> int:
        found = self.failed(site=site, reason=reason) if chosen is None else chosen
        return failed.retry(self._opened.store, found, self._opened.offered, self._opened.canonicalizer.name_hash)

    def rejected(self, reason: str | None = None) -> Iterator[Rejected]:
        return looking.rejected(self._opened.store.refused(), checks.text("reason", reason))

    def verify(self, *, deep: bool = False) -> list[str]:
        return self._opened.store.verify(deep)

    def doctor(self) -> list[Finding]:
        return [*looking.doctor(self._opened.store, self._opened.clock()), *watching.findings(self._opened.read_rules())]
