"""A workload in, the log of its file operations with its notes out: it runs in a forked child of a server that has recorder.c before libc.

Notes of a workload stand in the log where they were made. Whatever a transaction of the ledger committed is noted by itself, as the whole
content of the store after it, and whether it was durable then: so nobody has to say beforehand what a workload does.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import urlsieve
from urlsieve import UrlsieveError, testing
from urlsieve.stores.embedded import ledger, merging, moving, packing, rekeying
from urlsieve.stores.embedded.imported import levels

HERE = Path(__file__).parent
SECRET = 0x5EED
NOW = 1_800_000_000.0
#: How the k-th operation fails: see recorder.c. The first three once, the others until it is mended.
FAULTS = {"never": 0, "EIO": 1, "ENOSPC": 2, "short": 3, "full": 4, "gone": 5}
#: What the lengths of things are in these tests, so that a few hundred URLs meet everything.
SMALL = {
    (merging, "LONGEST_JOURNAL"): 40,
    (packing, "BATCH"): 32,
    (packing, "KEPT"): 16,
    (packing, "SLOTS"): 16,
    (ledger, "LEAST_LOG_PAGES"): 48,  # so that the log is written back often
    (ledger, "MOST_LOG_PAGES"): 48,
}


def make_small(set_to: Callable[[Any, str, Any], object] = setattr) -> None:
    for (module, name), value in SMALL.items():
        assert hasattr(module, name)
        set_to(module, name, value)
    set_to(merging.Merging, "wake", merging.Merging._run)  # at once: the same order every time


def library() -> Path:
    """The recorder, compiled."""
    made = HERE.parents[1] / "build" / "power" / "recorder.so"
    source = HERE / "recorder.c"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        made.parent.mkdir(parents=True, exist_ok=True)
        new = made.with_suffix(f".{os.getpid()}")
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O1", "-Wall", "-Wextra", "-fPIC", "-shared", str(source), "-o", str(new), "-lpthread"], check=True)
        new.replace(made)
    return made


def content(db_of: Any) -> dict[str, Any]:
    """All that a store has, as far as it must come back: every URL with its state, rules and imported levels."""
    found = {}
    for entry in moving.entries(db_of, None):
        key = entry.url if isinstance(entry.url, str) and not entry.variant else entry.fingerprint.hex()
        assert key not in found, f"{key} is there twice"
        found[key] = entry.state.name.lower() if entry.state is not None else "known"
    with db_of.look() as tx:
        return {
            "urls": found,
            "rules": tx.value("rules_generation"),
            "levels": {level.name: level.digests for level in levels(tx.db)},
        }


class Diary:
    """What a workload is given."""

    def __init__(self, call: ctypes.CDLL) -> None:
        self._call = call
        self.last: dict[str, Any] | None = None
        self.kept: list[Any] | None = None  # what stays open; None: what the workload closes is closed

    def note(self, **what: Any) -> None:
        text = json.dumps(what, sort_keys=True).encode()
        self._call.power_note(text, ctypes.c_size_t(len(text)))

    def world(self, found: dict[str, Any], *, durable: bool) -> None:
        """From here on this may be what is left; if durable, nothing older."""
        self.last = found
        self.note(world=found, durable=durable)

    def open(self, place: Path, **options: Any) -> Any:
        self.clock = testing.VirtualClock(NOW)
        sieve = testing.open(place, clock=self.clock, **options)
        if self.kept is not None:
            self.kept.append(sieve)
            sieve.close = lambda: None
        if self.last is None:
            self.world(content(sieve._store._ledger), durable=True)
        return sieve

    def pushed(self, sieve: Any, urls: list[str], **options: Any) -> Any:
        """Acknowledged URLs must be in what was noted, whoever noted it."""
        report = sieve.push(urls, **options)
        assert self.last is not None
        assert set(urls) <= set(self.last["urls"])
        return report

    def fail(self, how: str, at: int, die: int = -1) -> int:
        """The `at`-th operation from now on; killed so many operations later, if `die` is not -1. How many there were since the last call."""
        self._call.power_fail.restype = ctypes.c_long
        return int(self._call.power_fail(FAULTS[how], ctypes.c_long(at), ctypes.c_long(die)))

    def popped(self, sieve: Any, many: int, **options: Any) -> Any:
        leases = sieve.pop(many, **options)
        self.note(tokens=[lease.token for lease in leases])
        return leases

    def listen(self) -> None:
        """To every transaction of a ledger."""
        real = ledger.Ledger._transaction

        def noted(own: Any, synchronous: int, waited: float) -> Iterator[Any]:
            yield from real(own, synchronous, waited)
            if rekeying.PLACE not in Path(own.where).parts:  # what is made aside is not the store yet
                self.world(content(own), durable=synchronous == 2)

        ledger.Ledger._transaction = noted  # type: ignore[method-assign]


#: What becomes of the process after the failure: it goes on with the store that it has open; it is killed; it closes the store; it is
#: killed at once, some operations later.
ENDINGS = ("goes on", "killed", "closes", "dies")
DIED = 86


def goes_on(diary: Diary, sieve: Any) -> None:
    """What failed has changed nothing, or it was done all the same, or half of it, and who has the store open is told to open it anew."""
    try:
        found = content(sieve._store._ledger)
        assert found == diary.last, "what failed has changed something"
        assert 3 == diary.pushed(sieve, [f"http://after.example/{number}" for number in range(3)]).new
        assert [] == sieve.verify(deep=True)
    except urlsieve.StoreUnavailable as error:
        if "replaced" not in str(error):
            raise


def survive(workload: Callable[..., None], diary: Diary, root: Path, how: str, at: int, ending: str, die: int) -> None:
    """The workload until its `at`-th operation fails."""
    diary.kept = None if ending == "closes" else []
    diary.fail(how, at, die if ending == "dies" else -1)
    try:
        workload(diary, root)
    except UrlsieveError as error:
        diary.note(failed=f"{type(error).__name__}: {error}")
    done = diary.fail("never", 0)
    diary.note(done=done)
    if ending == "goes on" and diary.kept and not diary.kept[-1]._store._ledger.closed:
        goes_on(diary, diary.kept[-1])


def run(workload: Callable[..., None], root: Path, log: Path, fault: tuple[str, int, str, int] | None) -> None:
    call = ctypes.CDLL(None)
    diary = Diary(call)
    diary.listen()
    call.power_start(os.fsencode(log), os.fsencode(root))
    if fault is None:
        workload(diary, root)
    else:
        survive(workload, diary, root, *fault)


def serve() -> None:
    """Forks a child for every line: {workload, root, log, fault}. Answers its exit status."""
    from power import workloads

    make_small()
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if not pid:
            status = 1
            try:
                os.dup2(2, 1)
                fault = asked["fault"]
                run(workloads.ALL[asked["workload"]].run, Path(asked["root"]), Path(asked["log"]), fault and tuple(fault))
                status = 0
            except BaseException:  # noqa: BLE001 - a forked child must end here, whatever happens
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)  # what is open stays open: as with kill -9
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


class Recorder:
    """The server. One at a time."""

    def __init__(self) -> None:
        environment = {
            **os.environ,
            "LD_PRELOAD": str(library()),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")])),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-c", "from power import recording; recording.serve()"]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)

    def record(self, workload: str, root: Path, log: Path, fault: tuple[str, int, str, int] | None = None) -> int:
        """The exit status of the child; 0 is good."""
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(json.dumps({"workload": workload, "root": str(root), "log": str(log), "fault": fault}) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def close(self) -> None:
        assert self._server.stdin and self._server.stdout
        self._server.stdin.close()
        self._server.wait(30)
        self._server.stdout.close()


def opened(place: Path, **options: Any) -> Any:
    """After the power came back, an hour later: nobody waits for locks of those who were killed."""
    return testing.open(place, clock=testing.VirtualClock(NOW + 3600.0), create=False, seed=7, **options)


__all__ = ["Diary", "Recorder", "UrlsieveError", "content", "make_small", "opened", "urlsieve"]
