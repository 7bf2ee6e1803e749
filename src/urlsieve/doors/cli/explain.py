"""One or two URLs go in; what changes them, whether they are the same, and with a store what it knows of them, comes out."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_form, add_json, add_store, as_found, open_sieve, usable_base, warn_of
from urlsieve.doors.cli.output import Output, human, json_line
from urlsieve.errors import InvalidURL

if TYPE_CHECKING:
    from urlsieve.canon import Explanation
    from urlsieve.sieve import Sieve


def run(arguments: list[str]) -> int:
    parser = Parser(
        "explain",
        "Print the steps that change a URL; with two URLs whether they are the same, and why.\n"
        "With a store also whether it is seen, and its state (of two URLs in JSON: a list of each).",
        example="urlsieve explain 'http://example.com/?b=1&a=2&utm_source=x' 'http://EXAMPLE.com/?a=2&b=1'",
    )
    parser.add_argument("url", metavar="URL")
    parser.add_argument("other", metavar="URL", nargs="?")
    add_store(parser)
    add_form(parser)
    parser.add_argument("--base", metavar="URL", help="resolves relative URLs")
    add_json(parser, 'one object: {"same", "steps", "keys"}, with a store also seen, level, state, entry, aliases, history')
    namespace = parser.parse(arguments)
    from urlsieve.canon import Canonicalizer

    base = usable_base(namespace.base)
    urls = [as_found(url) for url in (namespace.url, namespace.other) if url is not None]
    if namespace.store:
        file, namespace.rules = namespace.rules, None  # a question: it must not become the store's
        with open_sieve(namespace) as sieve:
            if file is None:
                explanation = sieve.explain(*urls, base=base)
            else:
                explanation = Canonicalizer(profile=sieve.canonicalizer.profile, rules=file).explain(*urls, base=base)
            known = [_known(sieve, url, base) for url in urls]
    else:
        form = {"profile": namespace.profile} if namespace.profile else {}
        explanation = Canonicalizer(rules=namespace.rules, **form).explain(*urls, base=base)
        warn_of(namespace.profile)
        known = []
    Output().write(json_line(_object(explanation, known)) if namespace.json else human(_text(explanation, known)))
    return failures.OK


def _known(sieve: Sieve, url: str | bytes, base: str | None) -> dict[str, Any]:
    """What the store says of one URL. `history` is null until page history is built."""
    try:
        told = sieve.known(url, base=base)
    except InvalidURL:
        return {"seen": False, "level": None, "state": None, "entry": None, "aliases": [], "history": None}
    entry = None
    if told.entry is not None:
        entry = {name: _text_of(value) for name, value in asdict(told.entry).items() if name not in ("state", "level")}
    aliases = [alias._asdict() for alias in told.aliases]
    return {"seen": told.seen, "level": told.level, "state": told.state, "entry": entry, "aliases": aliases, "history": None}


def _text_of(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _object(explanation: Explanation, known: list[dict[str, Any]]) -> dict[str, Any]:
    found = explanation.as_dict()
    if len(known) == 1:
        found |= known[0]
    elif known:
        found |= {name: [one[name] for one in known] for name in known[0]}
    return found


def _text(explanation: Explanation, known: list[dict[str, Any]]) -> str:
    lines = [str(explanation)]
    for key, found in zip(explanation.keys, known, strict=False):
        if key is None:
            continue
        lines.append(f"in the store: {'seen' if found['seen'] else 'not seen'} {key}")
        entry = {"state": found["state"], "level": found["level"], **(found["entry"] or {})}
        lines += [f"  {name}: {_shown(name, value)}" for name, value in entry.items() if value is not None]
        lines += [f"  seen under an earlier key of {alias['site']}: {alias['state']}" for alias in found["aliases"]]
    return "\n".join(lines) + "\n"


def _shown(name: str, value: Any) -> str:
    if name in ("due", "deadline"):
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(value))
    return str(value)
