"""A store goes in; a copy of it in a new folder comes out, as it was at one moment, while others work."""

from __future__ import annotations

import os

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_json, add_store, open_sieve
from urlsieve.doors.cli.output import Output, human, json_line


def run(arguments: list[str]) -> int:
    parser = Parser(
        "backup",
        "Copy a store into a new folder, as it is at one moment; others may work meanwhile. The copy appears whole or not at all.\n"
        "`restore` makes a store of it. It holds the store's secret and every URL with its user info: keep it as you keep the store.",
        example="urlsieve backup /backups/job-monday --store S",
    )
    parser.add_argument("place", metavar="FOLDER", help="a new one, or an empty one")
    add_store(parser)
    add_json(parser)
    namespace = parser.parse(arguments)
    place = os.path.abspath(namespace.place)
    with open_sieve(namespace) as sieve:
        sieve.backup(place)
        address = sieve.address
    Output().write(json_line({"store": address, "backup": place}) if namespace.json else human(f"{place}: a copy of {address}\n"))
    return failures.OK
