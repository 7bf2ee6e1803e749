"""Lines with URLs go in; one line with the canonical form of each comes out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.lines import Lines
from urlsieve.doors.cli.options import Parser, add_form, add_inputs, add_json, add_output, usable_base
from urlsieve.doors.cli.output import Output, json_lines

if TYPE_CHECKING:
    from urlsieve.canon import Keys

BATCH = 10_000


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    lines = Lines(namespace.files, null=namespace.null)
    from urlsieve.canon import Canonicalizer

    form = {"profile": namespace.profile} if namespace.profile else {}
    canonicalizer = Canonicalizer(rules=namespace.rules, **form)
    base = usable_base(namespace.base)
    rejected = False
    with Output(namespace.output, force=namespace.force, check=lines.refuse) as output:
        for batch in lines.batches(BATCH):
            urls = lines.urls(batch)
            keys = canonicalizer.canonicalize_many(urls, base=base)
            rejected = rejected or any(keys.status)
            if namespace.json:
                output.write(json_lines(_objects(namespace, urls, keys)))
            else:
                output.write(b"".join(text.encode() + lines.separator for text in _texts(namespace, keys)))
    return failures.PARTIAL if namespace.strict and rejected else failures.OK


def _parser() -> Parser:
    parser = Parser(
        "canon",
        "Print the canonical form of each line: one line out for each line in,\nan empty one where there is no URL (--json says why).",
        example="paste urls.txt <(urlsieve canon urls.txt)",
    )
    add_inputs(parser, "URLs, one a line (or a URL itself)")
    add_form(parser)
    add_output(parser)
    parser.add_argument("--base", metavar="URL", help="resolves relative URLs")
    parser.add_argument("--fingerprint", action="store_true", help="print the fingerprint (32 hexadecimal digits) instead")
    parser.add_argument("--strict", action="store_true", help="exit status 5 when a line has no canonical form")
    add_json(parser, 'JSON lines: {"url", "key", "site", "reason"}; url is null where the line is too long to be one')
    return parser


def _texts(namespace: argparse.Namespace, keys: Keys) -> Iterator[str]:
    for i, key in enumerate(keys):
        yield "" if key is None else _fingerprint(keys, i) if namespace.fingerprint else key


def _objects(namespace: argparse.Namespace, urls: list[bytes], keys: Keys) -> Iterator[dict[str, Any]]:
    for i, key in enumerate(keys):
        reason = keys.reasons[i]
        url = None if reason == "too_long" else urls[i].decode("utf-8", "surrogateescape")
        found = {"url": url, "key": key, "site": None if key is None else keys.site(i), "reason": reason}
        if namespace.fingerprint:
            found["fingerprint"] = None if key is None else _fingerprint(keys, i)
        yield found


def _fingerprint(keys: Keys, i: int) -> str:
    return keys.fingerprints[16 * i : 16 * i + 16].hex()
