"""What the façade answers with: values that also know how to be shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from urlsieve.batch import readable
from urlsieve.model import Counts, Klass, Lease, Level, Row, State, Verdict

_WORDS = {
    int(Verdict.SEEN): "seen",
    int(Verdict.NEW): "new",
    int(Verdict.RAISED): "raised",
    int(Verdict.REQUEUED): "requeued",
    int(Verdict.FULL): "rejected:full",
    int(Verdict.LIMIT): "rejected:limit",
    int(Verdict.BUDGET): "rejected:budget",
}


class Report:
    """What became of a push: counts, and one verdict per URL in order."""

    __slots__ = ("_parts", "new", "raised", "reasons", "rejected", "requeued", "seen")

    def __init__(self) -> None:
        self.new = self.seen = self.raised = self.requeued = self.rejected = 0
        self.reasons: dict[str, int] = {}
        self._parts: list[tuple[bytes, Mapping[int, str]]] = []

    def add(self, verdicts: bytes, refused: Mapping[int, str]) -> None:
        """`verdicts`: one Verdict per URL; `refused`: index → reason of those that never reached the store."""
        self._parts.append((verdicts, refused))
        self.new += verdicts.count(Verdict.NEW)
        self.raised += verdicts.count(Verdict.RAISED)
        self.requeued += verdicts.count(Verdict.REQUEUED)
        by_store = [(verdict.name.lower(), verdicts.count(verdict)) for verdict in (Verdict.FULL, Verdict.LIMIT, Verdict.BUDGET)]
        self.rejected += sum(many for _, many in by_store) + len(refused)
        self.seen += verdicts.count(Verdict.SEEN) - len(refused)
        for reason in refused.values():
            self.reasons[reason] = self.reasons.get(reason, 0) + 1
        for reason, many in by_store:
            if many:
                self.reasons[reason] = self.reasons.get(reason, 0) + many

    @property
    def verdicts(self) -> list[str]:
        """ "new" "seen" "raised" "requeued" "rejected:<reason>", one per URL."""
        words: list[str] = []
        for verdicts, refused in self._parts:
            words += [f"rejected:{refused[i]}" if i in refused else _WORDS[code] for i, code in enumerate(verdicts)]
        return words

    def as_dict(self) -> dict[str, Any]:
        return {
            "new": self.new,
            "seen": self.seen,
            "raised": self.raised,
            "requeued": self.requeued,
            "rejected": self.rejected,
            "reasons": dict(sorted(self.reasons.items())),
        }

    def __repr__(self) -> str:
        return f"Report(new={self.new}, seen={self.seen}, raised={self.raised}, requeued={self.requeued}, rejected={self.rejected})"


class Leases(list[Lease]):
    """Leases, and when asking again is worth it (None: when something is pushed or settled)."""

    __slots__ = ("next_at",)

    def __init__(self, leases: Iterable[Lease] = (), next_at: float | None = None) -> None:
        super().__init__(leases)
        self.next_at = next_at


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `doctor`: level ok, warn or error."""

    level: str
    what: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        return {"level": self.level, "what": self.what, "advice": self.advice}


@dataclass(frozen=True, slots=True)
class Failed:
    """A dead URL. url: as found, None where its text is no longer kept (then most of the rest is not known either).
    attempts: leases given; at: when it last failed (seconds since the epoch)."""

    url: str | None
    site: str
    group: str | None
    reason: str | None
    attempts: int
    at: float | None
    priority: int
    depth: int
    via: str | None
    meta: Any
    variant: bytes
    fingerprint: bytes


@dataclass(frozen=True, slots=True)
class Rejected:
    """A URL that was refused (kind "rejected") or that a worker skipped ("skipped"). url, via: for people, without user info, cut where
    they are long; at: seconds since the epoch; depth: links from a start."""

    kind: str
    reason: str
    url: str
    at: float
    via: str | None
    depth: int


