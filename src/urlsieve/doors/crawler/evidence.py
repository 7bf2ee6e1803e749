"""What pages say about themselves in, a file of JSON lines out, for people and later rules; nothing is decided by it.

A line is written before its page is settled: a crawl that is killed can leave a line twice, never none. Several crawls may write to
one file.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass
from typing import Any

from urlsieve.errors import ConfigError, StoreFull, mask_userinfo


@dataclass(slots=True)
class Evidence:
    """Open from the start, so that a folder that is not there is noticed before anything is fetched."""

    path: str
    _fd: int = -1

    def __enter__(self) -> Evidence:
        try:
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except (OSError, ValueError) as error:
            raise ConfigError(f"evidence file {self.path!r}: cannot be written: {getattr(error, 'strerror', None) or error}") from error
        return self

    def __exit__(self, *exc: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def write(self, record: dict[str, Any]) -> None:
        """One line in one write: lines of several processes do not mix. Passwords in URLs are not written."""
        line = json.dumps({name: _masked(value) for name, value in record.items() if value}, ensure_ascii=True).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._fd, line) :]
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise StoreFull(f"evidence file {self.path!r}: {error.strerror}; make room and run the crawl again") from error
            raise ConfigError(f"evidence file {self.path!r}: cannot be written: {error.strerror}") from error


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask_userinfo(value)
    if isinstance(value, (list, tuple)):
        return [_masked(one) for one in value]
    return value
