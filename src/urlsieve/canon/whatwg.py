"""An irregular URL goes in, its WHATWG href or the status it is rejected with comes out. The parser is ada's, imported at need."""

import codecs
import re
from collections.abc import Callable
from functools import lru_cache, partial
from types import ModuleType

from urlsieve.canon import reasons

Read = Callable[[str | bytes], str]
Resolve = Callable[[str | bytes], bytes | int]
"""What the kernel asks about an irregular URL: the answer is its href (ASCII), or the code of a reason."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_BLANK = "".join(map(chr, range(0x21)))
_REMOVED = dict.fromkeys(map(ord, "\t\n\r"))


def _percent(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(f"%{byte:02X}" for byte in error.object[error.start : error.end]), error.end


PERCENT = "urlsieve.percent"
"""The name of an error handler for bytes.decode: an undecodable byte becomes its %XX."""

codecs.register_error(PERCENT, _percent)


@lru_cache(maxsize=1)
def _ada() -> ModuleType:
    import ada_url

    return ada_url


def text_of(url: str | bytes) -> str:
    """A URL as text that can be UTF-8: undecodable bytes as %XX, surrogate pairs joined, lone surrogates U+FFFD."""
    if isinstance(url, bytes):
        return url.decode("utf-8", PERCENT)
    try:
        url.encode()
    except UnicodeEncodeError:
        return url.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return url


def clean(text: str) -> str:
    """What the parser sees: without blanks and controls at both ends, without tabs and newlines."""
    return text.strip(_BLANK).translate(_REMOVED)


def scheme_of(cleaned: str) -> str | None:
    found = _SCHEME.match(cleaned)
    return found[1].lower() if found else None


@lru_cache(maxsize=256)
def usable_base(base: str) -> str | None:
    """The href of a base URL, or None if nothing can be resolved against it (no http or https URL)."""
    if scheme_of(clean(base)) not in ("http", "https"):
        return None
    try:
        href: str = _ada().normalize_url(text_of(base))
    except ValueError:
        return None
    return href


def resolver(base: str | None, read: Read = text_of) -> Resolve:
    """What the kernel calls for irregular URLs; `base` is a base's href or None, `read` makes text of a URL as found."""
    return partial(resolve, base=base, read=read)


def resolve(url: str | bytes, base: str | None = None, read: Read = text_of) -> bytes | int:
    """The href of `url` (ASCII), or the code of the first reason that fits."""
    text = read(url)
    cleaned = clean(text)
    if not cleaned:
        return reasons.EMPTY
    scheme = scheme_of(cleaned)
    if scheme is None and base is None:
        return reasons.RELATIVE
    if scheme is not None and scheme not in ("http", "https"):
        return reasons.SCHEME
    href = _parse(text, base)
    if href is None:
        return _why(cleaned, scheme, base)
    return href.encode()


def _parse(text: str, base: str | None) -> str | None:
    ada = _ada()
    try:
        href: str = ada.normalize_url(text) if base is None else ada.join_url(base, text)
    except ValueError:
        return None
    return href


def _why(cleaned: str, scheme: str | None, base: str | None) -> int:
    """Host or the rest? The host is to blame if the URL parses with another in its place, or if there is none."""
    rest = cleaned[len(scheme) + 1 :] if scheme is not None else cleaned
    authority = rest.lstrip("/\\")
    of_base = scheme is None or (base is not None and scheme_of(base) == scheme and not rest.startswith("//"))
    if of_base and len(rest) - len(authority) < 2:
        return reasons.INVALID  # a path against a base: it has the base's host
    before, host, after = _split_authority(authority)
    if not host:
        return reasons.HOST
    return reasons.INVALID if _parse(f"http://{before}h{after}", None) is None else reasons.HOST


def _split_authority(text: str) -> tuple[str, str, str]:
    """`user:password@`, host, `:port/path…` of what follows the slashes."""
    end = next((i for i, c in enumerate(text) if c in "/\\?#"), len(text))
    start = text.rfind("@", 0, end) + 1
    inside = False
    for i in range(start, end):
        if text[i] == "[":
            inside = True
        elif text[i] == "]":
            inside = False
        elif text[i] == ":" and not inside:
            return text[:start], text[start:i], text[i:]
    return text[:start], text[start:end], text[end:]
