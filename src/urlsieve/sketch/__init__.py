"""Fingerprints go in; whether they were met, and how many there were, comes out: the seen set's own pieces, each usable alone.

    from urlsieve.sketch import BloomFilter, CuckooTable, HyperLogLog

All take fingerprints as one block of bytes, 16 each, as `Canonicalizer.fingerprints(urls)` gives them. They are spread by these bits: give
keyed hashes to them.
"""

from urlsieve.sketch.bloom import BloomFilter
from urlsieve.sketch.cuckoo import CuckooTable
from urlsieve.sketch.hyperloglog import HyperLogLog

__all__ = ["BloomFilter", "CuckooTable", "HyperLogLog"]
