"""Lines with URLs go in; what the store knows of each comes out. Nothing is written to the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urlsieve.doors.cli import failures, forms
from urlsieve.doors.cli.forms import Batch
from urlsieve.doors.cli.lines import blank
from urlsieve.doors.cli.options import Parser, add_inputs, add_json, add_output, add_store, open_sieve
from urlsieve.doors.cli.output import Output, json_lines
from urlsieve.doors.cli.tally import MALFORMED

if TYPE_CHECKING:
    from urlsieve.sieve import Sieve

BATCH = 10_000


def run(arguments: list[str]) -> int:
    parser = Parser(
        "seen",
        "Print a verdict (seen, new, or rejected:REASON), a tab and the URL (of jsonl and csv the whole record) for each line.\n"
        "Blank lines are ignored.",
        example="urlsieve seen urls.txt --store S | grep ^new",
    )
    add_inputs(parser, "URLs, one a line (or a URL itself)")
    forms.add_formats(parser)
    add_store(parser)
    add_output(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing; exit status 1 unless all are seen")
    add_json(parser, 'JSON lines: {"url", "verdict"}')
    namespace = parser.parse(arguments)
    form = forms.of(namespace)
    separator = form.lines.separator
    unseen = headed = False
    with open_sieve(namespace) as sieve, Output(namespace.output, force=namespace.force, check=form.lines.refuse) as output:
        for batch in form.batches(BATCH):
            found = [i for i, url in enumerate(batch.urls) if i in batch.broken or not blank(url)]
            verdicts = _verdicts(sieve, batch, found)
            unseen = unseen or any(verdict != "seen" for verdict in verdicts)
            if namespace.quiet:
                if unseen:
                    break
                continue
            pairs = zip(found, verdicts, strict=True)
            if namespace.json:
                output.write(json_lines({"url": _text(batch.urls[i]), "verdict": verdict} for i, verdict in pairs))
                continue
            heading = b"" if headed or not form.heading else b"verdict\t" + form.heading
            headed = headed or bool(heading)
            shown = batch.urls if isinstance(form, forms.Text) else batch.records
            output.write(heading + b"".join(verdict.encode() + b"\t" + shown[i] + separator for i, verdict in pairs))
    return failures.NO if namespace.quiet and unseen else failures.OK


def _verdicts(sieve: Sieve, batch: Batch, at: list[int]) -> list[str]:
    urls = [batch.urls[i] for i in at]
    reasons = sieve.canonicalizer.canonicalize_many(urls).reasons
    return [
        f"rejected:{MALFORMED if i in batch.broken else reason}" if reason else "seen" if known else "new"
        for i, reason, known in zip(at, reasons, sieve.seen(urls), strict=True)
    ]


def _text(url: bytes) -> str:
    return url.decode("utf-8", "surrogateescape")
