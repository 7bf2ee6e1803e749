"""A number and a time go in; leases come out, one JSON object a line."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, Several, add_store, count, duration, open_sieve, positive
from urlsieve.doors.cli.output import Output, json_lines

if TYPE_CHECKING:
    from urlsieve.model import Lease
    from urlsieve.sieve import Sieve

FIELDS = ("url", "key", "site", "group", "token", "attempt", "priority", "depth", "via", "deadline", "meta", "previous")


def run(arguments: list[str]) -> int:
    parser = Parser(
        "pop",
        "Take URLs under a lease and print them as JSON lines: " + ", ".join(FIELDS) + ".\n"
        "Nothing to fetch now: nothing is printed, status 0. A lease that is not settled in time goes to another worker.",
        example="urlsieve pop -n 10 --lease 120 --store S",
    )
    parser.add_argument("-n", "--number", type=count, default=1, metavar="N", help="at most so many (1)")
    parser.add_argument("--lease", type=positive, default=60.0, metavar="SECONDS", help="how long they are yours (60)")
    parser.add_argument("--groups", nargs="+", action=Several, metavar="NAME", help="only from these groups (hosts)")
    parser.add_argument("--wait", type=duration, default=0.0, metavar="SECONDS", help="wait so long if there is nothing now")
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="errors as JSON too (the leases always are)")
    namespace = parser.parse(arguments)
    output = Output()
    with open_sieve(namespace) as sieve:
        leases = _pop(sieve, namespace)
        try:
            output.write(json_lines(map(as_json, leases)))
        except BaseException:  # nobody has them: back, with their attempt, before anything else
            sieve.release(leases)
            raise
    return failures.OK


def _pop(sieve: Sieve, namespace: argparse.Namespace) -> list[Lease]:
    until = time.monotonic() + namespace.wait
    while True:
        leases = sieve.pop(namespace.number, lease=namespace.lease, groups=namespace.groups)
        left = until - time.monotonic()
        if leases or left <= 0:
            return leases
        sieve.wait(left, groups=namespace.groups or None)


def as_json(lease: Lease) -> dict[str, Any]:
    """The keys that interface.md promises, in its order."""
    values = {name: getattr(lease, name) for name in FIELDS}
    if lease.previous is not None:
        values["previous"] = {name: getattr(lease.previous, name) for name in ("etag", "last_modified", "signature")}
    return values
