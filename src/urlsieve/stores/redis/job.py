"""One job on one server: its header, what holds for all its shards, and the way to ask them."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from urlsieve.errors import StoreCorrupt, StoreMismatch, StoreUnavailable
from urlsieve.model import Header, Policy
from urlsieve.stores.protocol import Ruled
from urlsieve.stores.redis import pack
from urlsieve.stores.redis.address import DEFAULT_SHARDS, Address
from urlsieve.stores.redis.pack import Head
from urlsieve.stores.redis.shards import Shards
from urlsieve.stores.redis.wire import Again, Argument, Call, Wire, gone

SCHEMA = 1
#: How often a shared value is compared and set before somebody else's luck is taken for a fault.
MOST_TRIES = 100


class Ask(NamedTuple):
    """A script for one shard."""

    shard: int
    script: str
    arguments: Sequence[Argument] = ()


class Answer(NamedTuple):
    head: Head
    values: list[Any]


class Job:
    """callers_clock: times are the caller's (tests); else the server's, and the caller's are taken as durations from its `now`."""

    def __init__(self, address: Address, *, callers_clock: bool) -> None:
        self.address = address
        self.where = address.shown
        #: A server that is not there when a store is opened is rather a wrong address than an outage.
        self.first_patience = min(address.patience, address.connect_timeout)
        self.clock: Argument = b"1" if callers_clock else b"0"
        self.key = f"urlsieve:{{{address.job}}}:header"
        self.signs = f"urlsieve:{{{address.job}}}:changes"
        self.run_id = ""
        #: Of the secret; 0 until it is known.
        self.number = 0
        self.epoch = 0
        self.pgen = self.rgen = 0
        self.policy = Policy()
        self._context = b""
        self._lock = threading.Lock()
        self.bound = False
        self.heard: Callable[[int, Head], None] = lambda shard, head: None
        self.wire = Wire(address, self._greet)
        self.shards: Shards

    # -- what a new connection does first

    def _greet(self, ask: Callable[[Call], Any], info: dict[str, str]) -> None:
        """A server that has restarted may have lost its newest writes: tokens must not come again, so the epoch changes."""
        run = info.get("run_id", "")
        found = self._take(ask(Call("job", self.key, ("run", run))))
        if found is None and self.bound:
            raise StoreCorrupt(
                f"the job {self.address.job} is gone from {self.where}: the server has lost its data or was emptied; restore it, or "
                "make the job anew"
            )
        self.run_id = run

    def _pack_context(self) -> None:
        self._context = pack.CONTEXT.pack(self.pgen, self.rgen, self.epoch, self.number) + pack.policy(self.policy)

    # -- the header

    def bind(self, header: Header, policy: Policy, domains: Callable[[str], Callable[[str], str]], *, create: bool) -> Header:
        """Reads the job's header, or makes the job; two at once make it once."""
        found, made = self.read(self.first_patience), False
        if found is None:
            if not create:
                raise StoreUnavailable(f"there is no store {self.where}: push or open with create=True makes it")
            self._make(header, policy)
            found, made = self.read(), True
        if found is None:
            raise StoreCorrupt(f"the job {self.address.job} vanished from {self.where} while it was made")
        bound, shards = found
        if self.address.shards not in (None, shards):
            raise StoreMismatch(f"the store {self.where} has {shards} shards, not {self.address.shards}: open it without shards=", "shards")
        self.shards = Shards(self.address.job, shards, bound.secret, domains(bound.suffixes))
        self.number = pack.job_number(bound.secret)
        self._pack_context()
        self.bound = True
        if made:
            self.tell()
        return bound

    def read(self, patience: float | None = None) -> tuple[Header, int] | None:
        """Header and number of shards; takes over the policy, generations and epoch. None: no such job."""
        (values,) = self.wire.ask([Call("job", self.key, ("read",))], patience=patience)
        return self._take(values)

    def _take(self, values: Sequence[Any]) -> tuple[Header, int] | None:
        schema, text, policy, pgen, _, rgen, epoch, _ = values
        if schema is None:
            return None
        if int(schema) != SCHEMA:
            way = "use a newer one" if int(schema) > SCHEMA else "and this version cannot upgrade it"
            text = f"the store {self.where} has schema {int(schema)}; this version of urlsieve knows {SCHEMA}: {way}"
            raise StoreMismatch(text, "schema")
        try:
            known = json.loads(text)
            shards = int(known.pop("shards"))
            known["secret"] = int(known["secret"], 16)
            header = Header(**known)
            fields = json.loads(policy)
            fields["shares"] = tuple(fields["shares"])
            shared = Policy(**fields)
        except (TypeError, ValueError, KeyError) as error:
            raise StoreCorrupt(f"the header of the store {self.where} cannot be read ({error}): restore the server's data") from error
        if self.bound and pack.job_number(header.secret) != self.number:
            raise gone(self.where)
        with self._lock:
            if int(pgen) >= self.pgen:
                self.policy, self.pgen = shared, int(pgen)
            self.rgen, self.epoch = max(self.rgen, int(rgen)), max(self.epoch, int(epoch))
            self._pack_context()
        return header, shards

    def _make(self, header: Header, policy: Policy) -> None:
        """The shards first, the header last: what has a header is complete."""
        count = self.address.shards or DEFAULT_SHARDS
        keys = [f"urlsieve:{{{self.address.job}:s{number}}}:n" for number in range(count)]
        self.wire.ask([Call("", "", ("SET", key, pack.EMPTY_SHARD, "NX")) for key in keys])
        used = self.wire.ask([Call("", "", ("GET", key)) for key in keys])
        if any(pack.counters(text)["writes"] for text in used) and self.read() is None:
            raise StoreCorrupt(f"the header of the store {self.where} is gone but its shards are there: restore the server's data")
        known = {**asdict(header), "secret": f"{header.secret:032x}", "shards": count}
        arguments = ("make", json.dumps(known), json.dumps(asdict(policy)), self.run_id)
        self.wire.ask([Call("job", self.key, arguments)])

    def check(self, text: bytes) -> int:
        """Of a shard: is it there, and of this job? One whose making was cut short has no number. The generation of its rules."""
        if len(text) != pack.RULES_AND_JOB.size:
            raise gone(self.where)
        rgen, _, _, number = pack.RULES_AND_JOB.unpack(text)
        if number not in (0, self.number):
            raise gone(self.where)
        return int(rgen)

    # -- policy and rules

    def set_policy(self, change: dict[str, Any]) -> None:
        for _ in range(MOST_TRIES):
            self.read()
            policy = replace(self.policy, **change)
            (done,) = self.wire.ask([Call("job", self.key, ("policy", json.dumps(asdict(policy)), self.pgen))])
            if done:
                self.read()
                self.tell()
                return
        raise StoreUnavailable(f"the policy of {self.where} changes too often: try again")

    def rules(self) -> tuple[Ruled, int | None]:
        """And the number of the sweep that is not finished. What is asked from now on is asked under these."""
        (values,) = self.wire.ask([Call("job", self.key, ("read",))])
        if self._take(values) is None:
            raise StoreCorrupt(f"the job {self.address.job} is gone from {self.where}")
        number = int(values[7]) if values[7] else None
        return Ruled(int(values[5]), values[4].decode(), number is None), number

    def replace_rules(self, text: str, expected: int, *, swept: bool) -> bool:
        """swept: nothing has to be swept for them. All shards are to be told."""
        call = os.urandom(8)  # known again when it is repeated because no answer came
        (done,) = self.wire.ask([Call("job", self.key, ("rules", text, expected, call, int(not swept)))])
        return bool(done)

    def end_sweep(self, number: int, epoch: int) -> bool:
        """All shards are done with it. False: the server has restarted since that `epoch`, so perhaps they are not."""
        return bool(self.wire.ask([Call("job", self.key, ("swept", number, epoch))])[0])

    def tell(self) -> None:
        """All shards hear of it at once; one that does not hears it with the next call of anybody who knows."""
        self.ask([Ask(shard, "touch") for shard in range(self.shards.count)], time.time(), sign=True)

    # -- the shards

    def ask(self, asks: Iterable[Ask], now: float, *, sign: bool = False, again: Again | None = None) -> list[Answer]:
        """All in one round trip, in this order. sign: others who wait are to look."""
        shards: list[int] = []

        def calls() -> Iterator[Call]:
            for ask in asks:
                shards.append(ask.shard)
                yield self.call(ask, now)
            if sign and shards:
                yield Call("job", self.key, ("sign",))

        began = time.monotonic()

        def repeat(call: Call, waited: float) -> Call:
            if call.script == "job":
                return call
            moved = repr(now + (time.monotonic() - began))  # and by the epoch of a server that has restarted meanwhile
            call = call._replace(arguments=[moved, self.clock, self._context, *call.arguments[3:]])
            return call if again is None else again(call, waited)

        answers = []
        newer = False
        for shard, values in zip(shards, self.wire.ask(calls(), again=repeat), strict=False):
            head = pack.head(values[0])
            newer = newer or head.pgen > self.pgen or head.rgen > self.rgen or head.epoch > self.epoch
            self.heard(shard, head)
            answers.append(Answer(head, values[1:]))
        if newer:
            self.read()
        return answers

    def call(self, ask: Ask, now: float) -> Call:
        """With what every script is told."""
        return Call(ask.script, f"{self.shards.keys[ask.shard]}n", [repr(now), self.clock, self._context, *ask.arguments])

    def one(self, shard: int, script: str, arguments: Sequence[Argument], now: float, *, sign: bool = False) -> Answer:
        return self.ask([Ask(shard, script, arguments)], now, sign=sign)[0]

    def everywhere(self, script: str, arguments: Sequence[Argument], now: float) -> list[Answer]:
        return self.ask([Ask(shard, script, arguments) for shard in range(self.shards.count)], now)
