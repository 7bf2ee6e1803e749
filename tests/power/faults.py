"""A workload and a way to fail in, what is wrong after its k-th operation failed out: for every k, or for some of them.

The step that meets the failure raises one of our errors and has changed nothing, or does not need to say anything; what was acknowledged
is there, also after a kill and after a power cut. A failed fsync is taken at its worst: what it was to make durable is gone, though later
ones succeed (disk.py).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from power import checking, disk, workloads
from power.recording import ENDINGS, FAULTS, Recorder
from urlsieve.stores.embedded import files

HOW = [how for how in FAULTS if how != "never"]
#: Power cuts after each failure.
CUTS = 2
NEVER = 1 << 40


@dataclass
class Report:
    workload: str
    how: str
    operations: int
    tried: int = 0
    problems: list[str] = field(default_factory=list)

    def line(self) -> str:
        return f"{self.workload:28} {self.how:8} {self.operations:10} {self.tried:8} {len(self.problems):8}"


HEADING = f"{'protocol':28} {'failure':8} {'operations':>10} {'tried':>8} {'failures':>8}"


def _done(recording: checking.Recording) -> int:
    """Operations that were counted."""
    notes = [json.loads(record.first) for record in recording.records if record.kind == "N"]
    return int(next(note["done"] for note in notes if "done" in note))


def count(recorder: Recorder, name: str, how: str) -> tuple[checking.Recording, int]:
    """The workload without a failure, and how many operations there are of which one could be."""
    with checking.place() as where:
        whole = checking.record(recorder, name, where, (how, NEVER, "closes", 0))
        return whole, _done(whole)


def one(recorder: Recorder, name: str, how: str, at: int, whole: checking.Recording, seed: int) -> list[str]:
    chance = random.Random(f"{name} {how} {at} {seed}")
    ending, die = chance.choice(ENDINGS), chance.randrange(12)
    with checking.place() as where, mock.patch.object(files, "boot_id", lambda: "the next one"):
        try:
            recording = checking.record(recorder, name, where, (how, at, ending, die))
        except AssertionError as error:
            return [f"{how} at {at}, {ending}: {error}"]
        end = len(recording.records)
        allowed = recording.allowed_after_a_failure(whole)
        shutil.copytree(where / "root", where / "left")
        wrong = [checking.check(recording, where / "left", end, use=True, allowed=allowed)]
        for number in range(CUTS):
            left = disk.Disk(recording.root, recording.base, disk.MODELS[number % 2])
            for record in recording.records:
                left.apply(record)
            state = where / f"cut-{number}"
            disk.put(left.image(chance), state)
            wrong.append(checking.check(recording, state, end, use=False, allowed=allowed))
        if (keep := os.environ.get("URLSIEVE_POWER_KEEP")) and any(wrong):
            shutil.copytree(where, Path(keep) / f"{name}-{how}-{at}".replace(" ", "-"), dirs_exist_ok=True)
        return [f"{how} at {at}, {ending} {die}{', then a power cut' if number else ''}: {one}" for number, one in enumerate(wrong) if one]


def _some(name: str, how: str, most: int, seed: int, part: int, of: int) -> Report:
    recorder = Recorder()
    try:
        whole, operations = count(recorder, name, how)
        ks = list(range(1, operations + 1))
        if len(ks) > most:
            ks = sorted(random.Random(f"{name} {how} {seed}").sample(ks, most))
        report = Report(name, how, operations)
        for at in ks[part::of]:
            report.tried += 1
            report.problems += one(recorder, name, how, at, whole, seed)
        return report
    finally:
        recorder.close()


def fail(name: str, how: str, most: int = NEVER, *, seed: int = 0, workers: int | None = None) -> Report:
    """`most`: so many of the operations at most."""
    workers = workers or min(os.cpu_count() or 1, 8)
    if workers == 1:
        return _some(name, how, most, seed, 0, 1)
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        parts = pool.starmap(_some, [(name, how, most, seed, part, workers) for part in range(workers)], chunksize=1)
    problems = [problem for part in parts for problem in part.problems]
    return Report(name, how, parts[0].operations, sum(part.tried for part in parts), problems)


__all__ = ["HEADING", "HOW", "Report", "fail", "workloads"]
