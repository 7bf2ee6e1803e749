"""A command whose work lies behind another door goes in; that door's `run(namespace)` is called and its exit status comes out.

A door imports no other door: this table of module names is all that the command line knows of them.
"""

from __future__ import annotations

import argparse
import importlib

from urlsieve.doors.cli.failures import UsageError

_RUNS = {
    "crawl": ("urlsieve.doors.crawler.main", "crawler"),
    "demo": ("urlsieve.doors.demo.main", "crawler"),
}


def run(command: str, namespace: argparse.Namespace) -> int:
    module, extra = _RUNS[command]
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "urlsieve":
            raise
        raise UsageError(f"{command} needs {error.name}, which is not installed; pip install 'urlsieve[{extra}]'") from None
    return int(found.run(namespace))
