"""Which real faults of such systems (cases/faults.json) have their test, under which name, and which wait for a part that is not built.

A test shows the fault it excludes by its name: `test_cra_01_…`. Nothing is forgotten: an id without such a test must stand in LATER,
under the letter of the issue that builds its part, and must leave that list when it has a test.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
NAMED = re.compile(r"def test_([a-z]{3})_(\d\d)_")

#: Issue → faults whose part it builds.
LATER = {
    "B": [],
    "D": ["MEM-01", "BLO-01", "BLO-03", "BLO-05", "BLO-07", "BLO-09", "BLO-11", "BLO-13"],
    "E": ["CLU-01", "CLU-03", "CLU-05", "CLU-07", "IMP-11"],
    "F": ["INC-01", "INC-05", "INC-07", "INC-11", "INC-13", "INC-17", "CON-01", "CON-03", "CON-05", "CON-07", "CON-09", "CON-11", "CON-13"],
    "G": ["SEC-07", "SEC-09"],
}

#: Tested for what is built, and again when the named issue builds the rest.
AGAIN = {
    # a connection cut between any two commands; hot and cold tiers; a restored snapshot; an alarm within a minute; a reserve of memory
    "E": ["ATO-01", "ORD-03", "CRA-09", "SEC-03", "RED-01", "RED-03"],
    "F": ["INC-03", "INC-09", "INC-15"],  # with signatures and rounds
    "G": ["SEC-01", "SEC-03", "SEC-05", "CLI-01", "CLI-09"],  # through Scrapy, the service and the dashboard
}

#: Faults whose tests are named for what they show instead: (file, test).
ELSEWHERE = {
    "CLI-09": ("doors/crawler/test_workers.py", "test_no_worker_ends_before_the_last_page_is_settled_and_all_end_then"),
    "SEC-05": ("doors/crawler/test_addresses.py", "test_a_private_address_is_refused"),
}


def every_id() -> list[str]:
    return [fault["id"] for fault in json.loads((HERE / "cases" / "faults.json").read_text(encoding="utf-8"))]


def named_ids() -> set[str]:
    """Ids that a test carries in its name."""
    texts = (path.read_text(encoding="utf-8") for path in HERE.rglob("test_*.py"))
    return {f"{group.upper()}-{number}" for text in texts for group, number in NAMED.findall(text)}
