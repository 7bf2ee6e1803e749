"""A store goes in; its dead URLs come out with their reasons, or those that are wanted go back into the queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.listing import Record, moment
from urlsieve.doors.cli.options import Parser, add_json, add_output, add_store, count, open_sieve
from urlsieve.doors.cli.output import Output, human, json_line, json_lines, one_line

if TYPE_CHECKING:
    from urlsieve.answers import Failed

BATCH = 500


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    with open_sieve(namespace) as sieve, Output(namespace.output, force=namespace.force) as output:
        found = islice(sieve.failed(site=namespace.site, reason=namespace.reason), namespace.number)
        if not namespace.retry:
            _list(output, found, as_json=namespace.json)
            return failures.OK
        tally = {"failed": 0, "expired": 0}
        retried = sieve.retry(_counted(found, tally))
    if namespace.json:
        output.write(json_line({"retried": retried, **tally}))
    else:
        kept = f"; of {tally['expired']} the text is no longer kept: push them again" if tally["expired"] else ""
        output.write(human(f"{retried} of {tally['failed']} dead URLs wait again{kept}\n"))
    return failures.OK


def _parser() -> Parser:
    parser = Parser(
        "failed",
        "List dead URLs: when each failed last, its attempts, the reason and the URL, with tabs between them. The text of a dead URL\n"
        "is kept for seven days. --retry brings back what would be listed, with a new count of attempts.",
        example="urlsieve failed --reason 'timeout*' --retry --store S",
    )
    parser.add_argument("--site", metavar="SITE", help="only of this site")
    parser.add_argument("--reason", metavar="TEXT", help="only those whose reason is this; * stands for any text")
    parser.add_argument("-n", "--number", type=count, metavar="N", help="only the first N")
    parser.add_argument("--retry", action="store_true", help="bring them back instead of listing them")
    add_store(parser)
    add_output(parser)
    add_json(parser, 'JSON lines: {"url", "site", "group", "reason", "attempts", "at", …}; with --retry {"retried", "failed", "expired"}')
    return parser


def _counted(found: Iterable[Failed], tally: dict[str, int]) -> Iterator[Failed]:
    for one in found:
        tally["failed"] += 1
        tally["expired"] += one.url is None
        yield one


def _list(output: Output, found: Iterator[Failed], *, as_json: bool) -> None:
    while batch := list(islice(found, BATCH)):
        output.write(json_lines(map(_record, batch)) if as_json else b"".join(map(_line, batch)))


def _line(one: Failed) -> bytes:
    when = "-" if one.at is None else moment(one.at)
    url = one_line(one.url) if one.url is not None else f"(a URL of {one.site} whose text is no longer kept)"
    return f"{when}\t{one.attempts or '-'}\t{one_line(one.reason or '-')}\t{url}\n".encode("utf-8", "backslashreplace")


def _record(one: Failed) -> Record:
    names = ("url", "site", "group", "reason", "attempts", "at", "priority", "depth", "via", "meta")
    record = {name: getattr(one, name) for name in names}
    if one.variant:
        import base64

        record["variant"] = base64.b64encode(one.variant).decode("ascii")
    return record
