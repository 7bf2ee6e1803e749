"""The embedded store on a real disk, durable, against plain SQLite: push new and known URLs, pop + done, races, many groups."""

import argparse
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from bench.baseline import PlainQueue
from bench.report import OUT, Speed, emit, emit_speed, interleaved_speeds, machine, stopwatch

import urlsieve

BENCH = "embedded"
PUSH_BATCH, POP_BATCH, SITES = 1000, 100, 10_000
RACERS, RACE_URLS = 4, 40_000


class Pushes(Protocol):
    def push(self, urls: Sequence[str]) -> object: ...


@contextmanager
def folder() -> Iterator[Path]:
    """A fresh folder on the checkout's disk, gone afterwards."""
    OUT.mkdir(exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="store-", dir=OUT))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def pages(count: int, sites: int) -> list[str]:
    """Distinct URLs of about 60 bytes spread over the sites, in mixed order as links come in a broad crawl."""
    urls = [f"https://www.site-{i % sites}.example/news/2026/article-{i // sites}.html?id={i}" for i in range(count)]
    random.Random(1).shuffle(urls)
    return urls


def mostly_known(count: int, sites: int) -> list[str]:
    """`count` URLs of which 15 % are named for the first time; the others were named before, at any distance."""
    rng = random.Random(2)
    fresh = iter(pages(count, sites))
    named: list[str] = []
    out = []
    for _ in range(count):
        if not named or rng.random() < 0.15:
            named.append(next(fresh))
            out.append(named[-1])
        else:
            out.append(rng.choice(named))
    return out


