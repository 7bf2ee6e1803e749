"""Bytes go in; they are on the descriptor when a call returns, or a clear error is raised."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable
from typing import Any

from urlsieve.doors.cli import packed
from urlsieve.doors.cli.failures import OutputClosed, OutputError, UsageError, writing

_USERINFO = re.compile(r"(?<=//)[^/?#\s\\]*@")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def masked(text: str) -> str:
    """`text` with the user info of every URL in it shown as ***@."""
    return _USERINFO.sub("***@", text)


def one_line(text: str) -> str:
    """For people: one line, no passwords, and nothing that a terminal would obey."""
    return _CONTROL.sub(_spelled, masked(text).replace("\n", " ").replace("\t", " "))


def human(text: str) -> bytes:
    """A text of several lines for people: no passwords, and nothing that a terminal would obey."""
    return _CONTROL.sub(_spelled, masked(text)).encode("utf-8", "backslashreplace")


def _spelled(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"


def json_line(value: Any) -> bytes:
    """One JSON object on one line. Bytes that are not UTF-8 (surrogates in a str) become \\udcXX: valid JSON, nothing lost."""
    import json

    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def json_lines(values: Iterable[Any]) -> bytes:
    return b"".join(map(json_line, values))


def write_all(fd: int, data: bytes) -> None:
    """All of `data`, also to a pipe or a descriptor that somebody made non-blocking. Raises OSError."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            import select

            select.select([], [fd], [])


def say(data: bytes) -> None:
    """Reports and errors, on stderr. A closed stderr is nobody's error."""
    try:
        write_all(2, data)
    except OSError:
        pass


class Output:
    """Standard output, or a file that is never overwritten by accident; packed where its name ends in .gz or .zst."""

    def __init__(
        self, path: str | None = None, *, force: bool = False, check: Callable[[int], None] | None = None, private: bool = False
    ) -> None:
        """`check` may refuse the descriptor, before a file that was there is emptied. private: nobody else may read the file."""
        self.name = path or "standard output"
        self.fd = 1
        kind = None if path is None else packed.kind_of(path)
        self._packer = None if kind is None else packed.Packer(kind, self.name)
        if path is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (0 if force else os.O_EXCL)
            try:
                self.fd = os.open(path, flags, 0o600 if private else 0o666)
            except FileExistsError:
                raise UsageError(f"{path}: exists; --force overwrites it") from None
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise writing(self.name, error) from None
                raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
        if check is not None:
            check(self.fd)
        if path is not None and force and stat.S_ISREG(os.fstat(self.fd).st_mode):
            if private:
                os.fchmod(self.fd, 0o600)
            os.ftruncate(self.fd, 0)

    def write(self, data: bytes) -> None:
        self._write(data if self._packer is None else self._packer.pack(data))

    def _write(self, data: bytes) -> None:
        try:
            write_all(self.fd, data)
        except OSError as error:
            raise writing(self.name, error) from None

    def sync(self) -> None:
        """Survives a power cut when it is a regular file; elsewhere the reader has it. What is packed can be unpacked up to here."""
        if self._packer is not None:
            self._write(self._packer.end())
        try:
            if stat.S_ISREG(os.fstat(self.fd).st_mode):
                os.fdatasync(self.fd)
        except OSError as error:
            raise writing(self.name, error) from None

    def _finish(self) -> None:
        """What is packed ends properly."""
        if self._packer is not None:
            self._write(self._packer.end(last=True))

    def close(self) -> None:
        """A delayed write error (quota, network file system) shows here."""
        if self.fd != 1:
            fd, self.fd = self.fd, 1
            try:
                os.close(fd)
            except OSError as error:
                raise writing(self.name, error) from None

    def __enter__(self) -> Output:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, (OutputError, OutputClosed)):
            self._finish()
        self.close()
