"""The façade: it brings canonical form, decisions and a store together."""

from __future__ import annotations

import os
from typing import Any

from urlsieve import looking
from urlsieve.answers import Compacted
from urlsieve.model import Policy
from urlsieve.sieve.flow import Flow
from urlsieve.sieve.opened import URLs
from urlsieve.sieve.questions import Questions
from urlsieve.sieve.upkeep import Upkeep

__all__ = ["Sieve", "URLs"]


class Sieve(Flow, Questions, Upkeep):
    """One job's URLs. Threads may share it; another process opens its own; after a fork it raises StoreUnavailable.

    A context manager. Every operation takes a batch or one. Errors: only those of `urlsieve.errors`.
    """

    def backup(self, place: str | os.PathLike[str]) -> None:
        """A copy of the store in a new folder, consistent at one moment, made while others work. `urlsieve.opening.restore` makes a store
        of it; opened where it lies it is one too. ConfigError if the folder has something, or the store has another way to be copied."""
        self._store.backup(os.fspath(place))

    def compact(self) -> Compacted:
        """Merges the whole seen set into one file, without what was forgotten, while others may work; the store does most of that by
        itself. What it takes on the disk before and after. A stop loses the last step only: say it again. ConfigError: the store has no
        such files; StoreUnavailable: another process is merging."""
        return Compacted(*self._store.compact())

    def now(self) -> float:
        """The time this sieve goes by, in seconds since the epoch."""
        return self._clock()

    @property
    def address(self) -> str:
        return self._store.address

    @property
    def policy(self) -> Policy:
        return self._store.policy()

    def set_policy(self, **change: Any) -> None:
        """Replaces fields of the policy (see model.Policy) for all workers."""
        self._store.set_policy(**looking.checked_policy(change))

    def close(self) -> None:
        """Twice is fine."""
        self._unique.close()
        self._store.close()

    def __enter__(self) -> Sieve:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sieve({self.address!r})"
