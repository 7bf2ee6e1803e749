"""Files and their format go in; batches of records come out, each as found with the URL that its column holds.

text: a record is a line and the line is the URL. jsonl: a JSON object a line. csv: a record may hold newlines; the first names the
columns. Records go out as the bytes that came in; where the URL itself is replaced (by its canonical form), every other byte stays.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from urlsieve.doors.cli.failures import InputError, UsageError
from urlsieve.doors.cli.lines import Lines, json_object, shown
from urlsieve.doors.cli.options import Parser
from urlsieve.doors.cli.output import Output

FORMATS = ("text", "jsonl", "csv")
#: A longer record is not read whole: an unclosed quote must not take the rest of a file into memory.
LONGEST = 64 << 20
_LONE = re.compile("[\ud800-\udfff]")


class Batch(NamedTuple):
    """records: as found, without what ends them; urls: the URL of each, b"" where it has none; broken: index → where and why."""

    records: list[bytes]
    urls: list[bytes]
    broken: dict[int, str]


class Form(Protocol):
    """One way to read records."""

    lines: Lines
    heading: bytes  # stands before the records; known when the first batch is

    def batches(self, size: int) -> Iterator[Batch]:
        """At most `size` records at a time; what is there is handed on at once."""

    def replaced(self, record: bytes, url: str | None) -> bytes:
        """The record with another URL (None: with none)."""


def add_formats(parser: Parser) -> None:
    parser.add_argument("--format", choices=FORMATS, metavar="NAME", help="of the input: text (default), jsonl or csv")
    parser.add_argument("--column", metavar="NAME", help="the field of jsonl or csv that holds the URL (url)")


def of(namespace: argparse.Namespace, *, out: bool = True, make: Callable[..., Lines] = Lines) -> Form:
    """What --format, --column, --null and the files make. out: records are printed, so all csv files must have the same columns."""
    form = namespace.format or "text"
    if form == "text":
        if namespace.column is not None:
            raise UsageError("--column names a field of jsonl or csv: add --format")
        return Text(make(namespace.files, null=namespace.null))
    column = "url" if namespace.column is None else namespace.column
    if form == "jsonl":
        return JsonLines(make(namespace.files, null=namespace.null, kept=LONGEST), column)
    if namespace.null:
        raise UsageError("--null ends lines; a csv record ends as csv says")
    from urlsieve.doors.cli.csvform import Csv

    return Csv(make(namespace.files, kept=LONGEST), column, out=out)


class Text:
    """A line is a URL."""

    heading = b""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def batches(self, size: int) -> Iterator[Batch]:
        for records in self.lines.batches(size):
            yield Batch(records, self.lines.urls(records), {})

    def replaced(self, record: bytes, url: str | None) -> bytes:
        return b"" if url is None else url.encode()


class JsonLines:
    """A JSON object a line; its field `column` is the URL."""

    heading = b""

    def __init__(self, lines: Lines, column: str) -> None:
        self.lines, self.column = lines, column

    def batches(self, size: int) -> Iterator[Batch]:
        for name in self.lines.names:
            for first, block in self.lines.blocks_of(name):
                records = self.lines.split(block)
                for start in range(0, len(records), size):
                    yield self._batch(records[start : start + size], shown(name), first + start)

    def _batch(self, records: list[bytes], name: str, first: int) -> Batch:
        batch = Batch(records, [], {})
        for i, record in enumerate(records):
            try:
                batch.urls.append(self._url(record))
            except (ValueError, RecursionError) as error:
                batch.urls.append(b"")
                batch.broken[i] = f"{name}, line {first + i}: {error}"
        return batch

    def _url(self, record: bytes) -> bytes:
        if not record.strip():
            return b""
        found = json_object(record, LONGEST)
        if self.column not in found:
            raise ValueError(f"no field {self.column!r}; it has {', '.join(found) or 'none'}"[:200])
        url = found[self.column]
        if url is not None and not isinstance(url, str):
            raise ValueError(f"{self.column!r} is not a string")
        return b"" if url is None else as_bytes(url)

    def replaced(self, record: bytes, url: str | None) -> bytes:
        import json

        text = record.decode("utf-8", "surrogateescape")
        span = _value_of(text, self.column)
        if span is None:
            return record
        return f"{text[: span[0]]}{json.dumps(url)}{text[span[1] :]}".encode("utf-8", "surrogateescape")


def as_bytes(url: str) -> bytes:
    """Text of JSON as a URL: bytes that were not UTF-8 are those bytes again; a lone surrogate is no character and becomes U+FFFD."""
    try:
        return url.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _LONE.sub("\ufffd", url).encode()


_SPACE = re.compile(r"[ \t\r\n]*")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _value_of(text: str, name: str) -> tuple[int, int] | None:
    """Where the value of an object's own field stands (of equals the last, as in json.loads). The text is known to be JSON."""
    import json

    decoder: Any = json.JSONDecoder()
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        return None
    span = None
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = decoder.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, at = decoder.raw_decode(text, start)
        if key == name:
            span = (start, at)
        at = _skip(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    return span


class Printer:
    """Writes records as they are, after the heading of their file if it has one."""

    def __init__(self, output: Output, form: Form) -> None:
        self._output, self._form = output, form
        self._headed = False

    def write(self, records: Iterable[bytes]) -> None:
        heading = b"" if self._headed else self._form.heading
        self._headed = self._headed or bool(heading)
        separator = self._form.lines.separator
        data = heading + b"".join(record + separator for record in records)
        if data:
            self._output.write(data)


def too_long(name: str, number: int) -> InputError:
    return InputError(f"{name}, line {number}: the record that begins here is longer than {LONGEST} bytes: is a quote not closed?")
