"""What confirmed rules merge goes in; a page in a hundred is fetched under all its addresses, and what was wrong comes out.

The *page* is chosen, by a hash of its key, the same for every worker: then all know of which pages to remember the content, whichever of
its addresses comes first. Of a chosen page each address that is merged away is an entry of its own, under the key that it has without
`hosts`, `https` and `path_case`, beside the page's own entry; verdicts and counts of the push are as if it were not there.

What a worker found is written first and then the other's is read, so that of two at once at least one sees both.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from urlsieve._kernel import siphash24
from urlsieve.answers import Finding
from urlsieve.batch import Prepared, as_found, readable
from urlsieve.errors import mask_userinfo
from urlsieve.model import Lease, OfferRow, Offers, Outcome, Row, Verdict
from urlsieve.ruling import Form
from urlsieve.stores.protocol import Store
from urlsieve.witnessing import mark_of

if TYPE_CHECKING:
    from urlsieve.canon import Keys
    from urlsieve.canon.rulevalues import Rule

#: One page in so many is fetched under all its addresses.
ONE_IN = 100
#: Seconds for which a page's content is remembered for comparison. What is older may have changed.
REMEMBERED = 7 * 86_400.0
#: A page that had two contents under one address: compared with nothing.
CHANGING = "-"
#: Who suspends.
BY = "urlsieve"

logger = logging.getLogger("urlsieve")


def chosen(key: str) -> bool:
    """By its key under the rules. Not keyed with the store's secret: what is fetched twice is the same in every store."""
    return siphash24(bytes(16), key.encode()) % ONE_IN == 0


# -- on the way in


def probes(form: Form, parts: Sequence[Prepared], verdicts: Sequence[bytes], known: Container[bytes]) -> Offers | None:
    """The addresses of chosen pages that a push found seen, because they are merged into those, as entries of their own. known:
    fingerprints of some that are there."""
    if form.plain is None:
        return None
    prints, rows, sites = [], [], []
    for part, verdict in zip(parts, verdicts, strict=True):
        if part.source is None or Verdict.SEEN not in verdict:
            continue
        keys, base, variants = part.source
        plain = form.plain.canonicalize_many(keys.urls, base=base, variants=variants)
        if plain.fingerprints == keys.fingerprints:
            continue
        for at, i in enumerate(part.index):
            if verdict[i] == Verdict.SEEN and _print(plain, i) != _print(keys, i) and not plain.status[i] and chosen(keys[i] or ""):
                if _print(plain, i) in known:
                    continue
                prints.append(_print(plain, i))
                sites.append(plain.site(i))
                rows.append(part.offers.rows([at])[0]._replace(site=sites[-1]))
    if not prints:
        return None

    def rows_of(at: Sequence[int]) -> list[OfferRow]:
        return [rows[i] for i in at]

    return Offers(b"".join(prints), rows_of, sites=lambda at: [sites[i] for i in at])


def addresses(form: Form, prepared: Prepared) -> Offers | None:
    """What all of them are called without the merges."""
    if form.plain is None or prepared.source is None:
        return None
    keys, base, variants = prepared.source
    plain = form.plain.canonicalize_many(keys.urls, base=base, variants=variants)
    at = [i for i in prepared.index if _print(plain, i) != _print(keys, i) and not plain.status[i]]
    return (
        Offers(b"".join(_print(plain, i) for i in at), lambda _: [], sites=lambda some: [plain.site(at[i]) for i in some]) if at else None
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


def seen(form: Form, pairs: Iterable[tuple[Lease | Row, Outcome]], secret: int) -> Iterator[Seen]:
    """Of what was fetched, the addresses of chosen pages. outcomes: of pages that were there, with a signature or redirects."""
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


def compared(store: Store, one: Seen, now: float) -> Found | None:
    """With what is remembered of the page's other addresses. None: nothing can be said yet."""
    if one.same:
        return Found(one, True)
    page = one.page.hex()
    slots = (f"probe:{page}", f"page:{page}") if one.merged else (f"page:{page}", f"probe:{page}")
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


def verified(rule: Rule) -> bytes:
    """A line for what is witnessed."""
    from urlsieve.canon.witnesses import verified_line

    return verified_line(rule.name)


def evidence(found: Found) -> str:
    return f"{mask_userinfo(found.one.url)} and {mask_userinfo(found.other)} are one page under it, and had different contents"


def findings(form: Form) -> Iterator[Finding]:
    """For the doctor: rules that were found out."""
    for rule in () if form.rules is None else form.rules.rules:
        if rule.suspended is not None and rule.suspended.by == BY:
            what = f"the rule {rule.name} is suspended since {rule.suspended.at}: {rule.suspended.evidence}"
            yield Finding("warn", what, "look at the two pages: correct the rule and apply it, or `rules resume` it")
