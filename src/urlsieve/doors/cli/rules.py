"""Files of site rules go in; what they contain comes out, or every mistake with its file and line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.options import Parser, add_json
from urlsieve.doors.cli.output import Output, human, json_line

if TYPE_CHECKING:
    from urlsieve.canon.rules import Rules


def run(arguments: list[str]) -> int:
    parser = Parser(
        "rules",
        "check FILE…: read files of site rules as they are read for use, try each rule on 1,000 made-up URLs, and print\n"
        "what they contain. "
        "Mistakes are printed as FILE:LINE: what is wrong and what to write instead; then the exit status is 2.",
        example="urlsieve rules check rules.toml",
    )
    parser.add_argument("action", metavar="check", choices=("check",), help="what to do with the files")
    parser.add_argument("files", nargs="+", metavar="FILE", help="site rules (TOML)")
    add_json(parser, 'one object per file: {"file", "rules", "applied", "proposed", "suspended", "examples", "digest", "problems", …}')
    namespace = parser.parse(arguments)
    from urlsieve.canon.rules import Rules

    output = Output()
    sound = True
    for name in namespace.files:
        rules, problems = Rules.examined(Rules.read(name), name, thorough=True)
        sound = sound and not problems
        if namespace.json:
            told: dict[str, Any] = {"file": name, **(rules.as_dict() if rules is not None else {})}
            output.write(json_line({**told, "problems": [{"line": line, "problem": text} for line, text in problems]}))
        elif rules is not None:
            output.write(human(_contents(name, rules)))
        else:
            for line, text in problems:
                print(f"{name}:{line}: {text}", file=sys.stderr)
    return failures.OK if sound else failures.USAGE


def _contents(name: str, rules: Rules) -> str:
    counts = rules.counts
    lines = [
        f"{name}: {counts.rules} rules, {counts.proposed} with proposals, {counts.suspended} suspended; {counts.examples} examples hold; "
        f"{counts.groups} groups"
    ]
    lines += [
        f"  line {rule.line}: {rule.name}: proposed, not applied until confirmed: {', '.join(rule.proposed)}"
        for rule in rules.rules
        if rule.proposed and rule.suspended is None
    ]
    return "\n".join(lines) + "\n"
