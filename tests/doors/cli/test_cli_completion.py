"""The completion scripts in the shells that they are for."""

import shutil
import subprocess
from pathlib import Path

import pytest
from cli_lab import Cli

from urlsieve.doors.cli.main import COMMANDS


def shell(cli: Cli, name: str, code: str) -> list[str]:
    """What the shell prints that has loaded our script."""
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed here")
    (cli.directory / "script").write_bytes(cli("completion", name).out)
    plain = {"bash": ["--noprofile", "--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
    ran = subprocess.run(
        [program, *plain, "-c", code],
        capture_output=True,
        text=True,
        cwd=cli.directory,
        check=False,
        timeout=120,
        env={
            "HOME": str(cli.directory),
            "PATH": "/usr/bin:/bin",
            "TERM": "dumb",
        },
    )
    assert ("", 0) == (ran.stderr, ran.returncode)
    return ran.stdout.splitlines()


def bash(cli: Cli, *words: str) -> list[str]:
    """What bash would offer after these words; the last one is being typed."""
    line = " ".join(f"'{word}'" for word in ("urlsieve", *words))
    return shell(
        cli, "bash", f'source ./script; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _urlsieve; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )


def fish(cli: Cli, *words: str) -> list[str]:
    line = " ".join(("urlsieve", *words))
    return [found.partition("\t")[0] for found in shell(cli, "fish", f"source ./script; complete -C '{line}'")]


def test_bash_knows_that_the_function_is_for_urlsieve(cli: Cli) -> None:
    assert ["complete -F _urlsieve urlsieve"] == shell(cli, "bash", "source ./script; complete -p urlsieve")


def test_bash_offers_commands_options_values_and_files(cli: Cli) -> None:
    assert {*COMMANDS, "--help", "--version"} == set(bash(cli, ""))
    assert ["purge", "push"] == sorted(bash(cli, "pu"))
    assert ["--priority"] == bash(cli, "push", "--pri")
    assert ["new", "raise", "again"] == bash(cli, "push", "--mode", "")
    assert ["bash", "zsh", "fish"] == bash(cli, "completion", "")
    assert [""] == bash(cli, "push", "--priority", "")
    (cli.directory / "my urls.txt").touch()
    (cli.directory / "my store").mkdir()
    assert {"my urls.txt", "my store"} == set(bash(cli, "uniq", "my"))
    assert ["my store"] == bash(cli, "push", "--store", "my")
    assert ["my urls.txt"] == bash(cli, "push", "--rejected", "my u")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_every_command_is_in_every_script(command: str) -> None:
    from urlsieve.doors.cli import completion
    from urlsieve.doors.cli.parsers import options_of, parser_of

    words = [word for action in options_of(parser_of(command)) for word in action.option_strings]
    texts = {name: list(getattr(completion, f"_{name}")()) for name in ("bash", "zsh")}
    for name, end in (("bash", "        esac ;;"), ("zsh", " ;;")):
        start = texts[name].index(f"    {command})")
        part: list[str] = []
        for line in texts[name][start:]:
            part.append(line)
            if line.endswith(end):
                break
        assert [] == [word for word in words if word not in "\n".join(part)]


def test_fish_offers_commands_options_and_values(cli: Cli) -> None:
    assert set(COMMANDS) == set(fish(cli, ""))
    assert ["--priority"] == fish(cli, "push", "--pri")
    assert {"new", "raise", "again"} == set(fish(cli, "push", "--mode", ""))
    assert {"bash", "zsh", "fish"} <= set(fish(cli, "completion", ""))
    (cli.directory / "folder").mkdir()
    assert ["folder/"] == fish(cli, "push", "--store", "fol")


STUBS = """
_describe() { print -rl -- $commands }
_arguments() { print -rl -- "$@" }
compdef() { }
source ./script
"""


def test_zsh_is_given_commands_and_each_one_s_options(cli: Cli) -> None:
    found = shell(cli, "zsh", STUBS + "words=(urlsieve ''); CURRENT=2; _urlsieve")
    assert list(COMMANDS) == [line.partition(":")[0] for line in found]
    found = shell(cli, "zsh", STUBS + "words=(urlsieve push ''); CURRENT=3; _urlsieve")
    assert "*--mode[what of URLs that were seen]:value:(new raise again)" in found
    assert "*:argument:_files" in found


def test_zsh_itself_can_complete_with_it(cli: Cli) -> None:
    """In a terminal of its own, as somebody types it."""
    (cli.directory / "zfunc").mkdir()
    code = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; fpath=(./zfunc $fpath); autoload -U compinit; compinit -u -d ./dump; zstyle ":completion:*" list-prompt ""'
zpty -w shell 'print rea""dy'
zpty -r shell out '*ready*'
zpty -w -n shell $'urlsieve purg\\t'
zpty -r shell out '*purge*'
print -r -- "$out"
zpty -d shell
"""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed here")
    Path(cli.directory, "zfunc", "_urlsieve").write_bytes(cli("completion", "zsh").out)
    assert any("urlsieve purge" in line for line in shell(cli, "zsh", code))


def test_a_shell_that_nobody_uses_is_a_usage_error(cli: Cli) -> None:
    ran = cli("completion", "cmd")
    assert 2 == ran.status
    assert "bash" in ran.error
