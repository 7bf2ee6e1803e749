"""Site rules on the command line: checked with lines and remedies, applied by uniq, canon and explain."""

import json

import pytest
from cli_lab import Cli

import urlsieve

RULES = """\
[[site]]
match = "example.com"
drop = ["sid"]
hosts = { "m.example.com" = "www.example.com" }
examples = [["https://m.example.com/a?sid=1", "https://www.example.com/a"]]

[[site]]
match = "=shop.example.org"
path = "/item/*"
rewrite = [{ re = '^(/item/[0-9]+)/.*$', to = '$1' }]
examples = [["https://shop.example.org/item/17/red-shoes", "https://shop.example.org/item/17"]]
"""


def test_check_prints_what_a_file_contains_and_what_is_only_proposed(cli: Cli) -> None:
    (cli.directory / "r.toml").write_text(RULES)
    done = cli("rules", "check", "r.toml")
    assert (0, "") == (done.status, done.err)
    assert "r.toml: 2 rules, 1 with proposals, 0 suspended; 2 examples hold; 0 groups\n" in done.out.decode()
    assert "line 1: example.com: proposed, not applied until confirmed: hosts\n" in done.out.decode()


def test_check_prints_every_mistake_with_its_line_and_what_to_write_instead(cli: Cli) -> None:
    (cli.directory / "bad.toml").write_text('[[site]]\nmatch = "Example.COM"\n\n[[site]]\nmatch = "co.uk"\nhttps = "merge"\n')
    done = cli("rules", "check", "bad.toml")
    assert 2 == done.status
    lines = done.err.splitlines()
    assert ["bad.toml:1:", "bad.toml:4:"] == [line.split(" ")[0] for line in lines]
    assert 'write "example.com"' in lines[0]
    assert '"=co.uk"' in lines[1]
    told = json.loads(cli("rules", "check", "bad.toml", "--json").out)
    assert [1, 4] == [problem["line"] for problem in told["problems"]]


def test_a_file_that_is_missing_not_utf8_or_not_toml_is_a_usage_error_that_names_it(cli: Cli) -> None:
    (cli.directory / "latin.toml").write_bytes(b"# fine\n# \xe9\n")
    (cli.directory / "not.toml").write_text("[[site]]\nmatch = \n")
    for name, what in (
        ("missing.toml", "No such file"),
        ("latin.toml:2:", "not UTF-8"),
        ("not.toml:2:", "not TOML"),
        (".", "Is a directory"),
    ):
        for command in (("rules", "check"), ("canon", "http://e.com/", "--rules")):
            done = cli(*command, name.split(":")[0])
            assert 2 == done.status
            assert name in done.err
            assert what in done.err


def test_uniq_canon_and_explain_apply_the_rules(cli: Cli) -> None:
    (cli.directory / "r.toml").write_text(RULES.replace("examples", 'confirmed = { by = "Ann", at = 2026-11-30 }\nexamples', 1))
    urls = (
        "https://m.example.com/a?sid=1\nhttps://www.example.com/a\nhttps://shop.example.org/item/17/x\nhttps://shop.example.org/item/17\n"
    )
    done = cli("uniq", "--rules", "r.toml", stdin=urls)
    assert "https://m.example.com/a?sid=1\nhttps://shop.example.org/item/17/x\n" == done.out.decode()
    done = cli("canon", "--rules", "r.toml", stdin=urls)
    assert (
        "https://www.example.com/a\nhttps://www.example.com/a\nhttps://shop.example.org/item/17\nhttps://shop.example.org/item/17\n"
        == done.out.decode()
    )
    told = json.loads(cli("explain", "--rules", "r.toml", "--json", "https://m.example.com/a?sid=1").out)
    assert [["hosts", "drop"]] == [[step["name"] for step in steps] for steps in told["steps"]]
    assert "site rule 'example.com', r.toml:1" == told["steps"][0][0]["rule"]
    assert any("confirmed by Ann on 2026-11-30" in note for note in told["notes"])


def test_a_profile_with_switches_is_taken_and_a_switch_that_is_none_is_refused(cli: Cli) -> None:
    done = cli("canon", "--profile", "safe+strip_www+trailing_slash", stdin="http://www.e.com/a/\n")
    assert "http://e.com/a\n" == done.out.decode()
    done = cli("canon", "--profile", "aggressive-https_merge", stdin="http://www.e.com/a/?b=&a=1\n")
    assert "http://e.com/a?a=1\n" == done.out.decode()
    done = cli("canon", "--profile", "safe+strip_ww", stdin="")
    assert 2 == done.status
    assert "did you mean strip_www?" in done.err


def stored(cli: Cli, *urls: str) -> None:
    (cli.directory / "r.toml").write_text(RULES)
    cli("push", "--store", cli.store, stdin="\n".join(urls) + "\n")


