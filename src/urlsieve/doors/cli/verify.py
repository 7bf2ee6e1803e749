"""A store goes in; what is broken in it comes out."""

from __future__ import annotations

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_json, add_store, open_sieve
from urlsieve.doors.cli.output import Output, human, json_line


def run(arguments: list[str]) -> int:
    parser = Parser(
        "verify",
        "Check that a store is sound: its counts agree. Exit status 1 when they do not, 4 when its files are damaged.",
        example="urlsieve verify --deep --store S",
    )
    parser.add_argument("--deep", action="store_true", help="enumerate every entry instead of asking the counters")
    add_store(parser)
    add_json(parser, 'one object: {"sound", "problems"}')
    namespace = parser.parse(arguments)
    with open_sieve(namespace) as sieve:
        problems = sieve.verify(deep=namespace.deep)
    if namespace.json:
        Output().write(json_line({"sound": not problems, "problems": problems}))
    else:
        Output().write(human("".join(f"{problem}\n" for problem in problems) or "sound\n"))
    return failures.NO if problems else failures.OK
