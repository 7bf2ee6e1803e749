"""Tokens and outcomes in, Settled out: load, decide, compare-and-set, and again what somebody else was faster with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from urlsieve.batch import Prepared
from urlsieve.errors import StoreUnavailable
from urlsieve.frontier.budget import cost
from urlsieve.frontier.outcome import Kind, classify
from urlsieve.frontier.settle import decide, decide_clean
from urlsieve.model import Change, Health, HealthChange, Lease, OfferRow, Outcome, Row, Settled, State
from urlsieve.stores.protocol import APPLIED, OUTDATED, Store, Witnessed

#: Each round somebody else has succeeded, so more means that something else is wrong.
MOST_ROUNDS = 100

Targets = Callable[[Row, Outcome], Prepared | None]


def settle(
    store: Store,
    tickets: list[Lease | str],
    outcomes: list[Outcome],
    *,
    now: float,
    chance: Callable[[int], list[float]],
    targets: Targets,
    reload: Callable[[], object],
    witnessed: Sequence[Witnessed] = (),
    metered: bool = False,
) -> list[Settled]:
    """One step; in order. A token given twice, or not current, is lost. reload: the rules may have changed, and with them what redirect
    targets are called. metered: pages and bytes have budgets."""
    tokens = [ticket if isinstance(ticket, str) else ticket.token for ticket in tickets]
    answers = _try_clean(store, tickets, outcomes, now, witnessed, metered)
    if answers is None:
        answers = [None] * len(tickets)
    else:
        witnessed = ()  # unless all of it was outdated: then a sample is smaller
    open_ones = [i for i, answer in enumerate(answers) if answer is None]
    chances = chance(len(tokens)) if open_ones else []
    for _ in range(MOST_ROUNDS):
        if not open_ones:
            return [answer for answer in answers if answer is not None]
        theirs = [outcomes[i] for i in open_ones]
        decided = _try(store, [tokens[i] for i in open_ones], theirs, now, [chances[i] for i in open_ones], targets, witnessed, metered)
        witnessed = ()
        for i, settled in zip(open_ones, decided, strict=True):
            answers[i] = settled
        open_ones = [i for i in open_ones if answers[i] is None]
        if open_ones:
            reload()
    raise StoreUnavailable(f"the store {store.address} is too busy: {MOST_ROUNDS} times others settled first; try again")


def _try_clean(
    store: Store, tickets: list[Lease | str], outcomes: list[Outcome], now: float, witnessed: Sequence[Witnessed], metered: bool
) -> list[Settled | None] | None:
    """Pages that were simply fetched, of groups where nothing is wrong: one step without loading. None: it is not so simple."""
    policy = store.policy(fresh=False)
    plans: dict[int, tuple[tuple[object, ...], str | None]] = {}
    changes: list[Change] = []
    for ticket, outcome in zip(tickets, outcomes, strict=True):
        if isinstance(ticket, str):
            return None
        plan = plans.get(id(outcome))
        if plan is None:
            clean = decide_clean(outcome, policy=policy, now=now)
            if clean is None:
                return None
            plan = plans[id(outcome)] = (_paid(clean[0], outcome) if metered else clean[0])[1:], clean[1]
        changes.append(Change._make((ticket.token, *plan[0])))
    flags = store.settle(changes, (), now, clean=True, witnessed=witnessed)
    done = State.DONE.name.lower()
    answers: list[Settled | None] = []
    for ticket, outcome, flag in zip(tickets, outcomes, flags, strict=True):
        word = plans[id(outcome)][1]
        if isinstance(ticket, Lease) and word == "new" and ticket.klass == "revisit":
            word = None
        token = ticket if isinstance(ticket, str) else ticket.token
        answers.append(Settled(token, done, word) if flag == APPLIED else None if flag == OUTDATED else Settled(token, "lost"))
    return answers


def _try(
    store: Store,
    tokens: list[str],
    outcomes: list[Outcome],
    now: float,
    chance: list[float],
    targets: Targets,
    witnessed: Sequence[Witnessed],
    metered: bool,
) -> list[Settled | None]:
    rows, groups = store.load(tokens, whole=any(map(_needs_url, {id(outcome): outcome for outcome in outcomes}.values())))
    policy = store.policy(fresh=False)
    health: dict[int, Health] = {}
    changes: list[Change] = []
    words: list[str | None] = []
    places: dict[int, int] = {}  # position → index in changes
    taken: set[str] = set()
    generation: int | None = None  # of the rules under which redirect targets were named
    for i, (row, outcome) in enumerate(zip(rows, outcomes, strict=True)):
        if row is None or row.token in taken:
            continue
        taken.add(row.token)
        group = groups[row.group_id]
        decision = decide(row, group, health.get(row.group_id, group.health), outcome, policy=policy, now=now, chance=chance[i])
        if decision.health is not group.health:
            health[row.group_id] = decision.health
        places[i] = len(changes)
        change = _paid(decision.change, outcome) if metered else decision.change
        if outcome.redirects or outcome.final_url:
            change, under = _with_targets(change, row, outcome, targets)
            generation = under if generation is None or (under is not None and under < generation) else generation
        changes.append(change)
        words.append(decision.word)
    if not changes:
        return [Settled(token, "lost") for token in tokens]
    written = [HealthChange(gid, groups[gid].health.version, new, groups[gid].name) for gid, new in health.items()]
    flags = store.settle(changes, written, now, generation=generation, witnessed=witnessed)
    answers: list[Settled | None] = []
    for i, token in enumerate(tokens):
        at = places.get(i)
        if at is None or flags[at] not in (APPLIED, OUTDATED):
            answers.append(Settled(token, "lost"))
        elif flags[at] == OUTDATED:
            answers.append(None)
        else:
            answers.append(Settled(token, changes[at].state.name.lower(), words[at], changes[at].due))
    return answers


def _paid(change: Change, outcome: Outcome) -> Change:
    pages, size = cost(outcome)
    return change._replace(pages=pages, size=size)


def _needs_url(outcome: Outcome) -> bool:
    """A failure is remembered by its fingerprint; redirect targets are resolved against the page."""
    return bool(outcome.redirects or outcome.final_url) or classify(outcome) in (Kind.FAILED, Kind.THROTTLED)


def _with_targets(change: Change, row: Row, outcome: Outcome, targets: Targets) -> tuple[Change, int | None]:
    """A page that was reached settles the hops that led to it, and itself under its final name. And the generation of these names."""
    if classify(outcome) not in (Kind.DONE, Kind.GONE):
        return change, None
    prepared = targets(row, outcome)
    if prepared is None:
        return change, None
    prints = prepared.offers.fingerprints
    pairs: dict[bytes, OfferRow] = {}
    for i, offered in enumerate(prepared.offers.rows(range(len(prints) // 16))):
        fingerprint = prints[16 * i : 16 * i + 16]
        if fingerprint != row.fingerprint:
            pairs.setdefault(fingerprint, offered)
    return change._replace(targets=tuple(pairs.items())), prepared.generation
