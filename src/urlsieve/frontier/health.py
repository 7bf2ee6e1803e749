"""A group's health before an answer in, after it out: consecutive failures, blocks, and the probe that ends a block.

States of a group, by (blocks, blocked_until):
  healthy     blocks = 0                          everything its delay and concurrency allow
  blocked     blocks > 0, now < blocked_until     nothing is given; answers to earlier requests tell nothing new
  half open   blocks > 0, now >= blocked_until    one URL at a time, another than the one that failed: the probe
A probe that is answered makes it healthy; one that fails blocks again, longer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from urlsieve.frontier.backoff import LONGEST_BLOCK, block_length
from urlsieve.model import Health, Policy

#: Failures in a row, from at least two URLs, after which the group is taken to be ill and not the URLs.
FAILURES_THAT_BLOCK = 3


class Failed(NamedTuple):
    health: Health
    groups_fault: bool  # the group is blocked: this URL's attempt may be taken back


def is_blocked(health: Health, now: float) -> bool:
    return health.blocked_until > now


def is_half_open(health: Health, now: float) -> bool:
    return health.blocks > 0 and health.blocked_until <= now


def after_answer(health: Health, now: float) -> Health:
    """The server answered properly. Returned unchanged (the same object) when that is no news, so that nothing is written."""
    if health.blocks and is_blocked(health, now):
        return health  # sent before the block began
    if not health.blocks and not health.failures:
        return health
    # a block by hand (blocks = 0) is not the answers' business: blocked_until stays
    return replace(health, failures=0, several=False, failed_url=b"", blocks=0, ok_at=now)


def after_failure(
    health: Health, fingerprint: bytes, now: float, *, throttled: bool, retry_after: float | None, policy: Policy, chance: float
) -> Failed:
    """The server refused (`throttled`: 429 or Retry-After) or failed."""
    several = health.several or health.failed_url not in (b"", fingerprint)
    failures = health.failures + 1
    if health.blocks and is_blocked(health, now):
        until = health.blocked_until
        if retry_after is not None:
            until = max(until, now + min(max(retry_after, 0.0), LONGEST_BLOCK))
        return Failed(replace(health, failures=failures, several=several, blocked_until=until), True)
    trips = throttled or health.blocks > 0 or (failures >= FAILURES_THAT_BLOCK and several)
    blocked_until, blocks = health.blocked_until, health.blocks
    if trips:
        blocked_until = max(blocked_until, now + block_length(blocks, policy, chance, retry_after))
        blocks += 1
    return Failed(
        replace(
            health,
            failures=failures,
            several=several,
            failed_url=fingerprint,
            blocks=blocks,
            blocked_until=blocked_until,
        ),
        trips,
    )


def until(health: Health, blocked_until: float) -> Health:
    """Blocked by hand or by a worker's release: nothing to probe, it just ends. Never shortens a block."""
    return replace(health, blocked_until=max(health.blocked_until, blocked_until))
