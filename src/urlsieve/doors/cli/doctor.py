"""A store goes in; what may go wrong with it, and what to do, comes out."""

from __future__ import annotations

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_json, add_store, open_sieve
from urlsieve.doors.cli.output import Output, human, json_lines


def run(arguments: list[str]) -> int:
    parser = Parser(
        "doctor",
        "Look for what may go wrong with a store, and say what to do. Exit status 1 when something is an error.",
        example="urlsieve doctor --store S",
    )
    add_store(parser)
    add_json(parser, 'JSON lines: {"level", "what", "advice"}')
    namespace = parser.parse(arguments)
    with open_sieve(namespace) as sieve:
        findings = sieve.doctor()
    if namespace.json:
        Output().write(json_lines({"level": one.level, "what": one.what, "advice": one.advice} for one in findings))
    else:
        Output().write(human("".join(f"{one.level:<6}{one.what}{f': {one.advice}' if one.advice else ''}\n" for one in findings)))
    return failures.NO if any(one.level == "error" for one in findings) else failures.OK