def test_apply_says_what_it_touches_and_may_cost_and_confirm_suspend_and_resume_say_who(cli: Cli) -> None:
    stored(cli, "https://m.example.com/a", "https://www.example.com/b?sid=1")
    dry = cli("rules", "apply", "r.toml", "--store", cli.store, "--dry-run")
    assert "touches 2 matches: =shop.example.org, example.com\n" in dry.out.decode()
    assert "pages fetched again: 0 at most\n" in dry.out.decode()
    assert "# generation 0\n# no rules\n" == cli("rules", "show", "--store", cli.store).out.decode()
    assert "generation 1; of 2 sites 1 URLs moved" in cli("rules", "apply", "r.toml", "--store", cli.store, "--by", "Ann").out.decode()
    told = cli("rules", "confirm", "example.com", "--by", "Ann", "--evidence", "merge-17", "--store", cli.store, "--json").objects[0]
    assert (2, ["example.com"], ["example.com"], [], 0) == tuple(
        told[k] for k in ("generation", "touched", "tightened", "loosened", "bound")
    )
    assert b"seen\thttps://www.example.com/a" in cli("seen", "--store", cli.store, stdin="https://www.example.com/a\n").out
    assert 1 == cli("rules", "suspend", "example.com", "--by", "Bob", "--store", cli.store, "--json").objects[0]["loosened"].count(
        "example.com"
    )
    assert b"new\t" in cli("seen", "--store", cli.store, stdin="https://www.example.com/a\n").out
    assert 0 == cli("rules", "resume", "example.com", "--by", "Bob", "--store", cli.store).status
    shown = cli("rules", "show", "--store", cli.store, "--json").objects[0]
    assert ["apply", "confirm", "suspend", "resume"] == [change["what"] for change in shown["history"]]
    assert ["Ann", "Ann", "Bob", "Bob"] == [change["by"] for change in shown["history"]]
    assert (4, 2, 0) == (shown["generation"], shown["rules"], shown["suspended"])
    history = cli("rules", "show", "--history", "--store", cli.store).out.decode().splitlines()
    assert 4 == len(history)
    assert "confirm example.com by Ann: merge-17" in history[1]
    assert [] == urlsieve.open(cli.store).verify(deep=True)


def test_what_show_prints_is_a_file_that_apply_takes_and_that_changes_nothing(cli: Cli) -> None:
    stored(cli, "https://m.example.com/a")
    cli("rules", "apply", "r.toml", "--store", cli.store)
    (cli.directory / "again.toml").write_bytes(cli("rules", "show", "--store", cli.store).out)
    told = cli("rules", "apply", "again.toml", "--store", cli.store, "--json").objects[0]
    assert (1, []) == (told["generation"], told["touched"])


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("apply",), 2, "name one FILE"),
        (("apply", "missing.toml"), 2, "cannot be read"),
        (("apply", "a", "b"), 2, "name one FILE"),
        (("confirm", "example.com"), 2, "--by NAME"),
        (("confirm", "other.com", "--by", "Ann"), 2, "there is no rule 'other.com'; there are: "),
        (("confirm", "=shop.example.org /item/*", "--by", "Ann"), 2, "nothing that waits for confirmation"),
        (("resume", "example.com", "--by", "Ann"), 2, "is not suspended"),
        (("show", "x"), 2, "is not understood"),
        (("check",), 2, "name a FILE"),
        (("gossip",), 2, "gossip"),
    ],
)
def test_a_wrong_word_is_one_line_that_says_what_to_write(cli: Cli, words: tuple[str, ...], status: int, said: str) -> None:
    stored(cli, "https://m.example.com/a")
    cli("rules", "apply", "r.toml", "--store", cli.store)
    ran = cli("rules", *words, "--store", cli.store)
    assert status == ran.status
    assert said in ran.error


@pytest.mark.parametrize("action", ["show", "apply", "confirm", "suspend", "resume"])
def test_a_store_that_is_not_there_is_not_made(cli: Cli, action: str) -> None:
    (cli.directory / "r.toml").write_text(RULES)
    words = {"show": (), "apply": ("r.toml",)}.get(action, ("example.com", "--by", "Ann"))
    ran = cli("rules", action, *words, "--store", "nosuch")
    assert 3 == ran.status
    assert "nosuch" in ran.error
    assert not (cli.directory / "nosuch").exists()


def test_push_with_rules_makes_them_the_stores_and_explain_tells_whose_they_are_and_does_not_change_them(cli: Cli) -> None:
    (cli.directory / "r.toml").write_text(RULES.replace("examples", 'confirmed = { by = "Ann", at = 2026-11-30 }\nexamples', 1))
    cli("push", "--store", cli.store, "--rules", "r.toml", stdin="https://m.example.com/a?sid=1\n")
    told = cli("explain", "--store", cli.store, "--json", "https://www.example.com/a").objects[0]
    assert (True, "table", "pending") == (told["seen"], told["level"], told["state"])
    assert "https://m.example.com/a?sid=1" == told["entry"]["url"]
    text = cli("explain", "--store", cli.store, "https://m.example.com/a", "https://www.example.com/a").out.decode()
    assert "the same: both have one key" in text
    assert "since generation 1 of the store's rules: apply; they are at 1" in text
    (cli.directory / "other.toml").write_text('[[site]]\nmatch = "example.com"\ndrop = ["b"]\n')
    told = cli("explain", "--store", cli.store, "--rules", "other.toml", "--json", "https://www.example.com/a?b=1").objects[0]
    assert ["https://www.example.com/a"] == told["keys"]
    assert 1 == cli("rules", "show", "--store", cli.store, "--json").objects[0]["generation"]


def test_user_info_in_evidence_is_never_kept(cli: Cli) -> None:
    stored(cli, "https://m.example.com/a")
    cli("rules", "apply", "r.toml", "--store", cli.store, "--by", "Ann")
    said = "http://user:secret@m.example.com/ is not https://user:secret@www.example.com/"
    cli("rules", "confirm", "example.com", "--by", "Ann", "--evidence", said, "--store", cli.store)
    for options in (("--json",), ("--history",), ()):
        shown = cli("rules", "show", *options, "--store", cli.store).out
        assert b"secret" not in shown
        assert b"***@" in shown
