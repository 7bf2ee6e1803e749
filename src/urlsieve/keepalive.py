"""Leases in; they stay current while the block runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from urlsieve.errors import UrlsieveError
from urlsieve.model import Lease

Ticket = Lease | str


class KeepAlive:
    """Extends every third of `seconds`. `.lost`: leases that turned out to be lost; `.error`: what ended the extending, if anything."""

    def __init__(self, extend: Callable[[list[Ticket], float], Any], leases: list[Ticket], seconds: float) -> None:
        self._extend, self._seconds = extend, seconds
        self._leases = list(leases)
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
        self._leases = [other for other in self._leases if other != lease]

    def _run(self) -> None:
        while not self._stop.wait(self._seconds / 3):
            try:
                self._once()
            except UrlsieveError as error:
                self.error = error  # the leases end by themselves; the worker learns it when it settles
                return

    def _once(self) -> None:
        leases = self._leases
        if not leases:
            return
        flags = self._extend(leases, self._seconds)
        gone = [lease for lease, flag in zip(leases, flags, strict=True) if not flag]
        self.lost += [lease for lease in gone if lease in self._leases]
        for lease in gone:
            self.drop(lease)
