"""Fingerprints of another program go in, in hexadecimal or as raw bytes; a store counts their URLs as seen, and a report comes out."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from urlsieve.doors.cli import failures, packed
from urlsieve.doors.cli.failures import InputError, UsageError, reading
from urlsieve.doors.cli.importing import WIDTHS
from urlsieve.doors.cli.lines import Lines, shown
from urlsieve.doors.cli.options import open_sieve
from urlsieve.doors.cli.output import json_line, say
from urlsieve.doors.cli.progress import Progress
from urlsieve.doors.cli.rejects import Rejects

if TYPE_CHECKING:
    from urlsieve.sieve import Sieve

BATCH = 10_000
_HEX = frozenset(b"0123456789abcdefABCDEF")


class _Count:
    """given: fingerprints, with those that are none (rejected). new: to the level; None: it ended before that was known."""

    def __init__(self) -> None:
        self.given = self.rejected = 0
        self.new: int | None = None


def take(namespace: argparse.Namespace) -> int:
    kind = namespace.mark
    if kind not in WIDTHS:
        raise UsageError(f"import: --fingerprints needs --as with their kind: {', '.join(WIDTHS)}")
    for option in ("column", "format"):
        if getattr(namespace, option) is not None:
            raise UsageError(f"import: fingerprints stand alone in their lines, without --{option}")
    if namespace.binary and (namespace.null or namespace.rejected):
        raise UsageError("import: raw bytes have no lines for --null or --rejected")
    name = kind if namespace.name is None else namespace.name
    lines = Lines(namespace.files, null=namespace.null)
    count = _Count()
    with (
        open_sieve(namespace, create=True) as sieve,
        Rejects(namespace, lines) as rejects,
        Progress("fingerprints", quiet=namespace.quiet) as progress,
    ):
        digests = _raw(lines, WIDTHS[kind], count) if namespace.binary else _hex(lines, WIDTHS[kind], count, rejects)
        try:
            count.new = sieve.import_fingerprints(kind, _each(digests, count, progress), name=name)
        except BaseException:
            if count.given and not namespace.quiet:
                _say(sieve, name, count, as_json=namespace.json)
            raise
        if not namespace.quiet:
            _say(sieve, name, count, as_json=namespace.json)
    return failures.PARTIAL if namespace.strict and count.rejected else failures.OK


def _each(batches: Iterable[list[bytes]], count: _Count, progress: Progress) -> Iterator[bytes]:
    for batch in batches:
        yield from batch
        progress.show(count.given)


def _hex(lines: Lines, width: int, count: _Count, rejects: Rejects) -> Iterator[list[bytes]]:
    """Blank lines, and those that begin with #, are nothing."""
    for batch in lines.batches(BATCH):
        found, broken = [], []
        for line in batch:
            text = line.strip()
            if not text or text.startswith(b"#"):
                continue
            if len(text) == 2 * width and _HEX.issuperset(text):
                found.append(bytes.fromhex(text.decode("ascii")))
            else:
                broken.append(line)
        rejects.write(("invalid", line) for line in broken)
        count.given += len(found) + len(broken)
        count.rejected += len(broken)
        yield found


def _raw(lines: Lines, width: int, count: _Count) -> Iterator[list[bytes]]:
    for name in lines.names:
        rest = b""
        for chunk in _chunks(name):
            data = rest + chunk
            whole = len(data) - len(data) % width
            rest = data[whole:]
            found = [data[at : at + width] for at in range(0, whole, width)]
            for start in range(0, len(found), BATCH):
                count.given += len(found[start : start + BATCH])
                yield found[start : start + BATCH]
        if rest:
            raise InputError(f"{shown(name)}: its last fingerprint has {len(rest)} bytes of {width}; what came before is in the store")


def _chunks(name: str) -> Iterable[bytes]:
    try:
        fd = 0 if name == "-" else os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise reading(name, error) from None
    try:
        yield from packed.chunks(fd, shown(name), kind=None if name == "-" else packed.kind_of(name), size=1 << 20)
    finally:
        if fd:
            os.close(fd)


def _say(sieve: Sieve, name: str, count: _Count, *, as_json: bool) -> None:
    digests = next((level.digests for level in sieve.imported() if level.name == name), 0)
    if as_json:
        say(json_line({"level": name, "fingerprints": count.given, "new": count.new, "rejected": count.rejected, "in_level": digests}))
        return
    rejected = f", {count.rejected:,} rejected" if count.rejected else ""
    new = "" if count.new is None else f", {count.new:,} new"
    say(f"urlsieve: {count.given:,} fingerprints{new}{rejected}; the level {name} has {digests:,}\n".encode())
