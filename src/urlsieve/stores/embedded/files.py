"""A store's directory: where it may be, how it is made whole or not at all, and the fair lock between processes."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

from urlsieve.errors import StoreCorrupt, StoreMismatch, StoreUnavailable
from urlsieve.stores.embedded import disk

LEDGER = "ledger.db"
RUNS = "runs"
#: What a store is made as, before it is one: a file, or (a restore) a folder.
NEW, RESTORED = "new-", "-restored"
LOCKS = ("turn.lock", "write.lock")
#: errno of a disk, or a share of it, without room.
FULL = frozenset([errno.ENOSPC, errno.EDQUOT])
#: Locks and shared memory of SQLite's WAL do not work across machines.
NETWORK_FILE_SYSTEMS = frozenset(
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs", "ncpfs"]
)


def file_system_of(path: Path) -> str | None:
    """The type of the file system that holds `path`, from the kernel's mount table; None where there is no such table."""
    try:
        table = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    best, kind = -1, None
    target = os.path.realpath(path)
    for line in table.splitlines():
        left, _, right = line.partition(" - ")
        mount = left.split(" ")[4].encode("utf-8", "surrogateescape").decode("unicode_escape", "replace")
        if (target == mount or target.startswith(mount.rstrip("/") + "/")) and len(mount) >= best:
            best, kind = len(mount), right.split(" ")[0]
    return kind


