"""JSON lines of leases whose fetch failed go in; what became of each comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urlsieve.doors.cli import records

if TYPE_CHECKING:
    from urlsieve.doors.cli.records import Record
    from urlsieve.sieve import Sieve

FIELDS = {"reason": "text", "status": "status", "retry_after": "number", "elapsed": "number", "size": "size"}
REQUIRED = ("reason",)


def run(arguments: list[str]) -> int:
    parser = records.parser(
        "fail",
        "Say that fetching leased URLs failed: they come back later, or are dead after max_attempts.",
        FIELDS,
        required=REQUIRED,
        example="""echo '{"token": "…", "reason": "timeout"}' | urlsieve fail --store S""",
    )
    return records.answer(parser.parse(arguments), FIELDS, _act, required=REQUIRED)


def _act(sieve: Sieve, batch: list[Record]) -> list[Record]:
    from urlsieve.model import Outcome

    return records.settle(sieve, [(record.pop("token"), Outcome("fail", **record)) for record in batch])
