"""A real web server in a thread of the test, with its own log; and the crawler run on it, in this process or as commands."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

import urlsieve

HTML = {"Content-Type": "text/html; charset=utf-8"}


def page(*hrefs: str, base: str | None = None) -> web.Response:
    head = f'<base href="{base}">' if base else ""
    links = "".join(f'<a href="{href}">x</a>' for href in hrefs)
    return web.Response(text=f"<!doctype html><html><head>{head}</head><body>{links}</body></html>", headers=HTML)


def raw(*parts: bytes, pause: float = 0.0):
    """A path's answer, byte for byte, the head included; `pause` seconds between the parts."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        for part in parts:
            if request.transport is None:
                break
            request.transport.write(part)
            await asyncio.sleep(pause)
        if request.transport is not None:
            request.transport.close()
        return web.Response()

    return answer


def redirect(target: str, status: int = 302) -> web.Response:
    return web.Response(status=status, headers={"Location": target})


def leads_to(*hrefs: str):
    """A path's answer: a page with these links."""
    return lambda _: page(*hrefs)


def moved_to(target: str, status: int = 302):
    """A path's answer: a redirect."""
    return lambda _: redirect(target, status)


@dataclass
class Site:
    """`pages`: raw path → a function of the request (plain or async) or the number of a status. Unknown paths are 404."""

    pages: dict = field(default_factory=dict)
    host: str = "127.0.0.1"
    log: list = field(default_factory=list)  # (time, raw path, user agent)

    def start(self) -> None:
        started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()

        async def main() -> None:
            runner = web.ServerRunner(web.Server(self._answer), handle_signals=False, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, self.host, 0).start()
            self.port = runner.addresses[0][1]
            started.set()
            await self._stop.wait()
            await runner.cleanup()

        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(main()))
        self._thread.start()
        assert started.wait(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def asked(self) -> Counter:
        """How often each path was asked for, robots.txt left out."""
        return Counter(path for _, path, _ in self.log if path != "/robots.txt")

    def times(self) -> list[float]:
        return [at for at, _, _ in self.log]

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.log.append((time.monotonic(), request.raw_path, request.headers.get("User-Agent")))
        found = self.pages.get(request.raw_path, self.pages.get(request.raw_path.partition("?")[0], 404))
        if isinstance(found, int):
            return web.Response(status=found)
        answer = found(request)
        return await answer if asyncio.iscoroutine(answer) else answer


@pytest.fixture
def serve():
    """serve(pages, host=...) → a running Site."""
    sites = []

    def start(pages: dict, host: str = "127.0.0.1") -> Site:
        site = Site(pages, host)
        site.start()
        sites.append(site)
        return site

    yield start
    for site in sites:
        site.stop()


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@dataclass
class Crawled:
    status: int
    report: dict
    errors: str


@pytest.fixture
def crawl(store: str, capsys: pytest.CaptureFixture[str]):
    """crawl(url, ..., delay=0, ...) runs `urlsieve crawl` in this process on the test's store."""
    from urlsieve.doors.crawler.main import run

    def start(*urls: str, **options) -> Crawled:
        defaults = {"store": store, "delay": 0.0, "allow_private": True, "concurrency": 8, "json": True}
        status = run(Namespace(urls=list(urls), **(defaults | options)))
        out, errors = capsys.readouterr()
        return Crawled(status, json.loads(out) if out else {}, errors)

    return start


class Process:
    """`urlsieve crawl` as a command."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "urlsieve", "crawl", *arguments, "--allow-private", "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def send(self, number: int) -> None:
        self._process.send_signal(number)

    def running(self) -> bool:
        return self._process.poll() is None

    def end(self, timeout: float = 60.0) -> Crawled:
        out, errors = self._process.communicate(timeout=timeout)
        self.ended = time.monotonic()
        return Crawled(self._process.returncode, json.loads(out) if out.startswith("{") else {}, errors)

    def close(self) -> None:
        if self.running():
            self._process.kill()
        self._process.communicate()


@pytest.fixture
def worker(store: str):
    """worker(url, "--delay", "0.1", ...) → a running Process on the test's store."""
    processes = []

    def start(*arguments: str) -> Process:
        process = Process(*arguments, "--store", store)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.close()


@pytest.fixture
def sieve(store: str):
    """The test's own view of the store; waits for nothing long between retries."""
    with urlsieve.open(store, backoff=0.05, concurrency=1) as opened:
        yield opened


def until(condition, seconds: float = 30.0) -> None:
    """Waits for something that must happen; only a hang fails by time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
