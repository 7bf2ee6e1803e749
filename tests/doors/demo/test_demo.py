"""The show itself, as a command: real processes, one really killed."""

import json
import subprocess
import sys

import pytest

import urlsieve

pytestmark = [pytest.mark.slow, pytest.mark.crash]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "kept"
    command = [sys.executable, "-m", "urlsieve", "demo", "--json", "--keep", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return folder, result


def figures(shown, number):
    return {figure["name"]: figure for figure in json.loads(shown[1].stdout)["rounds"][number - 1]["figures"]}


def test_every_figure_is_right_and_the_status_says_so(shown):
    _, result = shown
    assert 0 == result.returncode, result.stderr
    report = json.loads(result.stdout)
    assert report["ok"]
    assert [] == [figure for part in report["rounds"] for figure in part["figures"] if not figure["ok"]]
    assert "kill -9" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_first_round_fetches_hundreds_of_pages_once_and_the_killed_workers_again(shown):
    first = figures(shown, 1)
    assert first["fetched"]["got"] > 300
    assert first["discovered"]["got"] > 3 * first["distinct"]["got"]
    assert (0, 0) == (first["fetched twice without cause"]["got"], first["lost"]["got"])
    assert first["fetched again, worker was killed"]["got"] >= 1


def test_the_second_round_fetches_start_pages_and_new_pages_only(shown):
    assert 45 == figures(shown, 2)["fetched"]["got"]


def test_the_kept_store_is_whole(shown):
    folder, _ = shown
    assert (folder / "site.jsonl").stat().st_size
    with urlsieve.open(folder / "store", create=False) as sieve:
        assert [] == sieve.verify(deep=True)
        assert figures(shown, 2)["distinct"]["got"] == sieve.stats().accepted


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "mine").write_text("keep")
    command = [sys.executable, "-m", "urlsieve", "demo", "--keep", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert 2 == result.returncode
    assert "not an empty folder" in result.stderr
    assert ["mine"] == [path.name for path in tmp_path.iterdir()]
