"""What can go wrong, as types: one root, few leaves. Each message says what happened, to which input, and what to do."""

import re

_USERINFO = r"""(?ix)^([\x00-\x20]*(?:
        (?:h[\t\n\r]*t[\t\n\r]*t[\t\n\r]*p[\t\n\r]*(?:s[\t\n\r]*)?:[/\\\t\n\r]*)   # a browser needs no slashes here
        | (?:[a-z][a-z0-9+.\-\t\n\r]*:)?[\t\n\r]*[/\\][\t\n\r]*[/\\][/\\\t\n\r]*
        ))[^/\\?\#]*@"""


def mask_userinfo(url: str) -> str:
    """The same with `user:password@` shown as `***@`: for every log, page, export and message."""
    return re.sub(_USERINFO, r"\1***@", url)  # compiled when first needed: this module is imported by everything


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
