"""One measured case goes in, one JSON line comes out; and where benchmarks keep their files."""

import json
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

#: On the disk of the checkout, never a memory file system: a store's figures are about a disk.
OUT = Path(__file__).parent / "out"


def emit(
    bench: str, case: str, *, ours: float, unit: str, peer: float | None = None, peer_name: str | None = None, **more: Any
) -> None:
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


def interleaved(cases: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Runs the cases in turn, `rounds` times, and gives the median of each: drift of the machine meets all alike."""
    seen: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            seen[name].append(case())
    return {name: median(values) for name, values in seen.items()}


def median(values: Sequence[float]) -> float:
    return statistics.median(values)
