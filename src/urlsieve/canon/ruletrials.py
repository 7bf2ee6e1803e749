"""Rules go in; examples that do not hold and made-up URLs whose key is not its own key come out.

The kernel keeps its law for any rule: a change of the path that is not at rest is not made. Such a rule is a mistake all the same, so it is
looked for: with texts that the rule's own expressions match, put together in ways that show it.
"""

from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import Final, NamedTuple

from urlsieve._kernel import Regex
from urlsieve.canon import ruletable
from urlsieve.canon.rulefile import Problem
from urlsieve.canon.rulevalues import Rule

MADE: Final = 1_000
"""URLs made for each rule with a rewrite, and for all others together; `rules check` makes so many for each."""

_TAILS: Final = (
    *(
        "",
        "/",
        "//",
        "/index.html",
        "/a",
        "/A/b",
        "/a/",
        "/a//",
        "/%41%2f",
        "/a;jsessionid=0123456789",
        "/..;v=1",
        "/%%34%31",
        "/a/../b/./",
    ),
    *("?b=2&a=1", "?id=1&sid=2&page=3&ref=4", "?a", "?a=&a", "?utm_source=x&id=1", "?s=b&s=a&S=c", "?a=1#!/x", "#/x", "/x#top", "?%61=1&&"),
)


class _Found(NamedTuple):
    """What the kernel made of one URL."""

    url: str
    key: str | None
    rule: Rule | None
    unsettled: int


class Trial:
    """The rules as they would be if everything proposed were confirmed."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        from urlsieve.canon.canonicalizer import Canonicalizer

        compiled = ruletable.compile_rules(rules, proposed=True)
        self._rules = () if compiled is None else compiled.rules
        self._canonicalizer = Canonicalizer._with_table(None if compiled is None else compiled.table)

    def problems(self, *, thorough: bool) -> list[Problem]:
        """`thorough`: so many URLs for every rule, not only for those with a rewrite."""
        found = list(self._examples())
        if found:
            return found
        plain = [rule for rule in self._rules if not rule.rewrite]
        each = MADE if thorough else -(-MADE // max(1, len(plain)))
        for rule in self._rules:
            problem = self._restless(rule, MADE if rule.rewrite else each)
            if problem is not None:
                found.append(problem)
        return found

    def _asked(self, urls: Sequence[str]) -> list[_Found]:
        keys = self._canonicalizer.canonicalize_many(urls)
        found = []
        for i, url in enumerate(urls):
            number, unsettled = keys.rule(i)
            found.append(_Found(url, keys[i], None if number is None else self._rules[number], unsettled))
        return found

    def _examples(self) -> Iterator[Problem]:
        named = [(rule, found, key) for rule in self._rules for found, key in rule.examples]
        made = self._asked([url for _, url, _ in named])
        again = self._asked([one.key or "" for one in made])
        for (rule, url, wanted), one, two in zip(named, made, again, strict=True):
            if one.key is None:
                text = "is no URL that has a key; examples are whole URLs with their scheme"
            elif one.rule is not rule:
                under = "no rule" if one.rule is None else f"the rule {one.rule.name!r} of line {one.rule.line}"
                text = f"is under {under}: an example is a URL of the rule it stands in"
            elif one.key != wanted:
                text = f"has the key {one.key!r}, not {wanted!r}{_because(one, rule)}"
            elif two.key != one.key:
                text = f"has the key {one.key!r}, whose own key is {two.key!r}"
            else:
                continue
            yield Problem(rule.line, f"rule {rule.name!r}: its example {url!r} {text}")

    def _restless(self, rule: Rule, count: int) -> Problem | None:
        urls = list(islice(made_urls(rule), count))
        made = self._asked(urls)
        again = self._canonicalizer.canonicalize_many([one.key or "" for one in made])
        for one, key in zip(made, again, strict=True):
            if one.rule is not rule:
                continue
            if (one.unsettled and rule.rewrite) or (one.key is not None and key != one.key):
                why = _because(one, rule) or f": its key is {one.key!r}, whose own key is {key!r}"
                return Problem(rule.line, f"rule {rule.name!r} does not come to rest on {one.url!r}{why}")
        return None


def _because(one: _Found, rule: Rule) -> str:
    if one.unsettled == 1:
        path = f"path = {rule.path!r}" if rule.path else "its match"
        return (
            f": the change takes the URL out of {path}, under another rule or none, so it is not made; make path wider, or join the rules"
        )
    if one.unsettled == 2:
        return ": the change, done again, changes the path again, so it is not made; take it all at once, as (?:/x)+"
    return ""


def made_urls(rule: Rule) -> Iterator[str]:
    """URLs under a rule without end: always the same ones."""
    hosts = [rule.host] + [found for found, _ in rule.hosts] + ([] if rule.exact or rule.host.startswith("[") else [f"a.{rule.host}"])
    paths = _from_rewrites(rule) if rule.rewrite else _from_glob(rule)
    for number, (host, path) in enumerate(zip(cycle(hosts), paths, strict=False)):
        tail = _TAILS[number // len(hosts) % len(_TAILS)] if number % 3 else ""
        yield f"{'http' if number % 2 else 'https'}://{host}{path if path[:1] == '/' else '/' + path}{tail}"


def _from_glob(rule: Rule) -> Iterator[str]:
    pattern = rule.path or "/*"
    for filling in cycle(("", "a", "A/b", "x/", "index.html", "%7Ea", "a//", "0")):
        yield pattern.replace("\\", "").replace("*", filling).replace("?", "q").removesuffix("/")


def _from_rewrites(rule: Rule) -> Iterator[str]:
    regexes = [Regex(rewrite.re.encode()) for rewrite in rule.rewrite]
    seed = 0
    while True:
        for regex in regexes:
            seed += 1
            one, other = (regex.sample(2 * seed + i, 120).decode("latin-1") for i in (0, 1))
            yield from (one, one + other, one.rstrip("/") + other, "/x" + one, one.swapcase(), *_nested(regex, one, other))


def _nested(regex: Regex, one: str, other: str) -> Iterator[str]:
    """The text with one more match in the place of each group: `^/print(/.*)` shows only there that it does not come to rest."""
    ends, _ = regex.match(one.encode("latin-1"))
    for span in (ends or [])[1:]:
        if span is not None:
            yield one[: span[0]] + other + one[span[1] :]
