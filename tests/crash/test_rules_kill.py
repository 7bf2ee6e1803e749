"""Whoever changes the rules is killed, again and again, while workers work: the next one finishes it, and nothing is lost."""

import random
import time

import pytest

import urlsieve
from sieve_lab import finish
from zygote import wait_for

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def test_appliers_are_killed_while_workers_work_and_nothing_is_lost(place, fast_path, zygote):
    address, out, noted = place.address("rules"), fast_path / "out", fast_path / "noted"
    start = [f"http://m.h{number % 20}.example/page/{number}" for number in range(1500)]
    with urlsieve.open(address, max_attempts=1000, backoff=0.0, keep_urls=True) as sieve:
        sieve.push(start)
    workers = [zygote.start("work", address, str(out), 60.0) for _ in range(2)]
    chance = random.Random(5)
    for _ in range(6):
        before = noted.stat().st_size if noted.exists() else 0
        applier = zygote.start("change_rules", address, str(noted))
        wait_for(noted, before)
        time.sleep(chance.uniform(0.0, 0.4))
        zygote.kill(applier)
        with urlsieve.open(address) as fresh:  # finishes what was begun
            assert fresh._store.rules().swept
    for worker in workers:
        assert 0 == zygote.wait(worker, 120)
    with urlsieve.open(address) as sieve:
        sieve.apply_rules(None, by="Bob")
    words = noted.read_text().split()
    assert words.count("begin") > words.count("end")
    assert finish(address, start).accepted >= len(start)
