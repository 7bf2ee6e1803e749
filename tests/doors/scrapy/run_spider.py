"""A spider file and settings in (as JSON), its run by real Scrapy, its stats as JSON on standard output. Run by scrapy_lab."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess


class Noting(scrapy.Spider):
    """`note(thing)` is on the disk when it returns (as far as a kill is concerned)."""

    def note(self, thing):
        line = (json.dumps(thing) + "\n").encode()
        out = os.open("notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            assert os.write(out, line) == len(line)
        finally:
            os.close(out)


def main() -> int:
    config = json.loads(Path(sys.argv[1]).read_text())
    sys.modules["run_spider"] = sys.modules["__main__"]
    spec = importlib.util.spec_from_file_location("test_spider", config["spider"])
    module = importlib.util.module_from_spec(spec)
    sys.modules["test_spider"] = module
    spec.loader.exec_module(module)
    process = CrawlerProcess(config["settings"])
    failures = []
    for _ in range(config["crawlers"]):
        crawler = process.create_crawler(module.TestSpider)
        process.crawl(crawler, start_urls=config["start"]).addErrback(failures.append)
    process.start()
    if failures:
        print(failures[0].getTraceback(), file=sys.stderr)
        return 1
    stats = crawler.stats.get_stats()
    print(json.dumps({name: value for name, value in stats.items() if isinstance(value, (int, float, str))}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
