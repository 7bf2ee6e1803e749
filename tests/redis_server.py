"""A real redis-server of a test's own: its own port and directory, the settings of docs/redis.conf, stopped by its process id."""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

CONF = Path(__file__).resolve().parents[1] / "docs" / "redis.conf"
RAM = Path("/dev/shm")
START, STOP = 20.0, 20.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end_with_parent() -> None:
    """A test run that is killed leaves no server behind (Linux: PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


@dataclass
class RedisServer:
    """`start` and `kill` may follow one another: the directory, and with it the data, stays until `close`."""

    settings: dict[str, str] = field(default_factory=dict)
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    directory: Path = Path()
    _copies: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        program = shutil.which("redis-server")
        assert program, "redis-server is missing: ./dev setup as root installs it, or apt-get install redis-server"
        self.program = program
        self.port = self.port or free_port()
        self.directory = Path(tempfile.mkdtemp(dir=RAM if RAM.is_dir() else None, prefix="urlsieve-redis-"))

    def start(self) -> RedisServer:
        options = {"port": str(self.port), "dir": str(self.directory), "daemonize": "no", "logfile": "log", **self.settings}
        flags = [word for name, value in options.items() for word in (f"--{name}", *value.split(" "))]
        self.process = subprocess.Popen(
            [self.program, str(CONF), *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - it only makes one system call
        )
        end = time.monotonic() + START
        while not self.answers():
            assert self.process.poll() is None, f"redis-server ended: {self.log()}"
            assert time.monotonic() < end, f"redis-server does not answer: {self.log()}"
            time.sleep(0.02)
        return self

    def answers(self) -> bool:
        import redis

        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.AuthenticationError:
            return True
        except (redis.ConnectionError, redis.TimeoutError):
            return False

    def client(self):
        """A plain client, for what a test does behind the store's back."""
        import redis

        return redis.Redis(port=self.port, socket_timeout=10)

    def address(self, job: str = "test", **options: object) -> str:
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"redis://127.0.0.1:{self.port}/0?job={job}{more}"

    def log(self) -> str:
        path = self.directory / "log"
        return path.read_text()[-2000:] if path.exists() else "no log"

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                os.kill(self.process.pid, how)
            self.process.wait(STOP)
            self.process = None

    def kill(self) -> None:
        """As in a crash: nothing is flushed."""
        self._end(signal.SIGKILL)

    def copy(self) -> Path:
        """Its data as they are now."""
        place = Path(tempfile.mkdtemp(dir=self.directory.parent, prefix="urlsieve-redis-"))
        shutil.copytree(self.directory, place, dirs_exist_ok=True)
        self._copies.append(place)
        return place

    def put_back(self, place: Path | None) -> None:
        """Older data (None: none) for a server that is down."""
        assert self.process is None
        shutil.rmtree(self.directory)
        if place is None:
            self.directory.mkdir()
        else:
            shutil.copytree(place, self.directory)

    def close(self) -> None:
        self._end(signal.SIGKILL)
        for place in self._copies:
            shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(self.directory, ignore_errors=True)


_shared: list[RedisServer] = []


def shared() -> RedisServer:
    """The one that all tests of this process use, each a job of its own; started when first asked for, ended with the process."""
    if not _shared:
        server = RedisServer().start()
        atexit.register(server.close)
        _shared.append(server)
    return _shared[0]


def forget_all() -> None:
    """What a test has left behind."""
    if _shared:
        with _shared[0].client() as client:
            client.flushall()
