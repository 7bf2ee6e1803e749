"""Start pages and limits go in; the reference crawler's exit status comes out."""

from __future__ import annotations

from urlsieve.doors.cli import elsewhere
from urlsieve.doors.cli.options import Parser, add_json, add_store, count, duration, positive, store_address, whole


def run(arguments: list[str]) -> int:
    parser = Parser(
        "crawl",
        "Fetch pages with the reference crawler.\nCtrl-C finishes what is in flight and gives the rest back; run it again to go on.",
        example="urlsieve crawl https://example.com/ --store S --same-site --max-pages 100 --delay 1",
    )
    parser.add_argument("urls", nargs="+", metavar="URL", help="where to start")
    add_store(parser)
    parser.add_argument("--max-pages", type=count, metavar="N", help="stop after N pages")
    parser.add_argument("--max-depth", type=whole, metavar="N", help="follow links N steps from the start pages (0: none)")
    parser.add_argument("--same-site", action="store_true", help="follow links to the start pages' sites only")
    parser.add_argument("--delay", type=duration, metavar="SECONDS", help="between two requests to one host (1)")
    parser.add_argument("--concurrency", type=count, metavar="N", help="requests at the same time (16)")
    parser.add_argument("--lease", type=positive, metavar="SECONDS", help="how soon a killed crawler's pages come back (60)")
    parser.add_argument("--user-agent", metavar="TEXT", help="what servers and robots.txt see")
    parser.add_argument("--allow-private", action="store_true", help="also fetch from private and loopback addresses")
    add_json(parser)
    namespace = parser.parse(arguments)
    namespace.store = store_address(namespace)  # "memory:" for a crawl that leaves nothing behind
    return elsewhere.run("crawl", namespace)
