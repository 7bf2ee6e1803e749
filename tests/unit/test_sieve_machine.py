"""A state machine of the sieve against a plain dictionary, in virtual time: the sieve may never do what the dictionary says it cannot."""

from __future__ import annotations

import os
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import redis_server
from sieve_lab import STATES, check_conservation
from urlsieve import LeaseLost, URLItem, testing

#: Single pages on hosts of their own (no block can form there: one URL alone never blocks) and two hosts of several pages.
SINGLE = [f"http://s{number}.example/" for number in range(5)]
SHARED = [f"http://{host}.example/{number}" for host in ("x", "y") for number in range(4)]
URLS = SINGLE + SHARED
LONG = os.environ.get("URLSIEVE_HYPOTHESIS") == "long"

urls = st.sampled_from(URLS)
some_urls = st.lists(urls, min_size=1, max_size=6)


@dataclass
class Entry:
    """What the dictionary knows of one URL."""

    state: str
    priority: int = 0
    due: float = 0.0
    attempt: int = 0
    deadline: float = 0.0
    token: str = ""
    again: float | None = None  # asked for again while leased: due time
    known: bool = False


class SieveMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = testing.VirtualClock()
        self.sieve = testing.open(self.address(), clock=self.clock, seed=1, secret=1, backoff=10.0, max_attempts=3)
        self.model: dict[str, Entry] = {}
        self.leases: dict[str, object] = {}  # every token ever given → its lease
        self.high = self.clock.now  # the latest time the store has been told

    def address(self) -> str:
        return "memory:"

    def teardown(self) -> None:
        check_conservation(self.sieve)
        self.sieve.close()

    # -- helpers ------------------------------------------------------------------------------------------------------
    def waits(self, entry: Entry, due: float) -> None:
        """The entry goes back to the queue with a new count of attempts."""
        entry.state = "delayed" if due > self.clock.now else "pending"
        entry.due, entry.attempt, entry.again, entry.token = due, 0, None, ""

    def current(self, token: str) -> Entry | None:
        return next((entry for entry in self.model.values() if entry.state == "leased" and entry.token == token), None)

    def settled(self, entry: Entry, state: str) -> None:
        """A lease that ended in `state`, unless the URL was asked for again meanwhile."""
        if entry.again is not None:
            self.waits(entry, entry.again)
        else:
            entry.state, entry.token = state, ""

    # -- push ---------------------------------------------------------------------------------------------------------
    @rule(batch=some_urls, priority=st.integers(-2, 5), wait=st.sampled_from([None, None, None, 5.0, 40.0]))
    def push(self, batch: list[str], priority: int, wait: float | None) -> None:
        due = None if wait is None else self.clock.now + wait
        expected = []
        for url in batch:
            if url in self.model:
                expected.append("seen")
                continue
            expected.append("new")
            self.model[url] = Entry("delayed" if wait else "pending", priority, due or self.clock.now)
        assert expected == self.sieve.push([URLItem(url, priority=priority, due=due) for url in batch]).verdicts

    @rule(url=urls, priority=st.integers(-2, 9))
    def push_raise(self, url: str, priority: int) -> None:
        entry = self.model.get(url)
        (verdict,) = self.sieve.push(url, priority=priority, mode="raise").verdicts
        if entry is None:
            assert verdict == "new"
            self.model[url] = Entry("pending", priority, self.clock.now)
        elif entry.state == "pending":
            assert verdict == ("raised" if priority > entry.priority else "seen")
            entry.priority = max(entry.priority, priority)
        elif entry.state == "delayed":
            assert verdict == "raised" or entry.due <= self.clock.now
            entry.priority, entry.due, entry.state = max(entry.priority, priority), self.clock.now, "pending"
        else:
            assert verdict == "seen"

    @rule(url=urls, wait=st.sampled_from([None, None, 15.0]))
    def push_again(self, url: str, wait: float | None) -> None:
        due = None if wait is None else self.clock.now + wait
        entry = self.model.get(url)
        (verdict,) = self.sieve.push([URLItem(url, due=due)], mode="again").verdicts
        at = due or self.clock.now
        if entry is None:
            assert verdict == "new"
            self.model[url] = Entry("delayed" if wait else "pending", 0, at)
        elif entry.known:
            entry.known, entry.priority = False, 0
            self.waits(entry, at)
        elif entry.state in ("done", "dead"):
            assert verdict == "requeued"
            entry.priority = 0  # this push's
            self.waits(entry, at)
        elif entry.state == "leased":
            assert verdict == "requeued"
            wanted = due or 0.0  # nothing said: at once, whatever the clock says then
            entry.again = wanted if entry.again is None else min(entry.again, wanted)
            entry.priority = max(entry.priority, 0)
        else:
            assert verdict in ("raised", "seen")
            entry.priority = max(entry.priority, 0)
            if entry.state == "delayed" and (wait is None or at < entry.due):
                entry.due = at
                entry.state = "delayed" if wait else "pending"

    @rule(batch=some_urls, known=st.booleans())
    def mark(self, batch: list[str], known: bool) -> None:
        expected = []
        for url in batch:
            expected.append("seen" if url in self.model else "new")
            if url not in self.model:
                self.model[url] = Entry("done", known=known)
        assert expected == self.sieve.mark(batch, known=known).verdicts

    # -- pop ----------------------------------------------------------------------------------------------------------
    def blocked(self, url: str) -> bool:
        """Whether the health of its group may hold a URL back, or excuse its failure."""
        host = url.split("/")[2]
        return any(row.name == host and (row.health.blocks or row.health.blocked_until > self.clock.now) for row in self.sieve.groups())

    @rule(limit=st.integers(1, 14), ttl=st.sampled_from([5.0, 30.0, 500.0]))
    def pop(self, limit: int, ttl: float) -> None:
        now = self.clock.now
        self.reap()
        can = {url for url, entry in self.model.items() if entry.state == "pending"}
        held = {url for url in can if self.blocked(url)}
        leases = self.sieve.pop(limit, lease=ttl)
        for lease in leases:
            assert lease.url in can, f"{lease.url} was given although it is {self.model.get(lease.url)}"
            assert lease.token not in self.leases, "a token was given twice"
            can.discard(lease.url)
            entry = self.model[lease.url]
            entry.state, entry.token, entry.deadline, entry.attempt = "leased", lease.token, now + ttl, entry.attempt + 1
            assert (lease.priority, lease.deadline) == (entry.priority, entry.deadline)
            assert lease.attempt == entry.attempt
            self.leases[lease.token] = lease
        if len(leases) < limit:
            assert can <= held, "something was held back that nothing holds"
        if not leases and leases.next_at is not None:
            assert leases.next_at > now

    def reap(self) -> None:
        """What the next pop does first."""
        for entry in self.model.values():
            if entry.state == "leased" and entry.deadline <= self.clock.now:
                if entry.again is not None:
                    self.waits(entry, entry.again)
                else:
                    entry.state = "dead" if entry.attempt >= 3 else "pending"
            if entry.state == "delayed" and entry.due <= self.clock.now:
                entry.state = "pending"

    # -- settle -------------------------------------------------------------------------------------------------------
    @precondition(lambda self: self.leases)
    @rule(data=st.data(), verb=st.sampled_from(["done", "gone", "skip", "release", "later", "extend", "forbidden", "fail", "slow"]))
    def settle(self, data: st.DataObject, verb: str) -> None:
        token = data.draw(st.sampled_from(list(self.leases)))
        lease, entry, sieve = self.leases[token], self.current(token), self.sieve
        later, blocked = self.clock.now + 20, self.blocked(lease.url)
        calls = {
            "done": lambda: sieve.done(lease),
            "gone": lambda: sieve.done(lease, status=410),
            "skip": lambda: sieve.skip(lease, "type"),
            "release": lambda: sieve.release(lease),
            "later": lambda: sieve.release(lease, not_before=later),
            "extend": lambda: sieve.extend(lease, 50.0),
            "forbidden": lambda: sieve.fail(lease, "no", status=403),
            "fail": lambda: sieve.fail(lease, "reset"),
            "slow": lambda: sieve.fail(lease, "slow", status=429),
        }
        try:
            settled = calls[verb]()
        except LeaseLost:
            assert entry is None, f"the current token of {lease.url} was refused"
            return
        assert entry is not None, f"{verb} with a token that is not current went through"
        if verb == "extend":
            entry.deadline = max(entry.deadline, self.clock.now + 50.0)
        elif verb in ("done", "gone", "skip"):
            self.settled(entry, "done")
        elif verb == "forbidden":
            self.settled(entry, "dead")
        elif verb in ("release", "later"):
            self.released(entry, later if verb == "later" else self.clock.now)
        else:
            self.failed(lease, entry, settled, verb, blocked)

    def released(self, entry: Entry, due: float) -> None:
        if entry.again is None:
            attempt = entry.attempt - 1
            self.waits(entry, due)
            entry.attempt = attempt
        else:
            self.waits(entry, min(due, entry.again))

    def failed(self, lease: object, entry: Entry, settled: object, verb: str, blocked: bool) -> None:
        if entry.again is not None:
            assert settled.state in ("delayed", "pending")
            assert settled.state == "pending" or settled.due <= max(entry.again, self.clock.now)
            self.waits(entry, settled.due or self.clock.now)
            return
        assert settled.state in ("delayed", "dead")
        if lease.url in SINGLE and verb == "fail" and not blocked:
            assert settled.state == ("dead" if entry.attempt >= 3 else "delayed")
            assert settled.state == "dead" or settled.due <= self.clock.now + 10 * 2 ** (entry.attempt - 1)
        entry.state, entry.token = settled.state, ""
        if settled.state == "delayed":
            assert settled.due >= self.clock.now
            entry.due = settled.due
            entry.attempt -= self.sieve.info(lease.url).attempt != entry.attempt

    # -- everything else ----------------------------------------------------------------------------------------------
    @rule(batch=some_urls)
    def forget(self, batch: list[str]) -> None:
        known = {url for url in batch if url in self.model}
        assert len(known) == self.sieve.forget(batch)
        for url in known:
            del self.model[url]

    @rule(host=st.sampled_from(["x.example", "y.example", "s0.example"]))
    def purge(self, host: str) -> None:
        gone = [url for url in self.model if url.split("/")[2] == host]
        assert len(gone) == self.sieve.purge(site=host)
        for url in gone:
            del self.model[url]

    @rule(batch=some_urls)
    def seen(self, batch: list[str]) -> None:
        assert [url in self.model for url in batch] == self.sieve.seen(batch)

    @rule(seconds=st.sampled_from([0.5, 4.0, 11.0, 60.0, 4000.0]))
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(seconds=st.sampled_from([1.0, 30.0, 1000.0]))
    def step_back(self, seconds: float) -> None:
        self.clock.now -= seconds

    @initialize()
    def an_empty_store_is_empty(self) -> None:
        assert [] == self.sieve.pop(1)

    @invariant()
    def counts_agree(self) -> None:
        found = self.sieve.stats().as_dict()
        expected = dict.fromkeys(STATES, 0)
        for entry in self.model.values():
            if not entry.known:
                expected[entry.state] += 1
        # due and expired entries move at the next pop, in the store as in the dictionary
        assert expected == {name: found[name] for name in STATES}
        assert sum(entry.known for entry in self.model.values()) == found["known"]
        assert len(self.model) == found["seen"]


TestSieveMachine = SieveMachine.TestCase
TestSieveMachine.settings = settings(max_examples=3000 if LONG else 100, stateful_step_count=60 if LONG else 50)


class RedisSieveMachine(SieveMachine):
    """The same on a Redis store of four shards: so few are tidied by every pop, as the dictionary is."""

    def address(self) -> str:
        redis_server.forget_all()
        return redis_server.shared().address("machine", shards=4)


TestRedisSieveMachine = RedisSieveMachine.TestCase
TestRedisSieveMachine.settings = settings(max_examples=300 if LONG else 15, stateful_step_count=60 if LONG else 40)
