"""Parsed rules go in, one TOML text comes out that says the same and nothing else: what a store keeps and a digest is made of."""

from collections.abc import Iterator

from urlsieve.canon.rulefile import Parsed
from urlsieve.canon.rulevalues import Bounds, Confirmed, Rule, order_of
from urlsieve.model import Budget


def written(parsed: Parsed) -> str:
    """In normal form: rules in the order of their hosts, keys in the order of the documentation, defaults left out."""
    parts = [block for block in ["\n".join(_scope(parsed.scope)), "\n".join(_group(parsed))] if block]
    parts += ["\n".join(_site(rule)) for rule in sorted(parsed.rules, key=order_of)]
    return "\n\n".join(parts) + "\n" if parts else ""


def _site(rule: Rule) -> Iterator[str]:
    yield "[[site]]"
    yield f"match = {text_of(rule.match)}"
    if rule.path is not None:
        yield f"path = {text_of(rule.path)}"
    if rule.drop:
        yield f"drop = {_list(sorted(rule.drop))}"
    if rule.keep is not None:
        yield f"keep = {_list(sorted(rule.keep))}"
    if rule.hosts:
        yield f"hosts = {{ {', '.join(f'{text_of(found)} = {text_of(target)}' for found, target in rule.hosts)} }}"
    if rule.rewrite:
        yield f"rewrite = [{', '.join(f'{{ re = {text_of(one.re)}, to = {text_of(one.to)} }}' for one in rule.rewrite)}]"
    for key in ("https", "fragment", "path_case", "trailing_slash", "sort"):
        value = getattr(rule, key)
        if value is not None:
            yield f"{key} = {text_of(value)}"
    if not rule.noise:
        yield "noise = false"
    for key in ("confirmed", "suspended"):
        value = getattr(rule, key)
        if value is not None:
            yield f"{key} = {_confirmed(value)}"
    if rule.examples:
        yield f"examples = [{', '.join(_list(pair) for pair in rule.examples)}]"
    if rule.scope is not None:
        yield "[site.scope]"
        yield from _bounds(rule.scope)


def _confirmed(value: Confirmed) -> str:
    evidence = f", evidence = {text_of(value.evidence)}" if value.evidence else ""
    return f"{{ by = {text_of(value.by)}, at = {value.at}{evidence} }}"


def _scope(scope: Bounds) -> Iterator[str]:
    lines = list(_bounds(scope))
    if lines:
        yield "[scope]"
        yield from lines


def _bounds(bounds: Bounds) -> Iterator[str]:
    for key in Bounds.__slots__:
        value = getattr(bounds, key)
        if key == "limits":
            if value:
                yield f"limits = {{ {', '.join(f'{unit} = {_budget(budget)}' for unit, budget in value)} }}"
        elif key == "traps":
            if value:
                yield f"traps = {{ {', '.join(f'{name} = {number}' for name, number in value)} }}"
        elif key == "depth":
            if value is not None:
                yield f"depth = {value}"
        elif value:
            yield f"{key} = {_list(sorted(value))}"


def _budget(budget: Budget) -> str:
    numbers = ", ".join(f"{key} = {value}" for key in Budget.__slots__ if (value := getattr(budget, key)) is not None)
    return f"{{ {numbers} }}" if numbers else "{}"


def _group(parsed: Parsed) -> Iterator[str]:
    if parsed.groups:
        yield "[group]"
        for name, matches, _ in sorted(parsed.groups):
            yield f"{text_of(name)} = {_list(sorted(matches))}"


def _list(texts: "list[str] | tuple[str, ...]") -> str:
    return f"[{', '.join(text_of(one) for one in texts)}]"


def text_of(text: str) -> str:
    """A basic string: TOML's escapes are JSON's, but for DEL."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