def boot_id() -> str:
    """Differs after every start of the machine: unsynced commits may then be gone. Empty where the kernel does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def locate(path: Path, *, create: bool) -> bool:
    """Checks the directory; True if it already holds a store. Makes the directory, not the store."""
    if path.exists() and not path.is_dir():
        raise StoreMismatch(f"{path} is a file; a store is a directory: name another place", "address")
    # listed before the ledger is looked for: one that another makes in between is then seen
    names = sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []
    ledger = path / LEDGER
    if ledger.exists():
        if ledger.stat().st_size == 0:
            raise StoreCorrupt(f"{ledger} is empty: the store's ledger is gone. Restore it from a backup, or remove {path} to start anew")
        return True
    leftover = [name for name in names if not _is_ours_and_harmless(name, names)]
    if any(name.startswith(LEDGER) or name == RUNS for name in leftover):
        raise StoreCorrupt(f"{path} has {', '.join(leftover)} but no {LEDGER}: restore it from a backup, or remove {path} to start anew")
    if not create:
        raise StoreUnavailable(f"there is no store at {path}: push something into it first, or correct the path")
    if leftover:
        raise StoreMismatch(f"{path} is not empty and not a store (it has {leftover[0]}): name an empty or a new directory", "address")
    try:
        disk.make_folder(path)
    except OSError as error:
        raise StoreUnavailable(f"cannot make the store's directory {path}: {error.strerror}") from error
    return False


def _is_ours_and_harmless(name: str, beside: Sequence[str]) -> bool:
    """Locks, and what a creation or a restore that was killed left behind."""
    if name == RUNS:
        return any(other.startswith(NEW) and other.endswith(RESTORED) for other in beside)
    return name in LOCKS or name.startswith(NEW)


def remove_leftovers(directory: Path) -> None:
    """Of creations and restores that were killed. The caller has the lock."""
    for path in directory.glob(f"{NEW}*"):
        if path.is_dir() and not path.is_symlink():
            disk.remove_tree(path)
        else:
            disk.remove(path)


def refuse_network(path: Path) -> None:
    kind = file_system_of(path)
    if kind in NETWORK_FILE_SYSTEMS:
        raise StoreUnavailable(f"{path} is on a network file system ({kind}), where locks cannot be trusted: use a local disk")


def size_of(directory: Path) -> int:
    """Bytes of its files. What is removed meanwhile counts nothing."""
    total = 0
    try:
        for place in (directory, directory / RUNS):
            if place is directory or place.is_dir():
                for path in place.iterdir():
                    with contextlib.suppress(FileNotFoundError):
                        total += path.stat().st_size if path.is_file() else 0
    except OSError as error:
        raise StoreUnavailable(f"cannot look at {directory}: {error.strerror}") from error
    return total


def findings(directory: Path) -> list[tuple[str, str, str]]:
    """(ok | warn | error, what, advice) about the place."""
    found = [("ok", f"file system {file_system_of(directory) or 'unknown'}", "")]
    space = os.statvfs(directory)
    free = space.f_bavail * space.f_frsize
    if free < 1 << 24:
        found.append(("error", f"{free >> 20} MiB free", "make room: a full disk refuses new URLs and outcomes"))
    elif free < 1 << 30:
        found.append(("warn", f"{free >> 20} MiB free", "make room: a full disk refuses new URLs"))
    else:
        found.append(("ok", f"{free >> 30} GiB free", ""))
    wal = directory / f"{LEDGER}-wal"
    if wal.exists() and wal.stat().st_size > 1 << 28:
        found.append(("warn", f"the write-ahead log has {wal.stat().st_size >> 20} MiB", "a long read keeps it from shrinking"))
    return found


def publish(new: Path, directory: Path) -> None:
    """A file made aside becomes the ledger: durable first, then named, then the names of it and of its directory durable."""
    must_have_no_log(new)
    disk.sync(new)
    disk.move(new, directory / LEDGER)
    disk.sync(directory)
    disk.sync(directory.resolve().parent)


class Replaced(StoreUnavailable):
    """The store that was opened is not the one that lies there now."""

    def __init__(self, where: Path | str) -> None:
        super().__init__(f"the store {where} was removed or replaced while it was open: open it anew")


def must_have_no_log(ledger: Path) -> None:
    """SQLite closes a database without a word when the disk does not let it write the log back. The log stays then; the file alone is not
    all there is."""
    log = ledger.with_name(f"{ledger.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreUnavailable(f"{ledger} could not be written as a whole (the disk failed): what it should replace is as it was")


class FairLock:
    """One writer at a time over all processes, and none starves.

    Whoever wants to write queues at `turn` and keeps it until it has `write`: the one that just wrote must queue again behind it.
    If others were waiting when it had finished, it also lets them go first for as long as it had kept them waiting: otherwise, of
    processes that push the same URLs in the same order, the first one is first at every batch and wins them all.
    Both are advisory locks of the kernel, so a killed process leaves nothing behind. They belong to the open files, which a fork would
    share and keep locked: a child closes its copies at once.
    """

    #: Seconds of giving way at most, and how often in a row the queue must be seen empty to end it before.
    LONGEST_WAY, QUIET = 0.25, 10

    def __init__(self, directory: Path) -> None:
        self._fds: list[int] = []
        self._since = 0.0
        self._give_way_until = 0.0
        try:
            for name in LOCKS:
                self._fds.append(disk.open_lock(directory / name))
        except OSError as error:
            self.close()
            raise StoreUnavailable(f"cannot write in the store's directory {directory}: {error.strerror}") from error
        self._where = directory
        _open_locks.add(self)

    def acquire(self, patience: float) -> None:
        give_up = time.monotonic() + patience
        turn, write = self._fds
        self._give_way()
        self._take(turn, give_up, patience)
        try:
            self._take(write, give_up, patience)
        finally:
            fcntl.flock(turn, fcntl.LOCK_UN)
        self._since = time.monotonic()
        self._still_there()

    def _still_there(self) -> None:
        """Whoever removes the directory of an open store must not make it acknowledge into deleted files."""
        try:
            here, ours = os.stat(self._where / "write.lock"), os.fstat(self._fds[1])
        except FileNotFoundError:
            here = None
        if here is None or (here.st_ino, here.st_dev) != (ours.st_ino, ours.st_dev):
            raise Replaced(self._where)

    def _give_way(self) -> None:
        quiet = 0
        while quiet < self.QUIET and time.monotonic() < self._give_way_until:
            quiet = 0 if self._somebody_waits() else quiet + 1
            time.sleep(0.0005)

    def _somebody_waits(self) -> bool:
        turn = self._fds[0]
        if not self._try(turn):
            return True
        fcntl.flock(turn, fcntl.LOCK_UN)
        return False

    def _take(self, fd: int, give_up: float, patience: float) -> None:
        pause = 0.001
        while not self._try(fd):
            if time.monotonic() >= give_up:
                raise StoreUnavailable(f"the store {self._where} is locked by another process for more than {patience:g} s")
            time.sleep(pause)
            pause = max(0.0001, pause * 0.8)  # who has waited longer looks more often

    @staticmethod
    def _try(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                return False
            raise
        return True

    def release(self) -> None:
        now = time.monotonic()
        try:
            self._give_way_until = now + min(now - self._since, self.LONGEST_WAY) if self._somebody_waits() else 0.0
        finally:  # also the turn: an interruption may come when it was taken only to see whether somebody has it
            for fd in self._fds:
                fcntl.flock(fd, fcntl.LOCK_UN)

    def close(self) -> None:
        for fd in self._fds:
            os.close(fd)
        self._fds = []


class FileLock:
    """A lock of one process, ended by `close` or by the process's end. A child of a fork gives up its copy at once."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        _open_locks.add(self)

    @classmethod
    def taken(cls, path: Path) -> FileLock | None:
        """None: another process (or another opener in this one) has it."""
        fd = disk.open_lock(path)
        if FairLock._try(fd):
            return cls(fd)
        os.close(fd)
        return None

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


_open_locks: weakref.WeakSet[FairLock | FileLock] = weakref.WeakSet()


def _close_in_child() -> None:
    for lock in list(_open_locks):
        lock.close()


os.register_at_fork(after_in_child=_close_in_child)


class NoLock:
    """For a store in memory: the thread lock is enough."""

    def acquire(self, patience: float) -> None: ...

    def release(self) -> None: ...

    def close(self) -> None: ...
