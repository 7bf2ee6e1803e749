"""JSON lines with tokens go in; checked records come out, and one answer line goes back for each.

Lines are handled as they arrive, so a worker in any language may keep the command open as a co-process. A malformed line ends the
command with status 2 and names file and line; what stood before it is settled and answered first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.failures import InputError
from urlsieve.doors.cli.lines import Lines, json_object, shown
from urlsieve.doors.cli.options import Parser, add_records, add_store, as_found, open_sieve
from urlsieve.doors.cli.output import Output, json_lines

if TYPE_CHECKING:
    from urlsieve.model import Outcome, URLItem
    from urlsieve.sieve import Sieve

Record = dict[str, Any]
Fields = Mapping[str, str]  # name → kind of value

#: What `pop` prints beside the token: a popped line may come back whole, with fields added.
POPPED = ("url", "key", "site", "group", "attempt", "priority", "depth", "via", "deadline", "meta", "previous")
BATCH = 500
LONGEST = 64 << 20  # a record may hold a page

_KINDS = {
    "text": "a string",
    "status": "an HTTP status (0 to 999)",
    "size": "a whole number of bytes",
    "number": "a number",
    "positive": "a number above 0",
    "texts": "a list of strings",
    "any": "anything",
}


def parser(command: str, summary: str, fields: Fields, *, required: tuple[str, ...] = (), note: str = "", example: str) -> Parser:
    """What the five commands that read records share."""
    names = ["token", *(name if name in required else f"{name}?" for name in fields)]
    rows = ",\n  ".join(", ".join(names[start : start + 8]) for start in range(0, len(names), 8))
    text = (
        f"{summary}\nReads JSON lines: {rows}.\n"
        + (f"{note}\n" if note else "")
        + "A popped line may come back whole, with fields added. A malformed line ends the command with status 2;\n"
        "what stood before it is settled and answered. A token that is not current is answered with\n"
        '{"token", "error": "lease_lost"} and makes the exit status 5.'
    )
    made = Parser(command, text, example=example)
    add_records(made)
    add_store(made)
    made.add_argument("--json", action="store_true", help="errors as JSON too (the answers always are)")
    return made


def answer(
    namespace: argparse.Namespace,
    fields: Fields,
    act: Callable[[Sieve, list[Record]], list[Record]],
    *,
    required: tuple[str, ...] = (),
) -> int:
    """Read, act and answer, batch by batch."""
    lines = Lines(namespace.files, kept=LONGEST)
    status = failures.OK
    output = Output()
    with open_sieve(namespace) as sieve:
        for batch in _batches(lines, fields, ("token", *required)):
            answers = act(sieve, batch)
            if any("error" in found for found in answers):
                status = failures.PARTIAL
            output.write(json_lines(answers))
    return status


def settle(sieve: Sieve, pairs: list[tuple[str, Outcome]], *, change: bool = False) -> list[Record]:
    """Settle tokens and say what became of each."""
    answers: list[Record] = []
    for settled in sieve.settle(pairs):
        if settled.state == "lost":
            answers.append(lost(settled.token))
        elif change:
            answers.append({"token": settled.token, "state": settled.state, "change": settled.change})
        else:
            answers.append({"token": settled.token, "state": settled.state})
    return answers


def lost(token: str) -> Record:
    return {"token": token, "error": "lease_lost"}


def links(record: Record) -> tuple[str | URLItem, ...]:
    """The field of this name; as bytes where they are not UTF-8, which JSON says with lone surrogates (as pop does)."""
    from urlsieve.model import URLItem

    found = map(as_found, record.get("links", ()))
    return tuple(URLItem(link) if isinstance(link, bytes) else link for link in found)


def _batches(lines: Lines, fields: Fields, required: tuple[str, ...]) -> Iterator[list[Record]]:
    for name in lines.names:
        for first, block in lines.blocks_of(name):
            batch: list[Record] = []
            for number, line in enumerate(lines.split(block), first):
                try:
                    record = _record(line, fields, required)
                except ValueError as error:
                    if batch:
                        yield batch
                    raise InputError(f"{shown(name)}, line {number}: {error}; the lines before it are settled") from None
                if record is not None:
                    batch.append(record)
                if len(batch) == BATCH:
                    yield batch
                    batch = []
            if batch:
                yield batch


def _record(line: bytes, fields: Fields, required: tuple[str, ...]) -> Record | None:
    """None for a blank line. ValueError says what is wrong."""
    if not line.strip():
        return None
    record = json_object(line, LONGEST, like='{"token": …}')
    for name in required:
        if record.get(name) in (None, ""):
            raise ValueError(f"{name!r} is missing")
    return {name: value for name, value in record.items() if _known(name, value, fields) and value is not None}


def _known(name: str, value: Any, fields: Fields) -> bool:
    """Whether the command uses the field; ValueError for one nobody knows or of the wrong type."""
    kind = "text" if name == "token" else fields.get(name)
    if kind is None:
        if name in POPPED:
            return False
        import difflib

        near = difflib.get_close_matches(name, ("token", *fields), 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(('token', *fields))}"
        raise ValueError(f"there is no field {name!r}{hint}")
    if value is not None and not _fits(kind, value):
        raise ValueError(f"{name!r} must be {_KINDS[kind]}")
    return True


def _fits(kind: str, value: Any) -> bool:
    match kind:
        case "text":
            return isinstance(value, str)
        case "status":
            return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 999
        case "size":
            return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 2**53
        case "number" | "positive":
            number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 2**53  # also refuses NaN
            return number and (kind == "number" or value > 0)
        case "texts":
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return True
