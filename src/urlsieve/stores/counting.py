"""A store's counters by name go in; `Counts`, and the equalities between them that do not hold, come out.

Every store counts by these names: accepted, known, seen, the states, pending.new and so on, sites, groups, generation; in the tallies
rejected.REASON and skipped.REASON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from urlsieve.model import Counts, Klass, State

STATE_NAMES = tuple(state.name.lower() for state in State)


def counts_of(
    number: Mapping[str, int],
    tallies: Mapping[str, int],
    *,
    oldest: float | None,
    sampled: bool,
    size: Mapping[str, int | None],
    epoch: int,
    rules_generation: int,
) -> Counts:
    def by(prefix: str) -> dict[str, int]:
        return {name[len(prefix) :]: many for name, many in sorted(tallies.items()) if name.startswith(prefix)}

    return Counts(
        accepted=number.get("accepted", 0),
        known=number.get("known", 0),
        seen=number.get("seen", 0),
        states={state: number.get(name, 0) for state, name in zip(State, STATE_NAMES, strict=True)},
        classes={klass: number.get(f"pending.{klass.name.lower()}", 0) for klass in Klass},
        rejected=by("rejected."),
        skipped=by("skipped."),
        sites=number.get("sites", 0),
        groups=number.get("groups", 0),
        oldest_pending=oldest,
        oldest_sampled=sampled,
        bytes={"seen": None, "queue": None, "text": None, "history": None, "total": None, **size},
        epoch=epoch,
        generation=number.get("generation", 0),
        rules_generation=rules_generation,
    )


def broken_equalities(number: Mapping[str, int]) -> Iterator[str]:
    """In words; of one shard, where a store has several."""
    states = {name: number.get(name, 0) for name in STATE_NAMES}
    if number.get("accepted", 0) != sum(states.values()):
        shown = " + ".join(f"{name} {n}" for name, n in states.items())
        yield f"conservation: accepted {number.get('accepted', 0)} is not {shown}"
    if number.get("seen", 0) != number.get("accepted", 0) + number.get("known", 0):
        yield f"seen {number.get('seen', 0)} is not accepted {number.get('accepted', 0)} + known {number.get('known', 0)}"
    yield from (f"count {name} is negative: {n}" for name, n in number.items() if n < 0)
