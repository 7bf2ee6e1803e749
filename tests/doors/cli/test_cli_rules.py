"""Site rules on the command line: checked with lines and remedies, applied by uniq, canon and explain."""

import json

from cli_lab import Cli

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
