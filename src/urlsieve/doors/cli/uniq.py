"""Lines go in; those whose URL is new come out as found, in order, and a report on stderr.

Without a store only 16 bytes of fingerprint are held per distinct URL, in a native table, so files may be larger than memory.
With a store each batch is asked, written, flushed, and then marked: a crash between two of these, or another
`uniq` on the store, can print a line twice but never lose it. No lock is held while writing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from urlsieve.doors.cli import failures, forms
from urlsieve.doors.cli.forms import Batch, Form, Printer
from urlsieve.doors.cli.lines import blank
from urlsieve.doors.cli.options import Parser, add_form, add_inputs, add_json, add_output, add_store, open_sieve, warn_of
from urlsieve.doors.cli.output import Output
from urlsieve.doors.cli.rejects import Rejects, add_rejected
from urlsieve.doors.cli.tally import MALFORMED, Tally

if TYPE_CHECKING:
    from urlsieve._kernel import FingerprintSet
    from urlsieve.canon import Canonicalizer, Keys
    from urlsieve.sieve import Sieve

BATCH = 10_000
#: What the table says of a line: 0 seen, 1 new, 2 rejected. With --inverse the seen ones are wanted.
_INVERSE = bytes.maketrans(b"\0\1", b"\1\0")


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    form = forms.of(namespace)
    tally = Tally()
    began = time.monotonic()
    try:
        _run(namespace, form, tally)
    except failures.OutputClosed:
        raise  # whoever read us has enough: not a word
    except BaseException:
        if tally.lines:  # what was printed before the disk was full, or before Ctrl-C
            _report(namespace, tally, began)
        raise
    _report(namespace, tally, began)
    return failures.PARTIAL if namespace.strict and tally.rejected else failures.OK


def _parser() -> Parser:
    parser = Parser(
        "uniq",
        "Print each line whose URL is new, as found: new in this input, or with a store (--store or $URLSIEVE_STORE; a missing\n"
        "one is created) never printed before. Lines without a URL are not printed but counted by reason.",
        example="urlsieve uniq urls.txt > new.txt",
    )
    add_inputs(parser, "URLs, one a line")
    add_store(parser)
    add_form(parser)
    add_output(parser)
    forms.add_formats(parser)
    parser.add_argument("--key", action="store_true", help="print the canonical form instead of the line (in its field)")
    parser.add_argument("--inverse", action="store_true", help="print the duplicates instead")
    add_rejected(parser)
    parser.add_argument("--stats", action="store_true", help="also report time, memory and expected collisions")
    parser.add_argument("--strict", action="store_true", help="exit status 5 when a line is rejected")
    parser.add_argument("-q", "--quiet", action="store_true", help="no report")
    add_json(parser)
    return parser


class _Job(NamedTuple):
    """What one run works with."""

    namespace: argparse.Namespace
    form: Form
    tally: Tally
    output: Output
    printer: Printer
    rejects: Rejects


def _run(namespace: argparse.Namespace, form: Form, tally: Tally) -> None:
    with ExitStack() as stack:
        sieve = None
        if namespace.store:
            sieve = stack.enter_context(open_sieve(namespace, create=True))
        output = stack.enter_context(Output(namespace.output, force=namespace.force, check=form.lines.refuse))
        rejects = stack.enter_context(Rejects(namespace, form.lines, output))
        job = _Job(namespace, form, tally, output, Printer(output, form), rejects)
        if sieve is None:
            _one_shot(job)
        else:
            _durable(sieve, job)


def _one_shot(job: _Job) -> None:
    import os

    from urlsieve._kernel import FingerprintSet
    from urlsieve.canon import Canonicalizer

    # A secret of this run: nobody can make two pages collide here.
    namespace, tally = job.namespace, job.tally
    profile = {"profile": namespace.profile} if namespace.profile else {}
    canonicalizer = Canonicalizer(rules=namespace.rules, secret=int.from_bytes(os.urandom(16), "little"), **profile)
    warn_of(namespace.profile)
    table = FingerprintSet()
    if namespace.null or not isinstance(job.form, forms.Text):
        _records(canonicalizer, table, job)
    else:
        _lines(canonicalizer, table, job)
    tally.extra["expected_collisions"] = expected_collisions(tally.new)
    if namespace.stats:
        tally.extra["table_bytes"] = table.nbytes


def _lines(canonicalizer: Canonicalizer, table: FingerprintSet, job: _Job) -> None:
    """Reading and the kernel release the GIL: they run beside the table and the output."""
    from urlsieve.doors.cli.ahead import ahead

    for found in ahead(map(canonicalizer.lines, job.form.lines.blocks())):
        flags = table.add_many(found.fingerprints, found.status)
        data = found.select(flags.translate(_INVERSE) if job.namespace.inverse else flags, keys=job.namespace.key)
        if data:
            job.output.write(data)
        if job.rejects.wanted:
            job.rejects.write(_refused(found.line, flags, found.status, {}))
        _count(job.tally, flags, found.status, {})


def _records(canonicalizer: Canonicalizer, table: FingerprintSet, job: _Job) -> None:
    """The same for records that the kernel's own line cutter does not know: with NUL behind them, of JSON, of csv."""
    wanted = 0 if job.namespace.inverse else 1
    for batch in job.form.batches(BATCH):
        keys = canonicalizer.canonicalize_many(batch.urls)
        flags = table.add_many(keys.fingerprints, keys.status)
        job.printer.write(_texts(job, batch, keys, [i for i, flag in enumerate(flags) if flag == wanted]))
        if job.rejects.wanted:
            job.rejects.write(_refused(batch.records.__getitem__, flags, keys.status, batch.broken))
        _count(job.tally, flags, keys.status, batch.broken)
    job.printer.write(())


