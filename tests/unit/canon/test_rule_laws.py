"""Rules and switches on hostile URLs: the kernel says what the oracle says, the form of a form is itself, one href has one key."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import canon_oracle
import rules_oracle
from canon_urls import PIECES, paths, queries, urls
from rules_oracle import Site
from urlsieve.canon import Canonicalizer
from urlsieve.canon.rules import Rules
from urlsieve.canon.switches import SWITCHES
from urlsieve.errors import ConfigError, InvalidURL

HOSTS = ["e.com", "www.e.com", "m.e.com", "a.b.e.com", "www.www.e.com", "e.com.", "other.org", "1.2.3.4", "[::1]", "xe.com"]
GLOBS = ["a", "b*", "*", "*x*", "?", "", "utm_*", "*a", "s*d", "x%5B%5D", "%C3%A9", "\\*"]
PATHS = [None, None, None, "/a*", "/*", "*/B*", "/shop/*", "/?", "*.html", "/a/*"]
REGEXES = [
    ("^/a(/.*)?$", "/b$1"),
    ("/index.html$", "/"),
    ("^(/[^/]*)/.*", "$1"),
    ("([0-9]+)", "n"),
    ("a", "aa"),
    ("//", "/"),
    ("^/(.*)/(.*)$", "/$2/$1"),
    ("B", "./../"),
    ("~", "%7E;jsessionid=0123456789"),
    ("(x)|(y)", "$2$$"),
    ("[^/]+$", ""),
    ("%", "%4"),
]
names = st.sampled_from([glob for glob in GLOBS if glob])
some_hosts = st.sampled_from(["e.com", "www.e.com", "m.e.com", "a.b.e.com"])
sites = st.builds(
    Site,
    match=st.sampled_from(["e.com", "=e.com", "www.e.com", "=www.e.com", "=m.e.com", "b.e.com", "=1.2.3.4", "=[::1]", "other.org", "=e.com."]),
    path=st.sampled_from(PATHS),
    drop=st.lists(names, max_size=3, unique=True),
    keep=st.none() | st.lists(names, max_size=3, unique=True),
    hosts=st.dictionaries(some_hosts, some_hosts, max_size=2),
    https=st.booleans(),
    rewrite=st.lists(st.sampled_from(REGEXES), max_size=2),
    fragment=st.sampled_from([None, "drop", "routes", "keep"]),
    lower=st.booleans(),
    strip=st.booleans(),
    unsorted=st.booleans(),
    noise=st.booleans(),
)
switches = st.sets(st.sampled_from(sorted(SWITCHES)))
targets = st.one_of(
    urls,
    st.tuples(
        st.sampled_from(["http://", "https://", "HTTP://u:p@"]),
        st.sampled_from(HOSTS),
        st.sampled_from(["", "", ":80", ":443", ":8080"]),
        paths | st.sampled_from(["/a/b/", "/shop/A", "/index.html", "/a//b/", "/B/x%2f", "/a;jsessionid=0/", "/Index.php/index.html"]),
        queries | st.lists(st.sampled_from([*PIECES, "a=1", "b=", "x=y"]), max_size=6).map(lambda pieces: "?" + "&".join(pieces)),
        st.sampled_from(["", "#x", "#/r", "#!"]),
    ).map("".join),
)


def quoted(text: str) -> str:
    return "'" + text + "'"


def toml(site: Site) -> str:
    lines = ["[[site]]", f"match = {quoted(site.match)}"]
    lines += [f"path = {quoted(site.path)}"] if site.path else []
    lines += [f"drop = [{', '.join(map(quoted, site.drop))}]"] if site.drop else []
    lines += [f"keep = [{', '.join(map(quoted, site.keep))}]"] if site.keep is not None else []
    lines += [f"hosts = {{ {', '.join(f'{quoted(a)} = {quoted(b)}' for a, b in site.hosts.items())} }}"] if site.hosts else []
    lines += ["https = 'merge'"] if site.https else []
    lines += [f"rewrite = [{', '.join(f'{{ re = {quoted(re)}, to = {quoted(to)} }}' for re, to in site.rewrite)}]"] if site.rewrite else []
    lines += [f"fragment = {quoted(site.fragment)}"] if site.fragment else []
    lines += ["path_case = 'lower'"] if site.lower else []
    lines += ["trailing_slash = 'strip'"] if site.strip else []
    lines += ["sort = 'none'"] if site.unsorted else []
    lines += [] if site.noise else ["noise = false"]
    return "\n".join([*lines, "confirmed = { by = 'me', at = 2026-11-30 }"]) + "\n"


def loaded(wanted: list[Site], *, trials: bool = False) -> Rules:
    """Without the examples and made-up URLs of loading: what the kernel does with rules that do not come to rest is tested here too."""
    from urlsieve.canon import rulechecks, rulefile

    parsed = rulefile.parse("\n".join(map(toml, wanted)))
    problems = parsed.problems or [one for one in rulechecks.problems(parsed) if "needs examples" not in one.text]
    assume(not problems)
    return Rules(parsed, "made")


def of(site: Site) -> list[Site]:
    """One rule of those that may exist: drop or keep."""
    if site.drop:
        site.keep = None
    return [site]


rule_sets = st.lists(sites.flatmap(lambda site: st.just(of(site)[0])), min_size=1, max_size=4)


def answer(canon: Canonicalizer, url: str) -> str:
    try:
        return canon.canonicalize(url)
    except InvalidURL as error:
        return f"<{error.reason}>"


@settings(max_examples=150)
@given(rule_sets, st.lists(targets, min_size=1, max_size=12))
def test_the_kernel_applies_rules_as_the_oracle_does(wanted: list[Site], found: list[str]) -> None:
    canon = Canonicalizer(rules=loaded(wanted))
    keys = canon.canonicalize_many(found)
    for i, url in enumerate(found):
        try:
            key, site, host = rules_oracle.canonical(url, wanted)
        except canon_oracle.Rejected:
            assert None is keys[i]
            continue
        assert (key, site, host) == (keys[i], keys.site(i), keys.host(i))
        assert key == answer(canon, key)


@settings(max_examples=150)
@given(switches, st.lists(targets, min_size=1, max_size=12))
def test_every_set_of_switches_does_what_the_oracle_does_and_keeps_both_laws(on: set[str], found: list[str]) -> None:
    canon = Canonicalizer(profile="+".join(["safe", *sorted(on)]))
    keys = canon.canonicalize_many(found)
    for i, url in enumerate(found):
        try:
            key, site, host = rules_oracle.canonical(url, [], on=on)
        except canon_oracle.Rejected:
            assert None is keys[i]
            continue
        assert (key, site, host) == (keys[i], keys.site(i), keys.host(i))
        assert key == answer(canon, key)
        assert key == answer(canon, canon_oracle.href(url) or "")


@settings(max_examples=100)
@given(switches, rule_sets, st.lists(targets, min_size=1, max_size=8))
def test_with_switches_and_rules_the_form_of_a_form_is_itself_and_one_href_has_one_key(on: set[str], wanted: list[Site], found: list[str]) -> None:
    try:
        canon = Canonicalizer(profile="+".join(["safe", *sorted(on)]), rules=loaded(wanted))
    except ConfigError as error:
        assert "strip_" in str(error) or "circle" in str(error)
        return
    for url in found:
        key = answer(canon, url)
        if not key.startswith("<"):
            assert key == answer(canon, key)
            assert key == answer(canon, canon_oracle.href(url) or "")
