"""The namespace of `urlsieve demo` in, an exit status out: 0, or 1 if a figure is not what the site knows it must be."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from urlsieve.doors.demo.judge import Evidence, Figure, judge, table
from urlsieve.doors.demo.play import Play
from urlsieve.doors.demo.world import World
from urlsieve.errors import ConfigError

WRONG = 1


def run(namespace: Namespace) -> int:
    """Attributes: keep (a folder for store and log, or None), json."""
    try:
        import aiohttp  # noqa: F401
        import protego  # noqa: F401
        import selectolax  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"`urlsieve demo` needs {error.name}: pip install 'urlsieve[crawler]'") from error
    if namespace.keep:
        folder = Path(namespace.keep)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"{folder} is there and not an empty folder: the demo keeps its store in a new one")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot make {folder}: {error.strerror}") from error
        return _play(folder, namespace.json, kept=True)
    with tempfile.TemporaryDirectory(prefix="urlsieve-demo-") as name:
        return _play(Path(name), namespace.json, kept=False)


def _play(folder: Path, as_json: bool, *, kept: bool) -> int:
    started = time.monotonic()

    def say(line: str) -> None:
        # the narrative is for people: with --json it goes where it is in nobody's way
        print(f"{time.monotonic() - started:6.1f} s  {line}", file=sys.stderr if as_json else sys.stdout, flush=True)

    world, rounds = Play(folder, say).run()
    figures = verdict(world, rounds)
    seconds = time.monotonic() - started
    if as_json:
        print(json.dumps(as_dict(rounds, figures, seconds), ensure_ascii=False))
    else:
        print(text(rounds, figures, seconds))
        if kept:
            print(f"store and site log: {folder}")
    return exit_status(figures)


def verdict(world: World, rounds: list[Evidence]) -> list[list[Figure]]:
    """One list of figures per round."""
    return [judge(world, evidence, rounds[i - 1] if i else None) for i, evidence in enumerate(rounds)]


def exit_status(figures: list[list[Figure]]) -> int:
    return 0 if all(figure.ok for part in figures for figure in part) else WRONG


def text(rounds: list[Evidence], figures: list[list[Figure]], seconds: float) -> str:
    parts = [
        "\n" + table(f"Round {evidence.round} ({evidence.seconds:.1f} s)", part) for evidence, part in zip(rounds, figures, strict=True)
    ]
    right = "every figure is what the site knows it must be" if exit_status(figures) == 0 else "a figure is WRONG"
    return "\n".join([*parts, f"\n{right}; {seconds:.1f} s in all"])


def as_dict(rounds: list[Evidence], figures: list[list[Figure]], seconds: float) -> dict[str, Any]:
    return {
        "ok": exit_status(figures) == 0,
        "seconds": round(seconds, 2),
        "rounds": [
            {"round": evidence.round, "seconds": round(evidence.seconds, 2), "figures": [figure.as_dict() for figure in part]}
            for evidence, part in zip(rounds, figures, strict=True)
        ],
    }
