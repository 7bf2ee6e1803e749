"""The Bloom filter: no false negative, false positives as promised, and a file that is not whole is refused by name."""

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve.errors import ConfigError, StoreCorrupt, StoreFull, StoreMismatch, StoreUnavailable
from urlsieve.sketch import BloomFilter, CuckooTable, bloom, sizing


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=200), st.floats(1e-6, 0.5))
def test_what_was_added_is_there_whatever_it_is(keys: list[bytes], error: float) -> None:
    filter_ = BloomFilter(None, 100, error)
    block = b"".join(keys)
    assert len(keys) == len(filter_.add(block))
    assert bytes([1]) * len(keys) == filter_.contains(block)
    assert bytes([1]) * len(keys) == filter_.add(block)


@pytest.mark.parametrize("error", [0.2, 0.01, 0.001])
def test_false_positives_are_as_promised_when_it_is_full(error: float) -> None:
    rng = random.Random(11)
    filter_ = BloomFilter(None, 200_000, error)
    for _ in range(20):
        filter_.add(rng.randbytes(160_000))
    asked = 400_000
    wrong = sum(filter_.contains(rng.randbytes(160_000)).count(1) for _ in range(asked // 10_000))
    assert wrong / asked <= 1.1 * error + 4 * (error / asked) ** 0.5
    assert abs(filter_.estimate / 200_000 - 1) < 0.02
    assert 0.9 < filter_.fill <= 1


def test_sizes_are_those_of_theory() -> None:
    """Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters (2007): a block of 512 costs about a tenth more at 1 %."""
    assert 9.58 < sizing.sizing(0.01)[0] < 10.6
    assert 14.4 < sizing.sizing(0.001)[0] < 16.5
    assert sizing.false_positives(10, 6) == pytest.approx(0.0096, rel=0.1)


def test_a_file_keeps_what_was_added_and_its_parameters(tmp_path: Path) -> None:
    place, keys = tmp_path / "f", random.Random(2).randbytes(16_000)
    with BloomFilter(place, 10_000, 0.01) as first:
        assert 1_000 == first.add(keys).count(0)
    with BloomFilter(place) as again:
        assert bytes([1]) * 1_000 == again.contains(keys)
        assert (10_000, 0.01, 1_000) == (again.capacity, again.error, len(again))
    with BloomFilter(place, 10_000, 0.01, create=False) as again:
        assert bytes([1]) * 1_000 == again.add(keys)
    for other in ({"capacity": 20_000}, {"error": 0.02}):
        with pytest.raises(StoreMismatch, match=f"has {next(iter(other))}"):
            BloomFilter(place, **other)  # type: ignore[arg-type]


def test_every_damage_of_a_closed_file_is_named(tmp_path: Path) -> None:
    place = tmp_path / "f"
    with BloomFilter(place, 100, 0.01) as first:
        first.add(random.Random(2).randbytes(1_600))
    whole = place.read_bytes()
    used = [*range(44), 64, *range(76, 84), *range(4096, len(whole))]  # the count of keys is no promise
    for at in used:
        broken = bytearray(whole)
        broken[at] ^= 16
        place.write_bytes(broken)
        with pytest.raises((StoreCorrupt, StoreMismatch), match=r"damaged|no Bloom filter|machine stopped"):
            BloomFilter(place)
    for size in (1, 8, 43, 4095, 4096, len(whole) - 1):
        place.write_bytes(whole[:size])
        with pytest.raises(StoreCorrupt):
            BloomFilter(place)
    place.write_bytes(whole + b"x")
    with pytest.raises(StoreCorrupt, match="bytes instead of"):
        BloomFilter(place)
    place.write_bytes(b"SQLite format 3\0" * 300)
    with pytest.raises(StoreCorrupt, match="no Bloom filter"):
        BloomFilter(place)


def test_one_that_was_open_when_the_machine_stopped_is_refused_and_one_that_was_killed_is_not(tmp_path: Path, monkeypatch) -> None:
    place, keys = tmp_path / "f", random.Random(4).randbytes(1_600)
    code = (
        "import os, signal, sys; from urlsieve.sketch import BloomFilter; f = BloomFilter(sys.argv[1], 1000, 0.01);"
        "f.add(bytes.fromhex(sys.argv[2])); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert -9 == subprocess.run([sys.executable, "-c", code, str(place), keys.hex()], check=False).returncode
    with BloomFilter(place) as again:
        assert bytes([1]) * 100 == again.contains(keys)
    assert -9 == subprocess.run([sys.executable, "-c", code, str(place), keys.hex()], check=False).returncode
    monkeypatch.setattr(bloom, "_boot", lambda: b"another boot")
    with pytest.raises(StoreCorrupt, match="was open when the machine stopped"):
        BloomFilter(place)


def test_several_openers_share_it_and_the_last_one_seals_it(tmp_path: Path) -> None:
    place, rng = tmp_path / "f", random.Random(9)
    one, two = BloomFilter(place, 10_000, 0.01), BloomFilter(place)
    a, b = rng.randbytes(1_600), rng.randbytes(1_600)
    one.add(a)
    assert bytes([1]) * 100 == two.contains(a)
    one.close()
    two.add(b)
    two.close()
    with BloomFilter(place) as again:
        assert bytes([1]) * 200 == again.contains(a + b)


def test_threads_lose_no_bit() -> None:
    filter_ = BloomFilter(None, 100_000, 0.001)
    blocks = [random.Random(n).randbytes(16_000) for n in range(40)]

    def work(mine: list[bytes]) -> None:
        for block in mine:
            filter_.add(block)

    threads = [threading.Thread(target=work, args=(blocks[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(bytes([1]) * 1_000 == filter_.contains(block) for block in blocks)


def test_more_than_two_to_the_32_bits(tmp_path: Path) -> None:
    """Its pages are made when they are touched: a few megabytes of memory. Bits beyond 2**32 are another key's."""
    filter_ = BloomFilter(None, 500_000_000, 0.01)
    assert 512 * filter_.blocks > 2**32
    rng = random.Random(1)
    keys = rng.randbytes(16_000)
    filter_.add(keys)
    assert bytes([1]) * 1_000 == filter_.contains(keys)
    assert 0 == filter_.contains(rng.randbytes(16_000)).count(1)


def test_removing_points_to_what_can_and_a_closed_one_says_so(tmp_path: Path) -> None:
    filter_ = BloomFilter(tmp_path / "f", 100, 0.01)
    with pytest.raises(ConfigError, match=CuckooTable.__name__):
        filter_.discard(bytes(16))
    filter_.close()
    filter_.close()
    for use in (lambda: filter_.add(bytes(16)), lambda: filter_.contains(bytes(16)), lambda: len(filter_)):
        with pytest.raises((StoreUnavailable, ValueError), match="closed"):
            use()
    assert 0 == os.stat(tmp_path / "f").st_size % 64


def test_wrong_arguments_and_places(tmp_path: Path) -> None:
    for values in ((0, 0.01), (10, 0.0), (10, 0.7), (10, 1), (True, 0.1), ("9", 0.1)):
        with pytest.raises(ConfigError):
            BloomFilter(None, *values)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="wants a capacity"):
        BloomFilter(None)
    with pytest.raises(StoreUnavailable, match="there is no filter"):
        BloomFilter(tmp_path / "none")
    with pytest.raises(StoreUnavailable, match="there is no filter"):
        BloomFilter(tmp_path / "none", 10, 0.1, create=False)
    with pytest.raises(StoreUnavailable):
        BloomFilter(tmp_path, 10, 0.1)
    with pytest.raises((StoreFull, StoreUnavailable), match="cannot make the filter"):
        BloomFilter(tmp_path / "huge", 2**40, 0.001)
    assert 0 == os.stat(tmp_path / "huge").st_size


def test_who_closes_waits_for_those_who_add(tmp_path: Path) -> None:
    place, keys = tmp_path / "f", os.urandom(16 * 400_000)
    filter_, begun, told = BloomFilter(place, 400_000, 0.01), threading.Event(), []

    def work() -> None:
        begun.set()
        for _ in range(100):
            try:
                told.append(len(filter_.add(keys)))
            except StoreUnavailable:
                return

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    filter_.close()
    thread.join()
    with BloomFilter(place) as again:
        assert not told or bytes([1]) * 400_000 == again.contains(keys)


def test_openers_of_one_process_keep_one_another_out_of_opening_and_closing(tmp_path: Path) -> None:
    place = tmp_path / "f"
    BloomFilter(place, 1_000, 0.01).close()

    def work(seed: int) -> None:
        for turn in range(20):
            with BloomFilter(place) as mine:
                mine.add(random.Random(seed * 100 + turn).randbytes(160))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with BloomFilter(place) as again:
        every = b"".join(random.Random(seed * 100 + turn).randbytes(160) for seed in range(6) for turn in range(20))
        assert bytes([1]) * 1_200 == again.contains(every)


def test_memory_that_is_not_there_is_a_memory_error() -> None:
    with pytest.raises(MemoryError, match="no memory for a filter"):
        BloomFilter(None, 2**40, 1e-6)
