"""Lines with URLs go in; the store has not seen them any more, and the number of those it had comes out."""

from __future__ import annotations

from urlsieve.doors.cli import failures
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
    add_store(parser)
    add_json(parser)
    namespace = parser.parse(arguments)
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
