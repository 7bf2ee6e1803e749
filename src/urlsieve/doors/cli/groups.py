"""A store goes in; its politeness groups come out with settings and turn, or the settings of some are changed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from urlsieve.doors.cli import failures, listing
from urlsieve.doors.cli.failures import UsageError
from urlsieve.doors.cli.options import Parser, add_output, add_store, count, duration, open_sieve, or_none
from urlsieve.doors.cli.output import Output

if TYPE_CHECKING:
    from urlsieve.model import GroupRow
    from urlsieve.sieve import Sieve

FIELDS = ("group", "pending", "leased", "delay", "concurrency", "next_turn", "blocked_until", "failures")
SETTINGS = ("delay", "concurrency", "pause", "resume")


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    if any(getattr(namespace, name) for name in SETTINGS) and not namespace.groups:
        raise UsageError("groups: settings are those of groups that are named; name some")
    with open_sieve(namespace) as sieve, Output(namespace.output, force=namespace.force) as output:
        for name in namespace.groups:
            _set(sieve, name, namespace)
        now = sieve.now()
        columns = {
            **{name: listing.number(name) for name in ("pending", "leased")},
            "delay": lambda record: "-" if record["delay"] is None else f"{record['delay']:g}",
            "concurrency": listing.number("concurrency"),
            "now": lambda record: _state(record, now),
            "group": lambda record: str(record["group"]),
        }
        listing.write(output, listing.chosen(_records(sieve, namespace), namespace), columns, as_json=namespace.json)
    return failures.OK


def _parser() -> Parser:
    parser = Parser(
        "groups",
        "List politeness groups (hosts, by default) with their settings and their turn, or only those that are named.\n"
        "--delay, --concurrency, --pause and --resume change the named ones for all workers. A setting shown as - is the store's.",
        example="urlsieve groups www.example.com --delay 5 --store S",
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP", help="as `pop` prints it, or any site of it")
    parser.add_argument("--delay", type=or_none(duration), metavar="SECONDS", help="set: between two turns; none: the store's")
    parser.add_argument("--concurrency", type=or_none(count), metavar="N", help="set: most leases out at a time; none: the store's")
    pause = parser.add_mutually_exclusive_group()
    pause.add_argument("--pause", action="store_true", help="give nothing of it until --resume")
    pause.add_argument("--resume", action="store_true", help="end a pause")
    listing.add_listing(parser, FIELDS, name="group")
    add_store(parser)
    add_output(parser)
    return parser


def _set(sieve: Sieve, name: str, namespace: argparse.Namespace) -> None:
    handle = sieve.group_of(name)
    if namespace.delay is not None:
        handle.delay = namespace.delay.value
    if namespace.concurrency is not None:
        handle.concurrency = namespace.concurrency.value
    if namespace.pause:
        handle.pause()
    if namespace.resume:
        handle.resume()


def _records(sieve: Sieve, namespace: argparse.Namespace) -> Iterator[listing.Record]:
    if not namespace.groups:
        yield from map(record_of, sieve.groups())
    for name in namespace.groups:
        row = sieve.group_of(name).row
        if row is None:
            raise UsageError(f"the store has no group {name}; urlsieve groups lists them")
        yield record_of(row)


def record_of(row: GroupRow) -> listing.Record:
    """delay and concurrency are null where the store's own hold; times are seconds since the epoch, 0: none."""
    return {
        "group": row.name,
        "pending": row.pending,
        "leased": row.leased,
        "delay": row.delay,
        "concurrency": row.concurrency,
        "paused": row.paused,
        "next_turn": row.next_turn,
        "blocked_until": row.health.blocked_until,
        "failures": row.health.failures,
        "top": max((top for top in row.tops if top is not None), default=None),
    }


def _state(record: listing.Record, now: float) -> str:
    """What holds it, the strongest first: the word of `why` and for how long."""
    if record["paused"]:
        return "paused"
    if record["blocked_until"] > now:
        return f"blocked {_span(record['blocked_until'] - now)}"
    if not record["pending"]:
        return "empty"
    if record["next_turn"] > now:
        return f"turn {_span(record['next_turn'] - now)}"
    return "ready"


def _span(seconds: float) -> str:
    """Short: the column is narrow."""
    for size, unit in ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return ">99y" if seconds >= 99 * size and unit == "y" else f"{seconds / size:.0f}{unit}"
    return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
