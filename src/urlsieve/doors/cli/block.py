"""Names of sites or groups go in; nothing of them is given until a time, or until somebody ends it."""

from __future__ import annotations

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.groups import record_of
from urlsieve.doors.cli.listing import moment
from urlsieve.doors.cli.options import Parser, add_json, add_store, open_sieve, positive, seconds
from urlsieve.doors.cli.output import Output, human, json_line

#: The last second that people write with four digits of year: until somebody ends it.
FOR_EVER = 253_402_300_799.0


def run(arguments: list[str]) -> int:
    parser = Parser(
        "block",
        "Give nothing of these sites or groups (a site's group is blocked: its whole turn) for a time, or until `unblock`.\n"
        "Never shortens a block that is there.",
        example="urlsieve block www.example.com --for 3600 --store S",
    )
    parser.add_argument("names", nargs="+", metavar="SITE|GROUP", help="as `sites` or `groups` lists it")
    until = parser.add_mutually_exclusive_group()
    until.add_argument("--for", dest="seconds", type=positive, metavar="SECONDS", help="for so long; otherwise until unblock")
    until.add_argument("--until", type=seconds, metavar="TIME", help="until then (seconds since the epoch)")
    add_store(parser)
    add_json(parser, "JSON lines: the groups")
    namespace = parser.parse(arguments)
    output = Output()
    with open_sieve(namespace) as sieve:
        until = sieve.now() + namespace.seconds if namespace.seconds is not None else namespace.until
        handles = [sieve.group_of(name) for name in namespace.names]  # a mistyped third name is noticed before the first is blocked
        for handle in handles:
            handle.block(FOR_EVER if until is None else min(until, FOR_EVER))
            row = handle.row
            if row is None:
                continue  # the store forgets a group at once when it is purged meanwhile
            if namespace.json:
                output.write(json_line(record_of(row)))
                continue
            ends = "until it is unblocked" if row.health.blocked_until >= FOR_EVER else f"until {moment(row.health.blocked_until)}"
            output.write(human(f"{row.name}: blocked {ends}; {row.pending:,} URLs wait\n"))
    return failures.OK
