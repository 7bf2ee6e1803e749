"""Lines go in; those whose URL is new come out as found, in order, and a report on stderr.

Without a store only 16 bytes of fingerprint are held per distinct URL, in a native table, so files may be larger than memory.
With a store each batch is asked, written, flushed, and then marked: a crash between two of these, or another
`uniq` on the store, can print a line twice but never lose it. No lock is held while writing.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.lines import Lines, blank
from urlsieve.doors.cli.options import Parser, add_form, add_inputs, add_json, add_output, add_store, open_sieve
from urlsieve.doors.cli.output import Output
from urlsieve.doors.cli.tally import Tally

if TYPE_CHECKING:
    from urlsieve._kernel import FingerprintSet
    from urlsieve.canon import Canonicalizer
    from urlsieve.sieve import Sieve

BATCH = 10_000


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    lines = Lines(namespace.files, null=namespace.null)
    tally = Tally()
    began = time.monotonic()
    try:
        _run(namespace, lines, tally)
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
    parser.add_argument("--key", action="store_true", help="print the canonical form instead of the line")
    parser.add_argument("--stats", action="store_true", help="also report time, memory and expected collisions")
    parser.add_argument("--strict", action="store_true", help="exit status 5 when a line is rejected")
    parser.add_argument("-q", "--quiet", action="store_true", help="no report")
    add_json(parser)
    return parser


def _run(namespace: argparse.Namespace, lines: Lines, tally: Tally) -> None:
    import os

    if namespace.store or os.environ.get("URLSIEVE_STORE"):
        with open_sieve(namespace, create=True) as sieve, Output(namespace.output, force=namespace.force, check=lines.refuse) as output:
            _durable(sieve, lines, output, namespace, tally)
        return
    from urlsieve.canon import Canonicalizer

    # A secret of this run: nobody can make two pages collide here.
    form = {"profile": namespace.profile} if namespace.profile else {}
    canonicalizer = Canonicalizer(rules=namespace.rules, secret=int.from_bytes(os.urandom(16), "little"), **form)
    with Output(namespace.output, force=namespace.force, check=lines.refuse) as output:
        _one_shot(canonicalizer, lines, output, namespace, tally)


def _one_shot(canonicalizer: Canonicalizer, lines: Lines, output: Output, namespace: argparse.Namespace, tally: Tally) -> None:
    from urlsieve._kernel import FingerprintSet
    from urlsieve.doors.cli.ahead import ahead

    table = FingerprintSet()
    if namespace.null:
        _records(canonicalizer, table, lines, output, namespace, tally)
    else:
        # Reading and the kernel release the GIL: they run beside the table and the output.
        for found in ahead(map(canonicalizer.lines, lines.blocks())):
            flags = table.add_many(found.fingerprints, found.status)
            data = found.select(flags, keys=namespace.key)
            if data:
                output.write(data)
            _count(tally, flags, found.status)
    tally.extra["expected_collisions"] = expected_collisions(tally.new)
    if namespace.stats:
        tally.extra["table_bytes"] = table.nbytes


def _records(
    canonicalizer: Canonicalizer, table: FingerprintSet, lines: Lines, output: Output, namespace: argparse.Namespace, tally: Tally
) -> None:
    """The same for records that end with NUL and may hold newlines, which the kernel's own line cutter does not know."""
    for block in lines.blocks():
        records = lines.split(block)
        keys = canonicalizer.canonicalize_many(records)
        flags = table.add_many(keys.fingerprints, keys.status)
        chosen = ((keys[i] or "").encode() if namespace.key else records[i] for i, flag in enumerate(flags) if flag == 1)
        output.write(b"".join(text + lines.separator for text in chosen))
        _count(tally, flags, keys.status)


def _durable(sieve: Sieve, lines: Lines, output: Output, namespace: argparse.Namespace, tally: Tally) -> None:
    from urlsieve._kernel import FingerprintSet

    for batch in lines.batches(BATCH):
        urls = lines.urls(batch)
        keys = sieve.canonicalizer.canonicalize_many(urls)
        flags = FingerprintSet().add_many(keys.fingerprints, keys.status)
        first = [i for i, flag in enumerate(flags) if flag == 1]
        new = [i for i, known in zip(first, sieve.seen([urls[i] for i in first]), strict=True) if not known]
        if new:
            texts = ((keys[i] or "").encode() for i in new) if namespace.key else (batch[i] for i in new)
            output.write(b"".join(text + lines.separator for text in texts))
            output.sync()
        # Only now: a crash before this line prints them again, one after it has printed them.
        refused = [i for i, flag in enumerate(flags) if flag == 2 and not blank(urls[i])]
        sieve.mark([urls[i] for i in new + refused])
        _count(tally, flags, keys.status)
        tally.new -= len(first) - len(new)
        tally.seen += len(first) - len(new)


def _count(tally: Tally, flags: bytes, status: bytes) -> None:
    tally.lines += len(flags)
    tally.new += flags.count(1)
    tally.seen += flags.count(0)
    refused = flags.count(2)
    if refused:
        from urlsieve.canon import REASON_OF_CODE

        for code in set(status) - {0}:
            reason = REASON_OF_CODE[code] or ""
            if reason == "empty":
                tally.ignored += status.count(code)
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
