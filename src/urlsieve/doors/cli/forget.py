"""Lines with URLs go in; the store has not seen them any more, and the number of those it had comes out. Or an imported level goes."""

from __future__ import annotations

import argparse

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.failures import UsageError
from urlsieve.doors.cli.lines import Lines, blank
from urlsieve.doors.cli.options import Parser, add_inputs, add_json, add_store, open_sieve
from urlsieve.doors.cli.output import Output, human, json_line

BATCH = 5_000


def run(arguments: list[str]) -> int:
    parser = Parser(
        "forget",
        "Make a store forget URLs: they can be new again; queued ones go too, leases on them are lost.",
        example="urlsieve forget https://example.com/a --store S",
    )
    add_inputs(parser, "URLs, one a line (or a URL itself)")
    parser.add_argument("--imported", metavar="NAME", help="forget this imported level instead; what was marked from it stays seen")
    add_store(parser)
    add_json(parser)
    namespace = parser.parse(arguments)
    if namespace.imported is not None:
        return _level(namespace)
    lines = Lines(namespace.files, null=namespace.null)
    asked = forgotten = 0
    with open_sieve(namespace) as sieve:
        for batch in lines.batches(BATCH):
            found = [line for line in lines.urls(batch) if not blank(line)]
            forgotten += sieve.forget(found)
            asked += len(found)
    if namespace.json:
        Output().write(json_line({"urls": asked, "forgotten": forgotten}))
    else:
        Output().write(human(f"forgot {forgotten} of {asked} URLs\n"))
    return failures.OK


def _level(namespace: argparse.Namespace) -> int:
    if namespace.files:
        raise UsageError("forget: --imported forgets a whole level; URLs are another call")
    with open_sieve(namespace) as sieve:
        dropped = sieve.drop_imported(namespace.imported)
        there = ", ".join(level.name for level in sieve.imported()) or "none"
    if not dropped:
        raise UsageError(f"forget: there is no imported level {namespace.imported!r}; there are: {there}")
    if namespace.json:
        Output().write(json_line({"imported": namespace.imported, "forgotten": True}))
    else:
        Output().write(human(f"forgot the imported level {namespace.imported}\n"))
    return failures.OK
