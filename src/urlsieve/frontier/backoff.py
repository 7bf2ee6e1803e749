"""Attempts and chance in, seconds to wait out."""

from urlsieve.model import Policy

LONGEST_RETRY = 3600.0
LONGEST_BLOCK = 86400.0


def retry_delay(attempt: int, policy: Policy, chance: float) -> float:
    """Full jitter: anything up to backoff x 2^(attempt - 1), at most an hour. `attempt` counts from 1, `chance` is in [0, 1)."""
    return chance * min(LONGEST_RETRY, policy.backoff * 2.0 ** min(max(attempt, 1) - 1, 30))


def block_length(blocks: int, policy: Policy, chance: float, retry_after: float | None) -> float:
    """The first block is what the server asked for, or the policy's; later ones double, with jitter; never more than a day.

    What the server asks for is a lower bound at every step, so that a site is not disturbed before the time it named.
    """
    grown = policy.block * 2.0 ** min(blocks, 12) * (0.75 + 0.5 * chance)
    if retry_after is None:
        return min(LONGEST_BLOCK, grown)
    asked = min(max(retry_after, 0.0), LONGEST_BLOCK)
    return min(LONGEST_BLOCK, max(asked, grown)) if blocks else max(asked, 1.0)
