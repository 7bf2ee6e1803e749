"""Rows of a listing go in; the wanted ones come out, sorted, as lines of a table for people or as JSON lines.

Numbers stand first and the name last, so that no column has to wait for the widest name: a listing of two million sites is printed as
it is read (`--sort none`), and one of the first N holds N rows.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from urlsieve.doors.cli.options import Parser, add_json, count
from urlsieve.doors.cli.output import Output, json_lines, one_line

Record = dict[str, Any]
WIDTH = 12
BATCH = 500


def add_listing(parser: Parser, fields: Sequence[str], *, name: str) -> None:
    """`fields`: what rows may be sorted by; numbers come largest first, names in order."""
    parser.add_argument("--sort", metavar="FIELD", choices=(*fields, "none"), default=name, help=f"{', '.join(fields)}, or none: as stored")
    parser.add_argument("--reverse", action="store_true", help="the other way round")
    parser.add_argument("-n", "--number", type=count, metavar="N", help="only the first N")
    add_json(parser, "JSON lines")


def chosen(records: Iterable[Record], namespace: argparse.Namespace) -> Iterator[Record]:
    """Sorted and cut as asked. What a record does not have (null) counts as less than any number."""
    if namespace.sort == "none":
        yield from islice(records, namespace.number)
        return
    field = namespace.sort

    def rank(record: Record) -> Any:
        value = record[field]
        return value if isinstance(value, str) else -float("inf") if value is None else float(value)

    names_first = field in ("site", "group")
    largest = names_first == namespace.reverse
    if namespace.number is not None:
        pick = heapq.nlargest if largest else heapq.nsmallest
        yield from pick(namespace.number, records, key=rank)
    else:
        yield from sorted(records, key=rank, reverse=largest)


def write(output: Output, records: Iterable[Record], columns: Mapping[str, Callable[[Record], str]], *, as_json: bool) -> int:
    """`columns`: heading → text of a record; the last one is the name. The number of records."""
    source = iter(records)
    total = 0
    heading = b"" if as_json else _row(list(columns))  # with the first rows: what goes wrong before them prints nothing
    while batch := list(islice(source, BATCH)):
        total += len(batch)
        rows = json_lines(batch) if as_json else b"".join(_row([show(one) for show in columns.values()]) for one in batch)
        output.write(heading + rows)
        heading = b""
    if heading:
        output.write(heading)
    return total


def _row(cells: Sequence[str]) -> bytes:
    *numbers, name = map(one_line, cells)
    return ("".join(f" {cell:>{WIDTH - 1}}" for cell in numbers) + f"  {name}\n").encode("utf-8", "backslashreplace")


def number(name: str) -> Callable[[Record], str]:
    """The column of a count; `-` where there is none."""
    return lambda record: "-" if record[name] is None else f"{record[name]:,}"


def moment(at: float) -> str:
    """A point in time for people, to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(round(at)))
