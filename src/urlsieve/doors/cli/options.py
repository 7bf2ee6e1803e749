"""Arguments of one command go in; a namespace comes out, or a UsageError of one line. What commands share is spelled here."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from urlsieve.doors.cli.failures import UsageError
from urlsieve.doors.cli.output import Output
from urlsieve.doors.cli.parsers import Ask, Asked

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from urlsieve.sieve import Sieve


class Parser(argparse.ArgumentParser):
    """argparse with our manners: no abbreviations, files and options in any order, errors of one line."""

    def __init__(self, command: str, summary: str, *, example: str) -> None:
        super().__init__(
            prog=f"urlsieve {command}",
            description=summary,
            epilog=f"example: {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.command = command

    def parse(self, arguments: list[str]) -> argparse.Namespace:
        if isinstance(arguments, Ask):
            raise Asked(self)
        if not {"-h", "--help"} & set(arguments):  # help is there also for who has a setting that is wrong
            self._take_settings()
        # `-0` is an option of ours; that alone must not make argparse take the value of `--priority -5` for one.
        del self._has_negative_number_optionals[:]
        known, rest = self.parse_known_intermixed_args(_guarded(arguments))
        if rest:
            self.error(f"{rest[0].lstrip(_GUARD)} is not understood{self._nearest(rest[0])}")
        for name, value in vars(known).items():
            if isinstance(value, str):
                setattr(known, name, value.lstrip(_GUARD))
            elif isinstance(value, list):
                setattr(known, name, [one.lstrip(_GUARD) if isinstance(one, str) else one for one in value])
        return known

    def _take_settings(self) -> None:
        if os.path.lexists("urlsieve.toml") or any(name.startswith("URLSIEVE_") for name in os.environ):
            from urlsieve.doors.cli import settings

            settings.apply(self)

    def _nearest(self, word: str) -> str:
        import difflib

        near = difflib.get_close_matches(word.partition("=")[0], self._option_string_actions, 1)
        return f"; did you mean {near[0]}?" if near else ""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog.removeprefix('urlsieve ')}: {message} ({self.prog} --help lists what it takes)")

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        Output().write(self.format_help().encode("utf-8", "backslashreplace"))


class Several(argparse.Action):
    """An option that may be given several times. What is given takes the place of the default, as with any other option: argparse's own
    `append` and `extend` add to it."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        found = getattr(namespace, self.dest)
        before = [] if found is parser.get_default(self.dest) else found
        setattr(namespace, self.dest, [*before, *(values if isinstance(values, list) else [values])])


_GUARD = "\0"  # no argument of a process can hold it


def _guarded(arguments: list[str]) -> list[str]:
    """What follows `--` is never an option: argparse's intermixed parsing forgets that, so these words must not look like one."""
    if "--" not in arguments:
        return arguments
    end = arguments.index("--")
    return arguments[:end] + [_GUARD + word for word in arguments[end + 1 :]]


def add_inputs(parser: Parser, what: str) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"{what}; - or nothing: standard input")
    parser.add_argument("-0", "--null", action="store_true", help="lines end with NUL instead of newline, in and out")


def add_records(parser: Parser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="JSON lines; - or nothing: standard input")


def add_output(parser: Parser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    parser.add_argument("--force", action="store_true", help="let -o overwrite a file")


def add_store(parser: Parser) -> None:
    parser.add_argument("--store", metavar="S", help="the store (a directory); otherwise $URLSIEVE_STORE")


def add_form(parser: Parser) -> None:
    known = "safe (default), exact, aggressive, safe+SWITCH…, scrapy or classic"
    parser.add_argument("--profile", metavar="NAME", help=f"canonical form: {known}")
    parser.add_argument("--rules", metavar="FILE", help="site rules")


def warn_of(profile: str | None) -> None:
    """Says on stderr what profile classic merges wrongly, where somebody names it."""
    if profile == "classic":
        print(
            "urlsieve: profile classic merges URLs that can be two pages (case of path and query, trailing slash, ts=, routes in fragments,"
            " a and a=); it is for moving an old seen set: docs/profiles.md",
            file=sys.stderr,
        )


def add_json(parser: Parser, what: str = "the report as JSON") -> None:
    parser.add_argument("--json", action="store_true", help=what)


def seconds(text: str) -> float:
    """A finite number, of either sign: a point in time."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def duration(text: str) -> float:
    value = seconds(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} seconds is less than no time")
    return value


def positive(text: str) -> float:
    value = seconds(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text} seconds is no time")
    return value


def whole(text: str) -> int:
    """0, 1, 2, …"""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def count(text: str) -> int:
    """1, 2, 3, …"""
    value = whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError("0 is none")
    return value


def words(allowed: Sequence[str]) -> Callable[[str], list[str]]:
    """Some of these, with commas between them."""

    def read(text: str) -> list[str]:
        found = text.split(",")
        for word in found:
            if word not in allowed:
                raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(allowed)}")
        return found

    return read


class Setting(NamedTuple):
    """A value that may be None, beside an option that was not given at all."""

    value: Any


def or_none(read: Callable[[str], Any]) -> Callable[[str], Setting]:
    """The same, or the word `none`."""
    return lambda text: Setting(None if text.lower() == "none" else read(text))


def priority(text: str) -> int:
    """P0…P3 or an integer; larger is sooner."""
    from urlsieve.model import PRIORITIES

    named = PRIORITIES.get(text.upper())
    try:
        return int(text) if named is None else named
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither P0, P1, P2, P3 nor an integer") from None


def json_value(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not JSON: {error}") from None


def as_found(text: str) -> str | bytes:
    """An argument or JSON text as the URL it stands for: bytes where it is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            pass
    return text


def usable_base(text: str | None) -> str | None:
    """A base that is no URL itself would quietly reject every relative URL: InvalidURL instead."""
    if text is not None:
        from urlsieve.canon import canonicalize

        canonicalize(text)
    return text


def store_address(namespace: argparse.Namespace) -> str:
    if not namespace.store:
        raise UsageError("no store is named; use --store DIRECTORY or set URLSIEVE_STORE (memory: is one that is gone at the end)")
    return str(namespace.store)


def open_sieve(namespace: argparse.Namespace, *, create: bool = False) -> Sieve:
    """The store that the command names. Only push, uniq and crawl create a missing one."""
    import urlsieve

    form = {name: getattr(namespace, name) for name in ("profile", "rules") if getattr(namespace, name, None) is not None}
    sieve = urlsieve.open(store_address(namespace), create=create, **form)
    warn_of(form.get("profile"))
    return sieve