def _durable(sieve: Sieve, job: _Job) -> None:
    from urlsieve._kernel import FingerprintSet

    tally = job.tally
    for batch in job.form.batches(BATCH):
        urls = batch.urls
        keys = sieve.canonicalizer.canonicalize_many(urls)
        flags = FingerprintSet().add_many(keys.fingerprints, keys.status)
        first = [i for i, flag in enumerate(flags) if flag == 1]
        new = [i for i, known in zip(first, sieve.seen([urls[i] for i in first]), strict=True) if not known]
        fresh = set(new)
        chosen = [i for i, flag in enumerate(flags) if flag != 2 and i not in fresh] if job.namespace.inverse else new
        if chosen:
            job.printer.write(_texts(job, batch, keys, chosen))
            job.output.sync()
        if job.rejects.wanted:
            job.rejects.write(_refused(batch.records.__getitem__, flags, keys.status, batch.broken))
            job.rejects.sync()
        # Only now: a crash before this line prints them again, one after it has printed them.
        sieve.mark([urls[i] for i in new + [i for i, flag in enumerate(flags) if flag == 2 and not blank(urls[i])]])
        _count(tally, flags, keys.status, batch.broken)
        tally.new -= len(first) - len(new)
        tally.seen += len(first) - len(new)
    job.printer.write(())


def _texts(job: _Job, batch: Batch, keys: Keys, chosen: list[int]) -> Iterator[bytes]:
    records = batch.records
    return (job.form.replaced(records[i], keys[i]) if job.namespace.key else records[i] for i in chosen)


def _refused(record: Callable[[int], bytes], flags: bytes, status: bytes, broken: Mapping[int, str]) -> Iterator[tuple[str, bytes]]:
    """Reason and record of those that were refused; blank ones are no records."""
    from urlsieve.canon import REASON_OF_CODE

    for i, flag in enumerate(flags):
        if flag == 2:
            reason = MALFORMED if i in broken else REASON_OF_CODE[status[i]] or ""
            if reason != "empty":
                yield reason, record(i)


def _count(tally: Tally, flags: bytes, status: bytes, broken: Mapping[int, str]) -> None:
    tally.lines += len(flags)
    tally.new += flags.count(1)
    tally.seen += flags.count(0)
    tally.broken(broken)
    if flags.count(2):
        from urlsieve.canon import REASON_OF_CODE

        for code in set(status) - {0}:
            reason = REASON_OF_CODE[code] or ""
            if reason == "empty":
                tally.ignored += status.count(code) - len(broken)  # a broken record has no URL, and is counted as broken
            else:
                tally.reasons[reason] += status.count(code)


def expected_collisions(distinct: int) -> float:
    """Upper bound of URLs wrongly taken for known in a whole run (128 bits of which 64 tell URLs of one site apart)."""
    return distinct * distinct / 2.0**65


def _report(namespace: argparse.Namespace, tally: Tally, began: float) -> None:
    if namespace.quiet:
        return
    if namespace.stats:
        tally.extra["seconds"] = time.monotonic() - began
    tally.say(as_json=namespace.json)
