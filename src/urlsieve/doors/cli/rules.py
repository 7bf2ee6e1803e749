"""Files of site rules go in; what they contain comes out, or every mistake with its file and line; or they become a store's rules."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from urlsieve.doors.cli import failures
from urlsieve.doors.cli.failures import UsageError
from urlsieve.doors.cli.options import Parser, add_json, add_store
from urlsieve.doors.cli.output import Output, human, json_line

if TYPE_CHECKING:
    from urlsieve.canon.rules import Rules


ACTIONS = ("check", "show", "propose", "apply", "confirm", "suspend", "resume")
BY_A_PERSON = ("confirm", "suspend", "resume")


def run(arguments: list[str]) -> int:
    namespace = _parser().parse(arguments)
    action, names = namespace.action, namespace.names
    if action == "check":
        if not names:
            raise UsageError("rules check: name a FILE of site rules")
        return _check(names, as_json=namespace.json)
    from urlsieve.doors.cli import storedrules

    if action == "show":
        if names:
            raise UsageError(f"rules show: {names[0]!r} is not understood; it shows the rules of a store")
        return storedrules.show(namespace)
    if action == "propose":
        if names:
            raise UsageError(f"rules propose: {names[0]!r} is not understood; it looks at what a store was told")
        from urlsieve.doors.cli import proposedrules

        return proposedrules.propose(namespace)
    if len(names) != 1:
        raise UsageError(f"rules {action}: name one {'FILE of site rules' if action == 'apply' else 'MATCH of a rule'}")
    if action in BY_A_PERSON and not namespace.by:
        raise UsageError(f"rules {action}: say who does it with --by NAME")
    return storedrules.apply(namespace, names[0]) if action == "apply" else storedrules.mark(namespace, action, names[0])


def _parser() -> Parser:
    parser = Parser(
        "rules",
        "check FILE…      read files of site rules as they are read for use, try each rule on 1,000 made-up URLs, print what they contain\n"
        "show             print the rules of a store\n"
        "propose          print them with what pages and redirects propose, of which nothing is applied before somebody has looked\n"
        "apply FILE       make them the store's rules; first say which sites they touch and what that may cost\n"
        "confirm MATCH    let a rule do what it only proposes (hosts, https, path_case)\n"
        "suspend MATCH    as if the rule were not there; resume MATCH: it holds again\n"
        "MATCH is a rule's match, or its match, a blank and its path. Workers that run learn of new rules at their next push.\n"
        "Mistakes in a file are printed as FILE:LINE: what is wrong and what to write instead; then the exit status is 2.",
        example="urlsieve rules check rules.toml",
    )
    parser.add_argument("action", metavar="ACTION", choices=ACTIONS, help=", ".join(ACTIONS))
    parser.add_argument("names", nargs="*", metavar="FILE|MATCH", help="files of site rules (TOML), or a rule of the store")
    add_store(parser)
    parser.add_argument("--by", metavar="NAME", help="who says so: kept with the rules")
    parser.add_argument("--evidence", metavar="TEXT", default="", help="and why")
    parser.add_argument("--dry-run", action="store_true", help="apply: only say what it would do")
    parser.add_argument("--history", action="store_true", help="show: who changed what, and when")
    add_json(parser, "check: an object per file; show: the rules and their history; propose: an object per thing; else what the change did")
    return parser


def _check(names: list[str], *, as_json: bool) -> int:
    from urlsieve.canon.rules import Rules

    output = Output()
    sound = True
    for name in names:
        rules, problems = Rules.examined(Rules.read(name), name, thorough=True)
        sound = sound and not problems
        if as_json:
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
