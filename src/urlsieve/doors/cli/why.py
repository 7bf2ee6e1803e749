"""A site or a URL goes in; why nothing of it is fetched now comes out."""

from __future__ import annotations

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_json, add_store, open_sieve
from urlsieve.doors.cli.output import Output, human, json_line


def run(arguments: list[str]) -> int:
    parser = Parser(
        "why",
        "Say why nothing of a site, or a URL, is fetched now.",
        example="urlsieve why www.example.com --store S",
    )
    parser.add_argument("what", metavar="SITE|URL", help="a site as `pop` prints it, or a URL")
    add_store(parser)
    add_json(parser)
    namespace = parser.parse(arguments)
    with open_sieve(namespace) as sieve:
        why = sieve.why(namespace.what)
    Output().write(json_line(why.as_dict()) if namespace.json else human(f"{why}\n"))
    return failures.OK
