"""Script calls in, answers out: pipelined over one connection, repeated after an outage, errors in our words."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, NamedTuple

from redis.connection import Connection, SSLConnection

from redis import exceptions
from urlsieve.errors import ConfigError, StoreCorrupt, StoreFull, StoreMismatch, StoreUnavailable, UrlsieveError
from urlsieve.stores.redis.address import Address
from urlsieve.stores.redis.scripts import script

LEAST_VERSION = (6, 2)
#: Waits between two attempts to reach the server, in seconds: doubling, with jitter.
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
#: Calls sent while the next are made. Their answers wait in the socket: they are short, or few.
AT_A_TIME = 8

Argument = bytes | str | int | float


class Call(NamedTuple):
    """A script on the keys of one slot; `script` "" sends `arguments` as a command."""

    script: str
    key: str
    arguments: Sequence[Argument]


Again = Callable[[Call, float], Call]


class Wire:
    """Connections to one server. Threads may share it; a process that was forked may not."""

    def __init__(self, address: Address, greet: Callable[[Callable[[Call], Any], dict[str, str]], None]) -> None:
        """greet(ask, INFO server) is called on every new connection before anything else."""
        self.address = address
        self.where = address.shown
        self._greet = greet
        self._idle: list[Any] = []
        self._slots = threading.BoundedSemaphore(address.max_connections)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self.closed = False

    # -- asking

    def ask(self, calls: Iterable[Call], *, again: Again | None = None, patience: float | None = None) -> list[Any]:
        """One answer per call, all in one round trip: the first are sent while the last are made. What got no answer is sent again until
        `patience` (None: the address's) is over; `again` makes of it the call to repeat, told how many seconds have passed."""
        began = time.monotonic()
        patience = self.address.patience if patience is None else patience
        source = iter(calls)
        made: list[Call] = []
        answers: list[Any] = []
        attempt = 0
        while True:
            rest: Iterable[Call] = made[len(answers) :]
            if attempt and again is not None:  # made only when there is a connection: its greeting may bring another epoch
                rest = (again(call, time.monotonic() - began) for call in made[len(answers) :])
            try:
                with self._connection() as connection:
                    self._send(connection, chain(rest, _noted(source, made)), answers)
                return answers
            except (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.BusyLoadingError, OSError) as error:
                refused = refusal(error, self.where)
                if refused is not None:
                    raise refused from None
                self._drop_idle()  # they were cut too, and each would cost a pause
                pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt, 10)) * (0.5 + random.random())
                if time.monotonic() - began + pause > patience:
                    raise StoreUnavailable(_no_answer(self.where, error, patience)) from None
                attempt += 1
                time.sleep(pause)
            except exceptions.RedisError as error:
                raise translate(error, self.where) from None

    def _send(self, connection: Any, source: Iterable[Call], answers: list[Any]) -> None:
        """Appends an answer for each; some, when the connection breaks between two."""
        calls: list[Call] = []
        found = _round(connection, _noted(iter(source), calls))
        missing = [i for i, answer in enumerate(found) if isinstance(answer, exceptions.NoScriptError)]
        if missing:
            names = dict.fromkeys(calls[i].script for i in missing)
            loads = [Call("", "", ("SCRIPT", "LOAD", script(name).text)) for name in names]
            for answer in _round(connection, loads):
                self._raise(answer)
            for i, answer in zip(missing, _round(connection, [calls[i] for i in missing]), strict=True):
                found[i] = answer
        for answer in found:
            if isinstance(answer, _Unanswered):
                raise answer.error
            self._raise(answer)
            answers.append(answer)

    def _raise(self, answer: Any) -> None:
        if isinstance(answer, exceptions.RedisError):
            raise translate(answer, self.where) from None

    # -- connections

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        self.check()
        if not self._slots.acquire(timeout=self.address.timeout):
            raise StoreUnavailable(
                f"all {self.address.max_connections} connections to {self.where} have been busy for {self.address.timeout:g} s: "
                "raise max_connections in the address, or use fewer threads"
            )
        connection = None
        try:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = self._connect()
            yield connection
        except BaseException:
            if connection is not None:  # what it may still answer is nobody's
                connection.disconnect()
                connection = None
            raise
        finally:
            self._slots.release()
            if connection is not None:
                self._give_back(connection)

    def _give_back(self, connection: Any) -> None:
        with self._lock:
            if not self.closed:
                self._idle.append(connection)
                return
        connection.disconnect()

    def _connect(self) -> Any:
        a = self.address
        kind = SSLConnection if a.tls else Connection
        connection = kind(
            host=a.host,
            port=a.port,
            db=a.db,
            username=a.user,
            password=a.password,
            socket_timeout=a.timeout,
            socket_connect_timeout=a.connect_timeout,
            socket_keepalive=True,
            protocol=2,
        )
        try:
            connection.connect()  # type: ignore[no-untyped-call]
            info = info_of(self._one(connection, Call("", "", ("INFO", "server"))))
            version = info.get("redis_version", "0")
            if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < LEAST_VERSION:
                raise StoreMismatch(f"the server of {self.where} is Redis {version}; 6.2 or newer is needed", "version")
            self._greet(lambda call: self._one(connection, call), info)
        except BaseException:
            connection.disconnect()  # type: ignore[no-untyped-call]
            raise
        return connection

    def _one(self, connection: Any, call: Call) -> Any:
        answers: list[Any] = []
        self._send(connection, [call], answers)
        return answers[0]

    # -- the end

    def check(self) -> None:
        if os.getpid() != self._pid:
            raise StoreUnavailable(f"the store {self.where} was opened by another process (before a fork): open it anew in this one")
        if self.closed:
            raise StoreUnavailable(f"the store {self.where} is closed")

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if os.getpid() != self._pid:
            return  # the parent's connections are not ours to touch
        self._drop_idle()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.disconnect()


