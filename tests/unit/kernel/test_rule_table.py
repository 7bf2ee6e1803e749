"""Tables of rules in the kernel: every host finds its rule and no other, bad lines are named, the worst URL is bounded."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from urlsieve._kernel import FRAGMENT_DROP, Program, RuleTable
from urlsieve.canon import Canonicalizer, Rules
from urlsieve.canon.profiles import compile_program, steps_of


def program(lines: str) -> Program:
    return compile_program(steps_of("safe"), FRAGMENT_DROP, bytes(16), rules=RuleTable(lines.encode()))


def found(made: Program, host: str, path: str = "/") -> int | None:
    status, _, rule, _ = made.look(f"http://{host}{path}", lambda url: url.encode(), None)  # type: ignore[union-attr]
    assert 0 == status
    return rule


def test_each_of_ten_thousand_hosts_finds_its_own_rule_and_its_neighbours_none() -> None:
    chance = random.Random(7)
    hosts = {
        "".join(chance.choices("abc-", k=chance.randint(1, 24))).strip("-") + chance.choice([".a", ".example", ".example.com", ".co.uk"])
        for _ in range(30_000)
    }
    chosen = sorted(host for host in hosts if "--" not in host and not host.startswith("."))[:10_000]
    assert 10_000 == len(chosen)
    made = program("".join(f"r\t{'e' if i % 2 else 'b'}\t{host}\t\n" for i, host in enumerate(chosen)))
    number = {host: i for i, host in enumerate(chosen)}
    for host, i in number.items():
        assert i == found(made, host)
        assert (None if i % 2 else i) == found(made, f"x.{host}") or f"x.{host}" in number
        shorter = host[1:]
        if shorter and shorter[0] not in "-.":
            above = [name for name in (shorter, shorter.partition(".")[2]) if name in number]
            assert found(made, shorter) == (number[above[0]] if above and (above[0] == shorter or number[above[0]] % 2 == 0) else None)


@pytest.mark.parametrize(
    "host", ["t.co", "a.b", "x", "exactly8.x", "seven.x", "long-host-name.with.many.labels.example.com.cn", "[::1]", "1.2.3.4"]
)
def test_short_long_and_numeric_hosts_are_found_at_their_full_length_only(host: str) -> None:
    canon = Canonicalizer(rules=Rules.parse(f"[[site]]\nmatch = '={host}'\ndrop = ['a']\n"))
    assert f"http://{host}/" == canon.canonicalize(f"http://{host}/?a=1")
    assert f"http://{host}:8080/" == canon.canonicalize(f"http://{host}:8080/?a=1")
    for other in (f"y.{host}", f"y{host}", f"{host}x", f"{host}.org"):
        if not host.startswith("[") and not host[0].isdigit():
            assert f"http://{other}/?a=1" == canon.canonicalize(f"http://{other}/?a=1")


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("x", "line 1"),
        ("d\ta\n", "line 1: this is of no rule"),
        ("r\te\te.com\n", "line 1: a rule has"),
        ("r\tz\te.com\t\n", "line 1: the kind"),
        ("r\te\t\t\n", "1 to 259"),
        ("r\te\te.com\t\nd\ta\nk\tb\n", "line 3: drop and keep"),
        ("r\te\te.com\t\nk\nd\tb\n", "line 3: drop and keep"),
        ("r\te\te.com\t\nf\t3\n", "line 2"),
        ("r\te\te.com\t\nw\t(\t\n", "line 2: the group is not closed"),
        ("r\te\te.com\t\nr\ta\t\t\n", "stands alone"),
        ("r\te\te.com\t\td\n", "too many fields"),
        ("r\te\te.com\t\n" + "w\ta\tb\n" * 17, "line 18: more than 16"),
        ("r\te\te.com\t" + "a" * 129, "line 1: the glob is too long"),
    ],
)
def test_a_line_that_is_none_is_named(lines: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        RuleTable(lines.encode())


def test_no_rules_are_a_table_too() -> None:
    assert None is found(program(""), "e.com")
    assert 0 == len(RuleTable(b""))


def test_the_worst_url_for_the_worst_rules_is_bounded() -> None:
    # 64 globs with stars for the path, 64 for each name, 500 instructions of rewriting on a path that is just short enough
    text = "".join(f"[[site]]\nmatch = 'e.com'\npath = '/*a*b*c{i}*'\n" for i in range(63))
    names = ", ".join(f"'*a*b*{i}'" for i in range(64))
    text += f"[[site]]\nmatch = 'e.com'\ndrop = [{names}]\nrewrite = [{{ re = '^(/(?:a?){{100}}(?:a*b?)*)Z+$', to = '$1' }}]\n"
    text += "examples = [['http://e.com/aZ', 'http://e.com/a']]\n"
    canon = Canonicalizer(rules=Rules.parse(text))
    urls = [
        "http://e.com/" + "a" * 65_000,
        "http://e.com/" + "ab" * 2040,
        "http://e.com/?" + "ab&" * 10_000 + "=",
        "http://e.com/?" + "a=b&" * 16_000,
    ]
    for url in urls:
        began = time.process_time()
        canon.canonicalize(url)
        assert time.process_time() - began < 1.0, url[:30]


def test_many_threads_may_ask_one_table() -> None:
    canon = Canonicalizer(
        rules=Rules.parse(
            "[[site]]\nmatch = 'e.com'\nrewrite = [{ re = '^/a/(.*)$', to = '/b/$1' }]\nexamples = [['http://e.com/a/x', 'http://e.com/b/x']]\n"
        )
    )
    urls = [f"http://e.com/a/{i}?b=1&a=2" for i in range(5_000)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(canon.fingerprints, [urls] * 8))
    assert {canon.fingerprints(urls)} == set(answers)
    assert "http://e.com/b/7?a=2&b=1" == canon.canonicalize(urls[7])
