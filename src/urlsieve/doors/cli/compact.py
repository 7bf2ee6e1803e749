"""A store goes in; its seen set as one file, and what it takes before and after, come out."""

from __future__ import annotations

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_json, add_store, open_sieve
from urlsieve.doors.cli.output import Output, human, json_line


def run(arguments: list[str]) -> int:
    parser = Parser(
        "compact",
        "Merge a store's seen set into one file, without what was forgotten, while others work. The store does most of that by itself.\n"
        "A second copy of the set must find room on the disk. If it is stopped, say it again.",
        example="urlsieve compact --store S",
    )
    add_store(parser)
    add_json(parser, 'one object: {"before", "after"}, in bytes')
    namespace = parser.parse(arguments)
    with open_sieve(namespace) as sieve:
        done = sieve.compact()
    Output().write(json_line(done.as_dict()) if namespace.json else human(f"seen set: {done.before} bytes before, {done.after} after\n"))
    return failures.OK
