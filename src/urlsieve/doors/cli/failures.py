"""What went wrong goes in; one line for people (or one JSON object for programs) and the exit status come out.

The only place that knows exit statuses: 0 ok, 1 a question was answered "no", 2 usage or unreadable input, 3 store missing,
unavailable or full, 4 store corrupt or mismatched, 5 partial, 70 a bug of ours, 130 interrupted.
"""

from __future__ import annotations

import errno
import os

from urlsieve import errors

OK = 0
NO = 1
USAGE = 2
UNAVAILABLE = 3
DAMAGED = 4
PARTIAL = 5
BUG = 70
INTERRUPTED = 130


class UsageError(Exception):
    """The command line or a setting makes no sense; nothing was done."""


class InputError(Exception):
    """An input cannot be read, or a line of it is not what the command takes."""


class OutputError(Exception):
    """The output cannot be written: a full disk, mostly."""


class OutputClosed(Exception):
    """Whoever read our output has enough: not an error and not a word is said."""


# Subclasses before their bases: the first that fits counts.
_STATUS: tuple[tuple[type[BaseException], int, str], ...] = (
    (OutputClosed, OK, "output_closed"),
    (UsageError, USAGE, "usage"),
    (InputError, USAGE, "input"),
    (OutputError, UNAVAILABLE, "output"),
    (errors.StoreFull, UNAVAILABLE, "store_full"),
    (errors.StoreUnavailable, UNAVAILABLE, "store_unavailable"),
    (errors.StoreMismatch, DAMAGED, "store_mismatch"),
    (errors.StoreCorrupt, DAMAGED, "store_corrupt"),
    (errors.LeaseLost, PARTIAL, "lease_lost"),
    (errors.ConfigError, USAGE, "usage"),
    (errors.InvalidURL, USAGE, "invalid_url"),
    (KeyboardInterrupt, INTERRUPTED, "interrupted"),
    (MemoryError, UNAVAILABLE, "out_of_memory"),
)


def status_of(error: BaseException) -> tuple[int, str]:
    """Exit status and the word that stands for it in JSON."""
    for kind, status, word in _STATUS:
        if isinstance(error, kind):
            return status, word
    return BUG, "bug"


def message_of(error: BaseException) -> str:
    """What happened, to what, and what to do: one line, without the prefix."""
    status, word = status_of(error)
    if word == "interrupted":
        return "interrupted; what was acknowledged is kept"
    if word == "out_of_memory":
        return "out of memory; nothing acknowledged is lost, try a smaller input"
    if status == BUG:
        return f"a bug in urlsieve: {type(error).__name__}: {error}; please report it (URLSIEVE_DEBUG=1 shows where)"
    return str(error)


def report(error: BaseException, *, as_json: bool) -> int:
    """Say it on stderr, once, without passwords; the exit status."""
    status, word = status_of(error)
    if word != "output_closed":
        from urlsieve.doors.cli.output import json_line, one_line, say

        message = one_line(message_of(error))
        if as_json:
            say(json_line({"error": word, "message": message, "exit": status}))
        else:
            say(f"urlsieve: {message}\n".encode("utf-8", "backslashreplace"))
    if status == BUG and os.environ.get("URLSIEVE_DEBUG"):
        raise error
    return status


def reading(name: str, error: OSError) -> InputError:
    """An input's OSError in our words."""
    if error.errno == errno.EISDIR:
        return InputError(f"{name}: is a directory; name a file, or - for standard input")
    return InputError(f"{name}: cannot be read: {error.strerror or error}")


def writing(name: str, error: OSError) -> OutputError | OutputClosed:
    """An output's OSError in our words."""
    if error.errno in (errno.EPIPE, errno.ECONNRESET):
        return OutputClosed()
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return OutputError(f"{name}: {error.strerror}; make room and run the command again")
    return OutputError(f"{name}: cannot be written: {error.strerror or error}")
