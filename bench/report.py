"""One measured case goes in, one JSON line comes out; and where benchmarks keep their files."""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

#: On the disk of the checkout, never a memory file system: a store's figures are about a disk.
OUT = Path(__file__).parent / "out"


def emit(bench: str, case: str, *, ours: float, unit: str, peer: float | None = None, peer_name: str | None = None, **more: Any) -> None:
    """`ratio` is ours / peer; whether larger is better follows from the unit (per second: yes; seconds, ms, MB: no)."""
    ratio = round(ours / peer, 3) if peer else None
    measured = {"ours": rounded(ours), "peer": rounded(peer), "peer_name": peer_name, "ratio": ratio, "unit": unit}
    print(json.dumps({"bench": bench, "case": case} | measured | more, ensure_ascii=False), flush=True)


def rounded(value: float | None) -> float | None:
    """Four significant digits: more would be noise."""
    if value is None:
        return None
    return round(value) if abs(value) >= 1000 else float(f"{value:.4g}")


def machine(bench: str) -> None:
    """The line that every run begins with: figures of different machines are not to be compared."""
    facts = {"cores": os.cpu_count(), "python": platform.python_version(), "load": round(os.getloadavg()[0], 2)}
    print(json.dumps({"bench": bench, "case": "machine"} | facts), flush=True)


class Speed(NamedTuple):
    """Of one run: URLs per second of wall-clock time, and microseconds of CPU per URL, which a busy machine disturbs less."""

    rate: float
    cpu: float


@contextmanager
def stopwatch(count: int, speeds: list[Speed]) -> Iterator[None]:
    """Appends the speed at which `count` URLs were dealt with inside."""
    start, used = time.perf_counter(), time.process_time()
    yield
    speeds.append(Speed(count / (time.perf_counter() - start), (time.process_time() - used) / count * 1e6))


def rounds_of(cases: dict[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Runs the cases in turn, `rounds` times: drift of the machine meets all alike."""
    seen: dict[str, list[T]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            seen[name].append(case())
    return seen


def interleaved(cases: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of each case."""
    return {name: median(values) for name, values in rounds_of(cases, rounds).items()}


def interleaved_speeds(cases: dict[str, Callable[[], Speed]], rounds: int) -> dict[str, Speed]:
    """The medians of each case."""
    return {name: Speed(*map(median, zip(*values, strict=True))) for name, values in rounds_of(cases, rounds).items()}


def emit_speed(bench: str, case: str, ours: Speed, peer: Speed, peer_name: str, **more: Any) -> None:
    cpu = {"ours_cpu_us": rounded(ours.cpu), "peer_cpu_us": rounded(peer.cpu)}
    emit(bench, case, ours=ours.rate, peer=peer.rate, peer_name=peer_name, unit="URLs/s", **cpu, **more)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)
