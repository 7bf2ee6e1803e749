"""A full disk, a read-only one: a clear error, nothing half done, and on it goes when there is room. Needs the right to mount."""

import shutil
import subprocess
from contextlib import contextmanager, suppress

import pytest

from sieve_lab import check_conservation, drain, states
from urlsieve import StoreFull, StoreUnavailable, UrlsieveError, testing

pytestmark = pytest.mark.crash


def mount(*args):
    return subprocess.run(["mount", *args], capture_output=True, text=True, check=False) if shutil.which("mount") else None


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own; gives its path and a way to change it."""
    place = tmp_path / "disk"
    place.mkdir()
    done = mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place))
    if done is None or done.returncode:
        pytest.skip("no right to mount a small file system here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def remount(place, options):
    done = mount("-o", f"remount,{options}", str(place))
    assert done is not None
    assert 0 == done.returncode, done.stderr


def long_urls(count, start=0):
    return [f"http://h{number % 7}.example/{number}/" + "x" * 300 for number in range(start, start + count)]


def fill(sieve):
    """Push until the disk is full; the number of acknowledged URLs."""
    for start in range(0, 100_000, 200):
        try:
            sieve.push(long_urls(200, start))
        except StoreFull:
            return start
    raise AssertionError("the small disk was never full")


@contextmanager
def at(place, clock=None, **options):
    with testing.open(str(place / "store"), clock=clock or testing.VirtualClock(), **options) as sieve:
        yield sieve


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_a_full_disk_is_an_error_that_changes_nothing(disk, durability):
    with at(disk, durability=durability) as sieve:
        acknowledged = fill(sieve)
        assert acknowledged > 200
        assert [True] * acknowledged == sieve.seen(long_urls(acknowledged))
        assert [False] * 200 == sieve.seen(long_urls(200, acknowledged))
        assert {"pending": acknowledged} == states(sieve)
        with pytest.raises(StoreFull) as caught:
            for start in range(acknowledged, acknowledged + 20_000, 1000):
                sieve.push(long_urls(1000, start))
        assert str(disk / "store") in str(caught.value)


def test_on_a_full_disk_what_is_out_can_come_back_or_is_told_so(disk):
    with at(disk) as sieve:
        sieve.push(long_urls(200))
        leases = sieve.pop(100)
        fill(sieve)
        settled = 0
        for lease in leases[:50]:
            try:
                assert "done" == sieve.done(lease).state
                settled += 1
            except StoreFull:
                pass
        assert settled == sieve.stats().done
        assert [] == sieve.verify()
        remount(disk, "size=64m")
        assert {"lost", "done"} >= {one.state for one in sieve.done(leases)}
        assert 100 == sieve.stats().done


def test_on_a_full_disk_no_attempts_are_burnt(disk):
    clock = testing.VirtualClock()
    with at(disk, clock) as sieve:
        acknowledged = fill(sieve)
        for _ in range(5):
            try:
                sieve.release(sieve.pop(50))
            except StoreFull:
                pass
        remount(disk, "size=64m")
        clock.advance(1000)
        leases = sieve.pop(acknowledged)
        assert acknowledged == len(leases)
        assert max(lease.attempt for lease in leases) <= 2


def test_what_cannot_be_compacted_says_so_and_is_as_it_was(disk):
    with at(disk) as sieve:
        acknowledged = fill(sieve)
        left = disk / "left"
        with suppress(OSError), left.open("wb", buffering=0) as file:  # what SQLite left is too little for a transaction, not for a file
            while file.write(bytes(512)):
                pass
        with pytest.raises(StoreFull, match="make room"):
            sieve.compact()
        assert {"pending": acknowledged} == states(sieve)
        remount(disk, "size=64m")
        sieve.compact()
        assert [True] * acknowledged == sieve.seen(long_urls(acknowledged))
        check_conservation(sieve)


def test_with_room_again_everything_goes_on(disk):
    clock = testing.VirtualClock()
    with at(disk, clock) as sieve:
        acknowledged = fill(sieve)
        remount(disk, "size=64m")
        assert 200 == sieve.push(long_urls(200, acknowledged)).new
        given = drain(sieve, clock, lambda sieve, lease: sieve.done(lease), limit=500)
        assert acknowledged + 200 == given
        check_conservation(sieve)


def test_a_store_left_on_a_full_disk_opens_again(disk):
    with at(disk) as sieve:
        acknowledged = fill(sieve)
    with at(disk) as sieve:
        assert [True] * acknowledged == sieve.seen(long_urls(acknowledged))
    remount(disk, "size=64m")
    with at(disk) as sieve:
        assert {"pending": acknowledged} == states(sieve)
        check_conservation(sieve)


def test_no_store_can_be_made_on_a_full_disk_and_none_is_left_half_made(disk):
    (disk / "ballast").write_bytes(bytes(4 * 1024 * 1024 - 8192))
    with pytest.raises((StoreFull, StoreUnavailable)):
        with at(disk):
            pass
    (disk / "ballast").unlink()
    with at(disk) as sieve:
        assert 5 == sieve.push(long_urls(5)).new
        check_conservation(sieve)


def test_a_read_only_disk_is_named_and_nothing_is_lost(disk):
    with at(disk) as sieve:
        sieve.push(long_urls(10))
    remount(disk, "ro")
    with pytest.raises(UrlsieveError) as caught:
        with at(disk) as sieve:
            sieve.push(long_urls(10, 10))
    assert isinstance(caught.value, StoreUnavailable)
    assert str(disk / "store") in str(caught.value)
    remount(disk, "rw")
    with at(disk) as sieve:
        assert {"pending": 10} == states(sieve)
        check_conservation(sieve)


def test_a_new_store_on_a_read_only_disk_is_refused(disk):
    remount(disk, "ro")
    with pytest.raises(StoreUnavailable):
        with at(disk):
            pass


def test_a_read_only_mount_of_a_writable_disk_is_refused(disk):
    bind = disk.parent / "bind"
    bind.mkdir()
    with at(disk) as sieve:
        sieve.push(long_urls(10))
    assert 0 == mount("--bind", str(disk), str(bind)).returncode
    try:
        assert 0 == mount("-o", "remount,bind,ro", str(bind)).returncode
        with pytest.raises(StoreUnavailable):
            with at(bind) as sieve:
                sieve.push(long_urls(10, 10))
    finally:
        subprocess.run(["umount", "-l", str(bind)], check=True)
    with at(disk) as sieve:
        assert {"pending": 10} == states(sieve)
