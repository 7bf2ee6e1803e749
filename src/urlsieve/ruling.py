"""A store's rules in; the form of URLs under them out, with what earlier rules made of them; and changes of the rules back into the store.

A `Form` is one moment's rules, immutable: what was prepared under it is offered under its generation, and a store that has newer rules
refuses it, so that nobody marks a URL under a key that no longer is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from urlsieve.batch import as_given
from urlsieve.canon import Canonicalizer, Keys
from urlsieve.canon.switches import switched
from urlsieve.errors import ConfigError, StoreUnavailable, mask_userinfos
from urlsieve.grouping import grouping
from urlsieve.model import Earlier, Header, Level
from urlsieve.stores.protocol import Kept, Keyed, Rekeying, Ruled, Store, Sweep, Swept
from urlsieve.unique import PLACE

if TYPE_CHECKING:  # most stores have no rules, and a filter is started often: imported where they are needed
    from urlsieve.canon.rulebook import Asked, Book, Changed
    from urlsieve.canon.rules import Rules
    from urlsieve.canon.rulevalues import Confirmed, Rule
    from urlsieve.canon.scope import Scope

#: More segments, more equal segments, more equal parameter names than these make a URL a trap.
TRAPS = (256, 8, 32)
#: Each time somebody else has changed the rules first: more means that something is wrong.
MOST_TRIES = 100


@dataclass(frozen=True, slots=True)
class Former:
    """Rules of before that tell which URLs of today's were seen: those whose host `asked` covers."""

    canonicalizer: Canonicalizer
    asked: Asked


@dataclass(frozen=True, slots=True)
class Form:
    """canonicalizer: under today's rules; plain: without what somebody has confirmed in them (None: nothing). former: the newest first.
    group_of: of a URL's host as found. levels: the store's imported levels."""

    generation: int
    rules: Rules | None
    canonicalizer: Canonicalizer
    former: tuple[Former, ...]
    group_of: Callable[[str], str]
    levels: tuple[Level, ...] = ()
    plain: Canonicalizer | None = None

    @property
    def scope(self) -> Scope | None:
        """What is wanted at all; None: everything."""
        return self.rules.scope if self.rules is not None and self.rules.scope.narrows else None

    @property
    def limited(self) -> Scope | None:
        """What says the limits; None: there are none."""
        return self.rules.scope if self.rules is not None and self.rules.scope.limits_any else None

    def earlier(
        self, keys: Keys, texts: Sequence[str | bytes], base: str | None, variants: list[bytes] | None
    ) -> dict[int, tuple[Earlier, ...]]:
        """Position → what the URL's fingerprints were. Few: only where a rule has come that merges, and only of its sites."""
        found: dict[int, tuple[Earlier, ...]] = {}
        now = keys.fingerprints
        for former in self.former:
            then = former.canonicalizer.canonicalize_many(texts, base=base, variants=variants)
            if then.fingerprints == now:
                continue
            theirs = then.fingerprints
            for i in range(len(keys)):
                was = theirs[16 * i : 16 * i + 16]
                if was == now[16 * i : 16 * i + 16] or then.status[i] or keys.status[i] or not former.asked.covers(keys.host(i)):
                    continue
                have = found.get(i, ())
                if all(was != one.fingerprint for one in have):
                    found[i] = (*have, Earlier(was, then.site(i)))
        return found


def form_of(header: Header, ruled: Ruled, where: str) -> Form:
    """StoreMismatch: the rules are of a newer urlsieve."""
    plain = grouping(header)
    if not ruled.book:
        return Form(ruled.generation, None, _canonicalizer(header, None), (), plain)
    from urlsieve.canon import rulebook

    book = rulebook.read(ruled.generation, ruled.book, where)
    rules = book.rules
    if rules is None or not rules.groups:
        group_of = plain
    else:
        named = rules.group_of

        def group_of(host: str) -> str:
            return named(host) or plain(host)

    asked = [(old, rulebook.asked(rules, old, _switches(header))) for _, old in book.former]
    former = tuple(Former(_canonicalizer(header, old), one) for old, one in asked if one.tightened)
    merging = None if rules is None else rules.without_merges()
    plain_form = None if merging is None else _canonicalizer(header, merging)
    return Form(book.generation, rules, _canonicalizer(header, rules), former, group_of, plain=plain_form)


