"""A store goes in; its URLs come out as text, or everything that is known of them as JSON lines that `import` reads."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.failures import UsageError
from urlsieve.doors.cli.options import Parser, add_json, add_output, add_store, as_found, open_sieve, words
from urlsieve.doors.cli.output import Output, json_line, say
from urlsieve.doors.cli.progress import Progress

if TYPE_CHECKING:
    from urlsieve.sieve import Sieve

BATCH = 1_000
STATES = ("pending", "leased", "delayed", "done", "dead", "known")


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    if namespace.format == "text" and not namespace.secret:
        raise UsageError("export: a text has no secret to leave out; --no-secret is for jsonl")
    if namespace.format == "jsonl" and namespace.null:
        raise UsageError("export: --null ends the URLs of --format text")
    report = {"entries": 0, "left_out": 0}
    with open_sieve(namespace) as sieve, _output(namespace) as output, Progress("lines", quiet=namespace.quiet) as progress:
        _write(sieve, output, namespace, report, progress)
    if not namespace.quiet:
        _say(report, as_json=namespace.json)
    return failures.OK


def _write(sieve: Sieve, output: Output, namespace: argparse.Namespace, report: dict[str, int], progress: Progress) -> None:
    as_text = namespace.format == "text"
    lines = _texts(sieve, namespace, report) if as_text else sieve.export(states=namespace.state, secret=namespace.secret)
    many, last = 0, b""
    while batch := list(islice(lines, BATCH)):
        output.write(b"".join(batch))
        many, last = many + len(batch), batch[-1]
        progress.show(many)
    output.sync()
    if not as_text:
        import json

        report.update({name: value for name, value in json.loads(last).items() if name not in ("end", "crc32")})


def _output(namespace: argparse.Namespace) -> Output:
    """What has the secret is nobody else's to read."""
    return Output(namespace.output, force=namespace.force, private=namespace.format == "jsonl")


def _parser() -> Parser:
    parser = Parser(
        "export",
        "Print everything a store knows as JSON lines, which `import` reads: URLs with their state, sites, groups, settings, counts and\n"
        "the store's secret (an export is as private as the store). Others may work meanwhile. --format text prints URLs only.",
        example="urlsieve export --store a | urlsieve import --store b",
    )
    add_store(parser)
    parser.add_argument("--format", choices=("jsonl", "text"), default="jsonl", metavar="NAME", help="jsonl (default), or text: only URLs")
    parser.add_argument("--state", type=words(STATES), metavar="S,S", help=f"only of these: {', '.join(STATES)}")
    parser.add_argument(
        "--no-secret", dest="secret", action="store_false", help="leave the secret out, and with it the URLs whose text is not kept"
    )
    parser.add_argument("-0", "--null", action="store_true", help="URLs of --format text end with NUL")
    add_output(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="no report")
    add_json(parser)
    return parser


def _texts(sieve: Sieve, namespace: argparse.Namespace, report: dict[str, int]) -> Iterator[bytes]:
    """Newlines and tabs in a URL are nothing to a browser; as lines of text they would make two of it."""
    from urlsieve.batch import readable

    for entry in sieve.entries(namespace.state):
        if entry.url is None:
            report["left_out"] += 1
            continue
        found = as_found(readable(entry.url))
        url = found if isinstance(found, bytes) else found.encode("utf-8", "surrogatepass")
        report["entries"] += 1
        yield url + b"\0" if namespace.null else url.translate(None, b"\r\n") + b"\n"


def _say(report: dict[str, int], *, as_json: bool) -> None:
    if as_json:
        say(json_line(report))
        return
    left = f"; {report['left_out']:,} URLs left out: their text is not kept" if report["left_out"] else ""
    if report.get("digests"):
        left += f"; {report['digests']:,} digests of imported levels"
    if report.get("levels_left_out"):
        left += f"; {report['levels_left_out']} imported levels left out: they hold a secret"
    say(f"urlsieve: {report['entries']:,} URLs{left}\n".encode())
