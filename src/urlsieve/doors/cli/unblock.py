"""Names of sites or groups go in; no block holds them any more, whoever made it."""

from __future__ import annotations

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.groups import record_of
from urlsieve.doors.cli.options import Parser, add_json, add_store, open_sieve
from urlsieve.doors.cli.output import Output, human, json_line


def run(arguments: list[str]) -> int:
    parser = Parser(
        "unblock",
        "End a block of these sites or groups, also one that the server's answers caused. A URL that is delayed keeps its own time.",
        example="urlsieve unblock www.example.com --store S",
    )
    parser.add_argument("names", nargs="+", metavar="SITE|GROUP", help="as `sites` or `groups` lists it")
    add_store(parser)
    add_json(parser, "JSON lines: the groups")
    namespace = parser.parse(arguments)
    output = Output()
    with open_sieve(namespace) as sieve:
        handles = [(name, sieve.group_of(name)) for name in namespace.names]
        for name, handle in handles:
            row = handle.row
            if row is None:
                output.write(json_line({"group": name, "blocked": False}) if namespace.json else human(f"{name}: nothing of it is known\n"))
                continue
            was = row.health.blocked_until > sieve.now()
            handle.unblock()
            if namespace.json:
                output.write(json_line(record_of(handle.row or row)))
            else:
                output.write(human(f"{row.name}: {'unblocked' if was else 'was not blocked'}; {row.pending or 0:,} URLs wait\n"))
    return failures.OK
