"""Lines with URLs go in; they are queued in the store, and a report comes out on stderr."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures, forms
from urlsieve.doors.cli.forms import Form
from urlsieve.doors.cli.lines import blank
from urlsieve.doors.cli.options import (
    Parser,
    add_form,
    add_inputs,
    add_json,
    add_store,
    count,
    json_value,
    open_sieve,
    priority,
    seconds,
    usable_base,
    whole,
)
from urlsieve.doors.cli.rejects import Rejects, add_rejected, refused
from urlsieve.doors.cli.tally import Tally

if TYPE_CHECKING:
    from urlsieve.sieve import Sieve

BATCH = 5_000


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    form = forms.of(namespace, out=False)
    tally = Tally()
    usable_base(namespace.base)
    with open_sieve(namespace, create=True) as sieve, Rejects(namespace, form.lines) as rejects:
        try:
            _push(sieve, form, rejects, namespace, tally)
        except BaseException:
            if tally.lines and not namespace.quiet:  # what was taken before the disk was full, or before Ctrl-C
                tally.say(as_json=namespace.json)
            raise
    if not namespace.quiet:
        tally.say(as_json=namespace.json)
    return failures.PARTIAL if namespace.strict and tally.rejected else failures.OK


def _parser() -> Parser:
    parser = Parser(
        "push",
        "Put URLs, one a line, into a store's queue; a missing store is created.\n"
        "Ignored: blank lines and, without --base, those that begin with #.",
        example="urlsieve push seeds.txt --store S --priority P1",
    )
    add_inputs(parser, "URLs, one a line (or a URL itself)")
    forms.add_formats(parser)
    add_store(parser)
    add_form(parser)
    add_rejected(parser)
    parser.add_argument("--force", action="store_true", help="let --rejected overwrite a file")
    parser.add_argument("--priority", type=priority, default=0, metavar="P", help="P0 (first) … P3 (0) or an integer, larger is sooner")
    parser.add_argument("--depth", type=whole, default=0, metavar="N", help="distance from the start page (0)")
    parser.add_argument("--via", metavar="URL", help="where they were found")
    parser.add_argument("--meta", type=json_value, metavar="JSON", help="small JSON that pop gives back")
    parser.add_argument("--mode", choices=("new", "raise", "again"), default="new", help="what of URLs that were seen")
    parser.add_argument("--base", metavar="URL", help="resolves relative URLs")
    parser.add_argument("--due", type=seconds, metavar="TIME", help="not before (seconds since the epoch)")
    parser.add_argument("--batch", type=count, default=BATCH, metavar="N", help=f"URLs in one step ({BATCH})")
    parser.add_argument("--strict", action="store_true", help="exit status 5 when a line is rejected")
    parser.add_argument("-q", "--quiet", action="store_true", help="no report")
    add_json(parser)
    return parser


def _push(sieve: Sieve, form: Form, rejects: Rejects, namespace: argparse.Namespace, tally: Tally) -> None:
    options: dict[str, Any] = {"mode": namespace.mode}
    if namespace.base is not None:
        options["base"] = namespace.base
    values = {name: getattr(namespace, name) for name in ("priority", "depth", "via", "meta")}
    comments = namespace.base is None and isinstance(form, forms.Text)  # with a base, #part is a reference to it
    for batch in form.batches(namespace.batch):
        wanted = [i for i, url in enumerate(batch.urls) if not (blank(url) or (comments and url.startswith(b"#")))]
        found = [batch.urls[i] for i in wanted]
        if namespace.due is None:
            report = sieve.push(found, **values, **options)
        else:
            from urlsieve.model import URLItem

            report = sieve.push([URLItem(line, due=namespace.due, **values) for line in found], **options)
        tally.add(report, len(batch.urls), len(found), batch.broken)
        if rejects.wanted:
            rejects.write(refused(batch, wanted, report.verdicts))
