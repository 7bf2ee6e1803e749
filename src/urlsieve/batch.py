"""URLs as the caller gave them in; offers for a store, with what was refused before it, out."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from urlsieve import checks
from urlsieve.canon import Canonicalizer, Keys
from urlsieve.errors import ConfigError
from urlsieve.model import LONGEST_EXAMPLE, MOST_EXAMPLES, Budget, Columns, Earlier, Example, OfferRow, Offers, URLItem, Verdict

if TYPE_CHECKING:
    from urlsieve.canon.scope import Scope

#: URLs in one atomic step. A longer push is several steps, each whole.
MOST = 10_000

GroupOf = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the call says for URLs that do not say it themselves. `meta` is JSON text already."""

    priority: int = 0
    depth: int = 0
    via: str | None = None
    meta: str | None = None
    due: float | None = None


class Source(NamedTuple):
    """What a batch was made of, in the caller's order: for who makes digests of another kind of it."""

    keys: Keys
    base: str | None
    variants: Sequence[bytes] | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """Offers of those that can be offered, `index[i]` of each in the caller's order, and the refused ones by that order. generation: of the
    rules that they were made under. source: None where there are no URLs."""

    total: int
    offers: Offers
    index: range | list[int]
    refused: dict[int, str]
    generation: int = 0
    source: Source | None = None


def slices(urls: object) -> Iterator[list[str | bytes | URLItem]]:
    """The caller's URLs in lists of at most MOST; one URL is a list of one."""
    if isinstance(urls, (str, bytes, URLItem)):
        yield [urls]
        return
    if not isinstance(urls, Iterable):
        raise ConfigError(f"urls must be a URL or an iterable of URLs, not {type(urls).__name__}")
    source = iter(urls)
    while part := list(islice(source, MOST)):
        yield part


class Form(Protocol):
    """What makes keys and groups of URLs: see `ruling.Form`."""

    @property
    def generation(self) -> int: ...
    @property
    def canonicalizer(self) -> Canonicalizer: ...
    @property
    def group_of(self) -> GroupOf: ...
    @property
    def former(self) -> Sequence[object]: ...
    @property
    def scope(self) -> Scope | None: ...
    @property
    def limited(self) -> Scope | None: ...
    def earlier(
        self, keys: Keys, texts: Sequence[str | bytes], base: str | None, variants: list[bytes] | None
    ) -> dict[int, tuple[Earlier, ...]]: ...


def prepare(urls: list[str | bytes | URLItem], defaults: Defaults, form: Form, *, base: str | None, judged: bool = False) -> Prepared:
    """`judged`: what the rules' scope leaves out is refused; else only what is no URL."""
    canonicalizer, group_of = form.canonicalizer, form.group_of
    items: dict[int, URLItem] = {}
    texts: list[str | bytes] = []
    for i, url in enumerate(urls):
        if isinstance(url, str):
            texts.append(url if url.isascii() else as_found(url))
        elif isinstance(url, bytes):
            texts.append(url)
        elif isinstance(url, URLItem):
            items[i] = url
            texts.append(_text_of(url))
        else:
            raise ConfigError(f"a URL must be str, bytes or URLItem, not {type(url).__name__} (number {i + 1} of its batch)")
    variants = None
    if any(item.variant for item in items.values()):
        variants = [items[i].variant if i in items else b"" for i in range(len(texts))]
    keys = canonicalizer.canonicalize_many(texts, base=base, variants=variants)
    earlier = form.earlier(keys, texts, base, variants) if form.former else {}
    fingerprints = keys.fingerprints
    index: range | list[int] = range(len(texts))
    refused: dict[int, str] = {}
    if keys.rejected:
        reasons = keys.reasons
        refused = {i: reasons[i] or "" for i, code in enumerate(keys.status) if code}
    if judged and form.scope is not None:
        refused.update(_left_out(form.scope, keys, items, defaults.depth))
    if refused:
        index = [i for i in range(len(texts)) if i not in refused]
        fingerprints = b"".join(fingerprints[16 * i : 16 * i + 16] for i in index)
        earlier = {at: earlier[i] for at, i in enumerate(index) if i in earlier} if earlier else earlier
    rejected: dict[str, int] = {}
    for reason in refused.values():
        rejected[reason] = rejected.get(reason, 0) + 1
    source = _Rows(keys, items, defaults, canonicalizer, group_of, base is not None)
    rows: Callable[[Sequence[int]], list[OfferRow]] = source.rows
    columns: Callable[[Sequence[int]], Columns] | None = None if items else source.columns
    if refused:
        rows = lambda at: source.rows([index[i] for i in at])  # noqa: E731
        columns = None if items else lambda at: source.columns([index[i] for i in at])
    examples = _examples(refused, texts, items, defaults) if refused else ()
    limits = None
    if judged and form.limited is not None:
        limits_of, at_of = form.limited.limits, index
        limits = lambda at: limits_of(keys[at_of[at]] or "")  # noqa: E731
    sites = lambda at: [keys.site(index[i]) for i in at]  # noqa: E731
    offers = Offers(fingerprints, rows, rejected, columns, sites, earlier, limits=limits, examples=examples)
    return Prepared(len(texts), offers, index, refused, form.generation, Source(keys, base, variants))


