"""JSON lines of leases that go back untouched go in; what became of each comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urlsieve.doors.cli import records

if TYPE_CHECKING:
    from urlsieve.doors.cli.records import Record
    from urlsieve.sieve import Sieve

FIELDS = {"not_before": "number", "group_until": "number"}


def run(arguments: list[str]) -> int:
    parser = records.parser(
        "release",
        "Give leases back untouched; the attempt is not counted.",
        FIELDS,
        note="not_before: the URL not before then; group_until: nothing of its group before then (seconds since the epoch).",
        example="""urlsieve pop -n 5 --store S | urlsieve release --store S""",
    )
    return records.answer(parser.parse(arguments), FIELDS, _act)


def _act(sieve: Sieve, batch: list[Record]) -> list[Record]:
    from urlsieve.model import Outcome

    return records.settle(sieve, [(record.pop("token"), Outcome("release", **record)) for record in batch])
