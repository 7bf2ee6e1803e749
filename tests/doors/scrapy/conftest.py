"""The fixtures of scrapy_lab, for the tests in this folder; the web server is the crawler tests'."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "crawler"))
sys.path.insert(0, str(Path(__file__).parent))

from crawler_lab import serve, store
from scrapy_lab import scrapy_run, sieve

__all__ = ["scrapy_run", "serve", "sieve", "store"]
