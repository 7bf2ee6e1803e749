"""Questions about a sieve that need more than one of the store's answers: why, wait, doctor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from urlsieve import checks, spending
from urlsieve.answers import Finding, Rejected, Why
from urlsieve.batch import readable
from urlsieve.canon import Canonicalizer
from urlsieve.errors import ConfigError, InvalidURL, mask_userinfo
from urlsieve.frontier.budget import NEVER, SPENT, again_at
from urlsieve.frontier.health import is_half_open
from urlsieve.model import LONGEST_EXAMPLE, EntryInfo, GroupRow, Policy, Refused, SiteRow, State
from urlsieve.stores.protocol import Leased, Store

if TYPE_CHECKING:
    from urlsieve.canon.rules import Rules
    from urlsieve.ruling import Form

SHORTEST_POLL, LONGEST_POLL = 0.01, 0.25


def wait(
    store: Store,
    timeout: float,
    clock: Callable[[], float],
    spent: Callable[[float], Leased | None],
    groups: Sequence[str] | None = None,
    group_ids: Sequence[int] = (),
) -> bool:
    """Polls the store's cheap sign of change, and looks closer when there is one or when time itself may have brought something. `spent`:
    what a pop gives while nothing of the whole job may be fetched, whatever its groups say; None: they are asked."""
    end = time.monotonic() + timeout
    pause = SHORTEST_POLL
    sign: object = None
    later: float | None = None
    while True:
        now = clock()
        fresh = store.changed()
        if fresh != sign or (later is not None and later <= now):
            if fresh != sign:
                pause = SHORTEST_POLL
            sign = fresh
            nothing = spent(now)
            ready, later = store.ready(now, groups, group_ids) if nothing is None else (False, nothing.next_at)
            if ready:
                return True
        left = end - time.monotonic()
        if left <= 0:
            return False
        until = LONGEST_POLL if later is None else max(SHORTEST_POLL, later - now)
        time.sleep(min(left, pause, until))
        pause = min(LONGEST_POLL, pause * 1.5)


def rejected(kept: Iterable[Refused], reason: str | None) -> Iterator[Rejected]:
    """`reason`: None for all."""
    for one in kept:
        kind, _, word = one.name.partition(".")
        if reason is None or fnmatchcase(word, reason) or fnmatchcase(one.name, reason):
            yield Rejected(kind, word, _shown(readable(one.url)), one.at, one.via and _shown(one.via), one.depth)


def _shown(url: str) -> str:
    """Without user info. One that was cut may have lost the @ that ends it: then all that could be some goes."""
    if len(url) < LONGEST_EXAMPLE:
        return mask_userinfo(url)
    return mask_userinfo(url + "@").removesuffix("@") + "…"


def readable_info(info: EntryInfo) -> EntryInfo:
    return info if info.url is None else replace(info, url=readable(info.url))


def why(store: Store, form: Form, subject: str, now: float) -> Why:
    """A URL, or the name of a site or group."""
    canonicalizer, group_of = form.canonicalizer, form.group_of
    subject = checks.text("site_or_url", subject) or ""
    if "://" not in subject:
        named = store.group(subject, canonicalizer.name_hash(subject), counted=True)
        site = canonicalizer.canonicalize_many([f"http://{subject}/"])
        if named is None and not site.rejected:  # any spelling of a site: the group that its fetches go by
            name = group_of(site.host(0))
            named = store.group(name, canonicalizer.name_hash(name), counted=True)
        if named is None:
            return Why(subject, ("empty",), ("nothing of it was ever queued",))
        number = canonicalizer.name_hash(site.site(0)) if not site.rejected else 0
        units = () if site.rejected else spending.spent_of(store, form, site[0] or "", site.site(0), number, now)
        return _with_others(_of_group(store, named, subject, now, units), store.site(subject, canonicalizer.name_hash(subject)))
    keys = canonicalizer.canonicalize_many([subject])
    if keys.rejected:
        raise InvalidURL(keys.reasons[0] or "invalid", subject)
    subject = mask_userinfo(subject)
    info = store.info(keys.site(0), keys.fingerprints)
    if info.state == "unseen" and form.scope is not None and (out := form.scope.verdict(keys[0] or "")) is not None:
        return Why(subject, ("unseen", "scope"), ("never seen", f"the rules leave it out ({out})"))
    units = spending.spent_of(store, form, keys[0] or "", keys.site(0), canonicalizer.name_hash(keys.site(0)), now)
    if info.state == "delayed" and units and (info.reason or "").startswith(SPENT):
        return Why(subject, ("delayed", "budget"), (_budget_sentence(units, now),), _until(units, now))
    if info.state != "pending":
        return Why(subject, (info.state,), (_state_sentence(info, now),), info.due if info.state == "delayed" else info.deadline)
    name = info.group or group_of(keys.host(0))
    row = store.group(name, canonicalizer.name_hash(name), counted=True)
    if row is None:
        return Why(subject, ("empty",), ("it has just been forgotten",))
    answer = _of_group(store, row, subject, now, units)
    ahead = info.ahead or 0
    if not ahead:
        return answer
    sentence = f"{ahead if ahead < 1000 else 'at least 1000'} URLs of its class in {row.name} come first"
    return replace(answer, reasons=(*answer.reasons, "lower_priority"), sentences=(*answer.sentences, sentence))


def _with_others(answer: Why, counts: SiteRow | None) -> Why:
    """A site with nothing pending may have URLs elsewhere."""
    if counts is None or counts.pending:
        return answer
    others = [(name, many) for name, many in (("delayed", counts.delayed), ("dead", counts.dead), ("done", counts.done)) if many]
    words = tuple(name for name, _ in others if name != "done")
    text = ", ".join(f"{many:,} {name}" for name, many in others)
    return replace(answer, reasons=(*answer.reasons, *words), sentences=(*answer.sentences, *((f"it has {text}",) if text else ())))


def _state_sentence(info: EntryInfo, now: float) -> str:
    if info.state == "delayed":
        because = f" ({info.reason})" if info.reason else ""
        return f"delayed for {max(0.0, (info.due or now) - now):.1f} s more{because}, attempt {info.attempt}"
    if info.state == "leased":
        return f"leased, for {max(0.0, (info.deadline or now) - now):.1f} s more, attempt {info.attempt}"
    if info.state == "dead":
        return f"dead after {info.attempt or 'its'} attempts: {info.reason or 'reason no longer kept'}"
    return {"done": "done", "known": "known from an import, never queued", "unseen": "never seen"}[info.state]


def _until(units: tuple[str, ...], now: float) -> float | None:
    at = again_at(units, now)
    return None if at >= NEVER else at


def _budget_sentence(units: tuple[str, ...], now: float) -> str:
    at = _until(units, now)
    wakes = "until the rules change" if at is None else f"for {at - now:.0f} s more, until the next day (UTC)"
    return f"the budget of the {' and the '.join(units)} is spent {wakes}"


def _of_group(store: Store, row: GroupRow, subject: str, now: float, units: tuple[str, ...] = ()) -> Why:
    """Every reason that holds, the strongest first."""
    policy = store.policy()
    health = row.health
    found: list[tuple[str, str, float | None]] = []
    if row.paused:
        found.append(("paused", f"{row.name} is paused", None))
    if health.blocked_until > now:
        cause = f" after {health.failures} failures" if health.failures else ""
        found.append(("blocked", f"{row.name} is blocked for {health.blocked_until - now:.1f} s more{cause}", health.blocked_until))
    concurrency = policy.concurrency if row.concurrency is None else row.concurrency
    if is_half_open(health, now):
        concurrency = 1
    if concurrency is not None and row.leased >= concurrency:
        found.append(("in_flight", f"{row.leased} of {concurrency} leases of {row.name} are out", None))
    if units:
        found.append(("budget", _budget_sentence(units, now), _until(units, now)))
    elif row.next_turn > now:
        found.append(("turn", f"the next turn of {row.name} is in {row.next_turn - now:.1f} s", row.next_turn))
    if not row.pending:
        found.append(("empty", f"nothing of {row.name} is pending" + (f", {row.leased} out" if row.leased else ""), None))
    if not found:
        found.append(("ready", f"nothing holds {row.name}: the next pop gives its first, or other groups that come before it", None))
    until = max((t for _, _, t in found if t is not None), default=None)
    return Why(subject, tuple(word for word, _, _ in found), tuple(text for _, text, _ in found), until)


def doctor(store: Store, now: float) -> list[Finding]:
    findings = [Finding(level, what, advice) for level, what, advice in store.doctor()]
    problems = store.verify(False)
    findings += [Finding("error", problem, "run verify --deep") for problem in problems]
    if not problems:
        findings.append(Finding("ok", "accepted = pending + leased + delayed + done + dead"))
    policy, counts = store.policy(), store.counts(now)
    limits = f"concurrency {policy.concurrency or 'any'}, max_attempts {policy.max_attempts}, backoff {policy.backoff:g} s"
    findings.append(Finding("ok", f"delay {policy.delay:g} s, {limits}, high_water {policy.high_water or 'none'}"))
    if counts.states[State.DEAD]:
        findings.append(Finding("warn", f"{counts.states[State.DEAD]} URLs are dead", "failed lists them; failed --retry brings them back"))
    if policy.high_water is not None:
        waiting = counts.states[State.PENDING] + counts.states[State.DELAYED]
        if waiting >= 0.8 * policy.high_water:
            findings.append(Finding("warn", f"{waiting} of {policy.high_water} URLs may wait", "add workers, or raise high_water"))
    return findings


def checked_policy(change: dict[str, Any]) -> dict[str, Any]:
    known = {field.name for field in fields(Policy)}
    if not isinstance(change.get("keep_urls", True), bool):
        raise ConfigError("keep_urls must be True or False")
    for name in change:
        if name not in known:
            raise ConfigError(f"the policy has no field {name!r}; it has {', '.join(sorted(known))}")
    for name in ("delay", "backoff", "factor", "block"):
        if name in change:
            checks.number(name, change[name], least=0)
    for name in ("concurrency", "high_water"):
        if name in change:
            checks.optional(name, change[name], least=1, whole=True)
    if "max_attempts" in change:
        checks.number("max_attempts", change["max_attempts"], least=1, whole=True)
    if "shares" in change:
        if not isinstance(change["shares"], (tuple, list)):
            raise ConfigError("shares are three whole numbers")
        shares = tuple(checks.number("shares", share, least=0, whole=True) for share in change["shares"])
        if len(shares) != 3 or not any(shares) or sum(shares) > 1000:
            raise ConfigError("shares are three whole numbers, not all zero, at most 1000 in sum")
        change = {**change, "shares": shares}
    return change


def first_info(store: Store, names: Sequence[tuple[bytes, str]]) -> EntryInfo:
    """Of a URL that has several fingerprints: (fingerprint, site) each. The first that is an entry tells, then one that is only known."""
    known: EntryInfo | None = None
    for fingerprint, site in names:
        info = store.info(site, fingerprint)
        if info.state not in ("unseen", "known"):
            return info
        known = info if known is None or info.state == "known" else known
    return known or EntryInfo("unseen")


def unmapped(canonicalizer: Canonicalizer, rules: Rules | None, name: object) -> None:
    """ConfigError, with its target, for a site that a rule takes to another one."""
    host = host_name(canonicalizer, name)
    target = None if rules is None else rules.target_of(host)
    if target is not None:
        raise ConfigError(f"a rule takes the site {host} to {target}, where its URLs are: name that one")


def host_name(canonicalizer: Canonicalizer, name: object) -> str:
    """host[:port] in its one spelling, before any rule: where the fetches of a site go."""
    keys = canonicalizer.canonicalize_many([f"http://{name}/"])
    if keys.rejected:
        raise InvalidURL("host", str(name))
    return keys.host(0)


def site_name(store: Store, canonicalizer: Canonicalizer, name: object) -> str:
    """Any spelling of host[:port] → the one spelling the store uses. :80 and :443 are part of a site's name only for the other
    scheme's sites (http://e.com:443), so such a name means that site where the store has it."""
    if not isinstance(name, str) or not name or any(c in name for c in "/?#@\\"):
        raise ConfigError(f"a site is host or host:port, not {name!r}")
    keys = canonicalizer.canonicalize_many([f"http://{name}/", f"https://{name}/"])
    if keys.rejected:
        raise InvalidURL("host", name)
    plain, ported = sorted((keys.site(0), keys.site(1)), key=len)
    if plain != ported and store.site(ported, canonicalizer.name_hash(ported)) is None:
        raise ConfigError(f"the store has no site {ported}; pages of the scheme whose port that is are on the site {plain}")
    return ported
