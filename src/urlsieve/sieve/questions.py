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


class Questions(Opened):
    """The verbs that ask."""

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
        ids = [self.canonicalizer.name_hash(name) for name in names or ()]
        return looking.wait(
            self._store, float(timeout), self._clock, lambda now: spending.whole_job(self._store, self._form, now), names, ids
        )

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
