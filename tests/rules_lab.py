"""Hypothesis strategies of rules, switches and URLs for them, and the file that says the same: chance goes in, checked rules come out."""

from dataclasses import replace

from hypothesis import assume
from hypothesis import strategies as st

from canon_urls import PIECES, paths, queries, urls
from rules_oracle import Site
from urlsieve.canon.rules import Rules
from urlsieve.canon.switches import SWITCHES

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
    match=st.sampled_from(
        ["e.com", "=e.com", "www.e.com", "=www.e.com", "=m.e.com", "b.e.com", "=1.2.3.4", "=[::1]", "other.org", "=e.com."]
    ),
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


def loaded(wanted: list[Site]) -> Rules:
    """Without the examples and made-up URLs of loading: what the kernel does with rules that do not come to rest is tested here too."""
    from urlsieve.canon import rulechecks, rulefile

    parsed = rulefile.parse("\n".join(map(toml, wanted)))
    problems = parsed.problems or [one for one in rulechecks.problems(parsed) if "needs examples" not in one.text]
    assume(not problems)
    return Rules(parsed, "made")


def possible(site: Site) -> Site:
    """One of those that may exist: drop or keep."""
    return replace(site, keep=None) if site.drop else site


rule_sets = st.lists(sites.map(possible), min_size=1, max_size=4)
