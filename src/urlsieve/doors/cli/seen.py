"""Lines with URLs go in; what the store knows of each comes out. Nothing is written to the store."""

from __future__ import annotations

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.lines import Lines, blank
from urlsieve.doors.cli.options import Parser, add_inputs, add_json, add_output, add_store, open_sieve
from urlsieve.doors.cli.output import Output, json_lines

BATCH = 10_000


def run(arguments: list[str]) -> int:
    parser = Parser(
        "seen",
        "Print a verdict (seen, new, or rejected:REASON), a tab and the URL for each line. Blank lines are ignored.",
        example="urlsieve seen urls.txt --store S | grep ^new",
    )
    add_inputs(parser, "URLs, one a line (or a URL itself)")
    add_store(parser)
    add_output(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing; exit status 1 unless all are seen")
    add_json(parser, 'JSON lines: {"url", "verdict"}')
    namespace = parser.parse(arguments)
    lines = Lines(namespace.files, null=namespace.null)
    unseen = False
    with open_sieve(namespace) as sieve, Output(namespace.output, force=namespace.force, check=lines.refuse) as output:
        for batch in lines.batches(BATCH):
            found = [line for line in lines.urls(batch) if not blank(line)]
            reasons = sieve.canonicalizer.canonicalize_many(found).reasons
            verdicts = [
                f"rejected:{reason}" if reason else "seen" if known else "new"
                for reason, known in zip(reasons, sieve.seen(found), strict=True)
            ]
            unseen = unseen or any(verdict != "seen" for verdict in verdicts)
            if namespace.quiet:
                if unseen:
                    break
            elif namespace.json:
                pairs = zip(found, verdicts, strict=True)
                output.write(json_lines({"url": _text(url), "verdict": verdict} for url, verdict in pairs))
            else:
                pairs = zip(found, verdicts, strict=True)
                output.write(b"".join(verdict.encode() + b"\t" + url + lines.separator for url, verdict in pairs))
    return failures.NO if namespace.quiet and unseen else failures.OK


def _text(url: bytes) -> str:
    return url.decode("utf-8", "surrogateescape")
