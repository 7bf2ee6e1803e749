"""What must hold however processes die or race holds on every store that several may open: `place` is one kind of them."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

import redis_server


@dataclass(frozen=True)
class Place:
    """`address(name)`: of a store that is not made yet."""

    kind: str
    address: Callable[[str], str]


@pytest.fixture(params=["embedded", "redis"])
def place(request, fast_path):
    if request.param == "embedded":
        yield Place("embedded", lambda name: str(fast_path / name))
    else:
        yield Place("redis", redis_server.shared().address)
        redis_server.forget_all()
