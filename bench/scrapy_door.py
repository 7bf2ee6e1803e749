"""Scrapy with our scheduler on the embedded store against plain Scrapy, with queue and seen set in memory: one spider, one local site.

The site is served by a process of its own; each crawl is a process, too, and says how long the engine ran and how much CPU it took. The
rounds are interleaved. A run that did not see every page once is an error, not a figure.
"""

import argparse
import asyncio
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.report import OUT, Speed, emit_speed, machine, rounds_of
from bench.report import median as middle

LINKS = 10
MYSELF = (sys.executable, "-m", "bench.scrapy_door")


def serve(pages: int) -> None:
    """Prints its port, then serves /0 … for ever. Every page has links to pages all over the site, and to the next."""
    bodies = []
    for n in range(pages):
        targets = [(n * 7 + k * 131 + 1) % pages for k in range(LINKS)] + [(n + 1) % pages]
        links = "".join(f'<p>Some words before <a href="/{k}">a link</a> and after it.</p>' for k in targets)
        body = f"<!doctype html><html><head><title>{n}</title></head><body>{links}</body></html>".encode()
        bodies.append(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                writer.write(bodies[int(head.split(b" ", 2)[1][1:])])
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(run())


def crawl(root: str, pages: int, store: str) -> None:
    """One crawl; prints its seconds and its CPU seconds. Without a store it is plain Scrapy."""
    import scrapy
    from scrapy.crawler import CrawlerProcess

    class Everything(scrapy.Spider):
        name = "everything"
        start_urls = (f"{root}/0",)

        def parse(self, response):  # type: ignore[no-untyped-def]
            yield {"title": response.css("title::text").get()}
            for href in response.css("a::attr(href)").getall():
                yield response.follow(href, self.parse)

    settings: dict[str, object] = {"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, "DOWNLOAD_DELAY": 0}
    settings["CONCURRENT_REQUESTS_PER_DOMAIN"] = 16
    if store:
        settings |= {"SCHEDULER": "urlsieve.doors.scrapy.Scheduler", "URLSIEVE_STORE": store}
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Everything)
    process.crawl(crawler)
    before = resource.getrusage(resource.RUSAGE_SELF)
    process.start()
    after = resource.getrusage(resource.RUSAGE_SELF)
    stats = crawler.stats.get_stats()
    # plain Scrapy fetches its start page twice: dont_filter does not mark it as seen
    if stats.get("item_scraped_count") not in (pages, pages + 1):
        sys.exit(f"{stats.get('item_scraped_count')} of {pages} pages were scraped")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps([stats["elapsed_time_seconds"], cpu]))


def measure(port: str, pages: int, store: Path | str) -> Speed:
    command = [*MYSELF, "--crawl", f"http://127.0.0.1:{port}", "--pages", str(pages), "--store", str(store)]
    try:
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=600).stdout
    finally:
        if store:
            shutil.rmtree(store, ignore_errors=True)
    seconds, cpu = json.loads(out)
    return Speed(pages / seconds, cpu / pages * 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench scrapy_door")
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="500 pages, 3 rounds")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--crawl", help=argparse.SUPPRESS)
    parser.add_argument("--store", default="", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.pages, chosen.rounds = 500, 3
    if chosen.serve:
        serve(chosen.pages)
    elif chosen.crawl:
        crawl(chosen.crawl, chosen.pages, chosen.store)
    else:
        compare(chosen.pages, chosen.rounds)


def compare(pages: int, rounds: int) -> None:
    machine("scrapy_door")
    OUT.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=OUT))
    server = subprocess.Popen([*MYSELF, "--serve", "--pages", str(pages)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        cases = {"plain": lambda: measure(port, pages, ""), "embedded": lambda: measure(port, pages, folder / "store")}
        speeds = {name: Speed(*map(middle, zip(*found, strict=True))) for name, found in rounds_of(cases, rounds).items()}
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)
    case = f"{pages} local pages, {LINKS + 1} links each"
    emit_speed("scrapy_door", case, speeds["embedded"], speeds["plain"], "Scrapy in memory", rounds=rounds)


if __name__ == "__main__":
    main()
