"""Takes the power away from the embedded store, lets its operations fail, and damages its files; prints what came of it.

    python tests/power/run.py [--states N] [--failures N] [--damage N] [--seed N] [--only WORD]

Exit status: 0 nothing was lost, 1 something was (set URLSIEVE_POWER_KEEP to a folder, and the states are kept there), 2 it could not run.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from power import checking, damage, disk, faults, workloads
from power.recording import Recorder, make_small


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev crash", description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=2000, help="different states after a power cut, per protocol (2000)")
    parser.add_argument("--failures", type=int, default=0, help="operations that fail, per protocol and kind of failure (states / 50)")
    parser.add_argument("--damage", type=int, default=0, help="damages of each kind to each file (states / 20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="protocols that have this in their name")
    asked = parser.parse_args()
    names = [name for name in workloads.ALL if asked.only in name]
    if not names:
        parser.error(f"no protocol has {asked.only!r} in its name")
    make_small()
    began = time.monotonic()
    lost = cuts(names, asked.states, asked.seed) + failures(names, asked.failures or max(1, asked.states // 50), asked.seed)
    if not asked.only:
        lost += damages(asked.damage or max(1, asked.states // 20), asked.seed)
    print(f"\n{lost} failures in {time.monotonic() - began:.0f} s")
    return 1 if lost else 0


def cuts(names: list[str], states: int, seed: int) -> int:
    print(disk.__doc__.split("\n\n", 1)[1].strip() if disk.__doc__ else "")
    print(f"\nPower cuts\n{checking.HEADING}")
    recorder, reports = Recorder(), []
    try:
        for name in names:
            for report in checking.cut(recorder, name, states, seed=seed):
                reports.append(report)
                show(report)
    finally:
        recorder.close()
    every, wrong = sum(report.states for report in reports), sum(len(report.problems) for report in reports)
    bound = f"; with 95 % confidence fewer than {3 / every:.1e} of such states are bad" if every and not wrong else ""
    print(f"{every} different states, {wrong} failures{bound}")
    return wrong


def failures(names: list[str], most: int, seed: int) -> int:
    print(f"\nThe k-th operation fails\n{faults.HEADING}")
    wrong = 0
    for name in names:
        for how in faults.HOW:
            report = faults.fail(name, how, most, seed=seed)
            show(report)
            wrong += len(report.problems)
    return wrong


def damages(turns: int, seed: int) -> int:
    print(f"\nDamaged files; `unfound` are answers that were not true and that verify(deep=True) did not find\n{damage.HEADING}")
    wrong = 0
    for report in damage.look(turns, seed):
        print(report.line(), flush=True)
        if report.file != "ledger.db":
            wrong += len(report.lies) + report.untrue_seen
    print("ledger.db: SQLite's pages have no checksums. Rows of the journal and blocks of texts have; other rows do not.")
    return wrong


def show(report: checking.Report | faults.Report) -> None:
    print(report.line(), flush=True)
    for problem in report.problems[:5]:
        print(f"    {problem[:600]}")


if __name__ == "__main__":
    sys.exit(main())
