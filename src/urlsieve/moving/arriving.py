"""Lines of an export in, what they tell in the store: once, however often they come.

An entry that the store has seen is left as it is, so an import that was killed is simply repeated. A URL with text gets the fingerprint
that is its own in this store; one without can only be taken where the export's fingerprints hold.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from urlsieve import checks, looking
from urlsieve.answers import Imported
from urlsieve.batch import as_given
from urlsieve.canon import REASON_OF_CODE
from urlsieve.errors import ConfigError
from urlsieve.levels import WIDTH, level_from
from urlsieve.model import Entry, Level, Offers, Verdict
from urlsieve.moving.lines import entry_of
from urlsieve.moving.origin import MARK, Origin, origin_of
from urlsieve.ruling import Form, same_rules
from urlsieve.stores.protocol import StaleRules, Store

#: Entries in one atomic step.
STEP = 5_000

Reject = Callable[[str, str, bytes], None]


class Arrival:
    """Takes lines, one export or several after one another. `reject` is told of lines that are refused: a word, why, and the line."""

    def __init__(
        self,
        store: Store,
        form: Callable[[], Form],
        *,
        clock: Callable[[], float],
        offered: Callable[[Offers], object],
        reject: Reject,
        report: Imported,
    ) -> None:
        """form: the store's rules as they are now. offered: an offer of no URLs, for its counts of rejected ones. report: is counted in."""
        self.report = report
        self._store, self._read_rules, self._form = store, form, form()
        self._clock, self._offered, self._reject = clock, offered, reject
        self._origin: Origin | None = None
        self._holds = False
        self._crc = 0
        self._given = {"entries": 0, "sites": 0, "groups": 0, "digests": 0}
        self._levels: dict[str, Level] = {}
        self._waiting: list[tuple[bytes, Entry]] = []
        self._named: dict[int, str] = {}  # groups of which nothing else is said

    def take(self, lines: Iterable[bytes]) -> None:
        """Lines without their newline. ConfigError where one cannot begin an export."""
        for line in lines:
            if line.strip():
                self._line(line)

    def finish(self) -> Imported:
        """What became of them all; `incomplete` says in words what is missing."""
        self._flush()
        if self._origin is not None:
            self.report.incomplete = "it ends before its last line: it was cut off"
        return self.report

    def _line(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("not a JSON object")
        except (ValueError, RecursionError) as error:
            record, why = {}, f"not JSON ({error})" if not isinstance(error, UnicodeDecodeError) else "not JSON (not UTF-8)"
        else:
            why = "it is no line of an export"
        if MARK in record:
            self._begin(record)
        if self._origin is None:
            raise ConfigError("it is not an export of urlsieve, or its first line is missing")
        if record.get("end") is True:
            self._end(record)
            return
        self._crc = zlib.crc32(b"\n", zlib.crc32(line, self._crc))
        if MARK in record:
            return
        handle = next((found for name, found in self._kinds.items() if name in record), None)
        if handle is None:
            self._refuse("invalid", why, line)
            return
        try:
            handle(self, record, line)
        except (ValueError, TypeError, ConfigError) as error:
            self._refuse("invalid", str(error), line)

    def _refuse(self, word: str, why: str, line: bytes) -> None:
        self.report.rejected += 1
        self._reject(word, why, line)

    # -- one export

    def _begin(self, record: Mapping[str, Any]) -> None:
        self._flush()
        if self._origin is not None:
            self.report.incomplete = "one of its exports ends before its last line: it was cut off"
        self._origin = origin = origin_of(record)
        self._crc, self._given, self._levels = 0, dict.fromkeys(self._given, 0), {}
        if self._store.counts(self._clock()).seen == 0:  # an empty store has no ways of its own yet
            self._settle_in(origin)
        self._form = self._read_rules()
        self._holds = origin.holds_in(self._store.header) and same_rules(origin.rules, self._store.rules().book)

    def _settle_in(self, origin: Origin) -> None:
        policy = looking.checked_policy(dict(origin.policy))
        have = self._store.policy()
        change = {name: value for name, value in policy.items() if getattr(have, name) != value}
        if change:
            self._store.set_policy(**change)
        ruled = self._store.rules()
        if ruled.book != origin.rules:
            self._store.replace_rules(origin.rules, ruled.generation, self._clock())

    def _end(self, record: Mapping[str, Any]) -> None:
        self._flush()
        told = {name: record.get(name, 0) for name in self._given}
        if told != self._given:
            self.report.incomplete = f"it says to have {told}, and has {self._given}: lines of it are missing"
        elif record.get("crc32") != f"{self._crc:08x}":
            self.report.incomplete = "it was changed after it was written: its checksum does not fit"
        self._origin = None

    # -- its lines

    def _entry(self, record: Mapping[str, Any], line: bytes) -> None:
        self._given["entries"] += 1
        self._waiting.append((line, entry_of(record)))
        if len(self._waiting) == STEP:
            self._flush()

    def _site(self, record: Mapping[str, Any], _: bytes) -> None:
        self._given["sites"] += 1
        name, limit = _name(record, "site"), checks.optional("limit", record.get("limit"), least=0, whole=True)
        site_id = self._form.canonicalizer.name_hash(name)
        if limit is not None or self._store.site(name, site_id) is None:
            self._flush()
            self._store.update_site(name, site_id, limit=limit)
            self.report.sites += 1

    def _group(self, record: Mapping[str, Any], _: bytes) -> None:
        self._given["groups"] += 1
        name = _name(record, "group")
        change = {
            "delay": checks.optional("delay", record.get("delay"), least=0),
            "concurrency": checks.optional("concurrency", record.get("concurrency"), least=1, whole=True),
            "paused": True if record.get("paused") is True else None,
            "blocked_until": checks.optional("blocked_until", record.get("blocked_until")),
        }
        change = {field: value for field, value in change.items() if value is not None}
        group_id = self._form.canonicalizer.name_hash(name)
        if change:
            self._flush()
            self._store.update_group(name, group_id, self._clock(), **change)
            self.report.groups += 1
            return
        self._named[group_id] = name
        if len(self._named) == STEP:
            self._flush()

    def _counts(self, record: Mapping[str, Any], _: bytes) -> None:
        """As many as the export had, if the store has fewer: adding them would count them again when the import is repeated."""
        self._flush()
        have = self._store.counts(self._clock())
        told = record["counts"]
        if not isinstance(told, dict):
            raise ValueError("'counts' is damaged")
        rejected = _missing(told.get("rejected", {}), have.rejected)
        skipped = _missing(told.get("skipped", {}), have.skipped)
        if rejected:
            self._offered(Offers(b"", lambda _: [], rejected))
        if skipped:
            self._store.admit([], self._clock(), skipped=skipped)

    def _level(self, record: Mapping[str, Any], _: bytes) -> None:
        level = level_from(_name(record, "imported"), record.get("kind"), record.get("about"))
        self._store.add_imported(level, b"")
        self._levels[level.name] = level

    def _digests(self, record: Mapping[str, Any], _: bytes) -> None:
        block = base64.b64decode(record["digests"], validate=True)
        self._given["digests"] += len(block) // WIDTH
        level = self._levels.get(str(record.get("of")))
        if level is None or len(block) % WIDTH:
            raise ValueError("digests of no imported level" if level is None else "'digests' is damaged")
        self.report.digests += self._store.add_imported(level, block)

    #: The field that tells what a line is → who takes it.
    _kinds = {  # noqa: RUF012
        "entry": _entry,
        "site": _site,
        "group": _group,
        "counts": _counts,
        "imported": _level,
        "digests": _digests,
    }

    def _flush(self) -> None:
        named, self._named = self._named, {}
        if named:
            self._store.admit([], self._clock(), groups=named)
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        while True:
            try:
                self._admit(self._ready(waiting))
                return
            except StaleRules:
                self._form = self._read_rules()

    def _ready(self, waiting: list[tuple[bytes, Entry]]) -> list[tuple[bytes, Entry]]:
        """Under the fingerprints that they have in this store. Those that it cannot take are refused."""
        form = self._form
        given = [entry for _, entry in waiting]
        texts = [b"" if entry.url is None else as_given(entry.url) for entry in given]
        variants = [entry.variant for entry in given]
        keys = form.canonicalizer.canonicalize_many(texts, variants=variants)
        earlier = form.earlier(keys, texts, None, variants) if form.former else {}
        plain = keys if form.plain is None or not self._holds else form.plain.canonicalize_many(texts, variants=variants)
        ready: list[tuple[bytes, Entry]] = []
        for i, (line, entry) in enumerate(waiting):
            if entry.url is None:
                found = self._without_text(entry, line)
            elif keys.status[i]:
                found = None
                self._refuse(REASON_OF_CODE[keys.status[i]] or "", "its URL is none that this store takes", line)
            else:
                named = plain if plain.fingerprints[16 * i : 16 * i + 16] == entry.fingerprint else keys  # one under watch stays one
                own = named.fingerprints[16 * i : 16 * i + 16]
                if self._holds and entry.fingerprint not in (b"", own, *(one.fingerprint for one in earlier.get(i, ()))):
                    found = None
                    self._refuse("invalid", "its URL is not the one that was exported: its fingerprint does not fit", line)
                else:
                    group = entry.group or form.group_of(keys.host(i))
                    group_id = form.canonicalizer.name_hash(group)
                    found = entry._replace(fingerprint=own, site=named.site(i), group=group, group_id=group_id)
            if found is not None:
                ready.append((line, found))
        return ready

    def _admit(self, ready: list[tuple[bytes, Entry]]) -> None:
        """A store may be unable to hold an entry (its group, on another kind of store): those are found by halves, and refused alone."""
        if not ready:
            return
        try:
            verdicts = self._store.admit([entry for _, entry in ready], self._clock(), generation=self._form.generation)
        except ConfigError as error:
            if len(ready) == 1:
                self._refuse("invalid", str(error), ready[0][0])
                return
            half = len(ready) // 2
            self._admit(ready[:half])
            self._admit(ready[half:])
            return
        self.report.new += verdicts.count(Verdict.NEW)
        self.report.seen += verdicts.count(Verdict.SEEN)

    def _without_text(self, entry: Entry, line: bytes) -> Entry | None:
        if not self._holds:
            self.report.refused += 1
            self._reject("no_text", "it has no URL, and its fingerprint does not hold in a store with another secret or form", line)
            return None
        half = self._form.canonicalizer.name_hash(entry.site).to_bytes(8, "little", signed=True) if entry.site else b""
        if len(entry.fingerprint) != 16 or entry.fingerprint[:8] != half:
            self._refuse("invalid", "its fingerprint is not one of its site", line)
            return None
        return entry._replace(group="")


def _name(record: Mapping[str, Any], field: str) -> str:
    name = checks.text(field, record[field])
    if not name:
        raise ValueError(f"{field!r} is empty")
    return name


def _missing(told: object, have: Mapping[str, int]) -> dict[str, int]:
    if not isinstance(told, dict):
        raise ValueError("'counts' is damaged")
    found = {}
    for reason, many in told.items():
        more = checks.number(str(reason)[:80], many, whole=True, least=0) - have.get(reason, 0)
        if more > 0:
            found[reason] = more
    return found
