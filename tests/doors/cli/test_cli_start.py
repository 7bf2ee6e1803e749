"""Starting, helping and refusing: what happens before a command does anything."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli_lab import COMMAND, Cli, environment

from urlsieve.doors.cli.main import COMMANDS

HEAVY = ("redis", "starlette", "rich", "asyncio", "aiohttp", "psycopg", "selectolax", "protego")


def imported(cli: Cli, *words: str) -> set[str]:
    """The modules that a run imports."""
    code = f"import sys; from urlsieve.doors.cli.main import entry; entry({list(words)!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"http://example.com/\n", capture_output=True, check=True, cwd=cli.directory, env=environment()
    )
    return set(done.stderr.decode().split())


def test_help_lists_every_command_and_nothing_heavy_is_imported_for_it(cli: Cli) -> None:
    ran = cli("--help")
    assert 0 == ran.status
    assert [] == [name for name in COMMANDS if f"\n  {name} " not in ran.out.decode()]
    modules = imported(cli, "--help")
    assert set() == modules & {*HEAVY, "argparse", "json", "sqlite3", "ada_url", "urlsieve.canon", "urlsieve._kernel"}


def test_uniq_imports_nothing_heavy(cli: Cli) -> None:
    assert set() == imported(cli, "uniq") & {*HEAVY, "sqlite3", "json", "urlsieve.sieve", "urlsieve.stores"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(cli: Cli, command: str) -> None:
    ran = cli(command, "--help")
    assert (0, "") == (ran.status, ran.err)
    assert ran.out.decode().startswith(f"usage: urlsieve {command} ")
    assert "example: " in ran.out.decode()


def test_the_version_is_the_package_s(cli: Cli) -> None:
    ran = cli("--version")
    assert 0 == ran.status
    name, version = ran.out.decode().split()
    assert "urlsieve" == name
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert f'version = "{version}"' in project


def test_no_command_is_a_usage_error(cli: Cli) -> None:
    ran = cli()
    assert 2 == ran.status
    assert "no command" in ran.error


def test_a_misspelt_command_is_refused_with_the_nearest_name(cli: Cli) -> None:
    ran = cli("unik")
    assert 2 == ran.status
    assert "did you mean uniq?" in ran.error


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["uniq", "--kye"], "--key"),
        (["push", "--prioritty", "P0"], "--priority"),
        (["pop", "--leese=5"], "--lease"),
        (["crawl", "--same-sites", "http://a/"], "--same-site"),
    ],
)
def test_cli_05_a_misspelt_option_is_refused_with_the_nearest_name(cli: Cli, words: list[str], hint: str) -> None:
    ran = cli(*words)
    assert 2 == ran.status
    assert f"did you mean {hint}?" in ran.error
    assert not (cli.directory / "store").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["push", "--priority", "P9"],
        ["push", "--priority", "high"],
        ["push", "--meta", "{not json"],
        ["push", "--mode", "maybe"],
        ["push", "--base", "nonsense"],
        ["pop", "-n", "0"],
        ["pop", "--lease", "nan"],
        ["pop", "--lease", "soon"],
        ["purge"],
        ["explain"],
        ["crawl"],
        ["uniq", "--profile", "nosuch"],
        ["canon", "--rules", "rules.toml"],
    ],
    ids=" ".join,
)
def test_a_value_that_makes_no_sense_is_a_usage_error_of_one_line(cli: Cli, words: list[str]) -> None:
    ran = cli(*words, env={"URLSIEVE_STORE": cli.store}) if words[0] not in ("uniq", "canon") else cli(*words)
    assert (2, b"") == (ran.status, ran.out)
    assert ran.error
    assert not Path(cli.store).exists()


@pytest.mark.parametrize("command", ["pop", "push", "stats", "verify", "doctor", "done", "seen", "forget", "crawl"])
def test_without_a_store_s_name_the_command_says_how_to_name_one(cli: Cli, command: str) -> None:
    ran = cli(command, *(["http://example.com/"] if command == "crawl" else []))
    assert 2 == ran.status
    assert "--store" in ran.error
    assert "URLSIEVE_STORE" in ran.error


def test_a_word_after_two_dashes_is_a_file_even_if_it_looks_like_an_option(cli: Cli) -> None:
    (cli.directory / "--key").write_text("http://example.com/a\n")
    ran = cli("uniq", "-q", "--", "--key")
    assert (0, b"http://example.com/a\n") == (ran.status, ran.out)


def test_options_may_stand_between_files(cli: Cli) -> None:
    for name in "ab":
        (cli.directory / name).write_text(f"http://example.com/{name}?utm_source=x\n")
    ran = cli("uniq", "a", "--key", "b", "-q")
    assert b"http://example.com/a\nhttp://example.com/b\n" == ran.out


def test_an_error_is_a_json_object_when_json_was_asked_for(cli: Cli) -> None:
    ran = cli.on("stats", "--json")
    assert 3 == ran.status
    assert ("store_unavailable", 3) == (ran.report["error"], ran.report["exit"])
    assert "store" in ran.report["message"]


def test_a_closed_standard_output_is_an_error_and_never_the_store_s_file(cli: Cli) -> None:
    script = ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "uniq", "--store", cli.store]
    ran = subprocess.run(script, input=b"http://example.com/\n", capture_output=True, cwd=cli.directory, env=environment(), check=False)
    assert 3 == ran.returncode
    assert b"standard output" in ran.stderr
    assert b"Traceback" not in ran.stderr
    ran2 = cli.on("uniq", "-q", stdin="http://example.com/\n")
    assert (0, b"http://example.com/\n") == (ran2.status, ran2.out), ran2.err


def test_a_closed_standard_error_hides_the_report_and_nothing_else(cli: Cli) -> None:
    script = ["sh", "-c", '"$@" 2>&-', "sh", *COMMAND, "uniq"]
    ran = subprocess.run(script, input=b"http://example.com/\n", capture_output=True, cwd=cli.directory, env=environment(), check=False)
    assert (0, b"http://example.com/\n") == (ran.returncode, ran.stdout)


def test_the_module_and_the_script_are_the_same_command(cli: Cli) -> None:
    script = Path(sys.executable).parent / "urlsieve"
    if not script.exists():
        pytest.skip("the package is not installed with its script")
    ran = subprocess.run([script, "--help"], capture_output=True, check=True, env=environment())
    assert cli("--help").out == ran.stdout
