"""JSON lines of leases that are still worked on go in; whether each was extended comes out."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from urlsieve.doors.cli import records

if TYPE_CHECKING:
    from urlsieve.doors.cli.records import Record
    from urlsieve.sieve import Sieve

FIELDS = {"lease": "positive"}
LEASE = 60.0


def run(arguments: list[str]) -> int:
    parser = records.parser(
        "extend",
        "Keep leases longer.",
        FIELDS,
        note="lease: seconds from now (60).",
        example="""echo '{"token": "…", "lease": 120}' | urlsieve extend --store S""",
    )
    return records.answer(parser.parse(arguments), FIELDS, _act)


def _act(sieve: Sieve, batch: list[Record]) -> list[Record]:
    answers: list[Record] = []
    for lease, run_of in groupby(batch, key=lambda record: float(record.get("lease", LEASE))):
        tokens = [record["token"] for record in run_of]
        for token, extended in zip(tokens, sieve.extend(tokens, lease), strict=True):
            answers.append({"token": token, "state": "leased"} if extended else records.lost(token))
    return answers
