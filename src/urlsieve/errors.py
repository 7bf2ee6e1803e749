"""What can go wrong, as types: one root, few leaves. Each message says what happened, to which input, and what to do."""

import re

_BLANK = "".join(map(chr, range(0x21)))
_REMOVED = "\t\n\r"  # a browser does not see these anywhere in a URL


def mask_userinfo(url: str) -> str:
    """The same with `user:password@` shown as `***@`: for every log, page, export and message. Takes time linear in the length."""
    start = len(url) - len(url.lstrip(_BLANK))
    colon = url.find(":", start)
    scheme = "".join(url[start : max(start, colon)].split()).lower()
    if not scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        colon, scheme = start - 1, ""  # what is before the colon is no scheme
    authority = len(url) - len(url[colon + 1 :].lstrip("/\\" + _REMOVED))
    slashes = sum(url.count(slash, colon + 1, authority) for slash in "/\\")
    if slashes < 2 and scheme not in ("http", "https"):  # a browser needs no slashes after these two
        return url
    end = min((at for mark in "/\\?#" if (at := url.find(mark, authority)) >= 0), default=len(url))
    sign = url.rfind("@", authority, end)
    return url if sign < 0 else f"{url[:authority]}***{url[sign:]}"


class UrlsieveError(Exception):
    """Root of every error this package raises on purpose."""


class InvalidURL(UrlsieveError, ValueError):
    """A single URL was refused. `reason` is one word of the closed list in `model.REASONS`."""

    def __init__(self, reason: str, url: str | bytes = "") -> None:
        text = mask_userinfo(url.decode("utf-8", "backslashreplace") if isinstance(url, bytes) else url)
        shown = repr(text if len(text) <= 200 else text[:200])
        super().__init__(f"{reason}: {shown} is not a URL this sieve can take" if url else reason)
        self.reason = reason

    def __reduce__(self) -> tuple[type["InvalidURL"], tuple[str]]:
        return type(self), (self.reason,)


class ConfigError(UrlsieveError, ValueError):
    """A setting, option or address makes no sense; nothing was changed."""


class LeaseLost(UrlsieveError):
    """The token is not current: the lease expired and was given to another, was settled, or was never given by this store."""


class StoreUnavailable(UrlsieveError):
    """The store is missing, locked, unreachable or not writable. Trying again later may help."""


class StoreMismatch(UrlsieveError):
    """The store was made with other settings or another version. `field` names the first that differs."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class StoreCorrupt(UrlsieveError):
    """The store's files are damaged. Nothing was written."""


class StoreFull(UrlsieveError):
    """No room left (disk or configured limit). The call changed nothing; leases can still be settled once room is made."""


def mask_userinfos(text: str) -> str:
    """The same of all URLs in a sentence."""
    return re.sub(r"(?<=//)[^/\s?#]*@", "***@", text)
