"""A profile's name and an encoding go in; who reads what the kernel does not read itself, and joins what is relative, comes out."""

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from urlsieve import _kernel
from urlsieve.canon import reasons, whatwg
from urlsieve.canon.encodings import codec_of, in_encoding, keeps_ascii
from urlsieve.errors import ConfigError

Url = str | bytes
_WHOLE = frozenset(("http://", "https://", b"http://", b"https://"))  # whatever the base is


@dataclass(frozen=True, slots=True)
class Reader:
    """steps: bits for the kernel. read: text of a URL as found. usable_base: what can be joined to, or None. resolver: see whatwg, for a
    base or None. digests: the same for the foreign digest. absolute: what to fetch. kernel_joins: plain references are the kernel's."""

    steps: int
    read: whatwg.Read
    usable_base: Callable[[str], str | None]
    resolver: Callable[[str | None], whatwg.Resolve]
    digests: Callable[[str | None], whatwg.Resolve]
    absolute: Callable[[Url, str], Url]
    kernel_joins: bool


def reader_of(profile: str, encoding: str) -> Reader:
    """ConfigError for an encoding that is unknown, or that the profile has not."""
    if profile == "scrapy":
        return _scrapy(encoding)
    return _classic(encoding) if profile == "classic" else _whatwg(encoding)


def _bits(codec: str | None, plain: bool) -> int:
    if codec is None:
        return 0
    return _kernel.STEP_ASCII_ONLY if plain else _kernel.STEP_ALWAYS_PARSE


def _whatwg(encoding: str) -> Reader:
    codec = codec_of(encoding)
    read: whatwg.Read = whatwg.text_of if codec is None else partial(in_encoding, codec=codec)
    resolver = partial(whatwg.resolver, read=read)
    steps = _bits(codec, codec is not None and keeps_ascii(codec))
    return Reader(steps, read, whatwg.usable_base, resolver, resolver, partial(_absolute, read=read), kernel_joins=True)


def _absolute(url: Url, base: str, read: whatwg.Read) -> Url:
    if url[:7] in _WHOLE or url[:8] in _WHOLE:
        return url
    href = whatwg.resolve(url, base, read)
    if isinstance(href, int) or href == whatwg.resolve(url, None, read):
        return url
    return href.decode("ascii")


def _scrapy(encoding: str) -> Reader:
    """w3lib takes Python's codec of that name, not the one browsers take for it."""
    from urlsieve.canon import scrapyform  # imported for those who need it: the filter is started thousands of times

    try:
        codec = codecs.lookup(encoding.strip()).name
    except LookupError:
        raise ConfigError(f"unknown encoding {encoding!r}") from None
    plain = codec == "utf-8" or (keeps_ascii(codec) and _writes_ascii(codec))
    return Reader(
        _bits(None if codec == "utf-8" else codec, plain),
        partial(scrapyform.text_of, codec=codec),
        scrapyform.usable_base,
        partial(scrapyform.resolver, codec=codec),
        partial(scrapyform.resolver, codec=codec, form=scrapyform.of_request),
        scrapyform.absolute,
        kernel_joins=False,
    )


def _classic(encoding: str) -> Reader:
    """Go has no encodings, it escapes bytes; and what it cannot parse stays so: only references without a scheme are joined to a base."""
    if codec_of(encoding) is not None:
        raise ConfigError(f"profile 'classic' takes the bytes as they are and has no encoding: leave out encoding={encoding!r}")
    resolver = partial(partial, _join)
    return Reader(0, whatwg.text_of, whatwg.usable_base, resolver, resolver, partial(_absolute, read=whatwg.text_of), kernel_joins=False)


def _join(base: str | None, url: Url) -> bytes | int:
    if whatwg.scheme_of(whatwg.clean(whatwg.text_of(url))) is not None:
        return reasons.INVALID
    return whatwg.resolve(url, base)


def _writes_ascii(codec: str) -> bool:
    """No mark at the front, as "utf-8-sig" writes one."""
    plain = "".join(map(chr, range(0x80)))
    try:
        return plain.encode(codec) == plain.encode("ascii") and "".encode(codec) == b""
    except UnicodeEncodeError:
        return False
