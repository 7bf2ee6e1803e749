"""A URL that the kernel does not read itself goes in, what w3lib 2.5's canonicalize_url makes of it comes out: ValueError where it raises.

The kernel reads nearly all URLs; what is left (IDNA, IPv6, user info, other schemes, surrogates, other encodings) rests on Python's own
codecs and addresses, as w3lib does. The steps are w3lib's, in its order, also where no standard knows them.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Callable
from functools import partial
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes, urljoin, uses_netloc, uses_params

from urlsieve.canon import reasons
from urlsieve.canon.whatwg import PERCENT, Resolve

BLANK = "".join(map(chr, range(0x21)))
_REMOVED = dict.fromkeys(map(ord, "\t\n\r"))
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")
_SPECIAL = frozenset(("ftp", "file", "http", "https", "ws", "wss"))
# As in w3lib these are the running Python's: "itms-services" is in the second from 3.12 on.
_WITH_PARAMS = frozenset(uses_params)
_WITH_NETLOC = frozenset(uses_netloc)
_DELIMITERS = re.compile(r"[/?#@:\\]")
_FUTURE = re.compile(r"v[a-fA-F0-9]+\..+")

# quote_from_bytes keeps letters, digits and _.-~ besides these.
_IN_USER = "!$&'()*+,"
_IN_PATH = ":/?@!$&'()*+,;=%"
_IN_QUERY = ":/?@!$&()*+,;=%"
_IN_FORM_PATH = ":/?[]@!$&'()*+,;=|%"
_KEPT = re.compile("%(25|2[fF]|3[bB]|3[fF])")
_BARE = dict.fromkeys(map(ord, "@:#?"))
_DOTS = re.compile("[.\u3002\uff0e\uff61]")
# What nameprep deletes (RFC 3454, table B.1), so that a long label may become a short one. Of so many other characters at least a quarter
# is left, whatever is composed, and a label has 63.
_NOTHING = dict.fromkeys((0xAD, 0x34F, 0x1806, 0x180B, 0x180C, 0x180D, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10)))
_HOPELESS = 1200


class _BadPort(ValueError):
    pass


class _Split(NamedTuple):
    scheme: str
    netloc: str
    path: str
    query: str
    fragment: str


def text_of(url: str | bytes, codec: str = "utf-8") -> str:
    """The URL as text, without blanks and controls at its ends and without tabs and newlines; undecodable bytes as %XX."""
    text = url.decode(codec, PERCENT) if isinstance(url, bytes) else url
    return text.strip(BLANK).translate(_REMOVED)


def canonical(url: str | bytes, codec: str = "utf-8") -> str | None:
    """canonicalize_url(url, encoding=codec), or None if Scrapy's Request would not take it. ValueError (UnicodeError too) where w3lib
    raises it."""
    safe = _safe_or_utf8(url, codec)
    return _canonical(safe) if _is_accepted(_joined(*safe)) else None


def of_request(url: str | bytes, codec: str = "utf-8") -> str | None:
    """What Scrapy fingerprints: the canonical form of the URL as its Request holds it. ValueError where either raises it.

    The Request's encoding is `codec`; the fingerprint reads what it holds, which is ASCII but for some hosts, as UTF-8.
    """
    held = _joined(*_safe(url, codec))
    return _canonical(_safe(held, "utf-8")) if _is_accepted(held) else None


def _is_accepted(safe: str) -> bool:
    return "://" in safe or safe.startswith(("about:", "data:"))


def _safe_or_utf8(url: str | bytes, codec: str) -> _Split:
    try:
        return _safe(url, codec)
    except UnicodeEncodeError:
        return _safe(url, "utf-8")


def _safe(url: str | bytes, codec: str) -> _Split:
    """safe_url_string, not joined yet."""
    scheme, netloc, path, query, fragment = _split(text_of(url, codec))
    safe_netloc = _safe_netloc(netloc)
    path = quote_from_bytes(path.encode(), _IN_PATH)
    query = quote_from_bytes(query.encode(codec), _IN_QUERY if scheme in _SPECIAL else _IN_PATH)
    fragment = quote_from_bytes(fragment.encode(codec), _IN_PATH) if fragment else ""
    return _Split(scheme, safe_netloc, "/" if not path and query and scheme in _SPECIAL else path, query, fragment)


def _split(url: str) -> _Split:
    scheme = netloc = query = fragment = ""
    url = url.lstrip(BLANK)
    if found := _SCHEME.match(url):
        scheme, url = found[1].lower(), url[found.end() :]
    end = min((at for at in (url.find("?"), url.find("#")) if at >= 0), default=len(url))
    if scheme in _SPECIAL:
        url = url[:end].replace("\\", "/") + url[end:]
    if url.startswith("//"):
        end = min((at for at in (url.find(c, 2) for c in "/?#") if at >= 0), default=len(url))
        netloc, url = url[2:end], url[end:]
        _check_brackets(netloc)
        _check_normal(netloc)
    url, _, fragment = url.partition("#")
    url, _, query = url.partition("?")
    return _Split(scheme, netloc, url, query, fragment)


def _check_brackets(netloc: str) -> None:
    if ("[" in netloc) != ("]" in netloc):
        raise ValueError("one bracket in an authority")
    if "[" not in netloc:
        return
    before, bracket, rest = netloc.rpartition("@")[2].partition("[")
    host, _, port = rest.partition("]") if bracket else before.partition(":")
    if bracket and (before or (port and not port.startswith(":"))):
        raise ValueError("text beside the brackets of a host")
    if host[:1] in ("v", "V"):
        # "V" begins a future address, but only "v" is one: w3lib's slip
        if not _FUTURE.fullmatch(host):
            raise ValueError("no address in brackets")
    elif not isinstance(ipaddress.ip_address(host), ipaddress.IPv6Address):
        raise ValueError("an IPv4 address in brackets")


def _check_normal(netloc: str) -> None:
    """A character that becomes a delimiter under NFKC would move the host."""
    if netloc.isascii():
        return
    bare = netloc.translate(_BARE)
    normal = unicodedata.normalize("NFKC", bare)
    if bare != normal and _DELIMITERS.search(normal):
        raise ValueError("a delimiter appears in the host under NFKC")


def _safe_netloc(netloc: str) -> str:
    user, at, address = netloc.rpartition("@")
    if "[" in netloc:
        host, _, port = address.partition("[")[2].partition("]")
        port = port.partition(":")[2]
    else:
        host, _, port = address.partition(":")
    before, percent, zone = host.partition("%")
    host = f"{before.lower()}{percent}{zone}"
    number = _port(port)  # before anything is encoded: w3lib raises in this order
    out = _safe_user(user) + at
    out += f"[{_ascii(host)}]" if ":" in host else _idna(host)
    return out if number is None else f"{out}:{number}"


def _safe_user(user: str) -> str:
    name, colon, password = user.partition(":")
    return quote_from_bytes(unquote_to_bytes(name), _IN_USER) + colon + quote_from_bytes(unquote_to_bytes(password), _IN_USER)


def _ascii(host: str) -> str:
    return host.encode("ascii").decode()


def _idna(host: str) -> str:
    if host.isascii():
        return host
    try:
        normal = unicodedata.normalize("NFKC", host.translate(_BARE))
        if any(len(label.translate(_NOTHING)) > _HOPELESS for label in _DOTS.split(normal) if len(label) > _HOPELESS):
            raise UnicodeError("label too long")  # Python's codec would say so too, many seconds later
        return normal.encode("idna").decode()
    except UnicodeError:
        return host.encode().decode()  # a label too long or missing: the host as it is, if it is text at all


def _port(port: str) -> int | None:
    if not port:
        return None
    try:
        number = int(port) if port.isascii() and port.isdigit() else -1
    except ValueError:
        number = -1  # more digits than Python reads, be they all zeros
    if not 0 <= number <= 65535:
        raise _BadPort(f"no port: {port[:20]!r}")
    return number


def _canonical(safe: _Split) -> str:
    scheme, netloc, path, query, _ = safe
    params = ""
    if scheme in _WITH_PARAMS:
        folder, slash, last = path.rpartition("/")
        last, _, params = last.partition(";")
        path = folder + slash + last
    path = quote_from_bytes(_unquoted_path(path), _IN_FORM_PATH) if path else "/"
    if path.startswith("/"):
        path = _without_dots(path)
    user, at, host = netloc.rpartition("@")
    netloc = _compressed(user + at + host.lower().removesuffix(":"))
    return _joined(scheme, netloc, f"{path};{params}" if params else path, _form(query), "")


def _unquoted_path(path: str) -> bytes:
    return unquote_to_bytes(_KEPT.sub(lambda found: "%25" + found[1].upper(), path))


def _form(query: str) -> str:
    pairs: list[tuple[bytes, bytes]] = []
    for field in query.split("&"):
        if field:
            name, _, value = field.replace("+", " ").partition("=")
            pairs.append((unquote_to_bytes(name), unquote_to_bytes(value)))
    quoted = ((quote_from_bytes(name, " "), quote_from_bytes(value, " ")) for name, value in sorted(pairs))
    return "&".join(f"{name}={value}" for name, value in quoted).replace(" ", "+")


def _without_dots(path: str) -> str:
    if "/." not in path:
        return path
    out: list[str] = []
    *folders, last = path[1:].split("/")
    for segment in folders:
        if segment == "..":
            del out[-1:]
        elif segment != ".":
            out.append(segment)
    if last == "..":
        del out[-1:]
    out.append("" if last in (".", "..") else last)
    return "/" + "/".join(out)


def _compressed(netloc: str) -> str:
    """An IPv6 address in its shortest spelling, as the running Python writes it."""
    before, bracket, rest = netloc.partition("[")
    inside, closing, after = rest.partition("]")
    if not bracket or not closing:
        return netloc
    try:
        address = ipaddress.ip_address(inside)
    except ValueError:
        return netloc
    return f"{before}[{address}]{after}" if isinstance(address, ipaddress.IPv6Address) else netloc


def _joined(scheme: str, netloc: str, path: str, query: str, fragment: str) -> str:
    if netloc:
        path = f"//{netloc}/{path}" if path and not path.startswith("/") else f"//{netloc}{path}"
    elif path.startswith("//") or (scheme in _WITH_NETLOC and (not path or path.startswith("/"))):
        path = f"//{path}"
    return "".join((f"{scheme}:" if scheme else "", path, f"?{query}" if query else "", f"#{fragment}" if fragment else ""))


def usable_base(base: str) -> str | None:
    """The base as Scrapy would join to it, or None if it is no http or https URL with a host."""
    try:
        scheme, netloc, *_ = _split(text_of(base))
    except ValueError:
        return None
    return text_of(base) if scheme in ("http", "https") and netloc else None


def resolver(base: str | None, codec: str, form: Callable[[str | bytes, str], str | None] = canonical) -> Resolve:
    """What the kernel calls for irregular URLs: the answer is the finished key, or the code of a reason."""
    return partial(_resolve, base=base, codec=codec, form=form)


def absolute(url: str | bytes, base: str) -> str | bytes:
    """The URL against its base, as Scrapy joins them; the URL as found if it cannot be joined."""
    text = text_of(url)
    try:
        joined = urljoin(base, text)
    except ValueError:
        return url
    return url if joined == text else joined


def _resolve(url: str | bytes, base: str | None, codec: str, form: Callable[[str | bytes, str], str | None]) -> bytes | int:
    text = text_of(url, codec)
    if not text:
        return reasons.EMPTY
    try:
        if base is not None:
            url = text = urljoin(base, text)
        if not _SCHEME.match(text):
            return reasons.RELATIVE
        key = form(url, codec)
        return reasons.SCHEME if key is None else key.encode()
    except (UnicodeEncodeError, _BadPort):
        return reasons.INVALID
    except ValueError:
        return reasons.HOST
