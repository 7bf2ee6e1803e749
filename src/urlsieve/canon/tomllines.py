"""TOML text goes in, on which line each table and key begins comes out: tomllib checks the text but tells no lines.

A scanner of statements, no parser: it knows strings, comments and brackets, so that nothing inside a string looks like a table.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

_HEADER = re.compile(r"\s*\[(\[)?([^\]\n]+)\]")
_KEY = re.compile(r"""\s*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)""")
#: A key of more parts says nothing that we know, and tomllib needs memory by the square of them.
MOST_PARTS = 16
_DOTTED = re.compile(r"(?:\.[^.=,\n\[\]{}]*){16}")  # also in strings: only a reason to look
_HEX = re.compile(r"0[xob][0-9A-Fa-f_]{1000}")
_PART = re.compile(r"\"\"\"|'''|\"(?:[^\"\\\n]|\\.)*\"?|'[^'\n]*'?|#[^\n]*|[=,\n\[\]{}]|\.")  # unclosed strings too
_TOKEN = re.compile(r"\"\"\"|'''|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|#[^\n]*|[\[\]{}]|\n")


def read(text: str) -> dict[str, Any]:
    """What tomllib makes of any text. ValueError: it is not TOML, and why; `(at line 3, column 7)` where that is known."""
    import tomllib

    line = _line_of_parts(text) if _DOTTED.search(text) else None
    if line is not None:
        raise ValueError(f"a key has more than {MOST_PARTS} parts (at line {line}, column 1)")
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("values are nested too deep") from None
    except ValueError:  # int() of thousands of digits
        raise ValueError("a number has too many digits") from None
    if _HEX.search(text) and any(isinstance(value, int) and value.bit_length() > 4_000 for value in _values(found)):
        raise ValueError("a number has too many digits")  # hexadecimal ones are read, and not shown, at any length
    return found


def _values(table: dict[str, Any]) -> Iterator[Any]:
    open_ones: list[Any] = [table]
    while open_ones:
        value = open_ones.pop()
        if isinstance(value, dict | list):
            open_ones += value.values() if isinstance(value, dict) else value
        else:
            yield value


def _line_of_parts(text: str) -> int | None:
    """Of the first key with too many parts."""
    at, dots = 0, 0
    while token := _PART.search(text, at):
        at, what = token.end(), token[0]
        if what in ('"""', "'''"):
            at = _end_of_string(text, what, at)
        elif what == ".":
            dots += 1
            if dots >= MOST_PARTS:
                return text.count("\n", 0, at) + 1
        elif what[0] in "=,\n[]{}":
            dots = 0
    return None


class TomlLines:
    """Where things are in a text that tomllib has taken."""

    def __init__(self, text: str) -> None:
        self._tables: dict[str, list[int]] = {}
        self._keys: dict[str, list[int]] = {}
        for line, statement in _statements(text):
            header = _HEADER.match(statement)
            if header:
                self._tables.setdefault(header[2].replace(" ", ""), []).append(line)
                continue
            key = _KEY.match(statement)
            if key:
                self._keys.setdefault(key[1].strip("\"'"), []).append(line)
        self._starts = sorted(line for lines in self._tables.values() for line in lines)

    def table(self, name: str, number: int = 0) -> int:
        """The line of the header `[name]`, or of the `number`th `[[name]]`; of the key `name = …` where there is no header; else 1."""
        lines = self._tables.get(name, [])
        if number < len(lines):
            return lines[number]
        return self._keys.get(name, [1])[0]

    def inner(self, name: str, outer: str, number: int) -> int:
        """The line of the header `[name]` that belongs to the `number`th `[[outer]]`; that one's line where there is none."""
        start = self.table(outer, number)
        outers = self._tables.get(outer, [])
        end = outers[number + 1] if number + 1 < len(outers) else float("inf")
        return _first(self._tables.get(name, []), start, end, start)

    def key(self, name: str, table_line: int) -> int:
        """The line of a key in the table whose header is on `table_line` (0: before all tables); that line where it is not found."""
        past = bisect_right(self._starts, table_line)
        end = self._starts[past] if past < len(self._starts) else float("inf")
        return _first(self._keys.get(name, []), table_line, end, max(table_line, 1))


def _first(lines: list[int], after: int, before: float, default: int) -> int:
    """Of ascending lines the first between two others."""
    at = bisect_right(lines, after)
    return lines[at] if at < len(lines) and lines[at] < before else default


def _statements(text: str) -> list[tuple[int, str]]:
    """(line, text of that line) for each line that begins outside of strings and brackets and is not empty."""
    found: list[tuple[int, str]] = []
    lines = text.splitlines() or [""]
    inside, depth, line, at = "", 0, 1, 0
    _note(found, lines, 1)
    header = lines[0].lstrip().startswith("[")
    while True:
        if inside:
            end = _end_of_string(text, inside, at)
            line += text.count("\n", at, end)
            inside, at = "", end
            continue
        token = _TOKEN.search(text, at)
        if token is None:
            return found
        at, what = token.end(), token[0]
        if what == "\n":
            line += 1
            header = False
            if depth == 0 and line <= len(lines):
                _note(found, lines, line)
                header = lines[line - 1].lstrip().startswith("[")
        elif what in ('"""', "'''"):
            inside = what
        elif not header:
            depth += (what in "[{") - (what in "]}")


def _note(found: list[tuple[int, str]], lines: list[str], line: int) -> None:
    text = lines[line - 1]
    if text.strip() and not text.lstrip().startswith("#"):
        found.append((line, text))


def _end_of_string(text: str, mark: str, at: int) -> int:
    while True:
        end = text.find(mark, at)
        if end < 0:
            return len(text)
        slashes = 0
        while mark == '"""' and text[end - 1 - slashes] == "\\":
            slashes += 1
        if slashes % 2 == 0:
            end += 3
            while text.startswith(mark[0], end):  # up to two quotes may stand before the closing three
                end += 1
            return end
        at = end + 1
