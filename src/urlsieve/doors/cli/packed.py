"""A file descriptor and a name go in; its plain bytes come out, unpacked where the name ends in .gz or .zst; and the reverse.

Everything streams: a megabyte that unpacks to a terabyte takes no more memory than any other. Members that stand one after the other
(as `cat a.gz b.gz` makes them) are one input. An archive that ends too early, or is damaged, is an error after its good part was read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from urlsieve.doors.cli.failures import InputError, UsageError, reading

BLOCK = 1 << 20
#: Bytes of a .zst taken at a time: they cannot become more than some 32 MiB (a block of 128 KiB takes four).
BITE = 1 << 10


def kind_of(name: str) -> str | None:
    """gz, zst or None; UsageError when what it needs is not installed."""
    suffix = name.rpartition(".")[2]
    if suffix == "zst":
        _zstd(name)
    return suffix if suffix in ("gz", "zst") else None


def chunks(fd: int, name: str, *, kind: str | None, size: int = BLOCK) -> Iterator[bytes]:
    """The plain bytes, in pieces as they come. `name` is for messages."""
    pieces = iter(lambda: _read(fd, size, name), b"")
    if kind is None:
        return pieces
    tools = _gzip() if kind == "gz" else _zstd(name)
    return _unpacked(pieces, name, tools, bite=size if kind == "gz" else BITE)


class Packer:
    """Bytes go in, those of an archive come out. `end` closes a member: what came before it can be unpacked whatever happens next."""

    def __init__(self, kind: str, name: str) -> None:
        self._make = (_gzip() if kind == "gz" else _zstd(name)).packer
        self._member: Any = None
        self._empty = True  # an archive of nothing has a member too

    def pack(self, data: bytes) -> bytes:
        if not data:
            return b""
        if self._member is None:
            self._member = self._make()
        self._empty = False
        return bytes(self._member.compress(data))

    def end(self, *, last: bool = False) -> bytes:
        if self._member is None and not (last and self._empty):
            return b""
        member, self._member, self._empty = self._member or self._make(), None, False
        return bytes(member.flush())


class _Tools(NamedTuple):
    """Makers of streams that have compress and flush; decompress, eof and unused_data."""

    packer: Callable[[], Any]
    unpacker: Callable[[], Any]
    decompress: Callable[[Any, bytes], tuple[bytes, bytes]]  # (what came out, what is still to be taken)
    rest: Callable[[Any], bytes]  # what a limit held back when all was taken: a few bytes
    error: type[Exception]


def _gzip() -> _Tools:
    import zlib

    def decompress(stream: Any, data: bytes) -> tuple[bytes, bytes]:
        out = stream.decompress(data, BLOCK)
        return out, stream.unconsumed_tail

    return _Tools(lambda: zlib.compressobj(6, zlib.DEFLATED, 31), lambda: zlib.decompressobj(31), decompress, _flushed, zlib.error)


def _zstd(name: str) -> _Tools:
    """Python's own from 3.14, else the package `zstandard`."""

    def decompress(stream: Any, data: bytes) -> tuple[bytes, bytes]:
        return stream.decompress(data), b""

    try:
        own = import_module("compression.zstd")
        return _Tools(own.ZstdCompressor, own.ZstdDecompressor, decompress, _nothing, own.ZstdError)
    except ModuleNotFoundError:
        pass
    try:
        found = import_module("zstandard")
    except ModuleNotFoundError:
        raise UsageError(f"{name}: .zst needs the package zstandard, which is not installed; pip install 'urlsieve[cli]'") from None
    packer, unpacker = found.ZstdCompressor, found.ZstdDecompressor
    return _Tools(lambda: packer().compressobj(), lambda: unpacker().decompressobj(), decompress, _nothing, found.ZstdError)


def _flushed(stream: Any) -> bytes:
    return bytes(stream.flush())


def _nothing(_: Any) -> bytes:
    return b""


def _unpacked(pieces: Iterator[bytes], name: str, tools: _Tools, *, bite: int) -> Iterator[bytes]:
    """Small bites make large pieces again, but none waits for more input, and what is good before an error comes before it."""
    ready = bytearray()
    failure = None
    parts = _parts(pieces, name, tools, bite)
    while failure is None:
        try:
            part = next(parts, None)
        except InputError as error:
            part, failure = None, error
        ready += part or b""
        if ready and (not part or len(ready) >= BLOCK):
            yield bytes(ready)
            ready.clear()
        if part is None:
            break
    if failure is not None:
        raise failure


def _parts(pieces: Iterator[bytes], name: str, tools: _Tools, bite: int) -> Iterator[bytes]:
    """An empty part: more is only there when more is read."""
    stream: Any = None
    begun = False
    try:
        for piece in pieces:
            for start in range(0, len(piece), bite):
                data = piece[start : start + bite]
                while data:
                    if stream is None:
                        data = data.lstrip(b"\0") if begun else data  # tapes pad archives with zeros
                        if not data:
                            break
                        stream, begun = tools.unpacker(), True
                    out, rest = tools.decompress(stream, data)
                    if out:
                        yield out
                    data = stream.unused_data if stream.eof else rest
                    if stream.eof:
                        stream = None
            yield b""
        if stream is not None:
            yield tools.rest(stream)
    except tools.error as error:
        raise InputError(f"{name}: is damaged, or not what its suffix says ({error}); what came before is done") from None
    if (stream is not None and not stream.eof) or not begun:
        raise InputError(f"{name}: ends too early: it was cut off; what came before is done")


def _read(fd: int, size: int, name: str) -> bytes:
    while True:
        try:
            return os.read(fd, size)
        except BlockingIOError:
            import select

            select.select([fd], [], [])
        except OSError as error:
            raise reading(name, error) from None
