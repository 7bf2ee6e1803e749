"""A store goes in; its figures come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_json, add_store, open_sieve
from urlsieve.doors.cli.output import Output, human, json_line


def run(arguments: list[str]) -> int:
    parser = Parser("stats", "Print a store's figures.", example="urlsieve stats --json --store S")
    add_store(parser)
    add_json(parser, "one JSON object; a field whose part is not built yet is null")
    namespace = parser.parse(arguments)
    with open_sieve(namespace) as sieve:
        figures = sieve.stats().as_dict()
    Output().write(json_line(figures) if namespace.json else human("".join(_rows(figures))))
    return failures.OK


def _rows(figures: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """One figure a line, names of inner ones joined with a dot; what is not known is left out."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{prefix}{name}.")
        elif value is not None:
            shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
            yield f"{prefix + name:<28}{shown:>20}\n" if isinstance(value, int | float) else f"{prefix + name:<28}{shown!s:>20}\n"
