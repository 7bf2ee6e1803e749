"""The house itself: public names, what a start imports, what must never stand in the package, and that every room has a contract."""

import ast
import configparser
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import urlsieve
from urlsieve import model

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "urlsieve"
HEAVY = {"aiohttp", "asyncio", "multiprocessing", "protego", "psycopg", "redis", "rich", "scrapy", "selectolax", "sqlite3", "starlette"}

#: Names of the interface that are built today.
PUBLIC = {
    *("open", "Sieve", "URLItem", "Outcome", "Lease", "Leases", "Report", "Settled", "Stats", "Why", "Finding", "Failed", "aio", "testing"),
    *("canonicalize", "canonicalize_many", "fingerprint", "explain", "Canonicalizer", "Keys", "Explanation", "Rules"),
    *("UrlsieveError", "InvalidURL", "LeaseLost", "StoreUnavailable", "StoreMismatch", "StoreCorrupt", "StoreFull", "ConfigError"),
}


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(tree: ast.Module) -> Iterator[str]:
    """Top-level names of what a module imports, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def called(tree: ast.Module) -> Iterator[str]:
    """Names of plain calls: `eval(…)`, not `model.eval(…)`."""
    return (node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))


def modules_after(code: str, *arguments: str) -> set[str]:
    """Runs code in a fresh Python and gives the top-level modules that are loaded at its end."""
    script = f"import sys\n{code}\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}), file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", script, *arguments], input=b"", capture_output=True, check=True, timeout=60)
    return set(ran.stderr.decode().split())


def test_the_public_names_are_those_of_the_interface_and_no_others() -> None:
    assert set(urlsieve.__all__) == PUBLIC
    assert [name for name in urlsieve.__all__ if getattr(urlsieve, name, None) is None] == []


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="frobnicate"):
        urlsieve.frobnicate  # noqa: B018


def test_importing_urlsieve_loads_nothing_heavy() -> None:
    loaded = modules_after("import urlsieve")
    assert loaded & (HEAVY | {"ada_url", "publicsuffixlist"}) == set()
    assert "urlsieve" in loaded


COMMAND = """
from urlsieve.doors.cli.main import entry
try:
    entry()
except SystemExit as end:
    assert not end.code, end.code
