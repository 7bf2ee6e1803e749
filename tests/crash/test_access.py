"""Runs that cannot be read, a folder that is none, no file descriptors left: an error of ours that names the store, and nothing lost."""

import json
import os
import shutil
import subprocess

import pytest

import urlsieve
from sieve_lab import check_conservation, pages
from urlsieve import testing
from urlsieve.stores.embedded import merging

pytestmark = pytest.mark.crash


@pytest.fixture
def store(fast_path, monkeypatch):
    """With several runs, and a stray that the next opening would remove."""
    monkeypatch.setattr(merging, "LONGEST_JOURNAL", 50)
    monkeypatch.setattr(merging.Merging, "wake", lambda self: None)
    with urlsieve.open(fast_path / "store") as sieve:
        for start in range(0, 300, 50):
            sieve.push(pages(50, start=start))
    (fast_path / "store" / "runs" / "new-0123456789abcdef.run").write_bytes(b"half a run")
    return fast_path / "store"


def what_is_said(zygote, store, descriptors=None):
    out = store.parent / "out"
    out.unlink(missing_ok=True)
    assert 0 == zygote.run("try_everything", str(store), pages(300), descriptors, str(out))
    return json.loads(out.read_text())


def is_sound(store):
    with urlsieve.open(store) as sieve:
        assert [True] * 300 == sieve.seen(pages(300))
        check_conservation(sieve)


@pytest.mark.parametrize("what", ["run", "runs folder", "read-only runs folder", "merge lock"])
def test_what_may_not_be_read_is_named_in_our_words(store, zygote, what):
    (store / "runs" / "merge.lock").touch()
    path = {"run": next((store / "runs").glob("[0-9a-f]*.run")), "merge lock": store / "runs" / "merge.lock"}.get(what, store / "runs")
    path.chmod(0o555 if what == "read-only runs folder" else 0)
    said = what_is_said(zygote, store)
    if what in ("run", "runs folder"):
        assert all(text.startswith("StoreUnavailable") and str(path) in text for text in said), said
    else:
        assert repr([True] * 300) == said[0]
        assert said[1].startswith("Report(new=0, seen=300"), said
        assert "[]" == said[3]
    path.chmod(0o755)
    is_sound(store)


def test_without_file_descriptors_each_call_says_so_or_answers_truly(fast_path, store, zygote):
    answers = set()
    for descriptors in range(26):
        for text in what_is_said(zygote, store, descriptors):
            assert text.startswith(("StoreUnavailable", "[True, True", "Report(", "[SiteRow(", "[]")), (descriptors, text)
            answers.add(text.split(":")[0][:10])
    assert {"StoreUnava", "[True, Tru"} <= answers
    is_sound(store)


def test_a_runs_folder_that_is_a_file_means_missing_runs(store):
    shutil.move(store / "runs", store.parent / "aside")
    (store / "runs").write_text("no folder")
    with urlsieve.open(store) as sieve:
        for call in (
            lambda: sieve.seen(pages(1)),
            lambda: sieve.push(pages(1)),
            lambda: list(sieve.sites()),
            lambda: list(sieve.entries()),
        ):
            with pytest.raises(urlsieve.StoreCorrupt, match="missing"):
                call()
        assert any("missing" in problem for problem in sieve.verify())
        assert any("could not be removed" in one.what for one in sieve.doctor()) or sieve._store._merging.trouble is None
    (store / "runs").unlink()
    shutil.move(store.parent / "aside", store / "runs")
    is_sound(store)


def room(disk):
    return os.statvfs(disk).f_favail


def test_a_full_disk_with_a_stray_on_it_opens_and_answers(tmp_path, monkeypatch):
    """The lock that removing it needs is a file too."""
    monkeypatch.setattr(merging, "LONGEST_JOURNAL", 50)
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m,nr_inodes=12", "tmpfs", str(disk)], capture_output=True, check=False
    ).returncode:
        pytest.skip("no right to mount a small file system here")
    try:
        with testing.open(disk / "store", clock=testing.VirtualClock()) as sieve:
            sieve.push(pages(60))
        stray = disk / "store" / "runs" / "new-0123456789abcdef.run"
        stray.write_bytes(b"half a run")
        with testing.open(disk / "store", clock=testing.VirtualClock()):  # it has SQLite's files open, which need room too
            stray.write_bytes(b"half a run")
            (stray.parent / "merge.lock").unlink()
            while room(disk):
                (disk / f"ballast{room(disk)}").touch()
            with testing.open(disk / "store", clock=testing.VirtualClock()) as sieve:
                assert [True] * 60 == sieve.seen(pages(60))
                assert any("could not be removed" in finding.what for finding in sieve.doctor())
        (disk / "ballast1").unlink()
        with testing.open(disk / "store", clock=testing.VirtualClock()) as sieve:
            assert not stray.exists()
            check_conservation(sieve)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
