"""A store goes in; its sites with their counts come out, or the limit of some is set."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from urlsieve.doors.cli import failures, listing
from urlsieve.doors.cli.failures import UsageError
from urlsieve.doors.cli.options import Parser, add_output, add_store, open_sieve, or_none, whole
from urlsieve.doors.cli.output import Output

if TYPE_CHECKING:
    from urlsieve.model import SiteRow
    from urlsieve.sieve import Sieve

COUNTS = ("seen", "pending", "leased", "delayed", "done", "dead", "limit")
COLUMNS = {name: listing.number(name) for name in COUNTS} | {"site": lambda record: str(record["site"])}


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    if namespace.limit is not None and not namespace.sites:
        raise UsageError("sites: --limit is set for sites that are named; name some")
    with open_sieve(namespace) as sieve, Output(namespace.output, force=namespace.force) as output:
        for name in namespace.sites:
            if namespace.limit is not None:
                sieve.site(name).limit = namespace.limit.value
        listing.write(output, listing.chosen(_records(sieve, namespace), namespace), COLUMNS, as_json=namespace.json)
    return failures.OK


def _parser() -> Parser:
    parser = Parser(
        "sites",
        "List sites with the counts of their URLs, or only those that are named. --limit sets the most URLs that are accepted of a site.",
        example="urlsieve sites --sort pending -n 20 --store S",
    )
    parser.add_argument("sites", nargs="*", metavar="SITE", help="host, with :port if it is not the default")
    parser.add_argument("--limit", type=or_none(whole), metavar="N", help="set: further URLs are rejected (limit); none: no limit")
    listing.add_listing(parser, ("site", *COUNTS), name="site")
    add_store(parser)
    add_output(parser)
    return parser


def _records(sieve: Sieve, namespace: argparse.Namespace) -> Iterator[listing.Record]:
    if not namespace.sites:
        yield from map(_record, sieve.sites())
    for name in namespace.sites:
        row = sieve.site(name).counts
        if row is None:
            raise UsageError(f"the store has no site {name}; urlsieve sites lists them")
        yield _record(row)


def _record(row: SiteRow) -> listing.Record:
    return {"site": row.name, **{name: getattr(row, name) for name in COUNTS}}
