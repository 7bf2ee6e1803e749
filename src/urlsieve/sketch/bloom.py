"""A file, a capacity and an error go in; a Bloom filter comes out that threads and processes share.

The file is a head of 4,096 bytes and the blocks. While somebody has it open it says so, with the number of the machine's boot: a filter
that was open when the machine stopped may lack bits, so it is refused, as is one that is foreign, damaged, cut off or too long. Its
answers are never the truth about what was seen: an exact set behind it is.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, final

from urlsieve._kernel import BloomBits
from urlsieve.errors import ConfigError, StoreCorrupt, StoreFull, StoreMismatch, StoreUnavailable
from urlsieve.sketch import sizing
from urlsieve.sketch.blocks import block

_MAGIC, _VERSION, HEAD = b"\x89USB\r\n\x1a\n", 1, 4096
_PARAMETERS = struct.Struct("<8sIIQQd")  # magic, version, bits a key sets, blocks, capacity, error
_OPEN, _SEALED = 0x4E45504F, 0x4C414553  # words, so that no broken bit makes one of the other
_STATE = struct.Struct("<IQQ36s")  # open or sealed, keys added, checksum of the blocks, boot it was opened under
_STATE_AT = 64
_FULL_DISK = (28, 122)  # ENOSPC, EDQUOT


@final
class BloomFilter:
    """A blocked Bloom filter of at most `capacity` fingerprints (16 bytes each) with a share of `error` false positives when it is full.

    path: its file; None: memory only. An existing one is opened, and must have this capacity and error (None: what it has); StoreMismatch
    says which it has. A key costs 9.8 bits at 1 %, 15.5 at 0.1 %. Adding more than `capacity` makes it err more often; `rebuild` makes a
    larger one. Nothing can be removed: a CuckooTable can. StoreCorrupt: the file is none, damaged or may lack bits: remove and rebuild it.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, capacity: int | None = None, error: float | None = None, *, create: bool = True
    ) -> None:
        _check(capacity, error)
        self.path = None if path is None else Path(path)
        self._lock = threading.Lock()
        self._free = threading.Condition()
        self._users, self._closing = 0, False
        self._file = -1
        self._map: mmap.mmap | None = None
        try:
            if self.path is None:
                self._make_in_memory(capacity, error)
            else:
                self._open(self.path, capacity, error, create)
        except BaseException:
            self._release()
            raise

    # -- use

    def add(self, fingerprints: bytes) -> bytes:
        """One byte each: 1 it may have been there before, 0 it was not. Two who add one at the same moment may both be told 0."""
        with self._used():
            flags, fresh = self._bits.add(block(fingerprints))
            if fresh:
                with self._lock:  # of other processes too: a lost update costs a count, never a bit
                    state = self._state()
                    self._write_state(state[0], state[1] + fresh, state[2], state[3])
        return flags

    def contains(self, fingerprints: bytes) -> bytes:
        """One byte each: 1 it may be there, 0 it is not."""
        with self._used():
            return self._bits.get(block(fingerprints))

    def discard(self, fingerprints: bytes) -> NoReturn:
        """ConfigError: the bits of a key may be another's too."""
        raise ConfigError(
            "nothing can be removed from a Bloom filter, for keys share their bits: use urlsieve.sketch.CuckooTable, or rebuild"
        )

    def __len__(self) -> int:
        """How many keys were new when they were added, about."""
        return int(self._state()[1])

    @property
    def estimate(self) -> float:
        """How many different keys it has, by its bits."""
        with self._used():
            return sizing.estimate(self._bits.set_bits(), self.blocks, self.bits)

    @property
    def fill(self) -> float:
        """The share of its capacity that is used; 1: it errs as often as promised; more: more often."""
        return len(self) / self.capacity

    @property
    def nbytes(self) -> int:
        """Of the file, or of memory."""
        return HEAD + sizing.BLOCK // 8 * self.blocks

    def flush(self) -> None:
        """What was added survives a power cut from here on, in a filter that is closed before one: an open one is refused after it."""
        with self._used():
            if self._map is not None and self.path is not None:
                self._map.flush()

    @contextmanager
    def _used(self) -> Iterator[None]:
        """`close` waits for those who are at it."""
        with self._free:
            if self._closing:
                raise StoreUnavailable("the filter is closed")
            self._users += 1
        try:
            yield
        finally:
            with self._free:
                self._users -= 1
                self._free.notify_all()

    def close(self) -> None:
        """The last who has it open seals it: its bits are on disk and have a checksum. Twice is fine."""
        with self._free:
            if self._closing:
                return
            self._closing = True
            self._free.wait_for(lambda: self._users == 0)
        try:
            if self.path is not None:
                self._seal()
        finally:
            self._release()

    def __enter__(self) -> BloomFilter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<BloomFilter {str(self.path) if self.path else 'in memory'}: {self.capacity:,} at {self.error:g}, {self.nbytes:,} bytes>"

    # -- the file

    def _take(self, capacity: int, error: float, bits: int, blocks: int, buffer: mmap.mmap) -> None:
        self.capacity, self.error, self.bits, self.blocks = capacity, error, bits, blocks
        self._map = buffer
        self._bits = BloomBits(memoryview(buffer)[HEAD:], bits)

    def _make_in_memory(self, capacity: int | None, error: float | None) -> None:
        capacity, error = _wanted(capacity, error)
        bits, blocks = _shape(capacity, error)
        size = HEAD + sizing.BLOCK // 8 * blocks
        try:
            memory = mmap.mmap(-1, size)
        except (OSError, OverflowError) as problem:
            raise MemoryError(f"no memory for a filter of {size:,} bytes") from problem
        self._take(capacity, error, bits, blocks, memory)

    def _open(self, path: Path, capacity: int | None, error: float | None, create: bool) -> None:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create and capacity is not None else 0)
        try:
            self._file = os.open(path, flags, 0o644)
        except FileNotFoundError:
            raise StoreUnavailable(f"there is no filter {path}: name a capacity and an error to make one") from None
        except OSError as problem:
            raise StoreUnavailable(f"cannot open the filter {path}: {problem.strerror}") from problem
        self._alone(fcntl.F_WRLCK)  # who opens or closes does so alone
        try:
            if os.fstat(self._file).st_size == 0:
                self._make(path, capacity, error)
            self._read(path, capacity, error)
            fcntl.flock(self._file, fcntl.LOCK_SH)
        finally:
            self._alone(fcntl.F_UNLCK)

    def _alone(self, kind: int) -> None:
        """Of the open file, not of the process: it holds between two openers of one process too."""
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLKW, struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 1, 0))

    def _make(self, path: Path, capacity: int | None, error: float | None) -> None:
        capacity, error = _wanted(capacity, error)
        bits, blocks = _shape(capacity, error)
        size = HEAD + sizing.BLOCK // 8 * blocks
        head = _PARAMETERS.pack(_MAGIC, _VERSION, bits, blocks, capacity, error)
        try:
            os.posix_fallocate(self._file, 0, size)  # a full disk is found out now, not when a page is touched
            os.pwrite(self._file, _STATE.pack(_SEALED, 0, 0, b""), _STATE_AT)
            os.pwrite(self._file, head + struct.pack("<I", zlib.crc32(head)), 0)
        except OSError as problem:
            os.ftruncate(self._file, 0)
            kind = StoreFull if problem.errno in _FULL_DISK else StoreUnavailable
            raise kind(f"cannot make the filter {path} of {size:,} bytes: {problem.strerror}") from problem

    def _read(self, path: Path, capacity: int | None, error: float | None) -> None:
        size = os.fstat(self._file).st_size
        head = os.pread(self._file, _PARAMETERS.size + 4, 0)
        if not head.startswith(_MAGIC) or len(head) < _PARAMETERS.size + 4:
            raise StoreCorrupt(f"{path} is no Bloom filter of urlsieve")
        if zlib.crc32(head[:-4]) != int.from_bytes(head[-4:], "little"):
            raise StoreCorrupt(f"the head of the filter {path} is damaged: remove and rebuild it")
        _, version, bits, blocks, have_capacity, have_error = _PARAMETERS.unpack(head[:-4])
        if version != _VERSION:
            raise StoreMismatch(f"the filter {path} has format {version}, and this urlsieve knows {_VERSION}: use a newer one", "version")
        if size != HEAD + sizing.BLOCK // 8 * blocks:
            raise StoreCorrupt(
                f"the filter {path} has {size:,} bytes instead of {HEAD + sizing.BLOCK // 8 * blocks:,}: remove and rebuild it"
            )
        for name, value, have in (("capacity", capacity, have_capacity), ("error", error, have_error)):
            if value is not None and value != have:
                raise StoreMismatch(f"the filter {path} has {name} {have}, not {value}: leave it out, or rebuild the filter", name)
        self._take(have_capacity, have_error, bits, blocks, mmap.mmap(self._file, size))
        opened, keys, checksum, boot = self._state()
        here = _boot()
        if opened not in (_OPEN, _SEALED):
            raise StoreCorrupt(f"the head of the filter {path} is damaged: remove and rebuild it")
        if opened == _OPEN and boot.rstrip(b"\0") != here:
            raise StoreCorrupt(f"the filter {path} was open when the machine stopped, so bits may be missing: remove and rebuild it")
        if opened == _SEALED and (keys or checksum) and self._bits.checksum() != checksum:
            raise StoreCorrupt(f"the filter {path} is damaged (its checksum does not fit): remove and rebuild it")
        self._write_state(_OPEN, keys, checksum, here)
        os.fsync(self._file)

    def _state(self) -> tuple[int, int, int, bytes]:
        if self._map is None:
            raise StoreUnavailable("the filter is closed")
        opened, keys, checksum, boot = _STATE.unpack_from(self._map, _STATE_AT)
        return opened, keys, checksum, boot

    def _write_state(self, opened: int, keys: int, checksum: int, boot: bytes) -> None:
        assert self._map is not None
        _STATE.pack_into(self._map, _STATE_AT, opened, keys, checksum, boot)

    def _seal(self) -> None:
        """If nobody else has it open."""
        assert self._map is not None
        self._alone(fcntl.F_WRLCK)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        self._map.flush()
        _, keys, _, boot = self._state()
        self._write_state(_SEALED, keys, self._bits.checksum(), boot)
        self._map.flush()

    def _release(self) -> None:
        """Locks go with the file."""
        if self._map is not None:
            self._bits.release()
            self._map.close()
            self._map = None
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        """One that was forgotten is not sealed: its bits are not known to be on disk."""
        if getattr(self, "_file", -1) >= 0:
            os.close(self._file)


def _boot() -> bytes:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()[:36]
    except OSError:
        return b"unknown"


def _check(capacity: object, error: object) -> None:
    if capacity is not None and (not isinstance(capacity, int) or isinstance(capacity, bool) or not 1 <= capacity <= 2**40):
        raise ConfigError(f"capacity is a number of fingerprints from 1 to 2**40, not {capacity!r}")
    if error is not None and (not isinstance(error, float) or not 1e-6 <= error <= 0.5):
        raise ConfigError(f"error is a share from 0.000001 to 0.5, not {error!r}")


def _wanted(capacity: int | None, error: float | None) -> tuple[int, float]:
    if capacity is None:
        raise ConfigError("a new filter wants a capacity")
    return capacity, 0.01 if error is None else error


def _shape(capacity: int, error: float) -> tuple[int, int]:
    """(bits a key sets, blocks)."""
    per_key, bits = sizing.sizing(error)
    return bits, int(capacity * per_key / sizing.BLOCK) + 1
