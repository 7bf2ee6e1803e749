"""The name of a shell goes in; a script comes out that teaches it urlsieve's commands and options. Made from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser
from urlsieve.doors.cli.output import Output
from urlsieve.doors.cli.parsers import options_of, parser_of

SHELLS = ("bash", "zsh", "fish")
_FILES, _FOLDERS = ("FILE",), ("S", "FOLDER", "BACKUP")


class Option(NamedTuple):
    words: tuple[str, ...]
    help: str
    takes: bool  # a value
    choices: tuple[str, ...]
    value: str  # files, folders, or nothing that can be guessed


def run(arguments: list[str]) -> int:
    parser = Parser(
        "completion",
        "Print a script that completes urlsieve's commands and options.\n"
        "  bash   source <(urlsieve completion bash)            in ~/.bashrc\n"
        "  zsh    urlsieve completion zsh > ~/.zfunc/_urlsieve  in a folder of $fpath, before compinit\n"
        "  fish   urlsieve completion fish | source             in ~/.config/fish/config.fish",
        example="source <(urlsieve completion bash)",
    )
    parser.add_argument("shell", choices=SHELLS, help="bash, zsh or fish")
    namespace = parser.parse(arguments)
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[namespace.shell]
    Output().write("".join(f"{line}\n" for line in write()).encode())
    return failures.OK


def _commands() -> dict[str, str]:
    from urlsieve.doors.cli.main import COMMANDS

    return COMMANDS


def _options(parser: Parser) -> list[Option]:
    found = [Option(("-h", "--help"), "show the help", False, (), "")]
    for action in options_of(parser):
        choices = tuple(map(str, action.choices or ()))
        what = "files" if action.metavar in _FILES else "folders" if action.metavar in _FOLDERS else ""
        text = " ".join((action.help or "").split())
        found.append(Option(tuple(action.option_strings), text, action.nargs != 0, choices, what))
    return found


def _arguments(parser: Parser) -> tuple[tuple[str, ...], str]:
    """Choices of what is no option, or what files it is of."""
    for action in parser._actions:
        if not action.option_strings and action.nargs != argparse.SUPPRESS:
            if action.choices:
                return tuple(map(str, action.choices)), ""
            return (), "folders" if action.metavar in _FOLDERS else "files" if action.metavar in _FILES else ""
    return (), ""


def _quoted(text: str) -> str:
    """For any of the three shells."""
    return "'" + text.replace("'", "'\\''") + "'"


# -- bash


def _bash() -> Iterator[str]:
    yield "# urlsieve completion for bash: source <(urlsieve completion bash)"
    yield "_urlsieve() {"
    yield "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words='' kind=''"
    yield "    COMPREPLY=()"
    yield '    if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f"        COMPREPLY=($(compgen -W '{' '.join(_commands())} --help --version' -- \"$word\"))"
    yield "        return"
    yield "    fi"
    yield '    case "$command" in'
    for name in _commands():
        parser = parser_of(name)
        yield f"    {name})"
        yield '        case "$last" in'
        for option in _options(parser):
            if option.takes:
                yield f"        {'|'.join(option.words)}) words='{' '.join(option.choices)}' kind={option.value or 'none'} ;;"
        choices, kind = _arguments(parser)
        words = " ".join(word for option in _options(parser) for word in option.words)
        yield f"        *) if [[ $word == -* ]]; then words='{words}'; else words='{' '.join(choices)}' kind={kind or 'none'}; fi ;;"
        yield "        esac ;;"
    yield "    esac"
    yield '    case "$kind" in'
    yield '    files) mapfile -t COMPREPLY < <(compgen -f -- "$word"); compopt -o filenames 2>/dev/null ;;'
    yield '    folders) mapfile -t COMPREPLY < <(compgen -d -- "$word"); compopt -o filenames 2>/dev/null ;;'
    yield '    *) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;'
    yield "    esac"
    yield "}"
    yield "complete -F _urlsieve urlsieve"


# -- zsh


def _zsh() -> Iterator[str]:
    yield "#compdef urlsieve"
    yield "# urlsieve completion for zsh: urlsieve completion zsh > ~/.zfunc/_urlsieve"
    yield "_urlsieve() {"
    yield "    local -a commands"
    yield "    commands=("
    for name, what in _commands().items():
        yield f"        {_quoted(f'{name}:{what}')}"
    yield "    )"
    yield "    if (( CURRENT == 2 )); then"
    yield "        _describe command commands"
    yield "        return"
    yield "    fi"
    yield "    local command=$words[2]"
    yield "    shift words"
    yield "    (( CURRENT-- ))"
    yield '    case "$command" in'
    for name in _commands():
        parser = parser_of(name)
        yield f"    {name})"
        yield "        _arguments -s \\"
        for option in _options(parser):
            for word in option.words:
                yield f"            {_quoted(_zsh_option(word, option))} \\"
        choices, kind = _arguments(parser)
        yield f"            {_quoted('*:argument:' + _zsh_value(choices, kind))} ;;"
    yield "    esac"
    yield "}"
    yield 'if [ "$funcstack[1]" = _urlsieve ]; then _urlsieve "$@"; else compdef _urlsieve urlsieve; fi'


def _zsh_option(word: str, option: Option) -> str:
    text = "".join(f"\\{c}" if c in "[]:\\" else c for c in option.help)
    value = f":value:{_zsh_value(option.choices, option.value)}" if option.takes else ""
    return f"*{word}[{text}]{value}"


def _zsh_value(choices: tuple[str, ...], kind: str) -> str:
    if choices:
        return f"({' '.join(choices)})"
    return {"files": "_files", "folders": "_files -/"}.get(kind, " ")


# -- fish


def _fish() -> Iterator[str]:
    yield "# urlsieve completion for fish: urlsieve completion fish | source"
    yield "complete -c urlsieve -f"
    first = "-n __fish_use_subcommand"
    for name, what in _commands().items():
        yield f"complete -c urlsieve {first} -a {name} -d {_quoted(what)}"
    yield f"complete -c urlsieve {first} -l version -d {_quoted('show the version')}"
    for name in _commands():
        parser = parser_of(name)
        here = f"complete -c urlsieve -n '__fish_seen_subcommand_from {name}'"
        for option in _options(parser):
            words = " ".join(f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in option.words)
            yield f"{here} {words} -d {_quoted(option.help)}{_fish_value(option)}"
        choices, kind = _arguments(parser)
        if choices:
            yield f"{here} -a {_quoted(' '.join(choices))}"
        elif kind:
            yield f"{here} {_FISH_PATHS[kind]}"


_FISH_PATHS = {"files": "-F", "folders": "-a '(__fish_complete_directories)'"}


def _fish_value(option: Option) -> str:
    if not option.takes:
        return ""
    if option.choices:
        return f" -x -a {_quoted(' '.join(option.choices))}"
    return {"files": " -r -F", "folders": " -x -a '(__fish_complete_directories)'"}.get(option.value, " -x")
