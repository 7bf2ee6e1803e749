"""One or two URLs and a store in; which steps make their keys, under whose rules of which generation, and what the store knows, out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from urlsieve import levels
from urlsieve.batch import Defaults, prepare
from urlsieve.errors import InvalidURL
from urlsieve.looking import readable_info
from urlsieve.model import EntryInfo, URLItem
from urlsieve.ruling import Form, book_of
from urlsieve.stores.protocol import Store

if TYPE_CHECKING:
    from urlsieve.canon import Explanation


class Alias(NamedTuple):
    """Another key under which the store knows a URL: one that earlier rules gave it. level: what of the seen set answered."""

    site: str
    state: str
    level: str | None


@dataclass(frozen=True, slots=True)
class Known:
    """What a store knows of a URL. level: what of the seen set answered (table, runs, server, or imported and a name). aliases: the keys
    that earlier rules gave it, as far as they are seen. history: of its pages; None until page history is built."""

    key: str
    seen: bool
    level: str | None
    state: str
    entry: EntryInfo | None
    aliases: tuple[Alias, ...] = ()
    history: tuple[Any, ...] | None = None


def known(store: Store, form: Form, url: str | bytes, *, base: str | None = None, variant: bytes = b"") -> Known:
    """InvalidURL if it is none."""
    prepared = prepare([URLItem(url, variant=variant)], Defaults(), form, base=base)
    if prepared.refused:
        raise InvalidURL(prepared.refused[0], url)
    offers = prepared.offers
    row = offers.rows([0])[0]
    own = store.info(row.site, offers.fingerprints)
    found = [(name.site, store.info(name.site, name.fingerprint)) for name in offers.earlier.get(0, ())]
    aliases = tuple(Alias(site, info.state, info.level) for site, info in found if info.state != "unseen")
    own = own if aliases else levels.info(store, form.levels, prepared, own)
    infos = [own, *(info for _, info in found)]
    best = next((info for info in infos if info.state not in ("unseen", "known")), None)
    best = best or next((info for info in infos if info.state == "known"), own)
    key = form.canonicalizer.canonicalize(url, base=base)
    return Known(key, best.state != "unseen", best.level, best.state, None if best.state == "unseen" else readable_info(best), aliases)


def explain(store: Store, form: Form, url_a: str | bytes, url_b: str | bytes | None, base: str | None) -> Explanation:
    """As the canonical form explains, with whose rules these are."""
    told = form.canonicalizer.explain(url_a, url_b, base=base)
    notes = [*told.notes, *_rules(store, form, [url for url in (url_a, url_b) if url is not None], base)]
    return replace(told, notes=tuple(dict.fromkeys(notes)))


def _rules(store: Store, form: Form, urls: list[str | bytes], base: str | None) -> list[str]:
    if form.rules is None:
        return []
    keys = form.canonicalizer.canonicalize_many(urls, base=base)
    book = book_of(store)
    notes = []
    for i, key in enumerate(keys):
        rule = None if key is None else form.canonicalizer.rule_of(keys, i)
        if rule is None:
            continue
        since = book.since(rule)
        change = next((change for change in reversed(book.changes) if change.generation == since), None)
        by = f": {change.what}{f' by {change.by}' if change.by else ''}" if change is not None else ""
        notes.append(f"the rule {rule.name!r} is as it is since generation {since} of the store's rules{by}; they are at {book.generation}")
    return notes
