"""What all tests share: the helpers beside this file become importable, hypothesis gets a short and a long profile."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("ci", deadline=None, max_examples=100, suppress_health_check=SLOW_IS_FINE, print_blob=True)
settings.register_profile("long", deadline=None, max_examples=5_000, suppress_health_check=SLOW_IS_FINE, print_blob=True)
settings.load_profile(os.environ.get("URLSIEVE_HYPOTHESIS", "ci"))

#: kill -9 leaves what was written in the page cache, on any file system alike: waiting for a disk a thousand times would test nothing.
RAM = Path("/dev/shm")


@pytest.fixture
def fast_path(tmp_path):
    """A directory whose files are in memory where there is such a thing."""
    if not RAM.is_dir():
        yield tmp_path
        return
    place = Path(tempfile.mkdtemp(dir=RAM, prefix="urlsieve-test-"))
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="session")
def zygote():
    """Forks real processes that run the functions of children.py."""
    from zygote import Zygote

    server = Zygote()
    yield server
    server.close()
