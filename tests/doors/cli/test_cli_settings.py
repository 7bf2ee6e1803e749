"""flag > URLSIEVE_* > ./urlsieve.toml > default; and a name that nobody knows is never silently ignored."""

from pathlib import Path

import pytest
from cli_lab import Cli

from urlsieve.doors.cli.main import COMMANDS
from urlsieve.doors.cli.parsers import options_of, parser_of
from urlsieve.doors.cli.settings import COMMON, settable

URL = "https://e.example/"


def write(cli: Cli, text: str | bytes) -> None:
    (cli.directory / "urlsieve.toml").write_bytes(text.encode() if isinstance(text, str) else text)


def priority(cli: Cli) -> int:
    (lease,) = cli("pop", "--store", cli.store, "--lease", "60").objects
    return int(lease["priority"])


@pytest.mark.parametrize(
    ("file", "env", "words", "expected"),
    [
        ("", {}, [], 0),
        ("priority = 1", {}, [], 1),
        ("priority = 1\n[push]\npriority = 'P0'", {}, [], 300),
        ("priority = 1", {"URLSIEVE_PRIORITY": "2"}, [], 2),
        ("[push]\npriority = 1", {"URLSIEVE_PRIORITY": "2"}, [], 2),
        ("priority = 1", {"URLSIEVE_PRIORITY": "2"}, ["--priority", "3"], 3),
        ("priority = 1", {}, ["--priority", "0"], 0),
        ("priority = 1", {"URLSIEVE_PRIORITY": ""}, [], 1),
    ],
    ids=str,
)
def test_a_flag_wins_over_the_environment_over_the_command_s_table_over_the_file(
    cli: Cli, file: str, env: dict[str, str], words: list[str], expected: int
) -> None:
    write(cli, f"store = {cli.store!r}\n{file}\n")
    assert 0 == cli("push", *words, stdin=URL, env=env).status
    (cli.directory / "urlsieve.toml").unlink()
    assert expected == priority(cli)


def test_a_dash_and_an_underscore_are_the_same_and_switches_are_yes_or_no(cli: Cli) -> None:
    write(cli, "[canon]\nfinger-print = true")
    assert "did you mean fingerprint?" in cli("canon", stdin=URL).error
    write(cli, "fingerprint = true")
    assert 33 == len(cli("canon", stdin=URL).out)
    assert f"{URL}\n".encode() == cli("canon", stdin=URL, env={"URLSIEVE_FINGERPRINT": "no"}).out
    write(cli, "same-site = true\nsame_site = true")
    assert "twice" in cli("crawl", URL, "--store", "s").error
    write(cli, "[export]\nno_secret = true\nstate = 'pending'\n")
    cli.on("push", stdin=URL)
    assert b'"secret"' not in cli.on("export").out


def test_a_list_is_a_list_in_the_file_and_words_in_the_environment(cli: Cli) -> None:
    cli.on("push", stdin="https://a.example/\nhttps://b.example/\nhttps://c.example/\n")
    write(cli, "[pop]\nnumber = 9\ngroups = ['a.example', 'b.example']\n")
    assert {"a.example", "b.example"} == {lease["group"] for lease in cli.on("pop", "--lease", "0.01").objects}
    assert {"c.example"} == {lease["group"] for lease in cli.on("pop", env={"URLSIEVE_GROUPS": "c.example d.example"}).objects}


def test_what_is_given_takes_the_place_of_a_list_in_the_settings(cli: Cli) -> None:
    cli.on("push", stdin="https://a.example/\nhttps://b.example/\nhttps://c.example/\n")
    write(cli, "[pop]\nnumber = 9\ngroups = ['a.example']\n")
    asked = cli.on("pop", "--groups", "b.example", "--groups", "c.example").objects
    assert {"b.example", "c.example"} == {lease["group"] for lease in asked}


@pytest.mark.parametrize("text", ["scope = ['ftp://one', '/two']", "scope = 'ftp://one /two'", "scope = 'ftp://one'"])
def test_an_option_that_may_be_given_several_times_is_a_list(cli: Cli, text: str) -> None:
    write(cli, f"[crawl]\n{text}\n")
    crawl = ("crawl", "http://127.0.0.1:9/", "--store", "memory:", "--delay", "0")
    assert "scope pattern 'ftp://one'" in cli(*crawl).error
    assert "scope pattern 'ftp://env'" in cli(*crawl, env={"URLSIEVE_SCOPE": "/x ftp://env"}).error
    assert "scope pattern 'ftp://flag'" in cli(*crawl, "--scope", "/x", "--scope", "ftp://flag").error


def test_a_setting_of_another_command_is_no_error(cli: Cli) -> None:
    write(cli, "max-pages = 3\n[crawl]\nuser-agent = 'x'\n[pop]\nlease = 5\n")
    assert 0 == cli("uniq", stdin=URL, env={"URLSIEVE_MODE": "raise", "URLSIEVE_DELAY": "1"}).status


TYPOS = ["STOER", "PROFIL", "STRICTLY", "PRIORTY", "MAXPAGES", "COLUM", "FROMAT", "LEASES", "CONCURENCY", "NULLS"]


