"""JSON lines of fetched leases go in; what became of each comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urlsieve.doors.cli import records

if TYPE_CHECKING:
    from urlsieve.doors.cli.records import Record
    from urlsieve.sieve import Sieve

FIELDS = {
    "status": "status",
    "links": "texts",
    "final_url": "text",
    "redirects": "texts",
    "etag": "text",
    "last_modified": "text",
    "elapsed": "number",
    "size": "size",
    "title": "text",
    "published": "text",
    "body": "text",
    "html": "text",
    "signature": "text",
}
NOTE = (
    "Links are accepted before the lease is settled: they are never lost. An error status acts as `fail`.\n"
    "Equal signatures of pages are evidence for `rules propose`. title, published, body and html are checked only; they count from the\n"
    "version that keeps page history."
)


def run(arguments: list[str]) -> int:
    parser = records.parser(
        "done",
        "Say that leased URLs were fetched.",
        FIELDS,
        note=NOTE,
        example="""echo '{"token": "…", "status": 200, "links": ["https://example.com/b"]}' | urlsieve done --store S""",
    )
    return records.answer(parser.parse(arguments), FIELDS, _act)


def _act(sieve: Sieve, batch: list[Record]) -> list[Record]:
    from urlsieve.model import Outcome

    pairs = [
        (
            record["token"],
            Outcome(
                "done",
                status=record.get("status", 200),
                links=records.links(record),
                final_url=record.get("final_url"),
                redirects=tuple(record.get("redirects", ())),
                etag=record.get("etag"),
                last_modified=record.get("last_modified"),
                signature=record.get("signature"),
                elapsed=record.get("elapsed"),
                size=record.get("size"),
            ),
        )
        for record in batch
    ]
    return records.settle(sieve, pairs, change=True)
