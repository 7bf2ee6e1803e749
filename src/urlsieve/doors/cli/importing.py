"""Lines with URLs, or those of an export, go in; a store knows them, and a report comes out on stderr.

Repeating an import changes nothing: what the store has seen stays as it is. So one that was killed is simply run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures, forms
from urlsieve.doors.cli.failures import InputError, UsageError
from urlsieve.doors.cli.forms import Batch, Form
from urlsieve.doors.cli.lines import Lines, blank, shown
from urlsieve.doors.cli.options import Parser, add_form, add_inputs, add_json, add_store, open_sieve, store_address
from urlsieve.doors.cli.output import json_line, one_line, say
from urlsieve.doors.cli.progress import Progress
from urlsieve.doors.cli.rejects import Rejects, add_rejected, refused
from urlsieve.doors.cli.tally import Tally

if TYPE_CHECKING:
    from urlsieve.answers import Imported, Report
    from urlsieve.sieve import Sieve

BATCH = 5_000
#: Kinds of fingerprints, and how many bytes each has.
WIDTHS = {"scrapy-sha1": 20, "classic-md5": 16, "sha1": 20, "md5": 16}
MARK = b'{"urlsieve_export"'


class Peeked(Lines):
    """Lines of which the first are looked at before they are read."""

    def __init__(self, names: list[str], **options: Any) -> None:
        super().__init__(names, **options)
        self._begun: Iterator[tuple[int, bytes]] | None = None

    def first(self) -> bytes:
        """The first line; b"" where there is none."""
        source = super().blocks_of(self.names[0])
        block = next(source, None)
        self._begun = source if block is None else chain([block], source)
        return b"" if block is None else block[1].partition(self.separator)[0]

    def blocks_of(self, name: str) -> Iterator[tuple[int, bytes]]:
        begun, self._begun = self._begun, None
        return super().blocks_of(name) if begun is None else begun


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    if namespace.fingerprints:
        from urlsieve.doors.cli import foreign

        return foreign.take(namespace)
    for option in ("name", "binary"):
        if getattr(namespace, option):
            raise UsageError(f"import: --{option} is for --fingerprints")
    lines = None
    form = forms.of(namespace, out=False, make=partial(Peeked, kept=forms.LONGEST))
    if namespace.format in (None, "jsonl") and namespace.column is None and not namespace.null:
        lines = form.lines
        first = lines.first() if isinstance(lines, Peeked) else b""
        if first.startswith(MARK):
            return _export(namespace, lines, first)
    if namespace.mark in _STATES or namespace.mark is None:
        return _urls(namespace, form)
    raise UsageError(f"import: --as {namespace.mark} is for --fingerprints; URLs are {', '.join(_STATES)}")


_STATES = ("known", "done", "pending")


def _parser() -> Parser:
    parser = Parser(
        "import",
        "Make a store know URLs; a missing store is created. What `export` printed comes in as it was: state, attempts, order, settings.\n"
        "Of other lines (text, jsonl or csv) each URL is marked as --as says; blank lines and those that begin with # are ignored.\n"
        "With --fingerprints lines are what another program keeps of its URLs: they count as seen from now on.\n"
        "Repeating an import changes nothing.",
        example="urlsieve import old-urls.txt.gz --as known --store S",
    )
    add_inputs(parser, "an export, or URLs one a line")
    forms.add_formats(parser)
    add_store(parser)
    add_form(parser)
    parser.add_argument(
        "--as",
        dest="mark",
        metavar="WHAT",
        choices=(*_STATES, *WIDTHS),
        help="URLs are known (default: seen, never fetched and not counted as accepted), done, or pending (queued); "
        f"fingerprints are {', '.join(WIDTHS)}",
    )
    parser.add_argument("--fingerprints", action="store_true", help="lines are fingerprints in hexadecimal, of the kind that --as says")
    parser.add_argument("--binary", action="store_true", help="fingerprints as raw bytes, one after the other, no lines")
    parser.add_argument("--name", metavar="NAME", help="of the list of fingerprints in the store (default: their kind)")
    add_rejected(parser)
    parser.add_argument("--force", action="store_true", help="let --rejected overwrite a file")
    parser.add_argument("--strict", action="store_true", help="exit status 5 when a line is rejected")
    parser.add_argument("-q", "--quiet", action="store_true", help="no report")
    add_json(parser)
    return parser


# -- URLs


def _urls(namespace: argparse.Namespace, form: Form) -> int:
    tally = Tally()
    try:
        with (
            open_sieve(namespace, create=True) as sieve,
            Rejects(namespace, form.lines) as rejects,
            Progress("lines", quiet=namespace.quiet) as progress,
        ):
            for batch in form.batches(BATCH):
                _take(sieve, batch, namespace, tally, rejects, comments=isinstance(form, forms.Text))
                progress.show(tally.lines)
    except BaseException:
        if tally.lines and not namespace.quiet:
            tally.say(as_json=namespace.json)
        raise
    if not namespace.quiet:
        tally.say(as_json=namespace.json)
    return failures.PARTIAL if namespace.strict and tally.rejected else failures.OK


def _take(sieve: Sieve, batch: Batch, namespace: argparse.Namespace, tally: Tally, rejects: Rejects, *, comments: bool) -> None:
    wanted = [i for i, url in enumerate(batch.urls) if not (blank(url) or (comments and url.startswith(b"#")))]
    found = [batch.urls[i] for i in wanted]
    report: Report = sieve.push(found) if namespace.mark == "pending" else sieve.mark(found, known=namespace.mark != "done")
    tally.add(report, len(batch.urls), len(found), batch.broken)
    if rejects.wanted:
        rejects.write(refused(batch, wanted, report.verdicts))


# -- an export


def _export(namespace: argparse.Namespace, lines: Lines, first: bytes) -> int:
    for name, option in (("mark", "--as"), ("profile", "--profile"), ("rules", "--rules")):
        if getattr(namespace, name) is not None:
            raise UsageError(f"import: {option} is for lines of URLs; an export brings its own")
    from urlsieve.answers import Imported
    from urlsieve.opening import receiving

    address = store_address(namespace)
    report = Imported()
    with (
        receiving(address, first) as sieve,
        Rejects(namespace, lines) as rejects,
        Progress("lines", quiet=namespace.quiet) as progress,
    ):
        source = Source(lines, progress)
        try:
            sieve.import_lines(source, rejected=lambda word, why, line: rejects.write([(f"{word}: {one_line(why)}", line)]), report=report)
        except BaseException:
            if report != Imported() and not namespace.quiet:
                _say(report, as_json=namespace.json)
            raise
    if not namespace.quiet:
        _say(report, as_json=namespace.json)
    if source.error is not None:
        raise source.error
    if report.incomplete is not None:
        names = ", ".join(map(shown, lines.names))
        raise InputError(f"{names}: {report.incomplete}; what came is in the store: import the whole of it again")
    return failures.PARTIAL if report.refused or (namespace.strict and report.rejected) else failures.OK


class Source:
    """The lines of the inputs up to where they cannot be read on: what came before is taken in, and only then is the `error` told."""

    def __init__(self, lines: Lines, progress: Progress) -> None:
        self.error: InputError | None = None
        self._lines, self._progress = lines, progress

    def __iter__(self) -> Iterator[bytes]:
        many = 0
        try:
            for block in self._lines.blocks():
                yield from self._lines.split(block)
                many += block.count(self._lines.separator)
                self._progress.show(many)
        except InputError as error:
            self.error = error


def _say(report: Imported, *, as_json: bool) -> None:
    if as_json:
        say(json_line(report.as_dict()))
        return
    parts = [f"{report.new:,} URLs new", f"{report.seen:,} seen"]
    more = ((report.sites, "sites set"), (report.groups, "groups set"), (report.digests, "digests of imported levels"))
    parts += [f"{many:,} {what}" for many, what in more if many]
    if report.rejected:
        parts.append(f"{report.rejected:,} lines rejected")
    if report.refused:
        parts.append(f"{report.refused:,} refused: they have no text, and their fingerprints do not hold in a store with another secret")
    say(f"urlsieve: {', '.join(parts)}\n".encode())
