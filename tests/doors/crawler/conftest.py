"""The fixtures of crawler_lab, for the tests in this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from crawler_lab import crawl, serve, sieve, store, worker

__all__ = ["crawl", "serve", "sieve", "store", "worker"]
