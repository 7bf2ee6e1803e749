"""Where to keep the evidence goes in; the demo's exit status comes out."""

from __future__ import annotations

from urlsieve.doors.cli import elsewhere
from urlsieve.doors.cli.options import Parser, add_json


def run(arguments: list[str]) -> int:
    parser = Parser(
        "demo",
        "Serve a made site on this machine, crawl it in two rounds with two workers, kill one, and compare with the truth.",
        example="urlsieve demo --keep /tmp/demo",
    )
    parser.add_argument("--keep", metavar="DIR", help="keep store and logs there")
    add_json(parser)
    return elsewhere.run("demo", parser.parse(arguments))
