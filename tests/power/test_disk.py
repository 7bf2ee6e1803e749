"""The model of a disk: what is durable stays, of the rest anything may be there."""

import os
import random

import pytest

from power.disk import MODELS, Disk, Record, put


def record(kind, path="", *, fd=-1, offset=0, data=b"", to="", error=0):
    return Record(kind, error, fd, offset, data or path.encode(), to.encode())


@pytest.fixture
def base(tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "old").write_bytes(b"old" * 1000)
    return tmp_path / "base"


def after(base, model, *records):
    disk = Disk(base, base, model)
    for one in records:
        disk.apply(one)
    return disk


def images(disk, count=400):
    return [disk.image(random.Random(seed)) for seed in range(count)]


def made(base, name, data, *, fd=3):
    return [record("O", f"{base}/{name}", fd=fd, offset=os.O_CREAT | os.O_RDWR), record("W", fd=fd, data=data)]


@pytest.mark.parametrize("model", MODELS)
def test_what_is_not_synced_may_be_there_whole_or_in_part_or_not_at_all(base, model):
    found = {image.get("new") for image in images(after(base, model, *made(base, "new", b"x" * 2000)))}
    assert {None, b"", b"x" * 2000, bytes(2000)} <= found
    assert any(part and 0 < part.count(b"x") < 2000 for part in found)


@pytest.mark.parametrize("model", MODELS)
def test_what_is_synced_is_there(base, model):
    disk = after(base, model, *made(base, "new", b"x" * 2000), record("S", fd=3), record("O", str(base), fd=4), record("S", fd=4))
    assert [{"old": b"old" * 1000, "new": b"x" * 2000}] * 100 == images(disk, 100)


@pytest.mark.parametrize(("model", "sure"), [("ordered", True), ("loose", False)])
def test_a_synced_file_has_its_name_only_where_changes_keep_their_order(base, model, sure):
    found = images(after(base, model, *made(base, "new", b"x"), record("S", fd=3)))
    assert sure == all(image.get("new") == b"x" for image in found)


@pytest.mark.parametrize(("model", "possible"), [("ordered", False), ("loose", True)])
def test_names_come_in_their_order_or_in_any(base, model, possible):
    found = images(after(base, model, *made(base, "one", b""), *made(base, "two", b"", fd=4)))
    assert possible == any("two" in image and "one" not in image for image in found)
    assert any("one" in image and "two" not in image for image in found)


@pytest.mark.parametrize("model", MODELS)
def test_a_rename_is_there_or_not(base, model):
    disk = after(base, model, *made(base, "new", b"new"), record("S", fd=3), record("O", str(base), fd=4), record("S", fd=4))
    disk.apply(record("R", f"{base}/new", to=f"{base}/old"))
    found = {tuple(sorted(image.items())) for image in images(disk)}
    assert {(("new", b"new"), ("old", b"old" * 1000)), (("old", b"new"),)} == found


@pytest.mark.parametrize("model", MODELS)
def test_what_a_failed_sync_should_have_kept_is_gone_though_the_next_one_succeeds(base, model):
    failed = [record("O", f"{base}/old", fd=3), record("W", fd=3, data=b"new"), record("S", fd=3, error=5)]
    disk = after(base, model, *failed, record("W", fd=3, offset=3, data=b"NEW"), record("S", fd=3))
    assert b"newNEWold" == disk.now()["old"][:9]
    assert {b"oldNEWold"} == {image["old"][:9] for image in images(disk, 50)}


def test_an_image_becomes_files(base, tmp_path):
    put({"folder": None, "folder/file": b"x", "other": b""}, tmp_path / "place")
    assert b"x" == (tmp_path / "place" / "folder" / "file").read_bytes()
    assert b"" == (tmp_path / "place" / "other").read_bytes()
