"""URLs in, which of them a list that was imported from another program has, out.

Such a list (an imported level) holds digests of 16 bytes, and what they are digests of is its kind:

scrapy-sha1   Scrapy's request fingerprint of a GET without a body, its first 16 of 20 bytes: what scrapy-redis and JOBDIR keep
classic-md5   the MD5 of the key under profile classic
sha1, md5     a plain hash of the URL (of SHA-1 the first 16 bytes). Of a URL asked: as found, and its keys under exact and safe
own           our own fingerprints under another header (profile, secret, rules): what a rekey leaves of URLs whose text was not kept

16 bytes of a SHA-1 tell a thousand million URLs apart as well as 20 do. A request with a variant is another than the GET that the foreign
kinds speak of: only `own` is asked for it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from itertools import count

from urlsieve import ruling
from urlsieve.batch import Prepared, Source
from urlsieve.canon import Canonicalizer
from urlsieve.checks import choice
from urlsieve.errors import ConfigError, StoreCorrupt
from urlsieve.model import EntryInfo, Header, Level
from urlsieve.stores.protocol import Ruled, Store

#: Kind → bytes of a digest as the other program has it. `own` comes with a rekey, never from a file.
WIDTHS = {"scrapy-sha1": 20, "classic-md5": 16, "sha1": 20, "md5": 16}
OWN = "own"
WIDTH = 16
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")

#: Of each URL of a batch, by its position: the digests under which a list may have it.
Digests = dict[int, tuple[bytes, ...]]


def level_of(kind: str, name: str | None) -> Level:
    """ConfigError: no such kind, or no name."""
    choice("kind", kind, tuple(WIDTHS))
    name = kind if name is None else name
    _check_name(name)
    return Level(name, kind)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not 1 <= len(name) <= 64 or not _NAME.issuperset(name):
        raise ConfigError(f"the name of an imported level has 1 to 64 letters, digits, dots, dashes and underscores, not {name!r}")


def level_from(name: str, kind: object, about: object) -> Level:
    """Of an export. ConfigError: it is none of this version."""
    if kind != OWN:
        return level_of(str(kind), name)
    _check_name(name)
    try:
        _maker(OWN, str(about))
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"the imported level {name!r} is damaged: it does not say whose fingerprints it has") from error
    return Level(name, OWN, str(about))


def cut(kind: str, digests: Sequence[bytes]) -> bytes:
    """Digests as the other program has them, as one block of ours. ConfigError for one of another length."""
    width = WIDTHS[kind]
    for digest in digests:
        if not isinstance(digest, bytes) or len(digest) != width:
            raise ConfigError(f"a digest of kind {kind} has {width} bytes, not {digest!r}")
    return b"".join(digest[:WIDTH] for digest in digests)


def own(header: Header, ruled: Ruled, name: str) -> Level:
    """The level for fingerprints of a store with this header and these rules."""
    known = asdict(header)
    known["secret"] = f"{header.secret:032x}"
    return Level(name, OWN, json.dumps({"header": known, "generation": ruled.generation, "rules": ruled.book}, ensure_ascii=False))


def free_name(levels: Sequence[Level]) -> str:
    """For one more level of our own."""
    names = {level.name for level in levels}
    return next(name for number in count(1) if (name := f"{OWN}-{number}") not in names)


def ask(store: Store, levels: Sequence[Level], prepared: Prepared) -> dict[int, str]:
    """Position among the offers → the first level that has the URL."""
    found: dict[int, str] = {}
    if prepared.source is None:
        return found
    for level in levels:
        digests = _digests(level)(prepared.source)
        flat = [(at, digest) for at, i in enumerate(prepared.index) if at not in found for digest in digests.get(i, ())]
        flags = store.in_imported(level.name, b"".join(digest for _, digest in flat)) if flat else b""
        for (at, _), flag in zip(flat, flags, strict=True):
            if flag:
                found.setdefault(at, level.name)
    return found


def asked(store: Store, levels: Sequence[Level], prepared: Prepared) -> Prepared:
    """The same, where what a level has is offered as seen elsewhere."""
    hits = ask(store, levels, prepared) if levels else {}
    return replace(prepared, offers=replace(prepared.offers, elsewhere=frozenset(hits))) if hits else prepared


def info(store: Store, levels: Sequence[Level], prepared: Prepared, found: EntryInfo) -> EntryInfo:
    """What is said of the one URL of a batch that the rest of the store answers `found` for."""
    if found.state != "unseen" or not levels:
        return found
    level = ask(store, levels, prepared).get(0)
    return found if level is None else EntryInfo("known", level=f"imported {level}")


def forget(store: Store, levels: Sequence[Level], prepared: Prepared) -> None:
    """No level has these URLs any more."""
    if prepared.source is None:
        return
    for level in levels:
        digests = _digests(level)(prepared.source)
        block = b"".join(digest for i in prepared.index for digest in digests.get(i, ()))
        if block:
            store.forget_imported(level.name, block)


# -- what each kind makes of URLs


def _digests(level: Level) -> Callable[[Source], Digests]:
    try:
        return _maker(level.kind, level.about)
    except (ValueError, TypeError, KeyError) as error:
        raise StoreCorrupt(f"the imported level {level.name} is of a kind that this version does not know, or damaged ({error})") from error


@lru_cache(maxsize=32)
def _maker(kind: str, about: str) -> Callable[[Source], Digests]:
    if kind == OWN:
        return _own(about)
    if kind in ("scrapy-sha1", "classic-md5"):
        return _foreign(Canonicalizer(profile=kind.partition("-")[0]))
    if kind in ("sha1", "md5"):
        return _plain(kind)
    raise ValueError(f"the kind {kind!r}")


def _plain_ones(source: Source) -> Iterator[int]:
    """Those without a variant."""
    for i in range(len(source.keys)):
        if source.variants is None or not source.variants[i]:
            yield i


def _foreign(form: Canonicalizer) -> Callable[[Source], Digests]:
    def digests(source: Source) -> Digests:
        every = form.foreign_fingerprints(list(source.keys.urls), base=source.base)
        return {i: (digest[:WIDTH],) for i in _plain_ones(source) if (digest := every[i]) is not None}

    return digests


def _plain(kind: str) -> Callable[[Source], Digests]:
    forms = (Canonicalizer(profile="exact"), Canonicalizer(profile="safe"))

    def digest(text: str | bytes) -> bytes:
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return hashlib.new(kind, data, usedforsecurity=False).digest()[:WIDTH]

    def digests(source: Source) -> Digests:
        keys = source.keys
        every = [form.canonicalize_many(keys.urls, base=source.base) for form in forms]
        found: Digests = {}
        for i in _plain_ones(source):
            if keys.status[i]:
                continue
            texts: list[str | bytes] = [keys.absolute(i)]
            texts += [key for form in every if (key := form[i]) is not None and key not in texts]
            found[i] = tuple(map(digest, texts))
        return found

    return digests


def _own(about: str) -> Callable[[Source], Digests]:
    known = json.loads(about)
    fields = known["header"]
    header = Header(**{**fields, "secret": int(fields["secret"], 16)})
    form = ruling.form_of(header, Ruled(known["generation"], known["rules"]), "an imported level")

    def digests(source: Source) -> Digests:
        variants = None if source.variants is None else list(source.variants)
        keys = form.canonicalizer.canonicalize_many(source.keys.urls, base=source.base, variants=variants)
        earlier = form.earlier(keys, source.keys.urls, source.base, variants) if form.former else {}
        prints = keys.fingerprints
        return {
            i: (prints[16 * i : 16 * i + 16], *(one.fingerprint for one in earlier.get(i, ())))
            for i in range(len(keys))
            if not keys.status[i]
        }

    return digests
