"""The text of a file of rules goes in; values come out, or every mistake with its line and what to write instead.

Only the shape is checked here: tables, keys, types, words. What values mean together is rulechecks'.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from urlsieve.canon import tomllines
from urlsieve.canon.rulevalues import Bounds, Confirmed, Rewrite, Rule
from urlsieve.canon.switches import nearest
from urlsieve.canon.tomllines import TomlLines
from urlsieve.model import Budget

TRAPS: Final = ("segments", "repeats", "names")
MOST_RULES: Final = 10_000
MOST_BYTES: Final = 8 << 20
MOST_NAMES: Final = 64  # of one list of globs
MOST_HOSTS: Final = 1_000  # of one rule's map
MOST_SHOWN: Final = 1_000  # characters of a mistake

_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "https": ("merge",),
    "fragment": ("keep", "drop", "routes"),
    "path_case": ("lower",),
    "trailing_slash": ("strip",),
    "sort": ("none",),
}
UNITS: Final = ("site", "domain", "job", "day")
_LISTS: Final = (
    *("include_hosts", "exclude_hosts", "include_paths", "exclude_paths"),
    *("include_extensions", "exclude_extensions"),
)
_SITE_KEYS: Final = (
    *("match", "path", "drop", "keep", "hosts", "https", "rewrite", "fragment", "path_case", "trailing_slash", "sort", "noise"),
    *("confirmed", "suspended", "examples", "scope"),
)


class Problem(NamedTuple):
    line: int
    text: str

    def cut(self) -> "Problem":
        """What a file says wrong may be as long as the file; the remedy stands at the end."""
        return (
            self
            if len(self.text) <= MOST_SHOWN
            else self._replace(text=f"{self.text[: MOST_SHOWN // 2]} … {self.text[-MOST_SHOWN // 2 :]}")
        )


class Parsed(NamedTuple):
    rules: tuple[Rule, ...]
    scope: Bounds
    scope_line: int
    groups: tuple[tuple[str, tuple[str, ...], int], ...]  # name, matches, line
    problems: list[Problem]


class _Wrong(Exception):
    """A value that is not what it must be: what to say of it."""


class _Reader:
    """Collects problems of one file; `line` is that of the table in hand."""

    def __init__(self, lines: TomlLines) -> None:
        self.lines = lines
        self.problems: list[Problem] = []
        self.line = 1

    def say(self, text: str, key: str | None = None) -> None:
        self.problems.append(Problem(self.line if key is None else self.lines.key(key, self.line), text))

    def take(self, table: Mapping[str, Any], key: str, read: Callable[[Any], Any], default: Any = None) -> Any:
        """The value of a key as `read` makes it; its mistakes are said, and the default stands for it."""
        if key not in table:
            return default
        try:
            return read(table[key])
        except _Wrong as wrong:
            self.say(f"{key}: {wrong}", key)
            return default

    def unknown(self, table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
        for key in table:
            if key not in known:
                self.say(f"unknown key {key!r} in {where}{nearest(key, known)}; there are {', '.join(known)}", key)


def parse(text: str) -> Parsed:
    """Never raises for what stands in the text: problems says what is wrong with it."""
    empty = Parsed((), Bounds(), 1, (), [])
    if len(text) > MOST_BYTES:
        return empty._replace(problems=[Problem(1, f"more than {MOST_BYTES:,} characters: split the file by job")])
    try:
        data = tomllines.read(text)
    except ValueError as error:
        return empty._replace(problems=[_syntax(str(error))])
    reader = _Reader(TomlLines(text))
    reader.line = 0
    reader.unknown(data, ("site", "scope", "group"), "a file of rules")
    rules = _sites(reader, data.get("site", []))
    reader.line = scope_line = reader.lines.table("scope")
    scope = _bounds(reader, data.get("scope", {}), hosts=True)
    groups = _groups(reader, data.get("group", {}))
    return Parsed(tuple(rules), scope, scope_line, tuple(groups), reader.problems)


def _syntax(text: str) -> Problem:
    what, _, place = text.partition(" (at line ")
    digits = place.partition(",")[0]
    return Problem(
        int(digits) if digits.isdecimal() else 1,
        f"this is not TOML: {what[:1].lower()}{what[1:]}" + (f" (at line {place}" if place else ""),
    )


def _sites(reader: _Reader, sites: Any) -> list[Rule]:
    reader.line = reader.lines.table("site")
    if not isinstance(sites, list) or not all(isinstance(site, dict) for site in sites):
        reader.say("site is a list of tables: write [[site]] with two brackets on each side")
        return []
    if len(sites) > MOST_RULES:
        reader.say(f"{len(sites):,} rules; at most {MOST_RULES:,}")
        return []
    found = []
    for number, site in enumerate(sites):
        reader.line = reader.lines.table("site", number)
        rule = _site(reader, site, number)
        if rule is not None:
            found.append(rule)
    return found


def _site(reader: _Reader, site: dict[str, Any], number: int) -> Rule | None:
    reader.unknown(site, _SITE_KEYS, "[[site]]")
    if "match" not in site:
        reader.say('a [[site]] has no match: write match = "example.com", or match = "=www.example.com" for exactly that host')
        return None
    match = reader.take(site, "match", _text)
    if match is None:
        return None
    words = {key: reader.take(site, key, _word(allowed)) for key, allowed in _WORDS.items()}
    return Rule(
        match=match,
        line=reader.line,
        path=reader.take(site, "path", _text),
        drop=reader.take(site, "drop", _names, ()),
        keep=reader.take(site, "keep", _names),
        hosts=reader.take(site, "hosts", _hosts, ()),
        rewrite=reader.take(site, "rewrite", _rewrites, ()),
        noise=reader.take(site, "noise", _flag, True),
        confirmed=reader.take(site, "confirmed", _confirmed),
        suspended=reader.take(site, "suspended", _confirmed),
        examples=reader.take(site, "examples", _examples, ()),
        scope=_site_scope(reader, site, number),
        **words,
    )


def _site_scope(reader: _Reader, site: dict[str, Any], number: int) -> Bounds | None:
    if "scope" not in site:
        return None
    if not isinstance(site["scope"], dict):
        reader.say('scope is a table: write [site.scope] below the rule, or scope = { exclude_paths = ["/login*"] }', "scope")
        return None
    reader.line = reader.lines.inner("site.scope", "site", number)
    return _bounds(reader, site["scope"], hosts=False)


def _bounds(reader: _Reader, table: Any, *, hosts: bool) -> Bounds:
    if not isinstance(table, dict):
        reader.say('scope is a table: write [scope], and below it include_hosts = ["example.com"]')
        return Bounds()
    known = _LISTS if hosts else _LISTS[2:]
    reader.unknown(table, (*known, "depth", "limits", "traps"), "[scope]" if hosts else "a site's scope")
    lists = {key: reader.take(table, key, _strings, ()) for key in known}
    depth, limits = reader.take(table, "depth", _whole), reader.take(table, "limits", _limits, ())
    return Bounds(**lists, depth=depth, limits=limits, traps=reader.take(table, "traps", _traps, ()))


def _groups(reader: _Reader, table: Any) -> list[tuple[str, tuple[str, ...], int]]:
    reader.line = line = reader.lines.table("group")
    if not isinstance(table, dict):
        reader.say('group is a table: write [group], and below it shops = ["a.example", "b.example"]')
        return []
    return [(name, hosts, reader.lines.key(name, line)) for name in table if (hosts := reader.take(table, name, _strings)) is not None]


# --- values: each takes what tomllib made and returns ours, or says what is wrong ------------------------------------------------------


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _Wrong(f"a text in quotes, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return "an empty text" if value == "" else text if len(text) <= 60 else text[:60] + "…"


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(f"true or false, not {_shown(value)}")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise _Wrong(f"a whole number from 0 on, not {_shown(value)}")
    return value


def _word(allowed: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in allowed:
            raise _Wrong(f"{_shown(value)} is not one of {', '.join(allowed)}; leave the key out for the profile's own way")
        return str(value)

    return read


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _Wrong(f'a list of texts, as ["a", "b"], not {_shown(value)}')
    if len(set(value)) != len(value):
        twice = next(one for one in value if value.count(one) > 1)
        raise _Wrong(f"{twice!r} is there twice")
    return tuple(value)


def _names(value: Any) -> tuple[str, ...]:
    names = _strings(value)
    if len(names) > MOST_NAMES:
        raise _Wrong(f"{len(names)} names; at most {MOST_NAMES}: use globs, or keep instead of drop")
    return names


def _hosts(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not all(isinstance(to, str) for to in value.values()):
        raise _Wrong('a table of hosts, as { "m.example.com" = "www.example.com" } with the names in quotes')
    if len(value) > MOST_HOSTS:
        raise _Wrong(f"{len(value)} hosts; at most {MOST_HOSTS}: use several rules")
    return tuple(sorted(value.items()))


def _rewrites(value: Any) -> tuple[Rewrite, ...]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise _Wrong("a list of tables, as [{ re = '^/old/(.*)$', to = '/new/$1' }]")
    for one in value:
        if set(one) != {"re", "to"} or not all(isinstance(text, str) for text in one.values()):
            raise _Wrong(f"each rewrite has the texts re and to and nothing else, not {_shown(one)}")
    return tuple(Rewrite(one["re"], one["to"]) for one in value)


def _confirmed(value: Any) -> Confirmed:
    form = '{ by = "YOUR NAME", at = 2026-11-30, evidence = "…" }'
    if not isinstance(value, dict):
        raise _Wrong(f"a table, as {form}")
    for key in value:
        if key not in ("by", "at", "evidence"):
            raise _Wrong(f"unknown key {key!r}{nearest(key, ('by', 'at', 'evidence'))}; it is {form}")
    by, at, evidence = value.get("by"), value.get("at"), value.get("evidence", "")
    if not isinstance(by, str) or not by.strip():
        raise _Wrong(f"by is the name of a person; it is {form}")
    if at is None or not hasattr(at, "year"):
        raise _Wrong(f"at is a date without quotes; it is {form}")
    if not isinstance(evidence, str):
        raise _Wrong(f"evidence is a text; it is {form}")
    return Confirmed(by, at.isoformat(), evidence)


def _examples(value: Any) -> tuple[tuple[str, str], ...]:
    good = isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(url, str) for url in pair) for pair in value
    )
    if not good:
        raise _Wrong('pairs of a URL and its key, as [["https://m.example.com/a?sid=1", "https://www.example.com/a"]]')
    return tuple((found, key) for found, key in value)


def _traps(value: Any) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, dict):
        raise _Wrong("a table, as { segments = 256, repeats = 8, names = 32 }")
    for key, number in value.items():
        if key not in TRAPS:
            raise _Wrong(f"unknown key {key!r}{nearest(key, TRAPS)}; there are {', '.join(TRAPS)}")
        if _whole(number) >= 10**9:
            raise _Wrong(f"{key} is below a thousand million; 0 is no limit")
    return tuple((key, value[key]) for key in TRAPS if key in value)


def _limits(value: Any) -> tuple[tuple[str, Budget], ...]:
    form = "{ site = { urls = 10000, pages = 5000, bytes = 1000000000 } }"
    if not isinstance(value, dict):
        raise _Wrong(f"a table, as {form}")
    for unit, budget in value.items():
        if unit not in UNITS:
            raise _Wrong(f"unknown key {unit!r}{nearest(unit, UNITS)}; limits are of {', '.join(UNITS)}")
        if not isinstance(budget, dict):
            raise _Wrong(f"{unit} is a table, as {form}")
        for key, number in budget.items():
            if key not in ("urls", "pages", "bytes"):
                raise _Wrong(f"unknown key {key!r} in {unit}{nearest(key, ('urls', 'pages', 'bytes'))}; there are urls, pages, bytes")
            _whole(number)
    return tuple((unit, Budget(**value[unit])) for unit in UNITS if unit in value)
