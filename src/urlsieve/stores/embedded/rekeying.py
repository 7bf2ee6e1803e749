"""A store and another header in; the store with that header out, in its place, in one step.

The new one is made beside it (aside.py) from the seen set as it is at one moment (moments.py), while everybody goes on with the old one.
What they change meanwhile is followed from that moment to a later one, again and again until little is left. Then, for a moment, nobody
may write: the rest is followed, the queue is put right (adopting.py), and the new store is put in the old one's place as a restored backup
would be. Whoever had the old one open is told at the next operation to open it anew.

Killed before that, the old store is untouched, and the next rekey for the same header goes on with what lies beside it: that is only one
more moment to follow it to. What cannot be gone on with (halfway.py) is removed, and the report says why. Killed after it, the new one is
complete.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from urlsieve.errors import StoreFull, StoreUnavailable, UrlsieveError
from urlsieve.model import Header, Policy
from urlsieve.stores.embedded import adopting, aside, copies, disk, files, filling, halfway, moments, sweep
from urlsieve.stores.embedded.aside import Aside
from urlsieve.stores.embedded.imported import Imported
from urlsieve.stores.embedded.ledger import Ledger, scalar
from urlsieve.stores.embedded.making import shelf_of
from urlsieve.stores.embedded.runs import Folder
from urlsieve.stores.protocol import Rekeyed, Rekeying

#: The folder beside the ledger where the new store is made.
PLACE = "rekey"
#: Changes that are few enough to be followed while nobody may write, and rounds before that at most.
FEW, MOST_ROUNDS = 2_000, 8
#: Changes followed in one step.
STEP = 5_000
PATIENCE = 60.0


class Unfit(StoreUnavailable):
    """The rules or imported levels have changed: what lies beside the store is of no use any more."""


def rekey(
    ledger: Ledger,
    directory: Path,
    header: Header,
    levels: Imported,
    policy: Policy,
    domain_of: Callable[[str], str],
    plan: Rekeying,
    progress: Callable[[int], object],
) -> Rekeyed:
    """header: the store's own."""
    shelf = shelf_of(header, directory)
    with ExitStack() as held:
        for what in ("rekey", "merge", "pack", "level"):  # nothing is moved meanwhile but by those who push, pop and settle
            with copies.in_words(directory, directory / PLACE):
                held.enter_context(closing(_right(shelf, what, directory)))
        place = directory / PLACE
        try:
            with copies.in_words(directory, place):
                report = _rekey(ledger, directory, header, levels, policy, domain_of, plan, progress)
        except UrlsieveError as error:
            if isinstance(error, Unfit) or not isinstance(error, StoreUnavailable):  # the same would come again, or room is needed
                disk.remove_tree(place, anyway=True)
            raise
        disk.remove_tree(place, anyway=True)
        return report


def _rekey(
    ledger: Ledger,
    directory: Path,
    header: Header,
    levels: Imported,
    policy: Policy,
    domain_of: Callable[[str], str],
    plan: Rekeying,
    progress: Callable[[int], object],
) -> Rekeyed:
    place = directory / PLACE
    then = shelf_of(header, place / halfway.THEN)
    assert isinstance(then, Folder)
    _refuse_unswept(ledger)
    begun = place.exists()
    anew = halfway.unfit(place, plan, ledger) if begun else ""
    if anew:
        disk.remove_tree(place)
    _need_room(directory, place)
    goes_on = begun and not anew
    if not goes_on:
        aside.make(place, plan, policy)
        halfway.begin(place, plan, halfway.marked(ledger), moments.take(ledger, directory, then, _kept(place)))
    new = Aside(place, plan, then, _Groups(ledger, plan).of, domain_of)
    with closing(new):
        kept = new.at.done
        if goes_on:
            progress(kept)
            _follow(ledger, directory, then, new)
        filling.fill(ledger, new, progress)
        filling.copy_levels(ledger, levels, new)
        adopting.copy_queue(new, directory / files.LEDGER)
        for _ in range(MOST_ROUNDS):
            if _follow(ledger, directory, then, new) + filling.fill(ledger, new, progress) <= FEW:
                break
        filling.copy_levels(ledger, levels, new)
        with new.ledger.read() as db:  # so that little is left to be synced while others wait
            db.execute("PRAGMA main.wal_checkpoint(PASSIVE)")
        with ledger.alone():
            _refuse_unswept(ledger)
            _follow(ledger, directory, then, new)
            filling.fill(ledger, new, progress)
            filling.copy_levels(ledger, levels, new)
            copies.empty_log(directory / files.LEDGER)
            report = adopting.adopt(new, directory / files.LEDGER, new.moment.entries, filling.rows_of(ledger))
            new.close()
            _switch(place, directory)
        return report._replace(kept=kept, anew=anew)


def _refuse_unswept(ledger: Ledger) -> None:
    with ledger.read() as db:
        if sweep.mark(db) is not None:
            raise StoreUnavailable(f"the rules of {ledger.where} have changed, and that is not finished: run rekey again when it is")


def _kept(place: Path) -> Path:
    return place / halfway.THEN / files.RUNS


def _right(shelf: object, what: str, directory: Path) -> files.FileLock:
    assert isinstance(shelf, Folder)
    give_up = time.monotonic() + PATIENCE
    while (lock := shelf.alone(what)) is None:
        if what == "rekey" or time.monotonic() > give_up:
            raise StoreUnavailable(f"another is at it: the store {directory} is being rekeyed, merged or copied; try again later")
        time.sleep(0.05)
    return lock


def _need_room(directory: Path, place: Path) -> None:
    """The new store stands beside the old one for a while."""
    space = os.statvfs(directory)
    there = files.size_of(place) if place.exists() else 0
    needs, free = files.size_of(directory) - there, space.f_bavail * space.f_frsize
    if free < needs:
        raise StoreFull(f"a rekey of {directory} needs about {needs >> 20} MiB beside it, and {free >> 20} MiB are free: make room")


class _Groups:
    """The id of a group, which is a hash of its name, under the new header."""

    def __init__(self, ledger: Ledger, plan: Rekeying) -> None:
        self._ledger, self._plan = ledger, plan
        self._known: dict[int, int] = {}

    def of(self, group: int) -> int:
        found = self._known.get(group)
        if found is None:
            with self._ledger.read() as db:
                name = scalar(db, "SELECT name FROM grp WHERE id = ?", (group,))
            found = group if name is None else self._plan.name_hash(name)
            if len(self._known) > 1 << 20:
                self._known.clear()
            self._known[group] = found
        return found


def _follow(ledger: Ledger, directory: Path, then: Folder, new: Aside) -> int:
    """To the moment that is now. How much was different."""
    now = moments.take(ledger, directory, then, _kept(new.place))
    if now.rules_generation != new.moment.rules_generation:
        raise Unfit(f"the rules or imported levels of {directory} have changed meanwhile: run rekey again")
    many = 0
    for changes in moments.differences(new.moment, now, new.since):
        for at in range(0, len(changes), STEP):
            new.follow(changes[at : at + STEP])
        many += len(changes)
    new.followed(now)
    return many


# -- the switch


def _switch(place: Path, directory: Path) -> None:
    for lock in (place / files.RUNS).glob("*.lock"):
        disk.remove(lock)
    for path in (*sorted((place / files.RUNS).iterdir()), place / files.RUNS, place / files.LEDGER, place):
        disk.sync(path)
    copies.put(place, directory, there=True)
