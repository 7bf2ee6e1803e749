"""The environment and ./urlsieve.toml go in; they become the defaults of a command's options: flag > URLSIEVE_* > file > default.

A setting has its option's name: `--max-pages` is URLSIEVE_MAX_PAGES, and `max-pages` or `max_pages` in the file, at its top for every
command that has the option, or in a table with the command's name for that one. A name that no option has is an error, wherever it
stands: a misspelt setting would silently do nothing.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli.failures import UsageError
from urlsieve.doors.cli.options import Several
from urlsieve.doors.cli.parsers import options_of, parser_of

if TYPE_CHECKING:
    from urlsieve.doors.cli.options import Parser

FILE = "urlsieve.toml"
PREFIX = "URLSIEVE_"
#: What is not for a setting to say: a file must not be overwritten because of a line somewhere else.
_FLAGS_ONLY = {"output", "force"}
#: Variables that are read elsewhere: by failures.py, and by the build and the tests of the package itself.
_OTHERS = {"debug", "sanitize", "hypothesis"}
#: Names of which it is known that commands have them: the others need not be asked each time that `canon` is started.
COMMON = {"store", "profile", "rules", "json", "quiet"}
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def apply(parser: Parser) -> None:
    """Sets the parser's defaults. UsageError for a name that nobody knows, or a value that the option does not take."""
    known = settable(parser)
    told = _from_file(parser.command, known)
    told.update(_from_environment(known))
    for name, (value, where) in told.items():
        action = known[name]
        parser.set_defaults(**{action.dest: _value(parser, action, value, where)})


def settable(parser: Parser) -> dict[str, argparse.Action]:
    """Name of a setting → the option that it sets."""
    names = {_plain(word.removeprefix("--")): action for action in options_of(parser) for word in action.option_strings if word[:2] == "--"}
    return {name: action for name, action in names.items() if name not in _FLAGS_ONLY}


def _plain(name: str) -> str:
    return name.replace("-", "_").lower()


def _from_environment(known: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    found = {}
    for variable, value in os.environ.items():
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name in known:
            if value:  # an empty one is as good as none
                found[name] = (value, variable)
        elif name not in _OTHERS:
            _check_name(name, variable, lambda near: PREFIX + near.upper())
    return found


def _from_file(command: str, known: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    if not os.path.lexists(FILE):
        return {}
    from urlsieve.doors.cli.main import COMMANDS

    found: dict[str, tuple[Any, str]] = {}
    own: Mapping[str, Any] = {}
    for key, value in _read().items():
        if not isinstance(value, dict):
            name = _plain(key)
            if name in known:
                _add(found, name, value, f"{FILE}: {key}")
            else:
                _check_name(name, f"{FILE}: {key}", str)
        elif key not in COMMANDS:
            raise UsageError(f"{FILE}: [{key}] is no command{_nearest(key, COMMANDS)}; a table has the name of one")
        elif key == command:
            own = value
        else:
            _check_table(key, value, settable(parser_of(key)))
    _check_table(command, own, known)
    special: dict[str, tuple[Any, str]] = {}
    for key, value in own.items():
        _add(special, _plain(key), value, f"{FILE}: [{command}] {key}")
    return {**found, **special}


def _add(found: dict[str, tuple[Any, str]], name: str, value: Any, where: str) -> None:
    if name in found:
        raise UsageError(f"{where}: it is there twice (- and _ are the same)")
    found[name] = (value, where)


def _read() -> dict[str, Any]:
    from urlsieve.canon import tomllines

    try:
        with open(FILE, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UsageError(f"{FILE}: cannot be read: {error.strerror}") from None
    try:
        return tomllines.read(data.decode())
    except UnicodeDecodeError as error:
        lines = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{FILE}: is not UTF-8 (at line {lines})") from None
    except ValueError as error:
        last = f"at line {len(data.splitlines())}, the end"
        raise UsageError(f"{FILE}: is not TOML: {str(error).replace('at end of document', last)}") from None


def _check_table(command: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    names = list(known)
    for key in table:
        if _plain(key) not in names:
            near = _nearest(_plain(key), names)
            raise UsageError(f"{FILE}: [{command}] {key}: {command} has no such setting{near}; urlsieve {command} --help lists them")


def _check_name(name: str, where: str, spell: Any) -> None:
    """Of another command, perhaps: only then are all of them asked."""
    from urlsieve.doors.cli.main import COMMANDS

    if name in COMMON:
        return
    if name in _FLAGS_ONLY:
        raise UsageError(f"{where}: is said on the command line only")
    every = {setting for command in COMMANDS for setting in settable(parser_of(command))}
    if name not in every:
        near = _nearest(name, every, spell)
        raise UsageError(f"{where}: there is no such setting{near}; settings are the options of `urlsieve COMMAND --help`")


def _nearest(name: str, names: Iterable[str], spell: Any = str) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(names), 1)
    return f"; did you mean {spell(near[0])}?" if near else ""


def _value(parser: Parser, action: argparse.Action, value: Any, where: str) -> Any:
    if action.nargs == 0:  # a switch
        on = _switch(value)
        if on is None:
            raise UsageError(f"{where}: is yes or no (true or false), and says something else")
        return action.const if on else not action.const
    if action.nargs is not None or isinstance(action, Several):
        words = value.split() if isinstance(value, str) else value
        if not isinstance(words, list):
            raise UsageError(f"{where}: is a list")
        return [_one(parser, action, word, where) for word in words]
    return _one(parser, action, value, where)


def _switch(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in (*_TRUE, *_FALSE):
        return value.lower() in _TRUE
    return None


def _one(parser: Parser, action: argparse.Action, value: Any, where: str) -> Any:
    """As if it had been given on the command line."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{where}: is text or a number, as on the command line")
    try:
        read = parser._get_value(action, value if isinstance(value, str) else repr(value))
        parser._check_value(action, read)
    except argparse.ArgumentError as error:
        raise UsageError(f"{where}: {error.message}") from None
    return read
