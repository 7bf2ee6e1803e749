"""Changes in, flags out: compare-and-set of leased entries on their tokens, per shard, all in one round trip."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from urlsieve.model import Change, GroupRow, HealthChange, OfferRow, Row
from urlsieve.stores.protocol import APPLIED, LOST, OUTDATED, Witnessed
from urlsieve.stores.redis import pack, witness
from urlsieve.stores.redis.job import Ask, Job
from urlsieve.stores.redis.lease import kept_ms, once_more
from urlsieve.stores.redis.pack import Ticket
from urlsieve.stores.redis.shards import MOST_AT_ONCE, body_of
from urlsieve.stores.redis.wire import Argument


def by_shard(job: Job, tokens: Sequence[str]) -> dict[int, list[tuple[int, Ticket]]]:
    """(position, ticket) of those that are tokens of ours."""
    found: dict[int, list[tuple[int, Ticket]]] = {}
    for i, text in enumerate(tokens):
        ticket = pack.read_token(text, job.shards.count)
        if ticket is not None:
            found.setdefault(ticket.shard, []).append((i, ticket))
    return found


def _chunks(of_shards: dict[int, list[tuple[int, Ticket]]]) -> list[tuple[int, list[tuple[int, Ticket]]]]:
    return [(shard, found[at : at + MOST_AT_ONCE]) for shard, found in of_shards.items() for at in range(0, len(found), MOST_AT_ONCE)]


def extend(job: Job, tokens: Sequence[str], ttl: float, now: float) -> bytes:
    flags = bytearray(len(tokens))
    chunks = _chunks(by_shard(job, tokens))
    asks = [
        Ask(shard, "extend", [repr(ttl), b"".join(pack.TOKEN.pack(ticket.number, ticket.stamp) for _, ticket in found)])
        for shard, found in chunks
    ]
    for (_, found), answer in zip(chunks, job.ask(asks, now), strict=True):
        for (i, _), flag in zip(found, answer.values[0], strict=True):
            flags[i] = flag
    return bytes(flags)


def load(job: Job, tokens: Sequence[str], whole: bool, now: float) -> tuple[list[Row | None], dict[int, GroupRow]]:
    rows: list[Row | None] = [None] * len(tokens)
    groups: dict[int, GroupRow] = {}
    chunks = _chunks(by_shard(job, tokens))
    asks = [
        Ask(shard, "load", [int(whole), b"".join(pack.TOKEN.pack(ticket.number, ticket.stamp) for _, ticket in found)])
        for shard, found in chunks
    ]
    for (_, found), answer in zip(chunks, job.ask(asks, now), strict=True):
        shift = answer.head.shift
        given, records, sites = answer.values
        here = {half: pack.group_row(half, text, shift, None) for half, text in pack.pairs(records)}
        groups.update((row.id, row) for row in here.values())
        names = {half: name.decode() for half, name in pack.pairs(sites)}
        for (i, _), row in zip(found, given, strict=True):
            if row is None:
                continue
            spot = pack.read_spot(row[0])
            body = pack.read_body(row[1]) if whole else None
            site = names.get(spot.fingerprint[:8], "")
            rows[i] = pack.leased_row(tokens[i], spot, body, here[spot.group].name, site, shift)
    return rows, groups


def settle(
    job: Job,
    changes: Sequence[Change],
    health: Sequence[HealthChange],
    now: float,
    *,
    clean: bool,
    generation: int | None,
    witnessed: Sequence[Witnessed],
) -> bytes:
    """Redirect targets first, then the sources; a call that got no answer is asked for the one it gave. All in one round trip, but for
    sources with a target in another shard, which may know of newer rules than theirs: they wait for its answer."""
    flags = bytearray(len(changes))
    of_shards = by_shard(job, [change.token for change in changes])
    rules: Argument = "" if generation is None else generation
    targets = _targets(job, [change for change in changes if change.targets], rules)
    apart = _apart(job, changes, of_shards) if generation is not None and job.shards.count > 1 else set()
    groups: dict[int, list[HealthChange]] = {}
    for one in health:
        groups.setdefault(job.shards.of(one.group), []).append(one)
    asks: list[tuple[Ask, list[tuple[int, Ticket]]]] = []
    for shard, found in _chunks(of_shards):
        theirs = groups.pop(shard, [])  # with the first chunk of their shard
        call = os.urandom(8)
        arguments: list[Argument] = [call, b"0", kept_ms(job), int(clean), job.pgen, rules, len(theirs)]
        for one in theirs:
            arguments += (pack.half_of(one.group_id), pack.health(one))
        for i, ticket in found:
            arguments += pack.change(ticket, changes[i])
        asks.append((Ask(shard, "settle", arguments), found))
    together = [pair for pair in asks if pair[0].shard not in apart]
    later = [pair for pair in asks if pair[0].shard in apart]
    told = witness.asks(job, witnessed)
    answers = job.ask([*told, *targets, *(ask for ask, _ in together)], now, sign=True, again=once_more)[len(told) :]
    recorded = all(answer.values[0] for answer in answers[: len(targets)])
    if not recorded:
        for _, found in later:
            for i, _ in found:
                flags[i] = OUTDATED
    given = list(zip(together, answers[len(targets) :], strict=True))
    if later and recorded:
        given += zip(later, job.ask([ask for ask, _ in later], now, sign=True, again=once_more), strict=True)
    for (_, found), answer in given:
        for (i, _), flag in zip(found, answer.values[0], strict=True):
            flags[i] = flag
    return bytes(flags)


assert (LOST, APPLIED, OUTDATED) == (0, 1, 2)  # settle.lua says them so


def _apart(job: Job, changes: Sequence[Change], of_shards: dict[int, list[tuple[int, Ticket]]]) -> set[int]:
    """Shards with a page that led into another one."""
    return {
        shard
        for shard, found in of_shards.items()
        for i, _ in found
        if any(job.shards.of(row.site) != shard for _, row in changes[i].targets)
    }


def _targets(job: Job, changes: Iterable[Change], rules: Argument) -> list[Ask]:
    pairs: dict[int, dict[bytes, OfferRow]] = {}
    for change in changes:
        for fingerprint, row in change.targets:
            job.shards.check(row.site, row.group)
            pairs.setdefault(job.shards.of(row.site), {}).setdefault(fingerprint, row)
    asks = []
    for shard, rows in pairs.items():
        items = list(rows.items())
        for at in range(0, len(items), MOST_AT_ONCE):
            part = items[at : at + MOST_AT_ONCE]
            names = {fingerprint[:8]: row.site for fingerprint, row in part}
            domains = job.shards.domains(names)
            names.update((pack.half_of(row.group_id), row.group) for _, row in part)
            flat: list[Argument] = [argument for pair in names.items() for argument in pair]
            flat += [argument for pair in domains.items() for argument in pair]
            bodies = [body_of(fingerprint, row) for fingerprint, row in part]
            asks.append(Ask(shard, "targets", [rules, b"".join(fp for fp, _ in part), len(names) + len(domains), *flat, *bodies]))
    return asks
