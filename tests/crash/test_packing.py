"""Processes killed while they pack texts of done URLs: nothing is lost, and nothing is there twice."""

import random
import shutil
import time

import pytest

import urlsieve
from sieve_lab import check_conservation, pages
from urlsieve.stores.embedded import packing
from urlsieve.stores.embedded.seen import manifest

pytestmark = pytest.mark.crash


def content(sieve):
    return sorted((entry.url, entry.state, entry.depth, entry.variant) for entry in sieve.entries())


def test_a_kill_before_any_statement_of_packing_leaves_every_text(fast_path, zygote):
    store = fast_path / "store"
    with urlsieve.open(store) as sieve:
        for host in ("a.example", "b.example"):
            sieve.push([urlsieve.URLItem(url, variant=b"v" if url.endswith("7") else b"") for url in pages(40, host=host)])
            while leases := sieve.pop(25):
                sieve.done(leases)
            sieve._store.pack()
            sieve.forget(pages(25, host=host))  # the next packing has a block to write anew
            sieve.push(pages(10, start=25, host=host), mode="again")
            sieve.done(sieve.pop(5))
        before = content(sieve)
    at, status = 0, -9
    while status == -9:
        at += 1
        copy = fast_path / f"copy{at}"
        shutil.copytree(store, copy)
        status = zygote.run("pack_and_die", str(copy), at)
        with urlsieve.open(copy) as sieve:
            assert before == content(sieve)
            check_conservation(sieve)
            sieve._store.pack()
            assert before == content(sieve)
            check_conservation(sieve)
        shutil.rmtree(copy)
    assert 0 == status
    assert at > 20


@pytest.mark.slow
def test_processes_killed_while_they_pack_at_random_moments_lose_nothing(fast_path, zygote, monkeypatch):
    store, rng = fast_path / "store", random.Random(10)
    urlsieve.open(store, max_attempts=100, durability="normal").close()
    for turn in range(20):
        pids = [zygote.start("churn_texts", str(store), 30) for _ in range(2)]
        time.sleep(rng.uniform(0.1, 0.4))
        for pid in pids:
            assert -9 == zygote.kill(pid)
        if turn % 4 == 3:
            with urlsieve.open(store) as sieve:
                check_conservation(sieve)
    with urlsieve.open(store) as sieve:
        with sieve._store._ledger.read() as db:
            assert db.execute("SELECT count(*) FROM packed").fetchone()[0] > 10
            assert {run.name for run in manifest(db)} == {path.name for path in (store / "runs").glob("*.run")}
        monkeypatch.setattr(packing, "REST", 0.0)
        before = content(sieve)
        sieve._store.pack()
        assert before == content(sieve)
        check_conservation(sieve)
