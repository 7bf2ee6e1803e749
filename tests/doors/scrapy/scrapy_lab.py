"""Spiders as text in, real Scrapy processes that crawl a real server, and what they counted, processed and logged out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

import urlsieve

HERE = Path(__file__).parent
#: A Python that has another Scrapy, and urlsieve, may run the spiders.
PYTHON = os.environ.get("URLSIEVE_SCRAPY_PYTHON", sys.executable)

#: Follows every link, and writes down each page that it has processed, at once and for good.
FOLLOW = """
    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, self.parse)
        self.note(response.url)
"""


@dataclass
class Ended:
    status: int
    stats: dict
    log: str
    notes: list

    @property
    def times(self) -> Counter:
        """How often each thing was noted."""
        return Counter(self.notes)

    @property
    def reason(self) -> str:
        return self.stats.get("finish_reason", "it never finished")


class Running:
    """One Scrapy process. Notes of all processes of a test stand in one file."""

    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [PYTHON, str(HERE / "run_spider.py"), *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def notes(self) -> list:
        path = self.folder / "notes"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def end(self, timeout: float = 60.0) -> Ended:
        try:
            out, log = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail(f"the spider did not end in {timeout} s:\n{self.process.communicate()[1][-8000:]}")
        return Ended(self.process.returncode, json.loads(out) if out else {}, log, self.notes())

    def wait_for_notes(self, count: int, seconds: float = 30.0) -> None:
        deadline = time.monotonic() + seconds
        while len(self.notes()) < count:
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < deadline, "it never came so far"
            time.sleep(0.01)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class ScrapyRun:
    """scrapy_run(body, start=…, **settings) → Ended. `body`: methods of the spider; `before`: lines before the class."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder, self.store = folder, store
        self.running: list[Running] = []

    def begin(self, body: str = FOLLOW, *, start: tuple[str, ...] | str = (), before: str = "", crawlers: int = 1, **settings) -> Running:
        number = len(self.running)
        spider = self.folder / f"spider_{number}.py"
        head = f"import scrapy\nfrom run_spider import Noting\n{textwrap.dedent(before)}\nclass TestSpider(Noting):\n    name = 'test'\n"
        spider.write_text(head + textwrap.indent(textwrap.dedent(body), "    "))
        defaults = {
            "SCHEDULER": "urlsieve.doors.scrapy.Scheduler",
            "URLSIEVE_STORE": self.store,
            "URLSIEVE_BACKOFF": 0.05,
            "TELNETCONSOLE_ENABLED": False,
            "ROBOTSTXT_OBEY": False,
            "DOWNLOAD_DELAY": 0,
            "RETRY_PRIORITY_ADJUST": 0,
            "LOG_LEVEL": "INFO",
        }
        given = {name: value for name, value in (defaults | settings).items() if value is not ...}
        config = {
            "spider": str(spider),
            "start": [start] if isinstance(start, str) else list(start),
            "settings": given,
            "crawlers": crawlers,
        }
        path = self.folder / f"config_{number}.json"
        path.write_text(json.dumps(config))
        running = Running(self.folder, [str(path)])
        self.running.append(running)
        return running

    def __call__(self, body: str = FOLLOW, **options) -> Ended:
        return self.begin(body, **options).end()


@pytest.fixture
def scrapy_run(tmp_path: Path, store: str):
    run = ScrapyRun(tmp_path, store)
    yield run
    for running in run.running:
        running.close()


@pytest.fixture
def sieve(store: str):
    """The test's own view of the store."""
    with urlsieve.open(store) as opened:
        yield opened
