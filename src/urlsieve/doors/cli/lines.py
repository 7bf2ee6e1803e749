"""Names of files go in; blocks of whole lines come out, in order, with a bounded amount of memory whatever the input is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any

from urlsieve.doors.cli import packed
from urlsieve.doors.cli.failures import InputError, UsageError, reading

BLOCK = 1 << 20
#: A line longer than this is no URL (`too_long`). It is handed on as its first KEPT bytes, which are too long as well:
#: so it is refused and counted like any other, and a line of a gigabyte takes no memory.
KEPT = 65_536 + 64
_BOM = b"\xef\xbb\xbf"
_URL = (b"http://", b"https://")


class Lines:
    """The lines of files, of `-` (standard input), and of arguments that are URLs themselves (`http://…` with no such file)."""

    def __init__(self, names: list[str], *, null: bool = False, kept: int = KEPT, block: int = BLOCK) -> None:
        self.names = names or ["-"]
        self.separator = b"\0" if null else b"\n"
        self._kept = kept
        self._block = block
        for name in self.names:
            _check(name)

    def refuse(self, output: int) -> None:
        """Raise when `output` is one of the inputs: it would be emptied, or grow for ever."""
        try:
            target = os.fstat(output)
        except OSError:
            return
        for name in self.names:
            if stat.S_ISREG(target.st_mode) and _same(name, target):
                raise UsageError(f"{name}: is input and output at once; write to another file")

    def blocks(self) -> Iterator[bytes]:
        """Blocks of at most about a megabyte, each ending with the separator; a missing last one is added."""
        for name in self.names:
            for _, block in self.blocks_of(name):
                yield block

    def blocks_of(self, name: str) -> Iterator[tuple[int, bytes]]:
        """Number of the first line, and the block, of one input."""
        if is_url(name):
            yield 1, os.fsencode(name) + self.separator
            return
        number = 1
        try:
            fd = 0 if name == "-" else os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise reading(name, error) from None
        try:
            kind = None if name == "-" else packed.kind_of(name)
            for block in self._cut(packed.chunks(fd, shown(name), kind=kind, size=self._block)):
                yield number, block
                number += block.count(self.separator)
        finally:
            if fd:
                os.close(fd)

    def batches(self, size: int) -> Iterator[list[bytes]]:
        """At most `size` lines at a time, as found (`urls` takes the CR off); what is there is handed on at once."""
        for block in self.blocks():
            lines = self.split(block)
            for start in range(0, len(lines), size):
                yield lines[start : start + size]

    def split(self, block: bytes) -> list[bytes]:
        """The lines of a block as found, without separator."""
        lines = block.split(self.separator)
        lines.pop()
        return lines

    def urls(self, lines: list[bytes]) -> list[bytes]:
        """The CR of a CRLF belongs to the line, not to its URL."""
        return [line.removesuffix(b"\r") for line in lines] if self.separator == b"\n" else lines

    def _cut(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        tail = bytearray()
        skipping = False
        first = True
        for chunk in chunks:
            if first:
                first = False
                chunk = chunk.removeprefix(_BOM)
            start = 0
            if skipping:
                start = chunk.find(self.separator)
                if start < 0:
                    continue
                skipping = False
            end = chunk.rfind(self.separator) + 1
            if end > start:
                yield bytes(tail) + chunk[start:end]
                tail.clear()
                start = end
            tail += chunk[start:]
            if len(tail) > self._kept:
                del tail[self._kept :]
                skipping = True
        if tail:
            yield bytes(tail) + self.separator


def json_object(line: bytes, longest: int, *, like: str = "") -> dict[str, Any]:
    """ValueError says what is wrong: it has `longest` bytes or more, is not JSON, or is none (`like` …)."""
    import json

    if len(line) >= longest:
        raise ValueError(f"longer than {longest} bytes")
    try:
        found = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from None
    if not isinstance(found, dict):
        raise ValueError(f"not a JSON object{' like ' if like else ''}{like}")
    return found


def shown(name: str) -> str:
    return "standard input" if name == "-" else name


def is_url(name: str) -> bool:
    return os.fsencode(name)[:8].lower().startswith(_URL) and not os.path.exists(name)


def blank(line: bytes) -> bool:
    """Nothing left of it as a URL: only C0 characters and spaces."""
    return not line.strip(_STRIPPED)


_STRIPPED = bytes(range(0x21))


def _check(name: str) -> None:
    """Before anything is done: a mistyped third file must not be noticed after the first two."""
    if name == "-" or is_url(name):
        return
    try:
        found = os.stat(name)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror}; input comes from files or standard input (-)") from None
    except ValueError:
        raise InputError(f"{name!r}: is not a file name") from None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{name}: is a directory; name a file, or - for standard input")
    if not os.access(name, os.R_OK):
        raise InputError(f"{name}: cannot be read: permission denied")
    packed.kind_of(name)


def _same(name: str, target: os.stat_result) -> bool:
    try:
        found = os.fstat(0) if name == "-" else os.stat(name)
    except OSError:
        return False
    return os.path.samestat(found, target)
