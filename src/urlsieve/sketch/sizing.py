"""How many and how wrong goes in; how many bits a key needs in a blocked Bloom filter, and how many it sets, comes out."""

from __future__ import annotations

import math
from functools import lru_cache

BLOCK = 512
MOST_BITS = 21


def false_positives(per_key: float, bits: int) -> float:
    """The share of unknown keys that are taken for known when the filter is full. A block's keys are Poisson distributed: a block with more
    than its share errs more often, which costs a blocked filter a few bits a key more than a plain one."""
    mean = BLOCK / per_key
    total, chance = 0.0, math.exp(-mean)
    most = int(mean + 12 * math.sqrt(mean) + 20)
    for keys in range(most):
        total += chance * _errs(bits, bits * keys)
        chance *= mean / (keys + 1)
    return total


def _errs(bits: int, drawn: int) -> float:
    """In a block in which so many bits were drawn: that all bits of another key are set. The share of set bits varies (the variance is
    that of empty urns), and its power is larger than the power of its mean."""
    empty = (1.0 - 1.0 / BLOCK) ** drawn
    share = 1.0 - empty
    if share == 0.0:
        return 0.0
    variance = empty * (1.0 - (1.0 + drawn / BLOCK) * empty) / BLOCK
    return float(min(1.0, share**bits * (1.0 + bits * (bits - 1) / 2 * variance / share**2)))


@lru_cache(maxsize=64)
def sizing(error: float) -> tuple[float, int]:
    """(bits of the filter for each key, bits that a key sets) for a share of false positives when it is full."""
    low, high = 1.0, 512.0
    while high - low > 1e-3 * low:
        middle = (low + high) / 2
        if _best(middle)[0] > error:
            low = middle
        else:
            high = middle
    return high, _best(high)[1]


def _best(per_key: float) -> tuple[float, int]:
    """(share of false positives, bits a key sets) at so many bits a key."""
    around = max(1, min(MOST_BITS, round(per_key * math.log(2))))
    tries = range(max(1, around - 6), min(MOST_BITS, around + 2) + 1)
    return min((false_positives(per_key, bits), bits) for bits in tries)


def estimate(set_bits: int, blocks: int, bits: int) -> float:
    """How many keys have set so many bits, about: as if they lay anywhere. Within a few per cent up to the filter's capacity."""
    total = BLOCK * blocks
    if set_bits >= total:
        return math.inf
    return -total / bits * math.log1p(-set_bits / total)