"""


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("uniq",)])
def test_a_filter_starts_without_drivers_tables_or_event_loops(arguments: tuple[str, ...]) -> None:
    loaded = modules_after(COMMAND, *arguments)
    assert loaded & HEAVY == set()
    assert "urlsieve" in loaded


def test_nothing_in_the_package_unpickles_or_evaluates() -> None:
    forbidden = {"dill", "marshal", "pickle", "shelve", "yaml"}
    found = [(path.name, name) for path, tree in sources() for name in imported(tree) if name in forbidden]
    found += [(path.name, name) for path, tree in sources() for name in called(tree) if name in {"eval", "exec", "__import__"}]
    assert found == []


def test_nothing_in_the_package_starts_a_shell() -> None:
    shells = [
        (path.name, node.lineno)
        for path, tree in sources()
        for node in ast.walk(tree)
        if (isinstance(node, ast.keyword) and node.arg == "shell")
        or (isinstance(node, ast.Attribute) and node.attr in {"system", "popen"} and getattr(node.value, "id", "") == "os")
    ]
    assert shells == []


def test_no_file_that_is_shipped_listens_to_the_world() -> None:
    shipped = [*PACKAGE.rglob("*"), *(ROOT / "docs").glob("*"), ROOT / "README.md", ROOT / "dev", ROOT / ".ci" / "run"]
    text = {
        path: path.read_text(encoding="utf-8", errors="replace")
        for path in shipped
        if path.is_file() and path.suffix not in {".so", ".pyc"}
    }
    open_to_all = re.compile(r"--(host|bind)[ =]0\.0\.0\.0|protected-mode no|host=[\"'](0\.0\.0\.0|::)?[\"']")
    assert [path.name for path, content in text.items() if open_to_all.search(content)] == []


def test_no_file_that_is_shipped_holds_a_secret() -> None:
    marks = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|xox[abp]-[0-9A-Za-z-]{10}")
    folders = [PACKAGE, ROOT / "docs", ROOT / "bench", ROOT / "tools"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and "out" not in path.relative_to(ROOT).parts]
    assert [path for path in files if marks.search(path.read_bytes())] == []


def test_every_room_has_an_import_contract() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    named = set(re.findall(r"urlsieve\.(\w+)", "\n".join(value for part in contracts.values() for value in part.values())))
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - named == {"__init__", "__main__"}


def test_every_pure_room_is_under_the_contract_of_purity() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    pure = {name for name in ("canon", "content", "frontier") if (PACKAGE / name / "__init__.py").exists()}
    assert {f"urlsieve.{name}" for name in pure} == set(contracts["importlinter:contract:pure"]["source_modules"].split())


def test_every_module_says_what_it_is() -> None:
    assert [str(path.relative_to(PACKAGE)) for path, tree in sources() if not ast.get_docstring(tree) and tree.body] == []


def test_values_have_no_mutable_dataclass() -> None:
    tree = ast.parse((PACKAGE / "model.py").read_text(encoding="utf-8"))
    loose = [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for mark in node.decorator_list
        if "dataclass" in ast.unparse(mark) and not {"frozen=True", "slots=True"} <= set(re.findall(r"\w+=True", ast.unparse(mark)))
    ]
    assert loose == []


def test_the_version_is_the_same_in_the_package_and_its_metadata() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert urlsieve.__version__ == tomllib.load(file)["project"]["version"]


def test_every_page_of_the_documentation_is_linked_from_the_readme() -> None:
    linked = set(re.findall(r"\(docs/([\w-]+\.md)\)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} == linked


def test_every_word_of_the_flow_is_in_the_glossary() -> None:
    words = {
        word.strip()
        for line in re.findall(r"^\*\*(.+?)\*\*", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
        for word in re.split("[,/]", line)
    }
    enums = {member.name.lower() for kind in (model.State, model.Klass) for member in kind}
    verbs = {"push", "pop", "extend", "settle", "done", "fail", "skip", "release", "offer", "reap", "mark", "raise", "again", "explain"}
    assert (enums | verbs | {field.name for field in fields(model.URLItem) if field.name not in ("url", "_")}) - words == set()


def test_no_link_between_the_pages_is_broken() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    links = [(page, target) for page in pages for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))]
    assert [(page.name, target) for page, target in links if not (page.parent / target).exists()] == []
    assert links


#: What opens or changes files, by the names under which Python has it.
_OF_OS = {
    *("open", "write", "pwrite", "rename", "renames", "replace", "remove", "unlink", "link", "symlink", "mkdir", "makedirs", "rmdir"),
    *("removedirs", "fsync", "fdatasync", "sync", "truncate", "ftruncate", "sendfile", "copy_file_range", "posix_fallocate", "utime"),
}
_OF_PATHS = {
    *("open", "unlink", "rmdir", "mkdir", "touch", "write_bytes", "write_text", "symlink_to", "hardlink_to", "rename", "chmod"),
}
#: Calls of these names that are of other things: a run of a shelf, a file by its descriptor.
_NO_FILES = {"self._shelf.open", "self.shelf.open", "shelf.open"}


def file_operations(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            holder, _, called = name.rpartition(".")
            plain = name == "open" or (holder == "os" and called in _OF_OS) or holder in {"shutil", "mmap", "tempfile"}
            if plain or (holder not in {"", "os", "disk"} and called in _OF_PATHS and name not in _NO_FILES):
                yield name


def test_only_one_module_of_the_embedded_store_changes_files() -> None:
    """The tests of power cuts say what it does, and a reader finds there what is durable when."""
    place = PACKAGE / "stores" / "embedded"
    found = {path.name: sorted(file_operations(tree)) for path, tree in sources() if path.parent == place}
    assert found.pop("disk.py")
    assert {name: [] for name in found} == found
