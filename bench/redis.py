"""The Redis store against scrapy-redis on one server of its own, set as recommended: push half new, pop + done, one by one."""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace

from bench.report import Speed, emit, emit_speed, interleaved_speeds, machine, stopwatch
from tests.redis_server import RedisServer

import urlsieve

BENCH = "redis"
PUSH_BATCH, POP_BATCH, SITES = 1000, 100, 3000


def half_new(many: int) -> Iterator[list[str]]:
    """Batches of which every second URL was in the batch before, spread over the sites."""
    rng = random.Random(1)
    before = [f"https://www.site-{rng.randrange(SITES)}.example/news/2026/article-{i}.html?id={i}" for i in range(PUSH_BATCH // 2)]
    yield before
    number = len(before)
    for _ in range(many):
        new = []
        for _ in range(PUSH_BATCH // 2):
            new.append(f"https://www.site-{rng.randrange(SITES)}.example/news/2026/article-{number}.html?id={number}")
            number += 1
        batch = before + new
        rng.shuffle(batch)
        yield batch
        before = new


class Peer:
    """What scrapy-redis does with each request: its fingerprint, SADD, and if that was new ZADD of the request."""

    def __init__(self, server: RedisServer, job: str) -> None:
        from scrapy.settings import Settings
        from scrapy_redis.dupefilter import RFPDupeFilter
        from scrapy_redis.queue import PriorityQueue

        import redis

        client = redis.StrictRedis(port=server.port)
        spider = SimpleNamespace(name=job, settings=Settings(), logger=None)
        self.filter = RFPDupeFilter(client, key=f"{job}:dupefilter")
        self.queue = PriorityQueue(client, spider, f"{job}:requests")

    def push(self, requests: Sequence[object]) -> None:
        for request in requests:
            if not self.filter.request_seen(request):
                self.queue.push(request)

    def pop_done(self, many: int) -> None:
        for _ in range(many):  # there is no done
            if self.queue.pop() is None:
                raise SystemExit("bench: the peer's queue is empty")


_jobs = count()


@contextmanager
def sieve_on(server: RedisServer) -> Iterator[urlsieve.Sieve]:
    """On an empty server, with every script there: an open store is asked for the first time only once."""
    with server.client() as client:
        client.flushall()
    with urlsieve.open(server.address(f"bench{next(_jobs)}")) as sieve:
        sieve.push("http://warm.example/")
        sieve.done(sieve.pop(1))
        yield sieve


def bench_push(server: RedisServer, batches: int, rounds: int) -> None:
    from scrapy import Request

    urls = list(half_new(batches))
    few = urls[: max(2, batches // 8)]
    requests = [[Request(url) for url in batch] for batch in few]

    def ours() -> Speed:
        with sieve_on(server) as sieve:
            sieve.push(urls[0])
            return timed(urls[1:], sieve.push)

    def theirs() -> Speed:
        with server.client() as client:
            client.flushall()
        peer = Peer(server, f"peer{next(_jobs)}")
        peer.push(requests[0])
        return timed(requests[1:], peer.push)

    rates = interleaved_speeds({"ours": ours, "theirs": theirs}, rounds)
    sizes = {"urls": batches * PUSH_BATCH, "batch": PUSH_BATCH, "sites": SITES}
    emit_speed(BENCH, "push, half new", rates["ours"], rates["theirs"], "scrapy-redis", **sizes)


def timed(batches: Sequence[Sequence[object]], push: Callable[[Sequence[object]], object]) -> Speed:
    speeds: list[Speed] = []
    with stopwatch(sum(map(len, batches)), speeds):
        for batch in batches:
            push(batch)
    return speeds[0]


def bench_pop(server: RedisServer, pairs: int, rounds: int) -> None:
    """A pair of pop and done counts once."""
    from scrapy import Request

    urls = [url for batch in half_new(2 * pairs // PUSH_BATCH + 2) for url in batch]

    def ours() -> Speed:
        speeds: list[Speed] = []
        with sieve_on(server) as sieve:
            for start in range(0, len(urls), PUSH_BATCH):
                sieve.push(urls[start : start + PUSH_BATCH])
            with stopwatch(pairs, speeds):
                for _ in range(pairs // POP_BATCH):
                    leases = sieve.pop(POP_BATCH)
                    if len(leases) < POP_BATCH:
                        raise SystemExit("bench: the queue is empty")
                    sieve.done(leases)
        return speeds[0]

    def theirs() -> Speed:
        speeds: list[Speed] = []
        with server.client() as client:
            client.flushall()
        peer = Peer(server, f"peer{next(_jobs)}")
        peer.push([Request(url) for url in urls[: pairs // 4]])
        with stopwatch(pairs // 8, speeds):
            peer.pop_done(pairs // 8)
        return speeds[0]

    rates = interleaved_speeds({"ours": ours, "theirs": theirs}, rounds)
    emit_speed(BENCH, "pop + done", rates["ours"], rates["theirs"], "scrapy-redis pop, no done", pairs=pairs, batch=POP_BATCH, sites=SITES)


def bench_single(server: RedisServer, pops: int) -> None:
    """Milliseconds of a pop(1) with 64 shards, and of its done."""
    with sieve_on(server) as sieve:
        for batch in half_new(10):
            sieve.push(batch)
        spent: dict[str, list[float]] = {"pop(1)": [], "done(1)": []}
        for _ in range(pops):
            began = time.perf_counter()
            (lease,) = sieve.pop(1)
            taken = time.perf_counter()
            sieve.done(lease)
            spent["pop(1)"].append(taken - began)
            spent["done(1)"].append(time.perf_counter() - taken)
        for name, values in spent.items():
            p99 = round(1000 * statistics.quantiles(values, n=100)[98], 3)
            emit(BENCH, name, ours=1000 * statistics.median(values), unit="ms", p99=p99)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, for a look")
    quick = parser.parse_args().quick
    machine(BENCH)
    server = RedisServer().start()
    try:
        bench_push(server, batches=20 if quick else 200, rounds=1 if quick else 3)
        bench_pop(server, pairs=4_000 if quick else 40_000, rounds=1 if quick else 3)
        bench_single(server, pops=200 if quick else 2_000)
    finally:
        server.close()


if __name__ == "__main__":
    main()
