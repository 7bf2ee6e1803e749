"""JSON lines of leases that are not for us go in; what became of each comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urlsieve.doors.cli import records

if TYPE_CHECKING:
    from urlsieve.doors.cli.records import Record
    from urlsieve.sieve import Sieve

FIELDS = {"reason": "text"}
REQUIRED = ("reason",)


def run(arguments: list[str]) -> int:
    parser = records.parser(
        "skip",
        "Say that leased URLs are not for us (robots, type, size): finished, and counted under the reason.",
        FIELDS,
        required=REQUIRED,
        example="""echo '{"token": "…", "reason": "robots"}' | urlsieve skip --store S""",
    )
    return records.answer(parser.parse(arguments), FIELDS, _act, required=REQUIRED)


def _act(sieve: Sieve, batch: list[Record]) -> list[Record]:
    from urlsieve.model import Outcome

    return records.settle(sieve, [(record["token"], Outcome("skip", reason=record["reason"])) for record in batch])
