"""The kernel's columns go in; canonical forms, sites and reasons come out, one URL at a time and only when asked for."""

from collections.abc import Callable, Iterator, Sequence
from typing import final, overload

from urlsieve._kernel import Batch, LineBatch
from urlsieve.canon.reasons import REASON_OF_CODE


@final
class Reasons(Sequence[str | None]):
    """Why each URL was rejected: None, or a word of the closed list."""

    __slots__ = ("_status",)

    def __init__(self, status: bytes) -> None:
        self._status = status

    def __len__(self) -> int:
        return len(self._status)

    @overload
    def __getitem__(self, i: int) -> str | None: ...
    @overload
    def __getitem__(self, i: slice) -> list[str | None]: ...
    def __getitem__(self, i: int | slice) -> str | list[str | None] | None:
        if isinstance(i, slice):
            return [REASON_OF_CODE[code] for code in self._status[i]]
        return REASON_OF_CODE[self._status[i]]

    def __repr__(self) -> str:
        return f"Reasons({list(self)!r})"


@final
class Keys(Sequence[str | None]):
    """The canonical forms of many URLs, in order: keys[i] is the key of URL i, or None if it was rejected.

    hosts_are_sites: host(i) is site(i) for all of them.
    fingerprints: 16 bytes per URL (zeros if rejected). status: one byte per URL, 0 = accepted, else REASON_OF_CODE says the word.
    """

    __slots__ = ("_absolute", "_batch", "fingerprints", "hosts_are_sites", "reasons", "rejected", "status", "urls")

    def __init__(
        self, batch: Batch, urls: Sequence[str | bytes], absolute: Callable[[str | bytes], str | bytes], *, hosts_are_sites: bool = True
    ) -> None:
        self.hosts_are_sites = hosts_are_sites
        self._batch = batch
        self._absolute = absolute
        self.urls = urls
        self.fingerprints = batch.fingerprints
        self.status = batch.status
        self.reasons = Reasons(batch.status)
        self.rejected = len(batch.status) - batch.status.count(0)

    def __len__(self) -> int:
        return len(self.status)

    @overload
    def __getitem__(self, i: int) -> str | None: ...
    @overload
    def __getitem__(self, i: slice) -> list[str | None]: ...
    def __getitem__(self, i: int | slice) -> str | list[str | None] | None:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        key = self._batch.key(self._index(i))
        return None if key is None else key.decode()

    def __iter__(self) -> Iterator[str | None]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<Keys of {len(self)} URLs, {self.rejected} rejected>"

    def _index(self, i: int) -> int:
        return i + len(self) if i < 0 else i

    def site(self, i: int) -> str:
        """host[:port if not default] of the canonical form, without user info. LookupError if URL i was rejected."""
        site = self._batch.site(self._index(i))
        if site is None:
            raise LookupError(f"URL {i} was rejected ({self.reasons[i]}): it has no site")
        return site.decode()

    def host(self, i: int) -> str:
        """host[:port if not default] of the URL as parsed, before any site rule: whose server it is. LookupError if rejected."""
        host = self._batch.host(self._index(i))
        if host is None:
            raise LookupError(f"URL {i} was rejected ({self.reasons[i]}): it has no host")
        return host.decode("ascii")

    def rule(self, i: int) -> tuple[int | None, int]:
        """(the kernel's number of the site rule for URL i or None; 0, or why its change of the path was not made: see canonical.h)."""
        return self._batch.rule(self._index(i))

    def absolute(self, i: int) -> str | bytes:
        """What to fetch: the URL as found if it says everything itself, else its WHATWG href resolved against the base."""
        return self._absolute(self.urls[i])

    def route(self, i: int) -> bool:
        """Did the key keep a fragment (a single-page application's route)?"""
        return self._batch.route(self._index(i))


@final
class Lines:
    """The URLs of a newline-separated block, in order. The block is referenced, not copied.

    count: lines. fingerprints: 16 bytes per line (zeros if rejected). status: one byte per line, 0 = accepted.
    """

    __slots__ = ("_batch", "count", "fingerprints", "status")

    def __init__(self, batch: LineBatch) -> None:
        self._batch = batch
        self.count = batch.count
        self.fingerprints = batch.fingerprints
        self.status = batch.status

    def __len__(self) -> int:
        return self.count

    def line(self, i: int) -> bytes:
        """Line i as found, without its newline (a CR before it stays)."""
        return self._batch.line(i)

    def key(self, i: int) -> bytes | None:
        """The canonical form of line i, or None if it was rejected."""
        return self._batch.key(i)

    def select(self, flags: bytes, *, keys: bool = False, ending: bytes = b"\n") -> bytes:
        """The lines whose flag byte is 1, each followed by `ending`; with `keys` their canonical forms (a rejected line has none)."""
        return self._batch.select(flags, keys, ending)