def batches(urls: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (urls[i : i + size] for i in range(0, len(urls), size))


def push_all(sieve: Pushes, urls: Sequence[str]) -> Speed:
    speeds: list[Speed] = []
    with stopwatch(len(urls), speeds):
        for batch in batches(urls, PUSH_BATCH):
            sieve.push(batch)
    return speeds[0]


def timed_push(urls: Sequence[str]) -> dict[str, Callable[[], Speed]]:
    """Ours, and the peer with and without a queue, each on a fresh store."""

    def ours() -> Speed:
        with folder() as path, urlsieve.open(str(path / "store"), durability="full") as sieve:
            return push_all(sieve, urls)

    def plain(queue: bool) -> Speed:
        with folder() as path:
            peer = PlainQueue(path, queue=queue)
            try:
                return push_all(peer, urls)
            finally:
                peer.close()

    return {"ours": ours, "seen": lambda: plain(False), "seen and queue": lambda: plain(True)}


def bench_push(case: str, urls: Sequence[str], rounds: int) -> None:
    rates = interleaved_speeds(timed_push(urls), rounds)
    for peer in ("seen", "seen and queue"):
        peer_name = f"sqlite INSERT OR IGNORE, {peer}"
        emit_speed(BENCH, case, rates["ours"], rates[peer], peer_name, urls=len(urls), batch=PUSH_BATCH, sites=SITES)


def bench_pop(urls: Sequence[str], count: int, rounds: int) -> None:
    """pop + done of `count` URLs out of a full queue; a pair counts once."""

    def ours() -> Speed:
        with folder() as path, urlsieve.open(str(path / "store"), durability="full") as sieve:
            push_all(sieve, urls)
            return pop_done(sieve, count)

    def plain() -> Speed:
        speeds: list[Speed] = []
        with folder() as path:
            peer = PlainQueue(path)
            push_all(peer, urls)
            with stopwatch(count, speeds):
                for _ in range(count // POP_BATCH):
                    peer.done(peer.pop(POP_BATCH))
            peer.close()
        return speeds[0]

    rates = interleaved_speeds({"ours": ours, "plain": plain}, rounds)
    peer_name = "sqlite queue table, first in first out"
    sizes = {"urls": count, "batch": POP_BATCH, "groups": SITES, "queued": len(urls)}
    emit_speed(BENCH, "pop + done", rates["ours"], rates["plain"], peer_name, **sizes)


def pop_done(sieve: urlsieve.Sieve, count: int) -> Speed:
    left = count
    speeds: list[Speed] = []
    with stopwatch(count, speeds):
        while left > 0:
            leases = sieve.pop(min(POP_BATCH, left))
            if not leases:
                raise SystemExit(f"bench: the queue gave nothing with {left} to go")
            sieve.done(leases)
            left -= len(leases)
    return speeds[0]


def bench_groups(rounds: int, total: int, many: int, few: int) -> None:
    """pop + done with many groups against few; concurrency=1, so that a pop of 100 visits 100 groups in either."""

    def speed(groups: int) -> Speed:
        with folder() as path, urlsieve.open(str(path / "store"), durability="full", concurrency=1) as sieve:
            push_all(sieve, pages(total, groups))
            return pop_done(sieve, min(total, 20_000))

    speeds = interleaved_speeds({"many": lambda: speed(many), "few": lambda: speed(few)}, rounds)
    peer_name = f"ours with {few} groups"
    emit_speed(BENCH, f"pop + done with {many} groups", speeds["many"], speeds["few"], peer_name, queued=total, batch=POP_BATCH)


def racer(path: str, seed: int, batch: int, gate: object, results: object) -> None:
    """Pushes all URLs of the race in its own order (seed 0: in the common order) and reports how many it won."""
    urls = pages(RACE_URLS, SITES)
    if seed:
        random.Random(seed).shuffle(urls)
    with urlsieve.open(path) as sieve:
        gate.wait()  # type: ignore[attr-defined]
        won = sum(sieve.push(part).new for part in batches(urls, batch))
    results.put(won)  # type: ignore[attr-defined]


def bench_race(shuffled: bool, batch: int) -> None:
    """Four processes push the same URLs at once: how evenly they win, and that every URL is won exactly once."""
    context = multiprocessing.get_context("spawn")
    with folder() as path:
        store = str(path / "store")
        urlsieve.open(store, durability="full").close()
        gate, results = context.Barrier(RACERS + 1), context.Queue()
        seeds = range(1, RACERS + 1) if shuffled else [0] * RACERS
        racers = [context.Process(target=racer, args=(store, seed, batch, gate, results), daemon=True) for seed in seeds]
        for process in racers:
            process.start()
        gate.wait()
        start = time.perf_counter()
        won = sorted(results.get(timeout=300) for _ in racers)
        seconds = time.perf_counter() - start
        for process in racers:
            process.join()
    order = "each in its own order" if shuffled else "all in one order"
    emit(
        BENCH, f"race of {RACERS}, {order}", ours=won[0], peer=won[-1], peer_name="the fastest of the four", unit="URLs won",
        won=won, sum=sum(won), urls=RACE_URLS, batch=batch, seconds=round(seconds, 2),
    )  # fmt: skip
    if sum(won) != RACE_URLS:
        raise SystemExit(f"bench: {RACE_URLS} URLs were won {sum(won)} times")


def fsync_cost() -> None:
    """What one durable write of 4 KiB costs on this disk, for scale: every durable batch pays at least this."""
    with folder() as path:
        fd = os.open(path / "probe", os.O_CREAT | os.O_WRONLY, 0o600)
        times = []
        for _ in range(200):
            os.write(fd, bytes(4096))
            start = time.perf_counter()
            os.fsync(fd)
            times.append(time.perf_counter() - start)
        os.close(fd)
    times.sort()
    emit(BENCH, "fsync of 4 KiB", ours=times[100] * 1000, unit="ms", p95=round(times[190] * 1000, 3))


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench embedded", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the URLs, one round")
    parser.add_argument("--large", action="store_true", help="ten times the URLs")
    parser.add_argument("--rounds", type=int)
    args = parser.parse_args()
    size = 200_000
    size = size // 4 if args.quick else size * 10 if args.large else size
    rounds = args.rounds or (1 if args.quick else 3)
    machine(BENCH)
    fsync_cost()
    urls = pages(size, SITES)
    bench_push("push of new URLs", urls, rounds)
    bench_push("push with 85 % known", mostly_known(size, SITES), rounds)
    bench_pop(urls, size // 5, rounds)
    bench_groups(rounds, 20_000 if args.quick else 200_000, 10_000 if args.quick else 100_000, 1_000)
    bench_race(shuffled=True, batch=100)
    bench_race(shuffled=False, batch=1000)
    return 0


if __name__ == "__main__":
    sys.exit(main())
