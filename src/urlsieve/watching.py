"""What confirmed rules merge goes in; a page in a hundred is fetched under all its addresses, and what was wrong comes out.

The *page* is chosen, by a hash of its key, the same for every worker: then all know of which pages to remember the content, whichever of
its addresses comes first. Of a chosen page each address that is merged away is an entry of its own, under the key that it has without
`hosts`, `https` and `path_case`, beside the page's own entry; verdicts and counts of the push are as if it were not there.

What a worker found is written first and then the other's is read, so that of two at once at least one sees both.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from urlsieve._kernel import siphash24
from urlsieve.answers import Finding
from urlsieve.batch import Prepared, as_found, readable
from urlsieve.errors import mask_userinfo
from urlsieve.model import Budget, Lease, Mode, OfferRow, Offers, Outcome, Row, Verdict
from urlsieve.ruling import Form
from urlsieve.stores.protocol import Store, Witnessed
from urlsieve.witnessing import mark_of

if TYPE_CHECKING:
    from urlsieve.canon import Keys
    from urlsieve.canon.rulevalues import Rule

#: One page in so many is fetched under all its addresses.
ONE_IN = 100
#: Seconds for which a page's content is remembered for comparison. What is older may have changed.
REMEMBERED = 7 * 86_400.0
#: Fingerprints that a sieve remembers to have offered.
MOST_REMEMBERED = 65_536
#: A page that had two contents under one address: compared with nothing.
CHANGING = "-"
#: Who suspends.
BY = "urlsieve"

logger = logging.getLogger("urlsieve")


def chosen(key: str) -> bool:
    """By its key under the rules. Not keyed with the store's secret: what is fetched twice is the same in every store."""
    return siphash24(bytes(16), key.encode()) % ONE_IN == 0


# -- on the way in


class Watch:
    """Of one sieve: what it has offered already is offered once more now and then, which changes nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._offered: set[bytes] = set()

    def offer(self, form: Form, parts: Sequence[Prepared], verdicts: Sequence[bytes], now: float) -> None:
        """The addresses of chosen pages that a push found seen, because they are merged into those, become entries of their own. Not
        where the rules have just changed."""
        found: dict[bytes, _Address] = {}
        for part, verdict in zip(parts, verdicts, strict=True):
            if Verdict.SEEN in verdict:
                found.update(_merged(form, part, verdict))
        missing = {fingerprint: address for fingerprint, address in found.items() if fingerprint not in self._offered}
        if not missing or self._store.offer(_offers(missing), Mode.NEW, form.generation, now).stale_rules:
            return
        if len(self._offered) > MOST_REMEMBERED:
            self._offered = set()
        self._offered.update(missing)

    def forget(self, form: Form, prepared: Prepared, now: float) -> None:
        """The entries of all these addresses, if there are some."""
        found = dict(_merged(form, prepared, None))
        if found:
            self._offered = set()
            self._store.forget(_offers(found), now)


class _Address(NamedTuple):
    row: OfferRow
    limits: Mapping[str, Budget]


def _merged(form: Form, part: Prepared, verdicts: bytes | None) -> Iterator[tuple[bytes, _Address]]:
    """What the merged ones of these are called without the merges. verdicts: only those of chosen pages that are seen."""
    if form.plain is None or part.source is None:
        return
    keys, base, variants = part.source
    plain = form.plain.canonicalize_many(keys.urls, base=base, variants=variants)
    if plain.fingerprints == keys.fingerprints:
        return
    for at, i in enumerate(part.index):
        own = _print(plain, i)
        if own == _print(keys, i) or plain.status[i]:
            continue
        if verdicts is None or (verdicts[i] == Verdict.SEEN and chosen(keys[i] or "")):
            limits = {} if part.offers.limits is None else part.offers.limits(at)
            yield own, _Address(part.offers.rows([at])[0]._replace(site=plain.site(i)), limits)


def _offers(found: Mapping[bytes, _Address]) -> Offers:
    every = list(found.values())
    return Offers(
        b"".join(found),
        lambda at: [every[i].row for i in at],
        sites=lambda at: [every[i].row.site for i in at],
        limits=(lambda at: every[at].limits) if any(one.limits for one in every) else None,
    )


def _print(keys: Keys, i: int) -> bytes:
    return keys.fingerprints[16 * i : 16 * i + 16]


# -- on the way back


class Seen(NamedTuple):
    """A fetched address of a chosen page. plain: fingerprint of what it is called without the merges; merged: whether that is another one
    than the page's. same: redirects led from one address of the page to another."""

    rule: Rule
    site: str
    page: bytes
    plain: bytes
    merged: bool
    url: str
    mark: str | None
    same: bool


