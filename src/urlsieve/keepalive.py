"""Leases in; they stay current while the block runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from urlsieve.errors import StoreFull, StoreUnavailable, UrlsieveError
from urlsieve.model import Lease

Ticket = Lease | str


class KeepAlive:
    """Extends every third of `seconds`. `.lost`: leases that turned out to be lost; `.error`: the last failure to ask, None if it went
    well since. While the store does not answer it is asked again: what it had extended holds until then."""

    def __init__(self, extend: Callable[[list[Ticket], float], Any], leases: list[Ticket], seconds: float) -> None:
        self._extend, self._seconds = extend, seconds
        self._leases = {_token(lease): lease for lease in leases}
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="urlsieve-keepalive", daemon=True)
        self.lost: list[Ticket] = []
        self.error: UrlsieveError | None = None

    def __enter__(self) -> KeepAlive:
        self._once()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def drop(self, lease: Ticket) -> None:
        """This one is settled: no longer extended."""
        with self._guard:
            self._leases.pop(_token(lease), None)

    def _run(self) -> None:
        while not self._stop.wait(self._seconds / 3):
            try:
                self._once()
                self.error = None
            except (StoreUnavailable, StoreFull) as error:
                self.error = error
            except UrlsieveError as error:  # asking again will not help; the worker learns it when it settles
                self.error = error
                return

    def _once(self) -> None:
        with self._guard:
            leases = dict(self._leases)
        if not leases:
            return
        flags = self._extend(list(leases.values()), self._seconds)
        gone = [token for token, flag in zip(leases, flags, strict=True) if not flag]
        with self._guard:
            self.lost += [lease for token in gone if (lease := self._leases.pop(token, None)) is not None]


def _token(lease: Ticket) -> str:
    return lease if isinstance(lease, str) else lease.token
