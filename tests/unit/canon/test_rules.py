"""Files of site rules: what is taken, what is refused with its line and the remedy, what differs between two sets."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.canon import Canonicalizer, canonicalize
from urlsieve.canon.rules import Rules
from urlsieve.errors import ConfigError

HEAD = '[[site]]\nmatch = "example.com"\n'
SPECIFIED = """\
[[site]]
match    = "example.com"         # the registrable domain and everything below
drop     = ["sid", "ref_*"]
hosts    = { "m.example.com" = "www.example.com", "example.com" = "www.example.com" }
https    = "merge"
rewrite  = [{ re = '^(/dp/[A-Z0-9]{10})(/.*)?$', to = '$1' }]
fragment = "keep"
path_case = "lower"
trailing_slash = "strip"
sort     = "none"
noise    = false
confirmed = { by = "YOUR NAME", at = 2026-11-30, evidence = "merge-17" }
examples = [["https://m.example.com/a?sid=1", "https://www.example.com/a"]]
"""


def one(text: str, *, confirmed: bool = True) -> Canonicalizer:
    """A canonicalizer with one rule for example.com."""
    return Canonicalizer(rules=Rules.parse(HEAD + text + ("\nconfirmed = { by = 'Ann', at = 2026-11-30 }\n" if confirmed else "\n")))


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        Rules.parse(text, "r.toml")
    return str(caught.value)


# --- what a rule does -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "url", "key"),
    [
        ('drop = ["sid", "ref_*"]', "https://a.example.com/?ref_x=1&sid=2&b=3&a=4&SID=5", "https://a.example.com/?SID=5&a=4&b=3"),
        ('drop = ["sid"]', "https://example.com/?%73id=1&sid&a=1", "https://example.com/?a=1"),
        ('drop = ["sid"]', "https://example.com/?sid", "https://example.com/?sid"),  # no = in it: opaque
        ('keep = ["id"]', "https://example.com/?x=1&id=7&y", "https://example.com/?id=7"),
        ("keep = []", "https://example.com/?x=1&id=7&y", "https://example.com/"),
        ('hosts = { "m.example.com" = "www.example.com" }', "http://m.example.com/a", "http://www.example.com/a"),
        ('hosts = { "m.example.com" = "www.example.com" }', "http://m.example.com:8080/a", "http://m.example.com:8080/a"),
        ('hosts = { "m.example.com:8080" = "www.example.com" }', "http://m.example.com:8080/a", "http://www.example.com/a"),
        (
            'hosts = { "a.example.com" = "b.example.com", "b.example.com" = "c.example.com" }',
            "http://a.example.com/",
            "http://c.example.com/",
        ),
        ('hosts = { "m.example.com" = "www.example.com" }', "http://u:p@M.example.com/", "http://u:p@www.example.com/"),
        ('https = "merge"', "http://example.com:80/a", "https://example.com/a"),
        ('https = "merge"', "http://example.com:8080/a", "http://example.com:8080/a"),
        ('https = "merge"', "http://example.com:443/a", "http://example.com:443/a"),
        ('path_case = "lower"', "http://example.com/A%2FB%c3%89/C?D=E", "http://example.com/a%2Fb%C3%89/c?D=E"),
        ('trailing_slash = "strip"', "http://example.com/a/", "http://example.com/a"),
        ('trailing_slash = "strip"', "http://example.com/", "http://example.com/"),
        ('trailing_slash = "strip"', "http://example.com/a//", "http://example.com/a//"),
        ('sort = "none"', "http://example.com/?b=1&a=2&utm_source=x", "http://example.com/?b=1&a=2"),
        ("noise = false", "http://example.com/?utm_source=x&b=1&a=2", "http://example.com/?a=2&b=1&utm_source=x"),
        ('fragment = "keep"', "http://example.com/#x", "http://example.com/#x"),
        ('fragment = "drop"', "http://example.com/#!/x", "http://example.com/"),
        ('fragment = "routes"', "http://example.com/#\t!/x", "http://example.com/#!/x"),
        ("", "http://example.com/a/?b=1&a=1#x", "http://example.com/a/?a=1&b=1"),
        ('drop = ["a"]', "http://example.org/?a=1", "http://example.org/?a=1"),
        ('drop = ["a"]', "http://notexample.com/?a=1", "http://notexample.com/?a=1"),
        ('drop = ["a"]', "http://example.com.evil.org/?a=1", "http://example.com.evil.org/?a=1"),
        ('drop = ["a"]', "http://example.com./?a=1", "http://example.com./?a=1"),  # with its dot it is another host
    ],
)
def test_a_rule_does_what_it_says_and_no_more(rule: str, url: str, key: str) -> None:
    canon = one(rule)
    assert key == canon.canonicalize(url)
    assert key == canon.canonicalize(key)
    (batch,) = canon.canonicalize_many([url])
    assert key == batch
    assert canon.fingerprint(url) == canon.fingerprint(key)


def test_the_rule_of_the_specification_does_all_of_it() -> None:
    canon = Canonicalizer(rules=Rules.parse(SPECIFIED))
    url = "http://m.example.com/dp/ABCDEFGHIJ/some-name/?utm_source=1&sid=3&ref_=4&b=2&a=1#part"
    assert "https://www.example.com/dp/abcdefghij?utm_source=1&b=2&a=1#part" == canon.canonicalize(url)


@pytest.mark.parametrize(
    ("re", "to", "path", "becomes"),
    [
        ("^/old/(.*)$", "/new/$1", "/old/x/y", "/new/x/y"),
        ("-[a-z-]*$", "", "/item/17-red-shoes", "/item/17"),
        ("^/(.*?)(?:/+amp)+$", "/$1", "/a/b/amp/amp", "/a/b"),
        ("^/print(?:/print)*/([^/]*)$", "/$1", "/print/b", "/b"),
        ("^/x$", "y", "/x", "/y"),  # a path has its slash
        ("^/x(/.*)?$", "/a/../b$1", "/x", "/b"),  # dot segments again
        ("^/x/(.*)$", "/%7e$1", "/x/z", "/~z"),  # step 4 again
        ("^/x(.*)$", "/y;jsessionid=0123456789$1", "/x/z", "/y/z"),  # step 5 again
        ("^/cost$", "/$$5", "/cost", "/$5"),
        ("^/é$", "/e", "/\u00e9", None),
    ],
)
def test_a_path_is_rewritten_and_read_again(re: str, to: str, path: str, becomes: str | None) -> None:
    text = f"rewrite = [{{ re = '{re}', to = '{to}' }}]\nexamples = [['http://example.com{path}', 'http://example.com{becomes}']]"
    if becomes is None:
        assert "write others as %XX" in refused(HEAD + text)
    else:
        assert f"http://example.com{becomes}" == one(text).canonicalize(f"http://example.com{path}")


def test_the_most_specific_rule_wins_and_nothing_cascades() -> None:
    rules = Rules.parse(
        """
        [[site]]
        match = "example.com"
        drop = ["a"]
        [[site]]
        match = "shop.example.com"
        drop = ["b"]
        [[site]]
        match = "=shop.example.com"
        drop = ["c"]
        [[site]]
        match = "shop.example.com"
        path = "/x/*"
        drop = ["d"]
        [[site]]
        match = "shop.example.com"
        path = "/x/y/*"
        drop = ["e"]
        """
    )
    canon = Canonicalizer(rules=rules)
    asked = {"example.com/": "a", "a.shop.example.com/": "b", "shop.example.com/": "c", "shop.example.com/x/": "c"}
    asked |= {
        "b.shop.example.com/x/": "d",
        "b.shop.example.com/x/y/z": "e",
        "b.shop.example.com/%78/": "d",
        "b.shop.example.com/z/../x/": "d",
    }
    for place, gone in asked.items():
        key = canon.canonicalize(f"http://{place}?a=1&b=1&c=1&d=1&e=1")
        assert [name for name in "abcde" if f"{name}=1" not in key] == [gone], place


def test_hosts_https_and_path_case_wait_for_somebody_to_confirm_them() -> None:
    text = 'hosts = { "m.example.com" = "www.example.com" }\nhttps = "merge"\npath_case = "lower"\ndrop = ["sid"]'
    waiting = one(text, confirmed=False)
    assert "http://m.example.com/A" == waiting.canonicalize("http://m.example.com/A?sid=1")
    assert waiting.rules is not None
    assert (1, ("hosts", "https", "path_case")) == (waiting.rules.counts.proposed, waiting.rules.rules[0].proposed)
    assert "https://www.example.com/a" == one(text).canonicalize("http://m.example.com/A?sid=1")
    told = waiting.explain("http://m.example.com/a", "https://www.example.com/A")
    assert False is told.same
    assert any(
        "the proposed hosts and https and path_case of the site rule 'example.com' (rules:1) would join them" in note for note in told.notes
    )


def test_a_suspended_rule_is_as_if_it_were_not_there() -> None:
    canon = one('drop = ["a"]\nsuspended = { by = "Ann", at = 2026-12-01 }')
    assert "http://example.com/?a=1" == canon.canonicalize("http://example.com/?a=1")
    assert canon.rules is not None
    assert 1 == canon.rules.counts.suspended


def test_the_site_is_the_mapped_one_and_the_host_is_as_found() -> None:
    canon = one('hosts = { "m.example.com" = "www.example.com" }')
    keys = canon.canonicalize_many(
        ["http://m.example.com/a", "http://www.example.com/a", "http://e.org/"], variants=[b"x" * 100, b"x" * 100, b""]
    )
    assert ["www.example.com", "www.example.com", "e.org"] == [keys.site(i) for i in range(3)]
    assert ["m.example.com", "www.example.com", "e.org"] == [keys.host(i) for i in range(3)]
    assert keys.fingerprints[:16] == keys.fingerprints[16:32]
    assert not keys.hosts_are_sites
    assert canon.rules is not None
    assert ("www.example.com", None) == (canon.rules.target_of("m.example.com"), canon.rules.target_of("www.example.com"))


def test_a_change_of_the_path_that_does_not_come_to_rest_is_refused_when_loaded() -> None:
    text = HEAD + "rewrite = [{ re = '^/print(/.*)$', to = '$1' }]\nexamples = [['http://example.com/print/a', 'http://example.com/a']]\n"
    message = refused(text)
    assert "r.toml:1:" in message
    assert "does not come to rest on" in message
    text = text.replace("^/print(/.*)$", "^(?:/print)+(/.*)$")
    assert "http://example.com/a" == Canonicalizer(rules=Rules.parse(text)).canonicalize("http://example.com/print/print/a")


def test_a_rewrite_out_of_its_own_path_is_refused_when_loaded() -> None:
    text = (
        HEAD
        + "path = '/old/*'\nrewrite = [{ re = '^/old/', to = '/new/' }]\nexamples = [['http://example.com/old/a', 'http://example.com/new/a']]\n"
    )
    assert "out of path = '/old/*'" in refused(text)


# --- what is refused ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("[[site]]\n", 1, 'write match = "example.com"'),
        ("[site]\nmatch = 'e.com'\n", 1, "write [[site]]"),
        ("\n[[site]]\nmatch = 3\n", 3, "a text in quotes"),
        (HEAD + "drops = ['a']\n", 3, "did you mean drop?"),
        ("[sites]\n", 1, "did you mean site?"),
        (HEAD + "drop = 'a'\n", 3, 'as ["a", "b"]'),
        (HEAD + "drop = ['a', 'a']\n", 3, "'a' is there twice"),
        (HEAD + "drop = ['']\n", 1, "an empty name"),
        (HEAD + "drop = ['x[]']\n", 1, 'write "x%5B%5D"'),
        (HEAD + "drop = ['é*']\n", 1, 'write "%C3%A9*"'),
        (HEAD + "drop = ['a=b']\n", 1, "write %3D"),
        (HEAD + "drop = ['%61']\n", 1, 'write "a"'),
        (HEAD + "drop = ['*a*b" + "c" * 70 + "']\n", 1, "63"),
        (HEAD + "drop = ['a']\nkeep = ['b']\n", 1, "exclude each other"),
        (HEAD + "keep = ['utm_source']\n", 1, "add noise = false"),
        (HEAD + "path = 'shop/*'\n", 1, 'write "/shop/*"'),
        (HEAD + "path = '/é'\n", 1, 'write "/%C3%A9"'),
        (HEAD + "https = true\n", 3, "not one of merge"),
        (HEAD + "fragment = 'kept'\n", 3, "keep, drop, routes"),
        (HEAD + "noise = 0\n", 3, "true or false"),
        (HEAD + "hosts = ['a']\n", 3, "with the names in quotes"),
        (HEAD + "hosts = { 'M.example.com' = 'www.example.com' }\n", 1, 'write "m.example.com"'),
        (HEAD + "hosts = { 'm.example.com' = 'example.org' }\n", 1, "example.org is not under match"),
        (HEAD + "hosts = { 'm.example.com' = 'm.example.com' }\n", 1, "goes to itself"),
        (HEAD + "hosts = { 'm.example.com:443' = 'www.example.com' }\n", 1, "are not written"),
        (HEAD + "hosts = { 'a.example.com' = 'b.example.com', 'b.example.com' = 'a.example.com' }\n", 1, "in a circle"),
        ("[[site]]\nmatch = '=m.example.com'\nhosts = { 'm.example.com' = 'www.example.com' }\n", 1, 'write match = "m.example.com"'),
        (HEAD + "confirmed = { by = 'me' }\n", 3, "a date without quotes"),
        (HEAD + "confirmed = { by = '', at = 2026-11-30 }\n", 3, "the name of a person"),
        (HEAD + "confirmed = { by = 'me', at = 2026-11-30, evidnce = 'x' }\n", 3, "did you mean evidence?"),
        (HEAD + "rewrite = [{ re = '^/a', to = '/b' }]\n", 1, "needs examples"),
        (HEAD + "rewrite = [{ re = '^/a' }]\n", 3, "re and to"),
        (HEAD + "rewrite = [{ re = '(?=a)', to = '' }]\n", 1, "look-around"),
        (HEAD + "rewrite = [{ re = '(a', to = '' }]\n", 1, "at character 1"),
        (HEAD + "rewrite = [{ re = '(a)', to = '$2' }]\n", 1, "has 1 groups"),
        (HEAD + "rewrite = [{ re = '[é]', to = '' }]\n", 1, "(?:%C3%A9) for"),
        (HEAD + 'rewrite = [{ re = "a\\tb", to = "" }]\n', 1, "(?:%09) for"),
        (HEAD + 'rewrite = [{ re = "a\\nr", to = "" }]\n', 1, "(?:%0A) for"),
        (HEAD + "rewrite = [{ re = 'a', to = '$x' }]\n", 1, "write $$"),
        (HEAD + "rewrite = [{ re = 'a', to = '/b?c' }]\n", 1, "write %3F"),
        (HEAD + "rewrite = [{ re = 'a', to = 'é' }]\n", 1, "'%C3%A9'"),
        (HEAD + "rewrite = [{ re = 'a{400}', to = '' }, { re = 'b{400}', to = '' }]\n", 1, "too large together"),
        (HEAD + "examples = ['a']\n", 3, "pairs of a URL and its key"),
        (
            HEAD + "drop = ['a']\nexamples = [['http://example.com/?a=1', 'http://example.com/?a=1']]\n",
            1,
            "has the key 'http://example.com/'",
        ),
        (HEAD + "examples = [['http://example.org/', 'http://example.org/']]\n", 1, "is under no rule"),
        (HEAD + "examples = [['/a', '/a']]\n", 1, "no URL that has a key"),
        ("[[site]]\nmatch = 'co.uk'\n", 1, 'write a registrable domain, or "=co.uk"'),
        ("[[site]]\nmatch = 'github.io'\n", 1, "sites of strangers"),
        ("[[site]]\nmatch = 'com'\n", 1, "sites of strangers"),
        ("[[site]]\nmatch = 'localhost'\n", 1, '"=localhost"'),
        ("[[site]]\nmatch = 'Bücher.example'\n", 1, 'write "xn--bcher-kva.example"'),
        ("[[site]]\nmatch = '=WWW.e.com'\n", 1, 'write "=www.e.com"'),
        ("[[site]]\nmatch = 'https://e.com/'\n", 1, "no scheme"),
        ("[[site]]\nmatch = '*.e.com'\n", 1, "without a *"),
        ("[[site]]\nmatch = 'e.com:8080'\n", 1, 'write "e.com"'),
        ("[[site]]\nmatch = '127.1'\n", 1, 'write "127.0.0.1"'),
        ("[[site]]\nmatch = 'e com'\n", 1, "no host that a URL can have"),
        ("[[site]]\nmatch = '='\n", 1, "there is no host"),
        (HEAD + "\n" + HEAD, 4, "that of line 1 too"),
        (
            HEAD + "hosts = { 'm.example.com' = 'www.example.com' }\n[[site]]\nmatch = '=www.example.com'\n",
            1,
            "more specific rule '=www.example.com' of line 4",
        ),
        (HEAD + "hosts = { 'm.example.com' = 'www.example.com' }\n[[site]]\nmatch = '=m.example.com'\n", 1, "this never applies"),
        ("[[site]]\nmatch = \n", 2, "this is not TOML"),
        ("a = 1\n", 1, "unknown key 'a'"),
        ("[scope]\ninclude_host = []\n", 2, "did you mean include_hosts?"),
        ("[scope]\ndepth = -1\n", 2, "a whole number"),
        ("[scope]\ninclude_extensions = ['.html']\n", 1, 'write "html"'),
        ("[scope]\ninclude_paths = ['news/*']\n", 1, 'write "/news/*"'),
        ("[scope]\ninclude_hosts = ['E.com']\n", 1, 'write "e.com"'),
        ("[scope]\nlimits = { sites = { urls = 1 } }\n", 2, "did you mean site?"),
        ("[scope]\nlimits = { site = { url = 1 } }\n", 2, "did you mean urls?"),
        (HEAD + "[site.scope]\ninclude_hosts = ['a']\n", 4, "unknown key 'include_hosts'"),
        ("[group]\nshops = 'a'\n", 2, "a list of texts"),
        ("[group]\n'a b' = ['e.com']\n", 2, "1 to 64 letters"),
        ("[group]\na = ['e.com']\nb = ['e.com']\n", 3, "in group a too"),
    ],
)
def test_a_mistake_is_refused_with_its_line_and_what_to_write_instead(text: str, line: int, what: str) -> None:
    message = refused(text)
    assert message.startswith(f"r.toml:{line}: ")
    assert what in message


def test_every_mistake_is_found_at_once() -> None:
    rules, problems = Rules.examined("[[site]]\nmatch = 'A.com'\n[[site]]\nmatch = 'co.uk'\nkeep = 3\n[scope]\nx = 1\n")
    assert None is rules
    assert [5, 7] == [line for line, _ in problems]  # the shape first
    _, problems = Rules.examined("[[site]]\nmatch = 'A.com'\n[[site]]\nmatch = 'co.uk'\n")
    assert [1, 3] == [line for line, _ in problems]


@given(st.text(max_size=200) | st.text(alphabet="[]{}=\"'#\n.,\\a site match group", max_size=80))
def test_any_text_is_taken_or_refused_with_a_line(text: str) -> None:
    _, problems = Rules.examined(text)
    assert all(1 <= line <= text.count("\n") + text.count("\r") + 2 and what for line, what in problems)


def test_what_looks_like_a_table_in_a_string_is_none() -> None:
    text = '[[site]]\nmatch = "a.com"\nexamples = [["""\n[[site]]\nmatch = 1\n""", "x"]]\n[[site]] # [[site]]\nmatch = "b.com"\ndrop = 1\n'
    assert "r.toml:9: drop" in refused(text)


def test_too_many_rules_or_paths_for_one_host_are_refused() -> None:
    text = "".join(f"[[site]]\nmatch = 'a{i}.com'\n" for i in range(10_001))
    assert "10,001 rules; at most 10,000" in refused(text)
    text = "".join(f"[[site]]\nmatch = 'e.com'\npath = '/{i}/*'\n" for i in range(65))
    assert "65 rules with a path" in refused(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (HEAD + "a." * 60_000 + "a = 1\n", "r.toml:3: this is not TOML: a key has more than 16 parts"),
        (HEAD + "drop = ['a']\n[" + " . ".join(["'a'"] * 60_000) + "]\n", "r.toml:4: this is not TOML: a key has more than 16 parts"),
        (HEAD + "hosts = { " + "a." * 60_000 + "a = 'b' }\n", "r.toml:3: this is not TOML: a key has more than 16 parts"),
        (HEAD + "hosts = " + "{ a = " * 5_000 + "1" + " }" * 5_000 + "\n", "r.toml:1: this is not TOML: values are nested too deep"),
        (HEAD + "drop = " + "[" * 5_000 + "]" * 5_000 + "\n", "r.toml:1: this is not TOML: values are nested too deep"),
        ("[scope]\ndepth = " + "9" * 5_000 + "\n", "r.toml:1: this is not TOML: a number has too many digits"),
        ("[scope]\ndepth = 0x" + "9" * 50_000 + "\n", "r.toml:1: this is not TOML: a number has too many digits"),
        ('"' + '\\"' * 100_000 + "a." * 20 + "\n", "r.toml:1: this is not TOML"),
        ("[[site]]\nmatch = '" + "a" * 1_000_000 + "'\n", "r.toml:1: match = 'aaa"),
        ("[[site]]\nmatch = 'e.com'\n" + "b" * 1_000_000 + " = 1\n", "r.toml:3: unknown key 'bbb"),
        ("[group]\n" + "".join(f"g{i} = ['e.com']\n" for i in range(20_000)), "r.toml:3: group g1: 'e.com' is in group g0 too"),
    ],
)
def test_nothing_in_a_text_takes_time_or_memory_by_its_square(text: str, what: str) -> None:
    said = refused(text)
    assert said.startswith(what)
    assert len(said) < 1_200


def test_dots_in_texts_and_comments_are_no_parts_of_keys() -> None:
    dots = "a." * 40 + "a"
    text = f'# {dots}\n{HEAD}drop = [\'{dots}\', "{dots}b"]\nconfirmed = {{ by = \'A\', at = 2026-11-30, evidence = """{dots}""" }}\n'
    assert 1 == len(Rules.parse(text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none.toml.*No such file"):
        Rules.load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\n\n# \xff\n")
    with pytest.raises(ConfigError, match=r"bytes.toml:3: this is not UTF-8"):
        canonicalize("http://e.com/", rules=tmp_path / "bytes.toml")
    with pytest.raises(ConfigError, match="rules is a path or a Rules"):
        Canonicalizer(rules=3)
    with pytest.raises(ConfigError, match="takes no site rules"):
        Canonicalizer(profile="exact", rules=Rules.parse(HEAD))


def test_a_windows_file_with_a_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_bytes(b"\xef\xbb\xbf" + (HEAD + 'drop = ["a"]\n').replace("\n", "\r\n").encode())
    assert "http://example.com/" == canonicalize("http://example.com/?a=1", rules=str(tmp_path / "r.toml"))


# --- normal form and differences ---------------------------------------------------------------------------------------------------------------


def test_the_normal_form_says_the_same_and_is_its_own_normal_form() -> None:
    rules = Rules.parse(
        "[group]\nb = ['z.com', 'y.com']\n[scope]\ndepth = 3\nlimits = { day = { pages = 5 }, site = { urls = 1, bytes = 2 } }\n"
        + SPECIFIED
    )
    again = Rules.parse(rules.text)
    assert (rules.text, rules.digest) == (again.text, again.digest)
    assert rules == again
    assert len({rules, again}) == 1
    assert rules.rules[0].rewrite == again.rules[0].rewrite
    assert rules.text != Rules.parse(SPECIFIED).text


def test_order_and_comments_make_no_other_rules() -> None:
    a = Rules.parse("# one\n[[site]]\nmatch = 'a.com'\ndrop = ['y', 'x']\n[[site]]\nmatch = 'b.com'\n")
    b = Rules.parse("[[site]]\nmatch = 'b.com'\n[[site]]\ndrop = ['x', 'y']\nmatch = 'a.com'\n")
    assert a.digest == b.digest
    assert () == a.touched(b)


@pytest.mark.parametrize(
    ("before", "after", "tightens", "loosens"),
    [
        ("", 'drop = ["a"]', True, False),
        ('drop = ["a"]', "", False, True),
        ('drop = ["a"]', 'drop = ["b"]', True, True),
        ('drop = ["a"]', 'drop = ["a", "b"]', True, False),
        ("", 'keep = ["a"]', True, False),
        ('keep = ["a"]', 'keep = ["a", "b"]', False, True),
        ('drop = ["a"]', 'keep = ["a"]', True, True),
        ("", 'hosts = { "m.example.com" = "www.example.com" }', True, False),
        ('hosts = { "m.example.com" = "www.example.com" }', 'hosts = { "m.example.com" = "a.example.com" }', True, True),
        ("", 'https = "merge"', True, False),
        ('https = "merge"', "", False, True),
        ("", "noise = false", False, True),
        ("", 'sort = "none"', False, True),
        ('fragment = "keep"', 'fragment = "drop"', True, False),
        ('fragment = "drop"', 'fragment = "routes"', False, True),
        ("", 'trailing_slash = "strip"', True, False),
        ("", 'examples = [["http://example.com/", "http://example.com/"]]', False, False),
    ],
)
def test_what_merges_more_and_what_merges_less_is_told(before: str, after: str, tightens: bool, loosens: bool) -> None:
    confirmed = '\nconfirmed = { by = "me", at = 2026-11-30 }\n'
    old, new = Rules.parse(HEAD + before + confirmed), Rules.parse(HEAD + after + confirmed)
    assert (("example.com",) if tightens else ()) == new.tightens(old)
    assert (("example.com",) if loosens else ()) == new.loosens(old)
    assert (("example.com",) if tightens or loosens else ()) == new.touched(old)


def test_a_proposal_touches_nothing_until_it_is_confirmed_and_a_suspension_loosens() -> None:
    merge = HEAD + 'https = "merge"\n'
    none, proposed = Rules.parse(""), Rules.parse(merge)
    confirmed = Rules.parse(merge + "confirmed = { by = 'me', at = 2026-11-30 }\n")
    suspended = Rules.parse(merge + "confirmed = { by = 'me', at = 2026-11-30 }\nsuspended = { by = 'me', at = 2026-12-30 }\n")
    assert () == proposed.touched(none) == proposed.touched(None)
    assert ("example.com",) == confirmed.tightens(proposed)
    assert () == confirmed.loosens(proposed)
    assert (("example.com",), ()) == (suspended.loosens(confirmed), suspended.tightens(confirmed))


def test_a_more_specific_rule_takes_urls_from_another_and_both_directions_are_told() -> None:
    old = Rules.parse(HEAD + 'drop = ["a"]\n')
    new = Rules.parse(HEAD + 'drop = ["a"]\n' + "[[site]]\nmatch = 'shop.example.com'\ndrop = ['b']\n")
    assert ("shop.example.com",) == new.tightens(old) == new.loosens(old)


def test_groups_share_a_turn_by_the_most_specific_match() -> None:
    rules = Rules.parse("[group]\nshops = ['a.com', '=x.b.com']\nothers = ['b.com', '=1.2.3.4', '=[::1]']\n")
    asked = {"a.com": "shops", "w.a.com:8080": "shops", "x.b.com": "shops", "y.x.b.com": "others", "b.com": "others", "c.com": None}
    asked |= {"1.2.3.4": "others", "[::1]:80": "others", "xa.com": None}
    assert asked == {host: rules.group_of(host) for host in asked}
