"""A store goes in; what its pages and redirects propose as site rules comes out: a file of rules, or JSON lines."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import open_sieve
from urlsieve.doors.cli.output import Output, human, json_lines

if TYPE_CHECKING:
    from urlsieve.canon.proposals import Proposals


def propose(namespace: argparse.Namespace) -> int:
    """As text nothing in it merges before somebody has looked."""
    with open_sieve(namespace) as sieve:
        answer = json_lines(_told(sieve.proposals())) if namespace.json else human(sieve.proposed_rules())
    Output().write(answer)
    return failures.OK


def _told(found: Proposals) -> list[dict[str, Any]]:
    """One object per thing that could be merged: those that are proposed with the rule they would be in, then the others."""
    told = [
        {"match": rule.match, "under": rule.under, "target": dict(rule.hosts), **point.as_dict()}
        for rule in found.rules
        for point in rule.points
    ]
    return told + [{"match": None, "under": None, "target": {}, **point.as_dict()} for point in found.others]
