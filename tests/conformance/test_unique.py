"""How many different URLs were offered, about: in all and each day, by several openers, whatever was new."""

import pytest

from sieve_lab import pages
from urlsieve.errors import ConfigError

DAY = 86_400.0


def test_stats_estimate_what_was_offered_beside_the_exact_count(sieve):
    assert 0 == sieve.stats().unique_estimate
    sieve.push(pages(3_000))
    sieve.push(pages(3_000))
    stats = sieve.stats()
    assert abs(stats.unique_estimate / 3_000 - 1) < 0.05
    assert 3_000 == stats.seen


def test_days_are_counted_apart_and_their_overlap_is_told_with_its_error(sieve, clock):
    first = sieve.now()
    sieve.push(pages(4_000))
    clock.advance(DAY)
    sieve.push(pages(3_000, start=2_000))
    from urlsieve.unique import day_of

    days = day_of(first), day_of(first + DAY)
    assert abs(sieve.unique(days[0]) / 4_000 - 1) < 0.05
    assert abs(sieve.unique(days[1]) / 3_000 - 1) < 0.05
    assert abs(sieve.unique() / 5_000 - 1) < 0.05
    both, error = sieve.overlap(*days)
    assert abs(both - 2_000) < 4 * error < 400
    assert 0 == sieve.unique("1999-12-31")


def test_openers_count_together_and_it_is_kept(shared):
    one, two = shared.open(), shared.open()
    one.push(pages(1_000))
    two.push(pages(1_000, start=500))
    one.close()
    assert abs(two.stats().unique_estimate / 1_500 - 1) < 0.06
    two.close()
    assert abs(shared.open().stats().unique_estimate / 1_500 - 1) < 0.06


def test_it_is_saved_now_and_then(shared):
    one = shared.open()
    for start in range(0, 1_000, 100):
        one.push(pages(100, start=start))
        shared.clock.advance(3.0)
    assert shared.open().stats().unique_estimate > 600


@pytest.mark.parametrize("day", ["today", "2026-13-01", "2026-1-1", 5, ""])
def test_a_day_is_a_date(sieve, day):
    with pytest.raises(ConfigError, match="YYYY-MM-DD"):
        sieve.unique(day)


def test_openers_that_save_at_the_same_time_lose_nothing(shared):
    """Four processes would each read, merge and write: here threads with an opener each."""
    import threading

    openers = [shared.open() for _ in range(4)]
    for who, one in enumerate(openers):
        one.push([f"http://h{who}.example/{i}" for i in range(1_500)])
    threads = [threading.Thread(target=one.close) for one in openers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert abs(shared.open().unique() / 6_000 - 1) < 0.05
