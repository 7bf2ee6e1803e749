"""Real processes for the tests, started in milliseconds: a server that has the package imported forks a child for each call of `children.py`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CHILDREN = Path(__file__).with_name("children.py")


class Zygote:
    """start → pid, wait → exit status (negative: killed by that signal). The server never opens a store itself."""

    def __init__(self) -> None:
        self._server = subprocess.Popen([sys.executable, str(CHILDREN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _ask(self, **question: Any) -> Any:
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps(question) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())

    def start(self, name: str, *args: Any) -> int:
        pid = self._ask(start=name, args=args)
        assert isinstance(pid, int)
        return pid

    def wait(self, pid: int, timeout: float = 60.0) -> int:
        """The exit status; a child that takes longer than `timeout` seconds is killed and the test fails."""
        status = self._ask(wait=pid, timeout=timeout)
        assert status is not None, f"a child did not end within {timeout} s"
        return int(status)

    def run(self, name: str, *args: Any) -> int:
        return self.wait(self.start(name, *args))

    def kill(self, pid: int) -> int:
        os.kill(pid, signal.SIGKILL)  # not reaped before wait(): the pid is still this child's
        return self.wait(pid)

    def kill_itself(self, name: str, *args: Any) -> int:
        """Of a child that does so at a certain step; 0: it ended before."""
        status = self.run(name, *args)
        assert status in (0, -signal.SIGKILL), status
        return status

    def interrupt(self, pid: int) -> int:
        """Ctrl-C."""
        os.kill(pid, signal.SIGINT)
        return self.wait(pid)

    def close(self) -> None:
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.close()
        self._server.wait(30)
        self._server.stdout.close()


def wait_for(path, size, seconds=30.0):
    """Until the child has written something: else a slow machine would kill it before it did anything."""
    end = time.monotonic() + seconds
    while not path.exists() or path.stat().st_size <= size:
        assert time.monotonic() < end, "the child wrote nothing"
        time.sleep(0.001)