@pytest.mark.parametrize("typo", TYPOS)
def test_cli_05_a_misspelt_setting_is_an_error_with_the_nearest_name(cli: Cli, typo: str) -> None:
    ran = cli("uniq", stdin=URL, env={f"URLSIEVE_{typo}": "x"})
    assert (2, b"") == (ran.status, ran.out)
    assert f"URLSIEVE_{typo}: there is no such setting" in ran.error
    write(cli, f"{typo.lower()} = 'x'\n")
    ran = cli("uniq", stdin=URL)
    assert (2, b"") == (ran.status, ran.out)
    assert f"urlsieve.toml: {typo.lower()}: there is no such setting" in ran.error


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("store = ", "line 1"),
        ("a = 1\nb = [1,\n", "line 2"),
        ("a = 1\nb = = 2\n", "line 2"),
        ("a = 1\na = 2\n", "line 2"),
        (b"store = '\xff'", "UTF-8"),
        ("[unik]\n", "did you mean uniq?"),
        ("[uniq]\npriority = 1\n", "uniq has no such setting"),
        ("[push]\nprioritty = 1\n", "did you mean priority?"),
        ("output = 'x'", "command line only"),
        ("force = true", "command line only"),
        ("profile = 5", "profile"),
        ("profile = true", "urlsieve.toml: profile"),
        ("profile = ['safe']", "urlsieve.toml: profile"),
        ("strict = 'perhaps'", "urlsieve.toml: strict: is yes or no"),
        ("strict = 1", "urlsieve.toml: strict: is yes or no"),
        ("format = 'xml'", "urlsieve.toml: format"),
    ],
    ids=str,
)
def test_a_file_that_makes_no_sense_is_status_2_with_its_place(cli: Cli, text: str | bytes, says: str) -> None:
    write(cli, text)
    ran = cli("uniq", stdin=URL)
    assert (2, b"") == (ran.status, ran.out), ran
    assert says in ran.error
    assert 0 == cli("uniq", "--help").status


def test_a_value_that_the_option_does_not_take_names_its_variable(cli: Cli) -> None:
    for name, value in (("URLSIEVE_LEASE", "soon"), ("URLSIEVE_NUMBER", "0"), ("URLSIEVE_WAIT", "-1")):
        ran = cli.on("pop", env={name: value})
        assert 2 == ran.status
        assert name in ran.error
    ran = cli.on("push", env={"URLSIEVE_MODE": "maybe"})
    assert 2 == ran.status
    assert "URLSIEVE_MODE" in ran.error and "maybe" in ran.error


def test_a_settings_file_that_is_a_folder_is_refused(cli: Cli) -> None:
    (cli.directory / "urlsieve.toml").mkdir()
    assert "urlsieve.toml: cannot be read" in cli("uniq", stdin=URL).error


def test_sec_03_a_password_in_a_setting_is_never_shown(cli: Cli) -> None:
    address = "redis://user:S3cret@127.0.0.1:1/0?job=x"
    for words in (["stats"], ["push"], ["doctor"], ["export"], ["import"]):
        for flag in ([], ["--json"]):
            ran = cli(*words, *flag, stdin=URL, env={"URLSIEVE_STORE": address})
            assert ran.status in (2, 3), ran
            assert b"S3cret" not in ran.out + ran.err.encode()
    write(cli, f"store = '{address}'\nprofil = 'x'\n")
    assert "S3cret" not in cli("stats").err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_takes_before_it_does_anything(command: str) -> None:
    parser = parser_of(command)
    assert command == parser.command
    words = {word for action in options_of(parser) for word in action.option_strings if word.startswith("--")}
    assert {word[2:].replace("-", "_") for word in words} - {"force", "output"} == set(settable(parser))


def test_the_names_that_are_taken_for_known_are_options() -> None:
    every = {name for command in COMMANDS for name in settable(parser_of(command))}
    assert set() == COMMON - every


def test_the_fast_start_of_a_filter_is_not_spent_on_settings_that_are_not_there(cli: Cli) -> None:
    import subprocess
    import sys

    from cli_lab import environment

    code = "import sys; from urlsieve.doors.cli.main import entry; entry(['uniq']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], input=b"", capture_output=True, check=True, cwd=cli.directory, env=environment())
    assert set() == set(done.stderr.decode().split()) & {"tomllib", "urlsieve.doors.cli.settings", "csv", "json"}
    assert Path(cli.directory, "urlsieve.toml").exists() is False


@pytest.mark.parametrize(
    "text", ["a." * 60_000 + "a = 1", "a = " + "[" * 5_000, "[pop]\nnumber = " + "9" * 5_000, "[pop]\nnumber = 0x" + "9" * 5_000]
)
def test_a_file_that_asks_for_too_much_is_refused_shortly(cli: Cli, text: str) -> None:
    write(cli, text)
    ended = cli("pop", "--store", cli.store)
    assert 2 == ended.status
    assert ended.error.startswith("urlsieve: urlsieve.toml: is not TOML: ")
    assert len(ended.error) < 200
