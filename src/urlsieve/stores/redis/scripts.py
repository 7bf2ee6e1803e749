"""The name of a script in, its text and digest out: the common parts it needs, then its own file."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

#: What scripts are made of, in this order. Those that only look are spared what only those that write need.
ALL = ("common/frontier", "common/shard", "common/groups", "common/domains", "common/entries", "common/finish")
_BUDGETS = (*ALL, "common/budgets")
PARTS = {"job": (), "peek": ("common/shard",)} | dict.fromkeys(("offer", "settle", "lease", "touch", "used"), _BUDGETS)


class Script(NamedTuple):
    text: bytes
    digest: bytes


@lru_cache(maxsize=64)
def script(name: str) -> Script:
    text = b"".join(read(part) for part in (*PARTS.get(name, ALL), name))
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())


def read(name: str) -> bytes:
    return resources.files("urlsieve.stores.redis").joinpath("lua", f"{name}.lua").read_bytes()
