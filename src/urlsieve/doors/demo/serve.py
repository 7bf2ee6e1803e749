"""The made web as a process: serves it on loopback and tells on standard output, one JSON line each, what it was asked for.

First line: {"ports": [...]}. Then {"get": page, "agent", "status", "at", "number"} when a request arrives, {"sent": number} when its
answer has left, {"cut": number} when the other side hung up. Page "robots" is a robots.txt, "stray" a request for something that no
page links to. A line "round N" on standard input begins round N (answered by {"round": N}); its end ends the process.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import socket
import sys
import time
from collections import Counter
from html import escape

from aiohttp import web

from urlsieve.doors.demo.world import HOSTS, NAMES, ROBOTS, Page, World

#: Seconds. The first request for the slow page is held until its worker is gone, so that the kill always finds it waiting; what that
#: worker asks for besides takes a while, too, so that it has several leases in hand when it dies.
HELD, SLOW, PAUSE = 20.0, 0.4, 1.5
BIG, CHUNK = 50_000_000, 50_000
STATUS = {"gone": 410, "missing": 404, "forbidden": 403, "redirect": 302}
FAILURES = 2


class Server:
    """One application for all hosts; the port a request came in on says which host it means."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.hosts = {port: host for host, port in enumerate(world.ports)}
        self.round = 1
        self.asked: Counter[str] = Counter()
        self.numbers = itertools.count(1)
        self.victim = ""

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        host = self.hosts[transport.get_extra_info("sockname")[1]] if transport is not None else 0
        page = self.world.find(host, request.raw_path)
        if page is not None and page.since > self.round:
            page = None
        name = "robots" if request.path == "/robots.txt" else page.name if page is not None else "stray"
        self.asked[name] += 1
        status = self._status(name, page)
        number = next(self.numbers)
        agent = request.headers.get("User-Agent", "")
        say({"get": name, "agent": agent, "status": status, "at": time.time(), "number": number, "target": request.raw_path})
        if name == "slow" and not self.victim:
            self.victim = agent
        response = await self._respond(request, name, page, status)
        try:
            await response.prepare(request)
            if page is not None and page.kind == "big":
                await self._pour(response)
            await response.write_eof()
            say({"sent": number})
        except ConnectionError:
            say({"cut": number})
        return response

    @staticmethod
    async def _pour(response: web.StreamResponse) -> None:
        """More than anybody wants; a crawler hangs up when it sees how much it would be."""
        for _ in range(BIG // CHUNK):
            await response.write(b" " * CHUNK)

    def _status(self, name: str, page: Page | None) -> int:
        if name == "robots":
            return 200
        if page is None:
            return 404
        if page.kind == "flaky":
            return 503 if self.asked[name] <= FAILURES else 200
        return STATUS.get(page.kind, 200)

    async def _respond(self, request: web.BaseRequest, name: str, page: Page | None, status: int) -> web.StreamResponse:
        if name == "robots":
            return web.Response(text=ROBOTS)
        if page is None or status >= 400:
            return web.Response(status=status, text=f"{status}\n")
        if page.kind == "redirect":
            return web.Response(status=status, headers={"Location": page.hrefs[0].strip().replace("\n", "").replace("\t", "")})
        if page.kind == "pdf":
            return web.Response(body=b"%PDF-1.7\n%%EOF\n", content_type="application/pdf")
        if page.kind == "big":
            return web.StreamResponse(headers={"Content-Type": "text/html", "Content-Length": str(BIG)})
        if page.kind == "slow":
            await self._linger(request, HELD if self.asked[name] == 1 else SLOW)
        elif request.headers.get("User-Agent", "") == self.victim:
            await self._linger(request, PAUSE)
        return web.Response(body=self.html(page), headers={"Content-Type": f"text/html; charset={page.charset}"})

    @staticmethod
    async def _linger(request: web.BaseRequest, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and request.transport is not None and not request.transport.is_closing():
            await asyncio.sleep(0.05)

    def html(self, page: Page) -> bytes:
        links = "\n".join(f'<li><a href="{escape(href)}">{escape(goal)}</a>' for href, goal in page.shown(self.round))
        base = f'<base href="{escape(page.base)}">' if page.base else ""
        title = escape(f"{NAMES[page.host]}: {page.name}")
        text = f"<!doctype html><html><head>{base}<title>{title}</title></head><body><h1>{title}</h1><ul>\n{links}\n</ul></body></html>"
        return text.encode(page.charset)


def say(event: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
    sys.stdout.flush()


async def serve() -> None:
    sockets = []
    for _ in HOSTS:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        sockets.append(listener)
    server = Server(World([listener.getsockname()[1] for listener in sockets]))
    runner = web.ServerRunner(web.Server(server.answer, access_log=None), handle_signals=False)
    await runner.setup()
    for listener in sockets:
        await web.SockSite(runner, listener).start()
    say({"ports": list(server.world.ports)})
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        word, _, number = line.decode().strip().partition(" ")
        if word == "round":
            server.round = int(number)
            say({"round": server.round})
    await runner.cleanup()


if __name__ == "__main__":
    # Ctrl-C reaches the whole group of processes; this one ends when its parent has closed the pipe, after the workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(serve())
