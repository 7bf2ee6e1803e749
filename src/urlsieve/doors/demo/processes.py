"""The demo's other processes: the site, whose log comes in as it is written, and the workers, which are real commands."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from urlsieve.doors.demo.judge import Log
from urlsieve.doors.demo.world import World


class Site:
    """The server process. `log` is the current round's; `told` is called for every request, from the reading thread."""

    def __init__(self, told: Callable[[dict[str, Any]], None], transcript: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "urlsieve.doors.demo.serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._told = told
        self._transcript = transcript.open("w", encoding="utf-8")
        self._turned = threading.Event()
        self.log = Log()
        first = json.loads(self._out.readline() or "{}")
        if "ports" not in first:
            self.stop()
            raise RuntimeError("the demo's site did not start; what it said is above")
        self.world = World(first["ports"])
        self._reader = threading.Thread(target=self._read, name="site", daemon=True)
        self._reader.start()

    @property
    def _out(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _read(self) -> None:
        for line in self._out:
            self._transcript.write(line)
            event = json.loads(line)
            if "get" in event:
                self.log.events.append(event)
                self._told(event)
            elif "round" in event:
                self.log = Log()
                self._turned.set()

    def begin(self, number: int) -> None:
        """The site changes to this round, its log starts empty."""
        assert self._process.stdin is not None
        self._turned.clear()
        self._process.stdin.write(f"round {number}\n")
        self._process.stdin.flush()
        if not self._turned.wait(30):
            raise RuntimeError("the demo's site does not answer")

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._out.close()
        self._transcript.close()


class Worker:
    """One `urlsieve crawl` process. Its report is read when it has ended."""

    def __init__(self, number: int, store: Path, starts: list[str], options: list[str]) -> None:
        self.number = number
        self.agent = f"demo-worker-{number}"
        self.killed = False
        command = [sys.executable, "-m", "urlsieve", "crawl", *starts, "--store", str(store), "--user-agent", self.agent, "--json"]
        self._process = subprocess.Popen(
            [*command, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL: nothing is finished, nothing is given back. Returns when it is dead."""
        self.killed = True
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def end(self, timeout: float) -> dict[str, Any]:
        """Its report once it has ended by itself; of a killed one {}. RuntimeError with what it said if it failed."""
        deadline = time.monotonic() + timeout
        try:
            out, errors = self._process.communicate(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            out, errors = self._process.communicate()
            raise RuntimeError(f"worker {self.number} did not end; it said: {errors.strip()}") from None
        if self.killed:
            return {}
        if self._process.returncode != 0:
            raise RuntimeError(f"worker {self.number} ended with {self._process.returncode}: {errors.strip()}")
        report: dict[str, Any] = json.loads(out)
        return report

    def stop(self) -> None:
        if self.running():
            self._process.kill()
        self._process.communicate()