def _seen(form: Form, pairs: Iterable[tuple[Lease | Row, Outcome]], secret: int) -> Iterator[Seen]:
    """Of what was fetched, the addresses of chosen pages."""
    from urlsieve.canon.witnesses import fits

    found = [(fetched, outcome) for fetched, outcome in pairs if not fetched.variant]
    if form.plain is None or not found:
        return
    urls = [as_found(readable(fetched.url)) for fetched, _ in found]
    keys, plain = form.canonicalizer.canonicalize_many(urls), form.plain.canonicalize_many(urls)
    for i, (fetched, outcome) in enumerate(found):
        key, rule = keys[i], None if keys[i] is None else form.canonicalizer.rule_of(keys, i)
        if key is None or rule is None or rule.confirmed is None or plain[i] is None or not chosen(key) or not fits(key):
            continue
        mark = mark_of(outcome.signature, secret.to_bytes(16, "little"))
        led = _led(form, plain[i] or "", key, outcome, readable(fetched.url))
        if mark is not None or led:
            merged = _print(plain, i) != _print(keys, i)
            yield Seen(rule, keys.site(i), _print(keys, i), _print(plain, i), merged, plain[i] or "", mark, led)


def _led(form: Form, plain: str, key: str, outcome: Outcome, base: str) -> bool:
    final = outcome.final_url or (outcome.redirects[-1] if outcome.redirects else None)
    if final is None or form.plain is None:
        return False
    ends = form.canonicalizer.canonicalize_many([as_found(final)], base=base)[0]
    named = form.plain.canonicalize_many([as_found(final)], base=base)[0]
    return ends == key and named != plain


class Found(NamedTuple):
    """What came of a comparison: equal, or the two addresses that had different contents."""

    one: Seen
    equal: bool
    other: str = ""

    @property
    def evidence(self) -> str:
        return f"{mask_userinfo(self.one.url)} and {mask_userinfo(self.other)} are one page under it, and had different contents"


def compared(store: Store, form: Form, pages: Iterable[tuple[Lease | Row, Outcome]], now: float) -> Iterator[Found]:
    """What can be said of the chosen pages among these. outcomes: of pages that were there, with a signature or redirects."""
    for one in _seen(form, pages, store.header.secret):
        found = _compared(store, one, now)
        if found is not None:
            yield found


def _compared(store: Store, one: Seen, now: float) -> Found | None:
    """With what is remembered of the page's other addresses. None: nothing can be said yet."""
    if one.same:
        return Found(one, True)
    page = one.page.hex()
    slots = (f"merged:{page}", f"page:{page}") if one.merged else (f"page:{page}", f"merged:{page}")
    before = _read(store, one.site, slots[0], now)
    again = before is not None and before["plain"] == one.plain.hex()
    known = before["mark"] if again and before is not None else one.mark
    mark = one.mark if known == one.mark else CHANGING
    value = json.dumps({"plain": one.plain.hex(), "mark": mark, "url": one.url})
    store.set_blob(one.site, slots[0], value.encode(), now, REMEMBERED)
    others = [_read(store, one.site, slots[1], now), None if again else before]
    for other in others:
        if other is None or CHANGING in (mark, other["mark"]):
            continue
        if other["mark"] != mark:
            return Found(one, False, other["url"])
        if not again:
            return Found(one, True)
    return None


def _read(store: Store, site: str, key: str, now: float) -> dict[str, Any] | None:
    value = store.blob(site, key, now)
    return None if value is None else json.loads(value)


def verified(found: Found) -> Witnessed:
    """A line for what is witnessed."""
    from urlsieve.canon.witnesses import verified_line

    return Witnessed(found.one.site, verified_line(found.one.rule.name))


def findings(form: Form) -> Iterator[Finding]:
    """For the doctor: rules that were found out."""
    for rule in () if form.rules is None else form.rules.rules:
        if rule.suspended is not None and rule.suspended.by == BY:
            what = f"the rule {rule.name} is suspended since {rule.suspended.at}: {rule.suspended.evidence}"
            yield Finding("warn", what, "look at the two pages: correct the rule and apply it, or `rules resume` it")
