"""A store goes in; the newest URLs of each reason that were refused or skipped come out, as lines or JSON lines."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.listing import BATCH, moment
from urlsieve.doors.cli.options import Parser, add_json, add_output, add_store, count, open_sieve
from urlsieve.doors.cli.output import Output, json_lines, one_line

if TYPE_CHECKING:
    from urlsieve.answers import Rejected


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    with open_sieve(namespace) as sieve, Output(namespace.output, force=namespace.force) as output:
        found = islice(sieve.rejected(namespace.reason), namespace.number)
        while batch := list(islice(found, BATCH)):
            output.write(json_lines(map(asdict, batch)) if namespace.json else b"".join(map(_line, batch)))
    return failures.OK


def _parser() -> Parser:
    parser = Parser(
        "rejected",
        "List URLs that were refused, or skipped by a worker: when, the reason, the URL and where it was found, with tabs between them,\n"
        "the newest first. The last 100 of each reason are kept; `stats` counts all of them.",
        example="urlsieve rejected --reason scope --store S",
    )
    parser.add_argument("--reason", metavar="TEXT", help="only this one: scope, rejected.scope, skipped.robots; * stands for any text")
    parser.add_argument("-n", "--number", type=count, metavar="N", help="only the first N")
    add_store(parser)
    add_output(parser)
    add_json(parser, 'JSON lines: {"kind", "reason", "url", "at", "via", "depth"}')
    return parser


def _line(one: Rejected) -> bytes:
    cells = (moment(one.at), one_line(f"{one.kind}.{one.reason}"), one_line(one.url), one_line(one.via or "-"))
    return ("\t".join(cells) + "\n").encode("utf-8", "backslashreplace")
