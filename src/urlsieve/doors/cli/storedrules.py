"""A store's rules and a change of them go in; what that touches and may cost is said, then it is done."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.listing import moment
from urlsieve.doors.cli.options import open_sieve
from urlsieve.doors.cli.output import Output, human, json_line, one_line

if TYPE_CHECKING:
    from urlsieve.canon.rulebook import Book, Changed
    from urlsieve.ruling import Applied

#: Sites named in words; all of them stand in the JSON.
SHOWN = 20


def show(namespace: argparse.Namespace) -> int:
    with open_sieve(namespace) as sieve:
        book = sieve.rules_history()
    Output().write(json_line(_object(book)) if namespace.json else human(_history(book) if namespace.history else _text(book)))
    return failures.OK


def apply(namespace: argparse.Namespace, name: str) -> int:
    from urlsieve.canon.rules import Rules

    rules = Rules.parse(Rules.read(name), name, thorough=True)
    output = Output()
    with open_sieve(namespace) as sieve:
        expected = sieve.apply_rules(rules, by=namespace.by or "", dry_run=True)
        if not namespace.json:
            output.write(human(_before(expected)))
        if namespace.dry_run or (not expected.touched and sieve.rules == rules):
            done = expected
        else:
            done = sieve.apply_rules(rules, by=namespace.by or "")
            if not namespace.json:
                output.write(human(_after(done)))
    if namespace.json:
        output.write(json_line({**_told(done), "dry_run": namespace.dry_run}))
    return failures.OK


def mark(namespace: argparse.Namespace, action: str, match: str) -> int:
    with open_sieve(namespace) as sieve:
        change = {"confirm": sieve.confirm_rule, "suspend": sieve.suspend_rule, "resume": sieve.resume_rule}[action]
        done = change(match, by=namespace.by, evidence=namespace.evidence)
    Output().write(json_line(_told(done)) if namespace.json else human(_before(done) + _after(done)))
    return failures.OK


def _before(applied: Applied) -> str:
    """What it touches, and what it may cost."""
    if not applied.touched:
        return "no site's URLs get other keys\n"
    names = ", ".join(map(one_line, applied.touched[:SHOWN])) + (
        f" and {len(applied.touched) - SHOWN} more" if len(applied.touched) > SHOWN else ""
    )
    return (
        f"touches {len(applied.touched)} matches: {names}\n"
        f"merges more on {len(applied.tightened)}, less on {len(applied.loosened)}; pages fetched again: {applied.bound:,} at most\n"
    )


def _after(applied: Applied) -> str:
    swept = applied.swept
    counts = f"{swept.moved:,} URLs moved, {swept.merged:,} merged, {swept.forgotten:,} forgotten"
    took = f"; of {swept.sites:,} sites {counts}" if applied.touched else ""
    return f"generation {applied.generation}{took}\n"


def _told(applied: Applied) -> dict[str, Any]:
    known = asdict(applied)
    del known["swept"]
    return {**known, **applied.swept._asdict()}


def _text(book: Book) -> str:
    last = f", {_said(book.changes[-1])}" if book.changes else ""
    return f"# generation {book.generation}{last}\n" + ("# no rules\n" if book.rules is None else f"\n{book.rules.text}")


def _history(book: Book) -> str:
    return "".join(f"{change.generation}\t{_said(change)}\n" for change in book.changes) or "nobody has changed the rules\n"


def _said(change: Changed) -> str:
    by = f" by {one_line(change.by)}" if change.by else ""
    of = f" {one_line(change.match)}" if change.match else ""
    why = f": {one_line(change.evidence)}" if change.evidence else ""
    return f"{moment(change.at)}: {change.what}{of}{by}{why}"


def _object(book: Book) -> dict[str, Any]:
    rules = {"rules": 0, "text": ""} if book.rules is None else {**book.rules.as_dict(), "text": book.rules.text}
    return {
        "generation": book.generation,
        **rules,
        "former": [generation for generation, _ in book.former],
        "history": [asdict(change) for change in book.changes],
    }