def _canonicalizer(header: Header, rules: Rules | None) -> Canonicalizer:
    return Canonicalizer(profile=header.profile, secret=header.secret, traps=TRAPS, rules=rules)


def _switches(header: Header) -> tuple[str, ...]:
    return switched(header.profile).on


def finished(store: Store, now: float) -> Form:
    """The store's rules as they are now. What a change of them has begun and not finished is finished first."""
    ruled = store.rules()
    if not ruled.swept:
        store.sweep_rules(_sweep(store.header, book_of(store, ruled)), ruled.generation, now)
    form = form_of(store.header, ruled, store.address)
    if form.limited is not None:
        store.reckon()
    levels = store.imported()
    return replace(form, levels=tuple(levels)) if levels else form


def book_of(store: Store, ruled: Ruled | None = None) -> Book:
    """Today's rules with those before and the history."""
    from urlsieve.canon import rulebook

    ruled = store.rules() if ruled is None else ruled
    return rulebook.read(ruled.generation, ruled.book, store.address)


def _sweep(header: Header, book: Book) -> Sweep:
    """What the last change of the rules makes of the entries that it touches."""
    from urlsieve.canon import rulebook

    before = book.former[0][1] if book.former else None
    touched, loosened = rulebook.touched(book.rules, before, _switches(header))
    now = _canonicalizer(header, book.rules)

    def moved(entries: Sequence[Kept]) -> list[tuple[bytes, str] | None]:
        # whatever rules of before gave an entry its fingerprint: its text is what is fetched
        keys = now.canonicalize_many([as_given(entry.url) for entry in entries], variants=[entry.variant for entry in entries])
        return [None if keys.status[i] else (keys.fingerprints[16 * i : 16 * i + 16], keys.site(i)) for i in range(len(entries))]

    return Sweep(touched.covers, loosened.covers, moved)


def same_rules(one: str, other: str) -> bool:
    """Whether two books have the same rules today."""
    if one == other:
        return True
    from urlsieve.canon import rulebook

    return rulebook.read(0, one, "one store").rules == rulebook.read(0, other, "another store").rules


# -- changes


@dataclass(frozen=True, slots=True)
class Applied:
    """What a change of rules did, or would do. touched: matches whose URLs may have other keys; tightened: where more is merged than
    before, loosened: where less. bound: how many pages may be fetched again because of it, at most: those whose text is not kept, for
    nobody can tell what they are called now; and where less is merged, those that were one and may be two."""

    generation: int
    touched: tuple[str, ...]
    tightened: tuple[str, ...]
    loosened: tuple[str, ...]
    bound: int
    swept: Swept

    def with_swept(self, swept: Swept) -> Applied:
        return replace(self, bound=swept.forgotten + swept.left + (swept.moved if self.loosened else 0), swept=swept)


def change(store: Store, make: Callable[[Rules | None], Rules | None], changed: Changed, now: float, *, dry: bool = False) -> Applied:
    """Today's rules become what `make` makes of them; when somebody else was faster, of theirs. dry: only what it would do."""
    for _ in range(MOST_TRIES):
        finished(store, now)
        ruled = store.rules()
        before = book_of(store, ruled)
        rules = make(before.rules)
        _check(store, rules)
        book = before.next(rules, changed)
        applied = _applied(before, book)
        if applied.generation == before.generation:
            return applied
        sweep = _sweep(store.header, book) if applied.touched else None
        if dry:
            return applied if sweep is None else applied.with_swept(store.sweep_size(sweep))
        done = store.replace_rules(book.text, before.generation, now, sweep)
        if done is not None:
            return applied.with_swept(done)
    raise StoreUnavailable(f"the rules of {store.address} change too often: {MOST_TRIES} times others came first; try again")