@dataclass(slots=True)
class Imported:
    """What became of an export's lines. new, seen: entries; sites, groups: settings that were set; rejected: lines that are damaged;
    refused: URLs without text whose fingerprints do not hold here; digests: new ones of imported levels. incomplete: what is missing, in
    words; None: nothing."""

    new: int = 0
    seen: int = 0
    sites: int = 0
    groups: int = 0
    rejected: int = 0
    refused: int = 0
    digests: int = 0
    incomplete: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Compacted:
    """Bytes of the seen set before and after it was merged into one file."""

    before: int
    after: int

    def as_dict(self) -> dict[str, Any]:
        return {"before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class Why:
    """Why nothing is fetched: the words that hold, and a sentence each."""

    subject: str
    reasons: tuple[str, ...]
    sentences: tuple[str, ...]
    until: float | None = None

    @property
    def text(self) -> str:
        return "; ".join(self.sentences)

    def as_dict(self) -> dict[str, Any]:
        return {"subject": self.subject, "reasons": list(self.reasons), "text": self.text, "until": self.until}

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}"


@dataclass(frozen=True, slots=True)
class Stats:
    """The store's counts. A field whose part is not built yet is None. Times in seconds, sizes in bytes."""

    accepted: int
    pending: int
    leased: int
    delayed: int
    done: int
    dead: int
    known: int
    seen: int
    rejected: Mapping[str, int]
    skipped: Mapping[str, int]
    classes: Mapping[str, int]
    sites: int
    groups: int
    levels: Mapping[str, Any]
    unique_estimate: int | None
    expected_collisions: float
    canonical: Mapping[str, Any]
    bytes: Mapping[str, int | None]
    oldest_pending: float | None
    oldest_sampled: bool
    epoch: int
    generation: int = 0
    budgets: Mapping[str, Any] | None = None  # of job and day, where the rules have limits: {"job": {"pages": …, "pages_limit": …}}

    @classmethod
    def of(
        cls,
        counts: Counts,
        *,
        profile: str,
        version: int,
        imported: Sequence[Level] = (),
        rules_suspended: int = 0,
        unique: int | None = None,
    ) -> Stats:
        states = counts.states
        return cls(
            accepted=counts.accepted,
            pending=states[State.PENDING],
            leased=states[State.LEASED],
            delayed=states[State.DELAYED],
            done=states[State.DONE],
            dead=states[State.DEAD],
            known=counts.known,
            seen=counts.seen,
            rejected=counts.rejected,
            skipped=counts.skipped,
            classes={klass.name.lower(): counts.classes[klass] for klass in Klass},
            sites=counts.sites,
            groups=counts.groups,
            levels={**dict.fromkeys(("cache", "table", "filter", "runs")), **_asked(counts), **_counted(imported)},
            unique_estimate=unique,
            expected_collisions=counts.seen**2 / 2.0**65,
            canonical={
                "version": version,
                "profile": profile,
                "rules_generation": counts.rules_generation,
                "rules_suspended": rules_suspended,
            },
            bytes=counts.bytes,
            oldest_pending=counts.oldest_pending,
            oldest_sampled=counts.oldest_sampled,
            epoch=counts.epoch,
            generation=counts.generation,
        )

    def as_dict(self) -> dict[str, Any]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}


def _asked(counts: Counts) -> dict[str, Any]:
    """What this opener asked each level, in whole."""
    return {name: level.as_dict() for name, level in counts.levels.items()}


def _counted(imported: Sequence[Level]) -> dict[str, Any]:
    """Digests of each imported level; nothing where there is none."""
    return {"imported": {level.name: level.digests for level in imported}} if imported else {}


_CLASS_NAMES = tuple(klass.name.lower() for klass in Klass)


def lease_of(row: Row, key: str | None) -> Lease:
    """What a worker gets of a leased row."""
    return Lease(
        readable(row.url),
        key or "",
        row.site,
        row.group,
        row.token,
        row.attempt,
        row.priority,
        row.depth,
        row.via,
        None if row.meta is None else json.loads(row.meta),
        row.deadline,
        None,
        row.variant,
        _CLASS_NAMES[row.klass],
    )
