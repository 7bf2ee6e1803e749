"""Names of sites go in; the store forgets all of their URLs, and the number of each comes out."""

from __future__ import annotations

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_json, add_store, open_sieve
from urlsieve.doors.cli.output import Output, human, json_line


def run(arguments: list[str]) -> int:
    parser = Parser(
        "purge",
        "Make a store forget everything of whole sites. A name is one exact site, as `pop` prints it.",
        example="urlsieve purge www.example.com --store S",
    )
    parser.add_argument("sites", nargs="+", metavar="SITE", help="host, with :port if it is not the default")
    add_store(parser)
    add_json(parser)
    namespace = parser.parse(arguments)
    output = Output()
    with open_sieve(namespace) as sieve:
        for site in namespace.sites:
            purged = sieve.purge(site=site)
            if namespace.json:
                output.write(json_line({"site": site, "purged": purged}))
            else:
                output.write(human(f"{site}: {purged} URLs forgotten\n"))
    return failures.OK