def rekeying(store: Store, header: Header, level: Level) -> Rekeying:
    """How the store's texts are called under another header, and how they were under its own. ConfigError: its rules do not fit that."""
    book = book_of(store)
    now = _canonicalizer(header, book.rules)
    then = [_canonicalizer(store.header, rules) for rules in {book.rules: None, **{old: None for _, old in book.former}}]
    ours = (header.canonical_version, header.vectors)

    def keyed(entries: Sequence[Kept]) -> list[Keyed]:
        texts = [as_given(entry.url) for entry in entries]
        variants = [entry.variant for entry in entries]
        keys = now.canonicalize_many(texts, variants=variants)
        olds = [one.canonicalize_many(texts, variants=variants) for one in then]
        found = []
        for i, code in enumerate(keys.status):
            at = slice(16 * i, 16 * i + 16)
            was = tuple(old.fingerprints[at] for old in olds if not old.status[i])
            found.append(Keyed(b"", "", keys.reasons[i], was) if code else Keyed(keys.fingerprints[at], keys.site(i), None, was))
        return found

    return Rekeying(header, level, keyed, now.name_hash, (store.header.canonical_version, store.header.vectors) == ours, PLACE)


def said(by: str, evidence: str, now: float) -> Confirmed:
    """Who says so of a rule, today."""
    from datetime import UTC, datetime

    from urlsieve.canon.rulevalues import Confirmed

    return Confirmed(mask_userinfos(by), datetime.fromtimestamp(now, UTC).date().isoformat(), mask_userinfos(evidence))


def marked(rules: Rules | None, match: str, what: str, said: Confirmed) -> Rules:
    """The rules with one of them confirmed, suspended or resumed. ConfigError: no such rule, nothing to confirm, or to resume."""
    from urlsieve.canon import rulebook
    from urlsieve.canon.rules import Rules

    rules = rules or Rules.kept("", "the store's rules")
    rule = rulebook.rule_of(rules, match)
    if what == "confirm":
        if not rule.proposed:
            raise ConfigError(f"the rule {rule.name!r} has nothing that waits for confirmation")
        return rules.with_rule(rule, replace(rule, confirmed=said))
    if what == "resume" and rule.suspended is None:
        raise ConfigError(f"the rule {rule.name!r} is not suspended")
    return rules.with_rule(rule, replace(rule, suspended=said if what == "suspend" else None))


def distrusted(rules: Rules | None, rule: Rule, said: Confirmed) -> Rules | None:
    """The rules with this one suspended, if it is still there as it was."""
    own = None if rules is None else next((one for one in rules.rules if replace(one, line=rule.line) == rule), None)
    return rules if rules is None or own is None else rules.with_rule(own, replace(own, suspended=said))


def _applied(before: Book, book: Book) -> Applied:
    """What it would touch, before anything is counted."""
    from urlsieve.canon.rules import Rules

    if book.rules == before.rules:
        return Applied(before.generation, (), (), (), 0, Swept())
    new = book.rules or Rules.kept("", "no rules")
    return Applied(book.generation, new.touched(before.rules), new.tightens(before.rules), new.loosens(before.rules), 0, Swept())


def _check(store: Store, rules: Rules | None) -> None:
    """ConfigError: the store cannot hold what they bring together, or has a profile that takes no rules."""
    from urlsieve.canon.ruletable import resolved

    if rules is None:
        return
    _canonicalizer(store.header, rules)
    pairs = [(rule.name, found, target) for rule in rules.rules for found, target in resolved(rule.hosts)]
    pairs += [(f"the group {name}", match.removeprefix("="), name) for name, matches in rules.groups.items() for match in matches]
    for rule, one, other in pairs:
        if not store.together(one, other):
            raise ConfigError(
                f"{rule}: {one} and {other} lie in different parts of the store {store.address}, which are divided by registrable domain: "
                "leave it out, name a group by the domain of its sites, or use a store in one part (made with shards=1 in its address)"
            )
