"""Lines with URLs go in; one line with the canonical form of each comes out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures, forms
from urlsieve.doors.cli.forms import Batch, Form, Printer
from urlsieve.doors.cli.options import Parser, add_form, add_inputs, add_json, add_output, usable_base, warn_of
from urlsieve.doors.cli.output import Output, json_lines
from urlsieve.doors.cli.rejects import Rejects, add_rejected
from urlsieve.doors.cli.tally import MALFORMED

if TYPE_CHECKING:
    from urlsieve.canon import Canonicalizer, Keys

BATCH = 10_000


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    form = forms.of(namespace)
    from urlsieve.canon import Canonicalizer

    profile = {"profile": namespace.profile} if namespace.profile else {}
    canonicalizer = Canonicalizer(rules=namespace.rules, **profile)
    warn_of(namespace.profile)
    base = usable_base(namespace.base)
    rejected = False
    with (
        Output(namespace.output, force=namespace.force, check=form.lines.refuse) as output,
        Rejects(namespace, form.lines, output) as rejects,
    ):
        printer = Printer(output, form)
        for batch in form.batches(BATCH):
            keys = canonicalizer.canonicalize_many(batch.urls, base=base)
            rejected = rejected or any(keys.status)
            fingerprints = _fingerprints(canonicalizer, batch, keys, base) if namespace.fingerprint else None
            if namespace.json:
                output.write(json_lines(_objects(batch.urls, keys, fingerprints)))
            else:
                printer.write(_texts(form, batch, keys if fingerprints is None else fingerprints))
            rejects.write(_refused(batch, keys))
        if not namespace.json:
            printer.write(())
    return failures.PARTIAL if namespace.strict and rejected else failures.OK


def _parser() -> Parser:
    parser = Parser(
        "canon",
        "Print the canonical form of each line: one line out for each line in,\nan empty one where there is no URL (--json says why).\n"
        "In jsonl and csv the canonical form takes the URL's place; every other field stays as it is.",
        example="paste urls.txt <(urlsieve canon urls.txt)",
    )
    add_inputs(parser, "URLs, one a line (or a URL itself)")
    add_form(parser)
    add_output(parser)
    forms.add_formats(parser)
    add_rejected(parser)
    parser.add_argument("--base", metavar="URL", help="resolves relative URLs")
    parser.add_argument("--fingerprint", action="store_true", help="the fingerprint in hexadecimal instead (scrapy, classic: theirs)")
    parser.add_argument("--strict", action="store_true", help="exit status 5 when a line has no canonical form")
    add_json(parser, 'JSON lines: {"url", "key", "site", "reason"}; url is null where the line is too long to be one')
    return parser


def _texts(form: Form, batch: Batch, wanted: Iterable[str | None]) -> Iterator[bytes]:
    for i, text in enumerate(wanted):
        if i in batch.broken:
            yield batch.records[i]  # no field of it can be told from the others
        else:
            yield form.replaced(batch.records[i], text)


def _refused(batch: Batch, keys: Keys) -> Iterator[tuple[str, bytes]]:
    for i, reason in enumerate(keys.reasons):
        if i in batch.broken or reason not in (None, "empty"):
            yield MALFORMED if i in batch.broken else reason or "", batch.records[i]


def _objects(urls: list[bytes], keys: Keys, fingerprints: list[str | None] | None) -> Iterator[dict[str, Any]]:
    for i, key in enumerate(keys):
        reason = keys.reasons[i]
        url = None if reason == "too_long" else urls[i].decode("utf-8", "surrogateescape")
        found = {"url": url, "key": key, "site": None if key is None else keys.site(i), "reason": reason}
        if fingerprints is not None:
            found["fingerprint"] = fingerprints[i]
        yield found


def _fingerprints(canonicalizer: Canonicalizer, batch: Batch, keys: Keys, base: str | None) -> list[str | None]:
    if canonicalizer.is_foreign:
        return [None if digest is None else digest.hex() for digest in canonicalizer.foreign_fingerprints(batch.urls, base=base)]
    every = keys.fingerprints
    return [None if code else every[16 * i : 16 * i + 16].hex() for i, code in enumerate(keys.status)]
