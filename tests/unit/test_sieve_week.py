"""A week of crawling in virtual time, with everything that goes wrong on the web: who is healthy is fetched, who is poison dies, nobody waits."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from sieve_lab import DAY, check_conservation, states
from urlsieve import testing

WEEK = 7 * DAY
DELAY = 1.0


class World:
    """The sites, what they answer at a given time, and what they saw in their logs."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.tries: Counter[str] = Counter()
        self.log: dict[str, list[float]] = defaultdict(list)

    def answer(self, url: str, now: float) -> dict[str, object]:
        """Arguments for done (no "reason") or fail."""
        self.tries[url] += 1
        host, path = url.split("/")[2], "/" + url.split("/", 3)[3]
        if path == "/always-503":
            return {"reason": "unavailable", "status": 503}
        if path == "/retry-after":
            return {"reason": "never", "status": 503, "retry_after": 1e9}
        if path == "/always-429":
            return {"reason": "too many", "status": 429}
        if path == "/always-500":
            return {"reason": "broken", "status": 500}
        if path == "/kills":
            return {"killed": True}
        if host == "dead.example" and path != "/":
            return {"status": 200, "final_url": "http://dead.example/", "redirects": ["http://dead.example/moved"]}
        if host == "down.example" and DAY <= now - self.start < 3 * DAY:
            return {"reason": "connection refused"}
        if host == "busy.example" and len([t for t in self.log[host][-40:] if t > now - 60]) > 20:
            return {"reason": "slow down", "status": 429, "retry_after": 30.0}
        if host == "flaky.example" and len(path) % 2 == 0 and self.tries[url] < 3:
            return {"reason": "reset"}
        if path.startswith("/gone"):
            return {"status": 404}
        return {"status": 200}


HEALTHY = [f"site{number}.example" for number in range(20)]
POISON = [
    f"http://site{number}.example{path}"
    for number, path in enumerate(["/always-503", "/retry-after", "/always-429", "/always-500", "/kills"])
]


def start_urls():
    urls = [f"http://{host}/{number}" for host in HEALTHY for number in range(60)]
    urls += [
        f"http://{host}/{'gone' if number % 9 == 0 else 'page'}/{number}"
        for host in ("down.example", "busy.example")
        for number in range(150)
    ]
    urls += [f"http://flaky.example/{number}" for number in range(100)]
    urls += [f"http://dead.example/{number}" for number in range(10_000)]
    return POISON + urls


class Crawl:
    """Workers as one loop: pop, fetch in the world, settle, go on to the time at which asking is worth it."""

    def __init__(self) -> None:
        self.clock = testing.VirtualClock()
        self.start = self.clock.now
        self.world = World(self.start)
        self.sieve = testing.open("memory:", clock=self.clock, seed=3, delay=DELAY)
        self.finished: dict[str, float] = {}
        self.blocked: Counter[str] = Counter()

    def fetch(self, lease):
        now = self.clock.now
        self.world.log[lease.group].append(now)
        answer = self.world.answer(lease.url, now)
        if answer.pop("killed", False):
            return
        reason = answer.pop("reason", None)
        if reason is None:
            self.sieve.done(lease, elapsed=0.2, **answer)
            self.finished[lease.url] = now
        else:
            settled = self.sieve.fail(lease, str(reason), elapsed=0.2, **answer)
            self.blocked[lease.url] += settled.change == "blocked"

    def step(self, until: float) -> bool:
        leases = self.sieve.pop(200)
        for lease in leases:
            self.fetch(lease)
        if not leases:
            if leases.next_at is None:
                return False
            self.clock.advance(leases.next_at - self.clock.now)
        return self.clock.now < until

    def run(self, until: float) -> None:
        while self.step(until):
            pass


@pytest.fixture(scope="module")
def crawl():
    crawl = Crawl()
    crawl.sieve.push(start_urls())
    crawl.sieve.group("dead.example").delay = 0.0  # its ten thousand pages would only make the test slow
    # a second batch arrives in the middle of the week, the poison included
    crawl.run(crawl.start + 3.5 * DAY)
    crawl.clock.now = max(crawl.clock.now, crawl.start + 3.5 * DAY)
    crawl.sieve.push([f"http://{host}/late/{number}" for host in HEALTHY for number in range(20)])
    crawl.run(crawl.start + WEEK)
    yield crawl
    crawl.sieve.close()


@pytest.mark.slow
def test_every_healthy_page_is_done_within_the_week(crawl):
    assert [] == [url for url in start_urls() if url not in crawl.finished and url not in POISON]
    late = [f"http://{host}/late/{number}" for host in HEALTHY for number in range(20)]
    assert [] == [url for url in late if url not in crawl.finished]
    assert set(states(crawl.sieve)) == {"done", "dead"}


@pytest.mark.slow
def test_poison_ends_on_the_failed_list_after_few_tries_and_few_blocks(crawl):
    assert ["dead"] * len(POISON) == [crawl.sieve.info(url).state for url in POISON]
    assert len(POISON) == crawl.sieve.stats().dead
    assert max(crawl.blocked[url] for url in POISON) <= 5
    assert sum(crawl.blocked[url] for url in POISON) <= 12


@pytest.mark.slow
def test_the_poison_of_one_site_does_not_hold_up_its_pages_or_the_others(crawl):
    for host in HEALTHY:
        last = max(at for url, at in crawl.finished.items() if url.startswith(f"http://{host}/") and "/late/" not in url)
        poisoned = any(url.startswith(f"http://{host}/") for url in POISON)
        assert last - crawl.start <= (5.1 * DAY if poisoned else 600), host


@pytest.mark.slow
def test_a_site_that_was_down_for_two_days_is_complete_after_it_came_back(crawl):
    done = [at for url, at in crawl.finished.items() if url.startswith("http://down.example/")]
    assert 150 == len(done)
    while_down = [at for at in crawl.world.log["down.example"] if DAY <= at - crawl.start < 3 * DAY]
    assert len(while_down) <= 200


@pytest.mark.slow
def test_politeness_is_never_violated(crawl):
    for group in crawl.world.log.keys() - {"dead.example"}:
        times = crawl.world.log[group]
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert not gaps or min(gaps) >= DELAY - 1e-6, group


@pytest.mark.slow
def test_ten_thousand_dead_articles_are_their_own_entries_and_their_target_is_done_once(crawl):
    assert "done" == crawl.sieve.info("http://dead.example/").state
    assert 10_000 == len(crawl.world.log["dead.example"])
    row = next(row for row in crawl.sieve.sites() if row.name == "dead.example")
    assert (10_002, 10_002) == (row.seen, row.done)


@pytest.mark.slow
def test_at_the_end_of_the_week_everything_is_accounted_for(crawl):
    check_conservation(crawl.sieve)
    stats = crawl.sieve.stats()
    assert len(start_urls()) + 400 + 2 == stats.accepted
