"""The fixtures of scrapy_lab, for the tests in this folder; the web server is the crawler tests'."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "crawler"))
sys.path.insert(0, str(Path(__file__).parent))

from crawler_lab import serve
from scrapy_lab import scrapy_run, sieve

from sieve_lab import address_of

__all__ = ["scrapy_run", "serve", "sieve", "store"]

#: Tests that run on every kind of store; the others are about this side of it.
ON_EVERY_STORE = ("test_scrapy_crawl", "test_scrapy_kill")


def pytest_generate_tests(metafunc):
    if "store" in metafunc.fixturenames and metafunc.module.__name__.endswith(ON_EVERY_STORE):
        metafunc.parametrize("store", ["embedded", "redis"], indirect=True)


@pytest.fixture
def store(request, tmp_path):
    return address_of(getattr(request, "param", "embedded"), tmp_path)
