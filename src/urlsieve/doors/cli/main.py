"""The command line's words go in; the exit status comes out. Each command is a module of its own, imported when it is called.

`urlsieve --help` is text made from the table below, without argparse: a filter is started thousands of times.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

#: name → what it does, in one line. The module of the same name in this folder has `run(arguments) -> int`.
COMMANDS = {
    "uniq": "print each line whose URL is new",
    "canon": "print the canonical form of each line",
    "explain": "why two URLs are the same or not; what changes one",
    "push": "put URLs into a store's queue",
    "pop": "take URLs under a lease, as JSON lines",
    "done": "say that leased URLs were fetched",
    "fail": "say that fetching leased URLs failed",
    "skip": "say that leased URLs are not for us",
    "extend": "keep leases longer",
    "release": "give leases back untouched",
    "seen": "ask which URLs a store knows",
    "why": "why nothing of a site is fetched now",
    "stats": "a store's figures",
    "sites": "list sites with their counts, or limit one",
    "groups": "list politeness groups, or change their settings",
    "block": "give nothing of a site for a time",
    "unblock": "end a block",
    "failed": "list dead URLs with their reasons, or bring them back",
    "rejected": "list URLs that were refused or skipped, with their reasons",
    "rules": "check files of site rules; show or change a store's",
    "forget": "make a store forget URLs",
    "purge": "make a store forget whole sites",
    "export": "print everything a store knows, or its URLs",
    "import": "take an export, or lines of URLs, into a store",
    "backup": "copy a store while others work",
    "restore": "make a store of a backup",
    "verify": "check that a store is sound",
    "compact": "merge a store's seen set into one file",
    "upgrade": "make a store of an older version one of this version",
    "rekey": "give a store another profile, secret or canonical form",
    "doctor": "look for what may go wrong with a store",
    "completion": "complete commands and options in a shell",
    "crawl": "fetch pages with the reference crawler",
    "demo": "an incremental crawl of a made site, with a killed worker",
}


#: Where a command's name is a word of Python's own.
_MODULES = {"import": "importing"}


def entry(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (default: the process's own). Never raises; errors are one line on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _hold_standard_descriptors()
    try:
        return _dispatch(words)
    except SystemExit as stop:  # argparse, after --help
        return stop.code if isinstance(stop.code, int) else 0
    except BaseException as error:  # noqa: BLE001 - the one place where everything ends as a line and a status
        from urlsieve.doors.cli import failures

        return failures.report(error, as_json="--json" in words)


def _dispatch(words: list[str]) -> int:
    from urlsieve.doors.cli.failures import UsageError

    if not words:
        raise UsageError("no command; urlsieve --help lists them")
    name, *rest = words
    if name in ("-h", "--help"):
        _print(_help())
        return 0
    if name == "--version":
        from urlsieve import __version__

        _print(f"urlsieve {__version__}\n")
        return 0
    if name not in COMMANDS:
        raise UsageError(f"there is no command {name!r}{_nearest(name)}; urlsieve --help lists them")
    import importlib

    run = importlib.import_module(module_of(name)).run
    return int(run(rest))


def module_of(name: str) -> str:
    return f"urlsieve.doors.cli.{_MODULES.get(name, name)}"


def _help() -> str:
    commands = "".join(f"  {name:<11}{what}\n" for name, what in COMMANDS.items())
    return (
        "usage: urlsieve COMMAND [OPTION…] [FILE…]      urlsieve COMMAND --help      urlsieve --version\n\n"
        "The URL repository of a crawler: every URL may be put in many times and comes out once.\n\n"
        f"{commands}\n"
        "The store is named by --store, $URLSIEVE_STORE, or store = … in ./urlsieve.toml; all options can be set so.\n"
        "Exit status: 0 ok, 1 answered no, 2 usage or unreadable input, 3 store missing, unavailable or full,\n"
        "4 store corrupt or mismatched, 5 partial, 130 interrupted.\n"
        "example: urlsieve uniq urls.txt > new.txt\n"
    )


def _nearest(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _print(text: str) -> None:
    data = text.encode()
    try:
        if os.write(1, data) == len(data):
            return
    except OSError as error:
        from urlsieve.doors.cli.failures import writing

        raise writing("standard output", error) from None


def _hold_standard_descriptors() -> None:
    """A closed 0, 1 or 2 is filled with something that fails, or the next file opened (a store!) would be our standard output."""
    for fd, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, flags)
