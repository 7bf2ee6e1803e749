"""A store's directory in, another one with the same content out: backup, and restore over a store or where there is none.

The ledger is copied through SQLite as it was at one moment, with the runs that it names: those are never changed, and the right to
merge is held meanwhile, so none of them goes. A copy has no boot mark: whoever opens it begins a new epoch, and tokens of leases that
were given after the copy was made are refused.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path

from urlsieve.errors import ConfigError, StoreCorrupt, StoreFull, StoreUnavailable
from urlsieve.stores.embedded import disk, files, imported
from urlsieve.stores.embedded.files import FairLock, FileLock
from urlsieve.stores.embedded.ledger import scalar, translate
from urlsieve.stores.embedded.making import check_file, check_whole, read_header, shelf_of
from urlsieve.stores.embedded.runs import LEVEL, RUN, Shelf, ThreadLock, fresh_name
from urlsieve.stores.embedded.seen import manifest

PATIENCE = 60.0  # seconds for a merge to end


def backup(directory: Path, place: Path) -> None:
    """`place` must be missing or empty; it appears whole or not at all."""
    _must_be_free(place)
    new = place.parent / f"{place.name}.new-{os.getpid()}"
    try:
        with in_words(directory, place):
            _copy(directory, new)
            disk.move(new, place)  # also over an empty folder
            disk.sync(place.parent)
    finally:
        disk.remove_tree(new, anyway=True)


def restore(source: Path, directory: Path, *, force: bool) -> None:
    """`directory` becomes a store with what the backup has. An existing store is replaced only with `force`, in one step: a crash leaves
    either. Whoever has it open is told at the next operation."""
    if not (source / files.LEDGER).is_file():
        raise StoreUnavailable(f"there is no backup at {source}: name the folder that `urlsieve backup` made")
    check_file(source / files.LEDGER)
    if _same(source, directory):
        raise ConfigError(f"{source} is the store itself: name the folder of a backup")
    _look_for_store(directory, force)
    files.refuse_network(directory)
    lock = FairLock(directory)
    new = directory / f"{files.NEW}{os.getpid()}{files.RESTORED}"
    there = True
    try:
        lock.acquire(PATIENCE)
        there = _look_for_store(directory, force)  # another may have made one meanwhile
        with in_words(source, directory):
            files.remove_leftovers(directory)
            _copy(source, new)
            _raise_epoch(new / files.LEDGER, directory / files.LEDGER if there else None)
            put(new, directory, there)
    except BaseException:
        _undo(new, directory, there)
        raise
    else:
        disk.remove_tree(new, anyway=True)
    finally:
        lock.release()
        lock.close()


def _undo(new: Path, directory: Path, there: bool) -> None:
    """Of a restore that failed: as far as the disk lets us. Runs without a ledger would be taken for a damaged store, but beside the folder
    `new` they are known for what they are, so that it goes last; and stays if the ledger may have its name or not after a power cut."""
    if not there:
        if (directory / files.LEDGER).exists():
            return
        disk.remove_tree(directory / files.RUNS, anyway=True)
        with suppress(OSError):
            disk.sync(directory)
    disk.remove_tree(new, anyway=True)


def _same(one: Path, other: Path) -> bool:
    return other.exists() and os.path.samefile(one, other)


def _look_for_store(directory: Path, force: bool) -> bool:
    """Whether there is one, also a damaged one: that is what a backup is for. ConfigError without `force`."""
    try:
        there = files.locate(directory, create=True)
    except StoreCorrupt:
        there = True
    if there and not force:
        raise ConfigError(f"{directory} has a store: give --force to replace it by the backup, or name another place")
    return there


def _must_be_free(place: Path) -> None:
    if place.is_dir() and not any(place.iterdir()):
        return
    if place.exists():
        raise ConfigError(f"{place} is there already: name a new folder for the backup")
    if not place.parent.is_dir():
        raise ConfigError(f"there is no folder {place.parent}: make it first")


@contextmanager
def in_words(source: Path, place: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, f"{source} (or its copy {place})") from error
    except OSError as error:
        if error.errno in files.FULL:
            raise StoreFull(f"no room for a copy of {source} at {place}: nothing was changed; make room and try again") from error
        raise StoreUnavailable(f"cannot copy {source} to {place}: {error.strerror}") from error


def _copy(directory: Path, new: Path) -> None:
    """A store's folder as of one moment, all of it durable. Its runs get names of their own: whoever still has a store open that this
    one replaces may remove those that it merges."""
    disk.make_new_folder(new)
    idle = _is_idle_and_read_only(directory)
    mode = "mode=ro&immutable=1" if idle else "mode=rw"  # else SQLite needs files beside it
    with closing(sqlite3.connect(f"file:{_quoted(directory / files.LEDGER)}?{mode}", uri=True, timeout=PATIENCE)) as db:
        check_whole(db, str(directory))
        header = read_header(db, str(directory))
        no_merge = nullcontext() if idle else _no_merge(directory, shelf_of(header, directory).alone)
        with no_merge, closing(sqlite3.connect(new / files.LEDGER)) as copy:
            db.backup(copy)
            disk.make_new_folder(new / files.RUNS)
            for run in manifest(copy):
                name = _copy_run(directory, run.name, new, shelf_of(header, new))
                copy.execute("UPDATE run SET name = ? WHERE seq = ?", (name, run.seq))
            for _, run in imported.manifest(copy):
                name = _copy_run(directory, run.name, new, shelf_of(header, new, LEVEL), LEVEL)
                copy.execute("UPDATE level_run SET name = ? WHERE seq = ?", (name, run.seq))
            copy.execute("UPDATE meta SET value = '' WHERE name = 'boot'")
            copy.execute("DELETE FROM meta WHERE name = 'rekeying'")  # halfway.MARK: what is made beside the store is not of its copy
            copy.commit()
    for path in (new / files.LEDGER, new / files.RUNS, new):
        disk.sync(path)


def _copy_run(directory: Path, name: str, new: Path, shelf: Shelf, suffix: str = RUN) -> str:
    """Under a fresh name, read again as a whole: a damaged one must be told when a copy is made, not when it is needed."""
    fresh = fresh_name(suffix)
    try:
        disk.copy(directory / files.RUNS / name, new / files.RUNS / fresh)
    except FileNotFoundError as error:
        raise StoreCorrupt(f"the run {name} of {directory} is missing: the store is damaged; run verify") from error
    try:
        damaged = bool(shelf.open(fresh).check())
    except StoreCorrupt:
        damaged = True
    if damaged:
        raise StoreCorrupt(f"the run {name} of {directory} is damaged: nothing was copied; run verify, use another backup")
    return fresh


def _is_idle_and_read_only(directory: Path) -> bool:
    """A backup on a read-only disk: nobody writes there, and no log says that somebody had it open."""
    return not os.access(directory, os.W_OK) and not (directory / f"{files.LEDGER}-wal").exists()


def _quoted(path: Path) -> str:
    return "".join(f"%{ord(c):02x}" if c in "%?#" else c for c in str(path))


@contextmanager
def _no_merge(directory: Path, alone: Callable[[], FileLock | ThreadLock | None]) -> Iterator[None]:
    give_up = time.monotonic() + PATIENCE
    while (lock := alone()) is None:
        if time.monotonic() > give_up:
            raise StoreUnavailable(f"the runs of {directory} are being merged for more than {PATIENCE:g} s: try again later")
        time.sleep(0.05)
    try:
        yield
    finally:
        lock.close()


def _raise_epoch(copy: Path, replaced: Path | None) -> None:
    """Above that of the backup and of the store that it replaces: no token of either comes again."""
    epoch = 0
    if replaced is not None:
        try:
            with closing(sqlite3.connect(f"file:{_quoted(replaced)}?mode=rw", uri=True, timeout=PATIENCE)) as db:
                epoch = scalar(db, "SELECT n FROM counter WHERE name = 'epoch'") or 0
            empty_log(replaced)
        except sqlite3.Error:
            epoch = 0  # damaged: that is why it is replaced
    with closing(sqlite3.connect(copy)) as db:
        db.execute("UPDATE counter SET n = max(n, ?) WHERE name = 'epoch'", (epoch,))
        db.commit()


def empty_log(ledger: Path) -> None:
    """Before a ledger is replaced its log goes: a crash in between must leave it with all that it has acknowledged."""
    with closing(sqlite3.connect(f"file:{_quoted(ledger)}?mode=rw", uri=True, timeout=PATIENCE)) as db:
        if db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            raise StoreUnavailable(f"the store {ledger.parent} is being read for more than {PATIENCE:g} s: try again later")


def put(new: Path, directory: Path, there: bool) -> None:
    """What lies in the folder `new` becomes the store. Runs first, under names that nobody else has; then the locks, so that whoever has
    the store open notices; then the ledger."""
    files.must_have_no_log(new / files.LEDGER)
    disk.make_folder(directory / files.RUNS)
    for run in sorted((new / files.RUNS).iterdir()):
        disk.move(run, directory / files.RUNS / run.name)
    disk.sync(directory / files.RUNS)
    if not there:
        files.publish(new / files.LEDGER, directory)
        return
    with ExitStack() as held:
        _replace_locks(new, directory, held)
        for suffix in ("-wal", "-shm"):
            disk.remove(directory / f"{files.LEDGER}{suffix}")
        disk.sync(directory)  # else the new ledger might stand beside the old log after a power cut, and take it for its own
        _replace_locks(new, directory, held)  # who came in between has a log that is gone now, and is told too
        files.publish(new / files.LEDGER, directory)


def _replace_locks(new: Path, directory: Path, held: ExitStack) -> None:
    """By new ones, held before anybody can see them."""
    lock = FairLock(new)
    held.callback(lock.close)
    lock.acquire(1.0)
    for name in files.LOCKS:
        disk.move(new / name, directory / name)
