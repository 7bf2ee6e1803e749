"""Lines that are rejected go in with their reason; they stand in a file, if one is wanted: the reason, a tab, and the line as found."""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Iterable, Iterator, Sequence

from urlsieve.doors.cli.failures import UsageError
from urlsieve.doors.cli.forms import Batch
from urlsieve.doors.cli.lines import Lines
from urlsieve.doors.cli.options import Parser
from urlsieve.doors.cli.output import Output
from urlsieve.doors.cli.tally import MALFORMED


def add_rejected(parser: Parser) -> None:
    parser.add_argument("--rejected", metavar="FILE", help="write rejected lines there: the reason, a tab, the line as found")


class Rejects:
    """A context manager. Without a file it takes and forgets."""

    def __init__(self, namespace: argparse.Namespace, lines: Lines, output: Output | None = None) -> None:
        self._separator = lines.separator
        self._output: Output | None = None
        if namespace.rejected is not None:
            self._output = Output(namespace.rejected, force=namespace.force, check=lambda fd: _refuse(fd, lines, output))

    @property
    def wanted(self) -> bool:
        return self._output is not None

    def write(self, found: Iterable[tuple[str, bytes]]) -> None:
        """(reason, record) each."""
        if self._output is not None:
            self._output.write(b"".join(reason.encode() + b"\t" + record + self._separator for reason, record in found))

    def sync(self) -> None:
        if self._output is not None:
            self._output.sync()

    def __enter__(self) -> Rejects:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._output is not None:
            self._output.__exit__(kind)


def refused(batch: Batch, at: Sequence[int], verdicts: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Of one batch, in order: what is malformed, and what a push (of the URLs `at`) rejected."""
    reasons = dict.fromkeys(batch.broken, MALFORMED)
    for i, verdict in zip(at, verdicts, strict=True):
        word, _, reason = verdict.partition(":")
        if word == "rejected":
            reasons[i] = reason
    return ((reasons[i], batch.records[i]) for i in sorted(reasons))


def _refuse(fd: int, lines: Lines, output: Output | None) -> None:
    lines.refuse(fd)
    target = os.fstat(fd)
    if output is not None and stat.S_ISREG(target.st_mode) and os.path.samestat(target, os.fstat(output.fd)):
        raise UsageError("-o and --rejected are the same file; name two")
