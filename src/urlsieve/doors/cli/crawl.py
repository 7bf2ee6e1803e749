"""Start pages and limits go in; the reference crawler's exit status comes out."""

from __future__ import annotations

import argparse

from urlsieve.doors.cli import elsewhere
from urlsieve.doors.cli.failures import InputError
from urlsieve.doors.cli.options import Parser, Several, add_json, add_store, count, duration, positive, store_address, whole

NOTE = """Ctrl-C finishes what is in flight and gives the rest back; run it again to go on.

--scope PATTERN, as often as you like: [!][scheme://][host][:port][/path][?query]. * stands for any characters. example.com is
that host and every one below it, =example.com itself, *.example.com those below it; a path that ends with / is a beginning.
A link is followed if a pattern lets it in (or there are only ! patterns) and no ! pattern leaves it out."""


def run(arguments: list[str]) -> int:
    parser = _parser()
    namespace = parser.parse(arguments)
    namespace.store = store_address(namespace)  # "memory:" for a crawl that leaves nothing behind
    if not namespace.urls and not namespace.from_sitemap:
        parser.error("where to start? Name a page, or a sitemap with --from-sitemap URL")
    if "auto" in namespace.from_sitemap and not namespace.urls:
        parser.error("--from-sitemap auto looks at the hosts of the start pages; name one, or the sitemap's URL instead of auto")
    for name in namespace.scope_file:
        namespace.scope += _patterns(name)
    return elsewhere.run("crawl", namespace)


def _parser() -> Parser:
    parser = Parser(
        "crawl",
        f"Fetch pages with the reference crawler.\n{NOTE}",
        example="urlsieve crawl https://example.com/ --store S --scope example.com/docs/ --max-pages 100 --delay 1",
    )
    parser.add_argument("urls", nargs="*", metavar="URL", help="where to start")
    add_store(parser)
    where = "start with a sitemap's pages, too; auto: robots.txt says where"
    parser.add_argument("--from-sitemap", metavar="URL", help=where, action=Several, default=[])
    parser.add_argument("--max-pages", type=count, metavar="N", help="stop after N pages")
    parser.add_argument("--max-depth", type=whole, metavar="N", help="follow links N steps from the start pages (0: none)")
    parser.add_argument("--same-site", action="store_true", help="follow links to the start pages' sites only")
    only = "follow only links like this; with ! none like this"
    parser.add_argument("--scope", metavar="PATTERN", help=only, action=Several, default=[])
    patterns = "patterns, one a line; # begins a comment"
    parser.add_argument("--scope-file", metavar="FILE", help=patterns, action=Several, default=[])
    parser.add_argument("--obey-nofollow", action="store_true", help="leave out links that their page marks as nofollow")
    parser.add_argument("--delay", type=duration, metavar="SECONDS", help="between two requests to one host (1)")
    parser.add_argument("--concurrency", type=count, metavar="N", help="requests at the same time (16)")
    parser.add_argument("--per-host", type=count, metavar="N", help="of them to one host, over all workers of the store (1)")
    parser.add_argument("--lease", type=positive, metavar="SECONDS", help="how soon a killed crawler's pages come back (60)")
    parser.add_argument("--user-agent", type=header, metavar="TEXT", help="what servers and robots.txt see")
    parser.add_argument("--accept-language", type=header, metavar="TEXT", help="languages to ask for, as in de,en;q=0.5")
    parser.add_argument("--evidence", metavar="FILE", help="append what pages say of themselves (canonical, hreflang) as JSON lines")
    parser.add_argument("--allow-private", action="store_true", help="also fetch from private and loopback addresses")
    add_json(parser)
    return parser


def header(text: str) -> str:
    """What can stand in a header: otherwise every request would fail, or say more than its author meant."""
    if not text.strip() or not text.isascii() or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text[:60]!r} cannot be sent in a header: printable ASCII only")
    return text.strip()


def _patterns(name: str) -> list[str]:
    """The lines of a file. Blank ones and comments are none."""
    from urlsieve.doors.cli.lines import Lines

    found = []
    number = 0
    for lines in Lines([name]).batches(1000):
        for line in lines:
            number += 1
            try:
                text = line.decode("utf-8").strip()
            except UnicodeDecodeError:
                raise InputError(f"{name}: line {number} is not UTF-8") from None
            if text and not text.startswith("#"):
                found.append(text)
    return found
