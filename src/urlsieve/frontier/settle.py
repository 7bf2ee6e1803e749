"""A leased row, its group's health and an outcome in; the row's new state and the group's new health out."""

from __future__ import annotations

from typing import NamedTuple

from urlsieve.frontier.backoff import LONGEST_BLOCK, retry_delay
from urlsieve.frontier.health import after_answer, after_failure, until
from urlsieve.frontier.outcome import Kind, classify, reason_of
from urlsieve.model import Change, GroupRow, Health, Klass, Outcome, Policy, Row, State

#: Times a block may take a URL's attempt back.
MOST_EXCUSES = 10
#: A URL excused this often whose group answered others since its last failure is its own problem: its attempts count again.
#: Two, not one: a site that lets ten requests a minute pass hits the same URL twice now and then, and nothing is wrong with it.
OWN_PROBLEM_EXCUSES = 2


class Decision(NamedTuple):
    change: Change
    health: Health  # the same object as before when nothing is to be written
    word: str | None  # Settled.change


def decide(row: Row, group: GroupRow, health: Health, outcome: Outcome, *, policy: Policy, now: float, chance: float) -> Decision:
    """`health` is the group's as the batch has left it so far; `chance` in [0, 1)."""
    decision = _decide(row, group, health, outcome, policy=policy, now=now, chance=chance)
    return decision if row.again is None else decision._replace(change=_asked_again(decision.change, row.again, now))


def _decide(row: Row, group: GroupRow, health: Health, outcome: Outcome, *, policy: Policy, now: float, chance: float) -> Decision:
    kind = classify(outcome)
    if kind is Kind.RELEASED:
        return _release(row, health, outcome, now)
    turn = _next_turn(group, outcome, policy, now)
    if kind is Kind.SKIPPED:
        return Decision(Change(row.token, State.DONE, counted=outcome.reason or "skip", next_turn=turn), health, None)
    if kind in (Kind.FAILED, Kind.THROTTLED):
        return _fail(row, health, outcome, kind, turn, policy=policy, now=now, chance=chance)
    health = after_answer(health, now)
    if kind is Kind.REFUSED:
        change = Change(row.token, State.DEAD, attempt=row.attempt, failed_at=now, reason=reason_of(outcome), next_turn=turn)
        return Decision(change, health, "error")
    if outcome.retry_after is not None:
        health = until(health, now + min(max(outcome.retry_after, 0.0), LONGEST_BLOCK))
    word = "gone" if kind is Kind.GONE else "not_modified" if outcome.status == 304 else _first_time(row)
    return Decision(Change(row.token, State.DONE, next_turn=turn), health, word)


def decide_clean(outcome: Outcome, *, policy: Policy, now: float) -> tuple[Change, str | None] | None:
    """The decision for any row of a group without delay of its own, failures or blocks, if it is the same for all of them: a change
    to which only the token is missing, and the word ("new" unless it is a revisit). None: it depends on the row."""
    kind = classify(outcome)
    if kind is Kind.SKIPPED:
        return Change("", State.DONE, counted=outcome.reason or "skip", next_turn=_turn_after(policy.delay, outcome, policy, now)), None
    if kind not in (Kind.DONE, Kind.GONE) or outcome.retry_after is not None or outcome.redirects or outcome.final_url is not None:
        return None
    word = "gone" if kind is Kind.GONE else "not_modified" if outcome.status == 304 else "new"
    return Change("", State.DONE, next_turn=_turn_after(policy.delay, outcome, policy, now)), word


def _first_time(row: Row) -> str | None:
    return None if row.klass is Klass.REVISIT else "new"


def _asked_again(change: Change, wanted: float, now: float) -> Change:
    """Somebody asked for it again while it was out: it returns, whatever became of it, with a new count of attempts."""
    if change.state is State.PENDING:  # given back: it is there already
        due = now
    else:
        due = wanted if change.due is None else min(wanted, change.due)
    later = due > now
    return change._replace(
        state=State.DELAYED if later else State.PENDING,
        due=due if later else None,
        klass=Klass.REVISIT,
        attempt=0,
        excused=0,
        failed_at=None,
        reason=None,
        again=wanted,
    )


def _release(row: Row, health: Health, outcome: Outcome, now: float) -> Decision:
    if outcome.group_until is not None:
        health = until(health, outcome.group_until)
    later = outcome.not_before is not None and outcome.not_before > now
    change = Change(
        row.token,
        State.DELAYED if later else State.PENDING,
        due=outcome.not_before if later else None,
        klass=row.klass,
        attempt=max(0, row.attempt - 1),
        excused=row.excused,
        failed_at=row.failed_at,
    )
    return Decision(change, health, None)


def _fail(row: Row, health: Health, outcome: Outcome, kind: Kind, turn: float, *, policy: Policy, now: float, chance: float) -> Decision:
    own_problem = row.excused >= OWN_PROBLEM_EXCUSES and row.failed_at is not None and health.ok_at > row.failed_at
    health, groups_fault = after_failure(
        health,
        row.fingerprint,
        now,
        throttled=kind is Kind.THROTTLED,
        retry_after=outcome.retry_after,
        policy=policy,
        chance=chance,
    )
    excused = groups_fault and not own_problem and row.excused < MOST_EXCUSES
    word = "blocked" if kind is Kind.THROTTLED else "error"
    if not excused and row.attempt >= policy.max_attempts:
        change = Change(row.token, State.DEAD, attempt=row.attempt, failed_at=now, reason=reason_of(outcome), next_turn=turn)
        return Decision(change, health, word)
    due = now if kind is Kind.THROTTLED or excused else now + retry_delay(row.attempt, policy, chance)
    change = Change(
        row.token,
        State.DELAYED,
        due=max(due, health.blocked_until),
        klass=Klass.RETRY if row.klass is not Klass.REVISIT else row.klass,
        attempt=row.attempt - 1 if excused else row.attempt,
        excused=row.excused + excused,
        failed_at=now,
        reason=reason_of(outcome),
        next_turn=turn,
    )
    return Decision(change, health, word)


def _next_turn(group: GroupRow, outcome: Outcome, policy: Policy, now: float) -> float:
    return _turn_after(policy.delay if group.delay is None else group.delay, outcome, policy, now)


def _turn_after(delay: float, outcome: Outcome, policy: Policy, now: float) -> float:
    """max(settle + delay, settle + factor x fetch time); the lease has set lease + delay, and a store never moves a turn forward."""
    wait = max(delay, policy.factor * max(outcome.elapsed or 0.0, 0.0))
    return now + wait if wait > 0 else 0.0
