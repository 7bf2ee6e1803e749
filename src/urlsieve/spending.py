"""Leased rows in; those whose budgets have something left out. The others go back: nothing is lost, no attempt is counted, and they are
not given again before there is budget: tomorrow (UTC) where the day's is spent, else when other rules are applied.

Where all of a group is of the spent unit the group sleeps, which is one step for any number of URLs; else URL by URL is delayed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from urlsieve.batch import as_given
from urlsieve.errors import StoreUnavailable, UrlsieveError
from urlsieve.frontier.budget import NEVER, SPENT, Usage, Used, again_at, spent
from urlsieve.model import Budget, Change, Klass, Row, State
from urlsieve.ruling import Form
from urlsieve.stores.protocol import LOST, OUTDATED, Leased, Store

#: Leases of a pop that only finds what must go back, and of a step in which others change what it goes by.
MOST_ROUNDS = 100
#: Leased at a time at most by a pop that only finds what must go back.
MOST_AT_ONCE = 1000

Lease = Callable[[int], Leased]


def within(store: Store, form: Form, limit: int, lease: Lease, given: Leased, seconds: float, now: float) -> Leased:
    """`given`: what was leased of `limit` so far, for `seconds`; `lease` gives more. What goes back has used no turn of its group. Where
    all of a round has to go back the next one takes more at a time, to have it over soon."""
    kept: list[Row] = []
    later: list[Row] = []  # those kept may use up what is left; whether they do is not known yet
    out: Counter[tuple[str, str]] = Counter()
    sifted = 0
    next_at: float | None = now  # also where it is not over after so many rounds
    try:
        for turn in range(MOST_ROUNDS):
            if turn:
                given = lease(max(limit - len(kept), sifted))
            left, over, back = _judged(store, form, given.rows, out, now)
            many = limit - len(kept)
            kept += left[:many]
            later += over + left[many:]
            _give_back(store, [_back(form, store.header.group_by, row, units, seconds, now) for row, units in back], now)
            if not (over or back) or len(kept) >= limit:
                next_at = given.next_at
                break
            sifted = min(MOST_AT_ONCE, 2 * len(back)) if len(back) == len(given.rows) else 0
        _give_back(store, [_unchanged(row, seconds) for row in later], now)
    except Exception as error:
        _all_back(store, [*given.rows, *kept, *later], seconds, error, now)
        raise
    next_at = next_at if len(kept) < limit else now
    return given._replace(rows=kept, next_at=None if next_at is not None and next_at >= NEVER / 2 else next_at)


def _all_back(store: Store, rows: Sequence[Row], seconds: float, error: Exception, now: float) -> None:
    """What nobody will be told of is not to wait for the end of its lease; what has gone back before is no lease any more."""
    try:
        _give_back(store, [_unchanged(row, seconds) for row in {row.token: row for row in rows}.values()], now)
    except UrlsieveError as other:
        error.add_note(f"what was leased comes back when its lease ends, as it could not be given back: {other}")


def first(store: Store, form: Form, limit: int, lease: Lease, now: float) -> Leased:
    """What is leased before sites and domains are looked at. Where the job's budget is spent that is nothing, but time goes on: leases
    that have expired go back."""
    nothing = whole_job(store, form, now)
    return lease(limit) if nothing is None else nothing._replace(reaped=lease(0).reaped)


def whole_job(store: Store, form: Form, now: float) -> Leased | None:
    """Nothing, where the whole job's budget or its day's is spent: then no group has to be looked at. None: look at them."""
    if form.limited is None or not form.limited.for_all:
        return None
    units = _spent_for_all(form.limited.for_all, store.used({}, now))
    if not units or store.rules().generation > form.generation:
        return None
    at = again_at(units, now)
    return Leased([], None if at >= NEVER else at, 0, form.generation)


def _spent_for_all(limits: Mapping[str, Budget], usage: Usage) -> tuple[str, ...]:
    return spent(limits, {"job": usage.job, "day": usage.day})


def shown(store: Store, form: Form, now: float) -> dict[str, dict[str, int | None]] | None:
    """What `stats` tells of job and day: what is used, and what of it is limited. None: the rules have no limits."""
    if form.limited is None:
        return None
    usage, limits = store.used({}, now), dict(form.limited.job.limits)
    found = {}
    for unit, used in (("job", usage.job), ("day", usage.day)):
        most = limits.get(unit, Budget())
        found[unit] = used._asdict() | {f"{name}_limit": getattr(most, name) for name in used._fields if getattr(most, name) is not None}
    return found


def spent_of(store: Store, form: Form, key: str, site: str, number: int, now: float) -> tuple[str, ...]:
    """The units of a key whose budget is spent."""
    if form.limited is None:
        return ()
    usage = store.used({site: number}, now, whole=form.limited.wide)
    return spent(form.limited.limits(key), _used_by(usage, site))


def _used_by(usage: Usage, site: str) -> dict[str, Used]:
    domain = usage.domain_of.get(site, "")
    used = {"job": usage.job, "day": usage.day}
    return used | {"site": usage.sites.get(site, Used()), "domain": usage.domains.get(domain, Used())}


def _judged(
    store: Store, form: Form, rows: Sequence[Row], out: Counter[tuple[str, str]], now: float
) -> tuple[list[Row], list[Row], list[tuple[Row, tuple[str, ...]]]]:
    """(within, within only if those before it use nothing, (row, spent units)). `out`: unit and name → pages that are let through."""
    assert form.limited is not None
    if not rows:
        return [], [], []
    keys = form.canonicalizer.canonicalize_many([as_given(row.url) for row in rows])
    usage = store.used({row.site: int.from_bytes(row.fingerprint[:8], "little", signed=True) for row in rows}, now, whole=form.limited.wide)
    kept: list[Row] = []
    over: list[Row] = []
    back: list[tuple[Row, tuple[str, ...]]] = []
    for row, key in zip(rows, keys, strict=True):
        names = {"job": "", "day": "", "site": row.site, "domain": usage.domain_of.get(row.site, "")}
        used = _used_by(usage, row.site)
        limits = {} if key is None else form.limited.limits(key)
        units = spent(limits, used)
        if units:
            back.append((row, units))
        elif spent(limits, {unit: have.more(pages=out[unit, names[unit]]) for unit, have in used.items()}):
            over.append(row)
        else:
            kept.append(row)
            out.update(names.items())
    return kept, over, back


def _give_back(store: Store, changes: list[Change], now: float) -> None:
    for _ in range(MOST_ROUNDS):
        if not changes:
            return
        flags = store.settle(changes, (), now)
        changes = [change for change, flag in zip(changes, flags, strict=True) if flag == OUTDATED]
        if not changes:
            return
        store.policy()
        rows, _ = store.load([change.token for change in changes], whole=False)  # asked for again meanwhile?
        changes = [_asked_again(change, row.again) for change, row in zip(changes, rows, strict=True) if row is not None]
    raise StoreUnavailable(f"the store {store.address} is too busy: {MOST_ROUNDS} times others came first; try again")


def _asked_again(change: Change, again: float | None) -> Change:
    return change if again is None else change._replace(again=again, klass=Klass.REVISIT, attempt=0, excused=0, failed_at=None)


def _unchanged(row: Row, seconds: float) -> Change:
    """Back in its place, the attempt not counted, the turn of its group not used."""
    attempt = max(0, row.attempt - 1)
    change = Change(row.token, State.PENDING, klass=row.klass, attempt=attempt, excused=row.excused, failed_at=row.failed_at)
    return change._replace(next_turn=-seconds)


def _back(form: Form, group_by: str, row: Row, units: tuple[str, ...], seconds: float, now: float) -> Change:
    until, why = again_at(units, now), SPENT + ", ".join(units)
    if _group_is_of(form, group_by, row, units):
        return _unchanged(row, seconds)._replace(reason=why, next_turn=until)
    return _unchanged(row, seconds)._replace(state=State.DELAYED, due=until, reason=why)


def _group_is_of(form: Form, group_by: str, row: Row, units: tuple[str, ...]) -> bool:
    """Whether what is spent for this row is spent for all URLs of its group: it must be the group of one site, or of one domain."""
    assert form.limited is not None
    if form.rules is not None and form.rules.group_of(row.group) is not None:
        return False
    if group_by == "host":
        return row.group == row.site and form.limited.is_uniform(row.site)
    return not form.limited.has_own and any(unit != "site" for unit in units) and form.group_of(row.site) == row.group


assert LOST == 0  # a lease that was lost meanwhile needs nothing
