"""A sound store in, what it says when a bit of one of its files has turned, or a file is cut, out: the truth, an error of ours, or a lie.

Runs and imported levels, blocks of texts and rows of the journal have checksums: of them nothing untrue may be said. SQLite's own pages
have none. What is damaged in them is mostly found by SQLite or by `verify`; how often nothing finds it is counted, and said.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from power import checking, workloads
from power.recording import content, opened
from urlsieve import UrlsieveError, testing

STRANGERS = [f"http://stranger{number}.example/" for number in range(50)]


@dataclass
class Report:
    """How often what became of it. `lies`: answers that were not true, without an error, which `verify` did not find."""

    file: str
    how: str
    tried: int = 0
    same: int = 0
    refused: int = 0
    verified: int = 0
    lies: list[str] = field(default_factory=list)
    untrue_seen: int = 0  # of all: answers of `seen` that were not true

    def line(self) -> str:
        rest = f"{self.same:7} {self.refused:8} {self.verified:9} {len(self.lies):8} {self.untrue_seen:8}"
        return f"{self.file:12} {self.how:10} {self.tried:7} {rest}"


HEADING = f"{'file':12} {'damage':10} {'tried':>7} {'same':>7} {'an error':>8} {'by verify':>9} {'unfound':>8} {'of seen()':>8}"


def make(root: Path) -> None:
    """Every kind of file, and in the ledger no free pages: damage of those would be none."""
    workloads.packed(root)
    with testing.open(root / "store", clock=testing.VirtualClock(1_799_999_500.0)) as sieve:
        sieve.import_fingerprints("md5", [number.to_bytes(16, "big") for number in range(500)], name="old")
        sieve.forget(workloads.pages(9, 3))
    with closing(sqlite3.connect(root / "store" / "ledger.db")) as db:
        db.execute("VACUUM")


def answers(place: Path) -> dict[str, Any]:
    with opened(place) as sieve:
        found = content(sieve._store._ledger)
        urls = workloads.pages(400)
        return {
            "content": found,
            "seen": sieve.seen([*urls, *STRANGERS]),
            "stats": sieve.stats().as_dict(),
            "problems": sieve.verify(deep=True),
        }


def _seen(place: Path) -> list[bool] | None:
    """None: an error of ours."""
    try:
        with opened(place) as sieve:
            return list(sieve.seen([*workloads.pages(400), *STRANGERS]))
    except UrlsieveError:
        return None


def damaged(data: bytes, how: str, chance: random.Random) -> bytes:
    if how == "cut":  # at any byte
        return data[: chance.randrange(len(data))]
    at = chance.randrange(8 * len(data))
    return data[: at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1 :]


def look(turns: int, seed: int = 0) -> list[Report]:
    """`turns` of each damage to each file."""
    reports: dict[tuple[str, str], Report] = {}
    with checking.place() as where:
        make(where)
        true = answers(_fresh(where))
        assert [] == true["problems"]
        truth = true["seen"]
        for path in sorted(path for path in (where / "store").rglob("*") if path.is_file() and path.stat().st_size):
            name = path.suffix if path.suffix in (".run", ".level") else path.name
            for how in ("bit", "cut"):
                report = reports.setdefault((name, how), Report(name, how))
                chance = random.Random(f"{path.parent.name} {name} {how} {seed}")
                for _ in range(turns):
                    data = damaged(path.read_bytes(), how, chance)
                    _one(report, where, path.relative_to(where / "store"), data, true, truth)
    return list(reports.values())


def _one(report: Report, where: Path, path: Path, data: bytes, true: dict[str, Any], truth: list[bool]) -> None:
    copy = _fresh(where)
    (copy / path).write_bytes(data)
    report.tried += 1
    seen = _seen(copy)
    report.untrue_seen += seen is not None and seen != truth
    try:
        found = answers(copy)
    except UrlsieveError:
        report.refused += 1
        return
    if found["problems"]:
        report.verified += 1
    elif {**found, "stats": _counts(found)} == {**true, "stats": _counts(true)}:
        report.same += 1
    else:
        different = [key for key in found if found[key] != true[key]]
        report.lies.append(f"{report.file}: {different}")


def _counts(found: dict[str, Any]) -> dict[str, Any]:
    """Without what an opening changes."""
    return {name: value for name, value in found["stats"].items() if name not in ("bytes", "epoch")}


def _fresh(where: Path) -> Path:
    copy = where / "damaged"
    if copy.exists():
        shutil.rmtree(copy)
    shutil.copytree(where / "store", copy)
    return copy


__all__ = ["HEADING", "Report", "look"]
