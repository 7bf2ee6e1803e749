"""A command's name goes in; its parser comes out, made by the command itself: so completion and settings know what it knows.

A command makes its parser before it does anything. Run with `Ask()` for arguments, the parser answers with itself instead of parsing.
"""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urlsieve.doors.cli.options import Parser


class Ask(list[str]):
    """In the place of arguments."""


class Asked(Exception):
    """The answer."""

    def __init__(self, parser: Parser) -> None:
        super().__init__("only the parser was asked for")
        self.parser = parser


def parser_of(command: str) -> Parser:
    from urlsieve.doors.cli.main import module_of

    try:
        importlib.import_module(module_of(command)).run(Ask())
    except Asked as answer:
        return answer.parser
    raise AssertionError(f"the command {command} did something before it made its parser")


def options_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Those that begin with a dash, without --help."""
    return [action for action in parser._actions if action.option_strings and not isinstance(action, argparse._HelpAction)]