class _Unanswered(NamedTuple):
    error: Exception


def _noted(source: Iterator[Call], made: list[Call]) -> Iterator[Call]:
    for call in source:
        made.append(call)
        yield call


def _round(connection: Any, calls: Iterable[Call]) -> list[Any]:
    """Sends all, some at a time, then reads all. A connection that breaks leaves the rest unanswered."""
    source, many = iter(calls), 0
    while some := list(islice(source, AT_A_TIME)):
        connection.send_packed_command(connection.pack_commands([_command(call) for call in some]), check_health=False)
        many += len(some)
    found: list[Any] = []
    for _ in range(many):
        try:
            found.append(connection.read_response())
        except exceptions.ResponseError as error:
            found.append(error)
        except (exceptions.RedisError, OSError) as error:
            found += [_Unanswered(error)] * (many - len(found))
            break
    return found


def _command(call: Call) -> tuple[Argument, ...]:
    if not call.script:
        return tuple(call.arguments)
    return (b"EVALSHA", script(call.script).digest, b"1", call.key, *call.arguments)


def info_of(text: bytes) -> dict[str, str]:
    """The answer to INFO, by name."""
    lines = (line.partition(":") for line in text.decode("utf-8", "replace").splitlines() if ":" in line)
    return {name: value for name, _, value in lines}


# -- errors


def refusal(error: Exception, where: str) -> UrlsieveError | None:
    """A connection error that no patience mends."""
    if isinstance(error, (exceptions.AuthenticationError, exceptions.AuthorizationError)):
        return StoreUnavailable(f"the server of {where} refuses the user or password in the address (or asks for one): correct them")
    text = str(error).lower()
    if "certificate" in text or "wrong version number" in text:
        return StoreUnavailable(f"no TLS connection to {where}: {error}; redis:// is without TLS, rediss:// with it")
    if "db index is out of range" in text:
        return ConfigError(f"the server of {where} has no database of that number")
    return None


def translate(error: Exception, where: str) -> UrlsieveError:
    """A server's error answer in our words."""
    text = str(error)
    refused = refusal(error, where)
    if refused is not None:
        return refused
    if isinstance(error, exceptions.OutOfMemoryError) or "OOM " in text:
        return StoreFull(f"the memory of {where} is full (maxmemory): what was not taken is not seen; settle, purge, or raise maxmemory")
    if isinstance(error, exceptions.InvalidResponse):
        return StoreUnavailable(f"what answers at {where} is no Redis server: correct the address")
    if "URLSIEVE gone" in text:
        return gone(where)
    if "URLSIEVE broken" in text:
        return StoreCorrupt(f"the store {where} is damaged: {text.partition('URLSIEVE broken: ')[2].partition(' script:')[0]}; run verify")
    if "WRONGTYPE" in text:
        return StoreCorrupt(f"a key of the store {where} has another type than ours: does another program use the same names? ({text})")
    if isinstance(error, exceptions.NoPermissionError) or "NOPERM" in text:
        return StoreUnavailable(f"the user in the address may not do this at {where}: {text}; docs/stores.md names what is needed")
    if isinstance(error, exceptions.ReadOnlyError) or "READONLY" in text:
        return StoreUnavailable(f"the server of {where} is a read-only replica: name its master")
    if "MISCONF" in text:
        return StoreUnavailable(f"the server of {where} cannot write its data to disk and refuses writes: see its log ({text[:200]})")
    return StoreUnavailable(f"the store {where} failed: {text[:500]}")


def gone(where: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"a shard of {where} is gone: the server lost or evicted keys, or was emptied; restore its data, or close and open it anew"
    )


def _no_answer(where: str, error: Exception, patience: float) -> str:
    return f"no answer from {where} for {patience:g} s ({type(error).__name__}: {error}): is the server running, and the address right?"