def _left_out(scope: Scope, keys: Keys, items: dict[int, URLItem], depth: int) -> Iterator[tuple[int, str]]:
    """(position, reason) of what is out of scope."""
    for i, key in enumerate(keys):
        if key is not None:
            item = items.get(i)
            reason = scope.verdict(key, item.depth or depth if item is not None else depth)
            if reason is not None:
                yield i, reason


def _examples(refused: dict[int, str], texts: Sequence[str | bytes], items: dict[int, URLItem], defaults: Defaults) -> list[Example]:
    """The last of each reason, so that a rare one is among them."""
    by_reason: dict[str, list[int]] = {}
    for i, reason in refused.items():
        by_reason.setdefault(reason, []).append(i)
    share = max(1, MOST_EXAMPLES // len(by_reason))
    found = []
    for reason, at in by_reason.items():
        for i in at[-share:]:
            item = items.get(i, _PLAIN)
            found.append(example("rejected", reason, texts[i], item.via or defaults.via, item.depth or defaults.depth))
    return found


def example(kind: str, reason: str, url: str | bytes, via: str | None, depth: int) -> Example:
    return Example(kind, reason, storable(url[:LONGEST_EXAMPLE]), via and via[:LONGEST_EXAMPLE], depth)


def refused(reasons: dict[str, int], examples: Sequence[Example] = ()) -> Prepared:
    """URLs that the caller has left out itself: nothing to offer, only to count."""
    return Prepared(0, Offers(b"", lambda at: [], reasons, examples=examples), [], {})


def _text_of(item: URLItem) -> str | bytes:
    if not isinstance(item.url, (str, bytes)):
        raise ConfigError(f"a URLItem's url must be str or bytes, not {type(item.url).__name__}")
    if not isinstance(item.variant, bytes):
        raise ConfigError(f"variant must be bytes, not {type(item.variant).__name__}")
    checks.number("priority", item.priority, whole=True)
    checks.number("depth", item.depth, whole=True, least=0)
    checks.optional("due", item.due)
    return as_found(item.url)


def as_found(url: str | bytes) -> str | bytes:
    """A lease's url, given back, is the URL that was pushed: text in which surrogateescape stands for bytes is taken as those bytes."""
    if isinstance(url, bytes):
        return url
    try:
        url.encode("utf-8")
        return url
    except UnicodeEncodeError:
        pass
    try:
        return url.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # other lone surrogates: it is text, and they become U+FFFD
        return url


#: Stands for a URL given as text among items: everything from the call.
_PLAIN = URLItem("")


class _Rows:
    """Rows made when the store asks for them: a batch of known URLs makes none."""

    def __init__(
        self, keys: Keys, items: dict[int, URLItem], defaults: Defaults, canonicalizer: Canonicalizer, group_of: GroupOf, based: bool
    ) -> None:
        self._based = based
        self._keys, self._items, self._defaults = keys, items, defaults
        self._canonicalizer, self._group_of = canonicalizer, group_of
        self._groups: dict[str, int] = {}
        self._halves: tuple[int, ...] = ()

    def columns(self, at: Sequence[int]) -> Columns:
        keys, d = self._keys, self._defaults
        site = [keys.site(i) for i in at]
        host = site if keys.hosts_are_sites else [keys.host(i) for i in at]
        group_of = self._group_of
        group = host if group_of is str else [group_of(name) for name in host]
        if group is site:  # one name, one hash: the site half of the fingerprint
            if not self._halves:  # once for all shards of a batch
                self._halves = struct.unpack(f"<{len(keys.fingerprints) // 8}q", keys.fingerprints)
            halves = self._halves
            group_id = [halves[2 * i] for i in at]
        else:
            group_id = [self._id(name) for name in group]
        found = [storable(keys.absolute(i)) for i in at] if self._based else [storable(keys.urls[i]) for i in at]
        return Columns(site, group, group_id, found, d.priority, d.depth, d.via, d.meta, d.due)

    def rows(self, at: Sequence[int]) -> list[OfferRow]:
        if self._items:
            return [self._row_of(self._items.get(i, _PLAIN), i) for i in at]
        c = self.columns(at)
        alike = (c.priority, c.depth, c.via, c.meta, c.due)
        return [OfferRow._make((*row, *alike, b"")) for row in zip(c.site, c.group, c.group_id, c.url, strict=True)]

    def _row_of(self, item: URLItem, i: int) -> OfferRow:
        keys, d = self._keys, self._defaults
        group = checks.text("group", item.group) or self._group_of(keys.host(i))
        via = checks.text("via", item.via) or d.via
        meta = checks.to_json(item.meta) or d.meta
        priority, depth, due = item.priority or d.priority, item.depth or d.depth, d.due if item.due is None else item.due
        url = storable(keys.absolute(i))
        return OfferRow(keys.site(i), group, self._id(group), url, priority, depth, via, meta, due, item.variant)

    def _id(self, group: str) -> int:
        found = self._groups.get(group)
        if found is None:
            found = self._groups[group] = self._canonicalizer.name_hash(group)
        return found


#: First bytes of what is kept as bytes although it begins with NUL, or was text; no other value kept as bytes begins with NUL.
_BYTES, _TEXT = b"\0b", b"\0s"


def storable(url: str | bytes) -> str | bytes:
    """Text where it is text: bytes that are UTF-8 become str, other bytes and text with lone surrogates are kept as bytes."""
    if isinstance(url, bytes):
        try:
            return url.decode("utf-8")
        except UnicodeDecodeError:
            return _BYTES + url if url.startswith(b"\0") else url
    if url.isascii():
        return url
    try:
        url.encode("utf-8")
    except UnicodeEncodeError:
        return _TEXT + url.encode("utf-8", "surrogatepass")
    return url


def as_given(url: str | bytes) -> str | bytes:
    """The inverse: what the canonical form is to see again."""
    if isinstance(url, bytes):
        if url.startswith(_TEXT):
            return url[2:].decode("utf-8", "surrogatepass")
        return url.removeprefix(_BYTES)
    return url


def readable(url: str | bytes) -> str:
    """The URL as found, as str: bytes that are not UTF-8 with surrogateescape."""
    given = as_given(url)
    return given if isinstance(given, str) else given.decode("utf-8", "surrogateescape")


def merge(parts: list[Prepared]) -> Offers:
    """Several prepared batches as one atomic offer."""
    if len(parts) == 1:
        return parts[0].offers
    sources: list[tuple[Prepared, int]] = []
    rejected: dict[str, int] = {}
    earlier: dict[int, tuple[Earlier, ...]] = {}
    elsewhere: set[int] = set()
    examples = [one for part in parts for one in part.offers.examples][-MOST_EXAMPLES:]
    for part in parts:
        earlier.update((len(sources) + i, names) for i, names in part.offers.earlier.items())
        elsewhere.update(len(sources) + i for i in part.offers.elsewhere)
        sources += [(part, i) for i in range(len(part.offers.fingerprints) // 16)]
        for reason, many in part.offers.rejected.items():
            rejected[reason] = rejected.get(reason, 0) + many

    def rows(at: Sequence[int]) -> list[OfferRow]:
        found: list[OfferRow] = []
        for _, same in groupby(at, key=lambda i: id(sources[i][0])):
            positions = list(same)
            found += sources[positions[0]][0].offers.rows([sources[i][1] for i in positions])
        return found

    def sites(at: Sequence[int]) -> list[str]:
        pairs = (sources[i] for i in at)
        return [name for part, i in pairs if part.offers.sites is not None for name in part.offers.sites([i])]

    def limits(at: int) -> Mapping[str, Budget]:
        part, i = sources[at]
        return {} if part.offers.limits is None else part.offers.limits(i)

    prints = b"".join(part.offers.fingerprints for part in parts)
    limited = limits if any(part.offers.limits is not None for part in parts) else None
    return Offers(prints, rows, rejected, None, sites, earlier, frozenset(elsewhere), limited, examples)


def spread(parts: Sequence[Prepared], answers: bytes) -> list[bytes]:
    """A store's answers to all that was offered of these, for each part in the caller's order: 0 for what was refused before."""
    found, at = [], 0
    for part in parts:
        theirs = answers[at : at + len(part.index)]
        at += len(part.index)
        if part.refused:
            whole = bytearray(part.total)
            for i, answer in zip(part.index, theirs, strict=True):
                whole[i] = answer
            theirs = bytes(whole)
        found.append(theirs)
    return found


#: Verdicts of what was done, which stand although it is only found when it is offered again.
_DONE = frozenset((Verdict.NEW, Verdict.RAISED, Verdict.REQUEUED))


def overlaid(parts: Sequence[Prepared], first: Sequence[bytes], again: Sequence[bytes]) -> list[bytes]:
    """Verdicts of the same URLs, offered once more because not all of them could be taken the first time."""
    if not first:
        return list(again)
    return [
        bytes(
            one if one in _DONE and other == Verdict.SEEN and i not in part.refused else other
            for i, (one, other) in enumerate(zip(before, after, strict=True))
        )
        for part, before, after in zip(parts, first, again, strict=True)
    ]
