"""csv files go in; their records come out as found, however many lines each has, with the URL of one column.

The standard library's reader says where a record ends and what its fields are; it is fed line by line, so that the lines it took are
the record's own text.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator

from urlsieve.doors.cli import forms
from urlsieve.doors.cli.failures import InputError
from urlsieve.doors.cli.forms import Batch
from urlsieve.doors.cli.lines import Lines, shown

_FIELD = re.compile(r'"(?:[^"]|"")*"[^,]*|[^,]*')


class Csv:
    """The first record of each file names the columns."""

    def __init__(self, lines: Lines, column: str, *, out: bool) -> None:
        self.lines, self.column = lines, column
        self.heading = b""
        self._names: list[str] | None = None  # of the first file, when all must be alike
        self._index = 0
        self._out = out
        csv.field_size_limit(sys.maxsize)  # a field is bounded by its record

    def batches(self, size: int) -> Iterator[Batch]:
        for name in self.lines.names:
            yield from self._file(name, size)

    def _file(self, name: str, size: int) -> Iterator[Batch]:
        feed = _Feed(self.lines, name)
        reader = csv.reader(feed)
        fields, why = _next(reader, feed)
        if fields is None:
            return  # an empty file has no columns and no records
        self._open(fields, feed.taken(), name, why)
        batch = Batch([], [], {})
        while True:
            if batch.records and (len(batch.records) == size or not feed.ready):
                yield batch
                batch = Batch([], [], {})
            number = feed.number
            fields, why = _next(reader, feed)
            if fields is None:
                break
            record = feed.taken()
            if not why and not fields:
                url = b""  # a blank line
            elif not why and len(fields) <= self._index:
                url, why = b"", f"it has {len(fields)} fields, {self.column!r} would be number {self._index + 1}"
            else:
                url = b"" if why else fields[self._index].encode("utf-8", "surrogateescape")
            if why:
                batch.broken[len(batch.records)] = f"{shown(name)}, line {number}: {why}"
            batch.records.append(record)
            batch.urls.append(url)
        if batch.records:
            yield batch

    def _open(self, names: list[str], text: bytes, name: str, why: str) -> None:
        if why:
            raise InputError(f"{shown(name)}: its first line does not name columns: {why}")
        if names.count(self.column) != 1:
            what = "are two columns" if self.column in names else "is no column"
            have = ", ".join(map(repr, names))
            raise InputError(f"{shown(name)}: there {what} {self.column!r}: it has {have}; --column chooses"[:500])
        if self._out and self._names not in (None, names):
            raise InputError(f"{shown(name)}: has other columns than the file before it: handle them one by one")
        self._names, self._index = names, names.index(self.column)
        self.heading = self.heading or text + b"\n"

    def replaced(self, record: bytes, url: str | None) -> bytes:
        text = record.decode("utf-8", "surrogateescape")
        body = text.removesuffix("\r")
        start = end = 0
        for i in range(self._index + 1):
            start = end + 1 if i else 0
            found = _FIELD.match(body, start)
            if found is None or start > len(body):
                return record
            end = found.end()
        new = url or ""
        if body[start : start + 1] == '"' or any(mark in new for mark in ',"\r\n'):
            new = '"{}"'.format(new.replace('"', '""'))
        return f"{body[:start]}{new}{body[end:]}{text[len(body) :]}".encode("utf-8", "surrogateescape")


def _next(reader: Iterator[list[str]], feed: _Feed) -> tuple[list[str] | None, str]:
    """(fields, what is wrong with the record); None at the end."""
    try:
        fields = next(reader)
    except StopIteration:
        return None, ""
    except csv.Error as error:
        return [], f"not csv ({error})"
    return fields, "a quote is not closed" if feed.ended else ""


class _Feed:
    """Lines for the reader, which takes as many as a record has."""

    def __init__(self, lines: Lines, name: str) -> None:
        self._blocks = lines.blocks_of(name)
        self._lines, self._name = lines, shown(name)
        self._block: list[bytes] = []
        self._at = 0
        self._taken: list[bytes] = []
        self._size = 0
        self.number = 1  # of the next line
        self.ended = False  # the record wanted more than there was

    @property
    def ready(self) -> bool:
        """Whether a line is there without reading."""
        return self._at < len(self._block)

    def taken(self) -> bytes:
        """The text since the last call, without its last newline."""
        text, self._taken, self._size = b"\n".join(self._taken), [], 0
        return text

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        if not self.ready:
            found = next(self._blocks, None)
            if found is None:
                self.ended = True
                raise StopIteration
            self._block, self._at = self._lines.split(found[1]), 0
        line = self._block[self._at]
        self._at += 1
        self.number += 1
        self._taken.append(line)
        self._size += len(line)
        if self._size >= forms.LONGEST:
            raise forms.too_long(self._name, self.number - len(self._taken))
        return line.decode("utf-8", "surrogateescape") + "\n"
