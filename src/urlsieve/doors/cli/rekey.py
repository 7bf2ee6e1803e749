"""A store goes in; it has another profile, secret or canonical form afterwards, and what it had seen is seen."""

from __future__ import annotations

import os

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.failures import UsageError
from urlsieve.doors.cli.options import Parser, add_json, add_store, store_address
from urlsieve.doors.cli.output import Output, human, json_line
from urlsieve.doors.cli.progress import Progress


def run(arguments: list[str]) -> int:
    parser = Parser(
        "rekey",
        "Give a store another profile, secret or canonical form; what it has seen stays seen. Others may use it meanwhile: the new\n"
        "one is made beside it and takes its place in one step at the end; then they are told to open it anew, and their leases\n"
        "stay valid. It needs as much room again for that time. Interrupted, the old store is as it was: run it again, it goes on.",
        example="urlsieve rekey --profile safe+strip_www --store S",
    )
    add_store(parser)
    parser.add_argument("--profile", metavar="NAME", help="another profile")
    parser.add_argument("--secret", metavar="new|NAME", help="another secret: a random one, or the 32 hexadecimal digits in $NAME")
    parser.add_argument("--canonical", action="store_true", help="today's canonical form, for a store that was made with another")
    parser.add_argument("--to", metavar="ADDRESS", help="make a new store there and leave this one as it is (for stores on Redis too)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    add_json(parser, 'one object: {"entries", "merged", "refused", "imported", "level", "kept", "anew"}')
    namespace = parser.parse(arguments)
    address = store_address(namespace)
    secret = _secret(namespace.secret)
    from urlsieve.opening import rekey

    with Progress("URLs", quiet=namespace.quiet) as progress:
        found = rekey(
            address,
            profile=namespace.profile,
            secret=secret,
            canonical=namespace.canonical,
            to=namespace.to,
            progress=progress.show,
        )
    if namespace.json:
        Output().write(json_line({**found._asdict(), "refused": dict(found.refused)}))
        return failures.OK
    parts = [f"{found.entries:,} URLs under new fingerprints", f"{found.merged:,} became one with another"]
    parts += [f"{many:,} are none any more ({word})" for word, many in sorted(found.refused.items())]
    if found.imported:
        parts.append(f"{found.imported:,} without text are known by their old fingerprints (imported level {found.level})")
    if found.kept:
        parts.append(f"{found.kept:,} of them by a rekey that was interrupted, with which this one went on")
    if found.anew:
        parts.append(f"begun anew, not from where the last one was interrupted: {found.anew}")
    Output().write(human(f"{', '.join(parts)}\n"))
    return failures.OK


def _secret(text: str | None) -> int | str | None:
    """Not on the command line, where everybody reads it."""
    if text is None or text == "new":
        return text
    value = os.environ.get(text)
    if value is None:
        raise UsageError(f"rekey: --secret is new, or the name of an environment variable; ${text} is not set")
    try:
        return int(value, 16)
    except ValueError:
        raise UsageError(f"rekey: ${text} is no hexadecimal number") from None
