"""A group's pending URLs in order: read bit by bit as turns need them, so that a turn that gives one URL reads one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from urlsieve.frontier.turn import Place, next_class
from urlsieve.model import Klass, Policy
from urlsieve.stores.embedded.groups import Group
from urlsieve.stores.embedded.ledger import Transaction

_SELECT = (
    "SELECT p.id, t.fp, t.url, -p.np, t.depth, p.attempt, x.via, x.meta, x.variant, p.excused, p.failed_at, p.seq, p.since, t.priority "
    "FROM pending p CROSS JOIN text t ON t.id = p.id LEFT JOIN extra x ON x.id = p.id WHERE p.grp = ? AND p.class = ? "
)
_FIRST = _SELECT + "ORDER BY p.np, p.seq LIMIT ?"
_MORE = _SELECT + "AND (p.np, p.seq) > (?, ?) ORDER BY p.np, p.seq LIMIT ?"
_FP, _PRIORITY, _SEQ = 1, 3, 11
FIRST_READ, LONGEST_READ = 16, 1024

Spot = tuple[int, int, int, int]


class Line:
    """One class of one group. `at`: the first row that is not taken."""

    def __init__(self, tx: Transaction, group_id: int, klass: Klass, *, empty: bool) -> None:
        self.tx, self.group_id, self.klass = tx, group_id, klass
        self.rows: list[Any] = []
        self.at = 0
        self.complete = empty
        self.out: list[Spot] = []  # taken although others come before
        self._step = FIRST_READ
        self._last: tuple[int, int] | None = None  # read up to here
        self._gone = 0

    def expect(self, many: int) -> None:
        """So many will be taken: the first read brings them and the head after them, and no more."""
        if self._last is None:
            self._step = min(FIRST_READ, many + 1)

    def _read(self) -> None:
        step, self._step = self._step, min(max(2 * self._step, FIRST_READ), LONGEST_READ)
        where = (self.group_id, int(self.klass))
        if self._last is not None:
            more = self.tx.execute(_MORE, (*where, *self._last, step)).fetchall()
        else:
            more = self.tx.execute(_FIRST, (*where, step)).fetchall()
        if more:
            self._last = -more[-1][_PRIORITY], more[-1][_SEQ]
        self.rows += more
        self.complete = len(more) < step

    def top(self) -> int | None:
        if self.at == len(self.rows) and not self.complete:
            self._read()
        return self.rows[self.at][_PRIORITY] if self.at < len(self.rows) else None

    def take(self, at_most: int, least: int | None) -> list[Any]:
        """The next rows, at most so many, the first whatever its priority and the others only while theirs is at least `least`."""
        while len(self.rows) - self.at < at_most and not self.complete:
            if least is not None and len(self.rows) > self.at and self.rows[-1][_PRIORITY] < least:
                break
            self._read()
        end = min(self.at + at_most, len(self.rows))
        if least is not None:
            while end > self.at + 1 and self.rows[end - 1][_PRIORITY] < least:
                end -= 1
        rows = self.rows[self.at : end]
        self.at = end
        return rows

    def take_other(self, failed_url: bytes) -> Any:
        """The first row of another URL than this one; None if there is none."""
        at = self.at
        while at < len(self.rows) or not self.complete:
            if at == len(self.rows):
                self._read()
            elif self.rows[at][_FP] == failed_url:
                at += 1
            elif at == self.at:
                return self.take(1, None)[0]
            else:
                row = self.rows.pop(at)
                self.out.append((self.group_id, int(self.klass), -row[_PRIORITY], row[_SEQ]))
                return row
        return None

    def prefix(self) -> Spot | None:
        """Up to here all are taken; once for each stretch."""
        if self.at == self._gone:
            return None
        self._gone = self.at
        last = self.rows[self.at - 1]
        return self.group_id, int(self.klass), -last[_PRIORITY], last[_SEQ]


class Waiting:
    """A group whose turn may come in this call, with its lines."""

    def __init__(self, tx: Transaction, group: Group) -> None:
        self.group = group
        self._tx = tx
        self._lines: list[Line] = []

    @property
    def lines(self) -> list[Line]:
        """Made when its turn comes: most groups of a heap are only compared."""
        if not self._lines:
            self._lines = [Line(self._tx, self.group.id, klass, empty=self.group.tops[klass] is None) for klass in Klass]
        return self._lines

    def key(self) -> tuple[int, int]:
        """Smaller is sooner: highest waiting priority, then longest waiting."""
        return -(self.group.top() or 0), self.group.since

    def __lt__(self, other: Waiting) -> bool:
        """Any order does: tickets are never equal."""
        return id(self) < id(other)

    def may_follow(self, policy: Policy, now: float) -> bool:
        """Another turn in this call?"""
        if self.group.top() is None or self.group.delay_under(policy) > 0:
            return False
        return self.group.placed(policy, now).place == Place.READY

    def take(self, at_most: int, next_top: int | None, shares: tuple[int, int, int]) -> list[tuple[Klass, Any]]:
        """By class share, priority, arrival; once one is given, only while no other group has a higher priority waiting."""
        for its_line in self.lines:
            its_line.expect(at_most)
        working = [line for line in self.lines if not line.complete or line.top() is not None]
        rows: list[tuple[Klass, Any]] = []
        if len(working) == 1:
            rows = [(working[0].klass, row) for row in working[0].take(at_most, next_top)]
        else:
            while len(rows) < at_most and (line := self._by_share(shares, rows, next_top)) is not None:
                rows.append((line.klass, line.take(1, None)[0]))
        self._heads()
        return rows

    def _by_share(self, shares: tuple[int, int, int], rows: list[tuple[Klass, Any]], next_top: int | None) -> Line | None:
        tops = [line.top() for line in self.lines]
        if all(top is None for top in tops):
            return None
        klass, served = next_class(self.group.served, shares, [top is not None for top in tops])
        top = tops[klass]
        if rows and next_top is not None and top is not None and top < next_top:
            return None
        self.group.served = served
        return self.lines[klass]

    def probe(self, shares: tuple[int, int, int]) -> list[tuple[Klass, Any]]:
        """One URL, and another than the one that failed, where there is one: its class may have to wait for that."""
        for line in self.lines:
            line.expect(2)
        order = [self.lines[klass] for klass in self._classes_from(shares)]
        for line in order:
            row = line.take_other(self.group.health.failed_url)
            if row is not None:
                self._heads()
                return [(line.klass, row)]
        return self.take(1, None, shares)

    def _classes_from(self, shares: tuple[int, int, int]) -> list[int]:
        """The class whose share is next, then the others."""
        work = [line.top() is not None for line in self.lines]
        if not any(work):
            return []
        first, _ = next_class(self.group.served, shares, work)
        return [first, *(klass for klass in range(len(work)) if work[klass] and klass != first)]

    def _heads(self) -> None:
        self.group.tops = [line.top() for line in self.lines]

    def prefixes(self) -> Iterator[Spot]:
        for line in self._lines:
            spot = line.prefix()
            if spot is not None:
                yield spot

    def singles(self) -> Iterator[Spot]:
        for line in self._lines:
            yield from line.out
            line.out.clear()
