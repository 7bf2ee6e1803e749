"""A store goes in; its figures come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_json, add_store, open_sieve
from urlsieve.doors.cli.output import Output, human, json_line

if TYPE_CHECKING:
    from urlsieve.sieve import Sieve


def run(arguments: list[str]) -> int:
    parser = Parser(
        "stats",
        "Print a store's figures; or how many URLs were offered on two days, on each and on both.",
        example="urlsieve stats --json --store S",
    )
    parser.add_argument("--overlap", nargs=2, metavar="DAY", help="of two days (YYYY-MM-DD, UTC), about, with the standard error")
    add_store(parser)
    add_json(parser, "one JSON object; a field whose part is not built yet is null")
    namespace = parser.parse(arguments)
    with open_sieve(namespace) as sieve:
        figures = sieve.stats().as_dict() if namespace.overlap is None else _overlap(sieve, *namespace.overlap)
    Output().write(json_line(figures) if namespace.json else human("".join(_rows(figures))))
    return failures.OK


def _overlap(sieve: Sieve, day: str, other: str) -> dict[str, Any]:
    both, error = sieve.overlap(day, other)
    return {"days": {day: round(sieve.unique(day)), other: round(sieve.unique(other))}, "both": round(both), "standard_error": round(error)}


def _rows(figures: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """One figure a line, names of inner ones joined with a dot; what is not known is left out."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{prefix}{name}.")
        elif value is not None:
            shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
            yield f"{prefix + name:<28}{shown:>20}\n" if isinstance(value, int | float) else f"{prefix + name:<28}{shown!s:>20}\n"
