"""The name of a script in, its text and digest out: each is the rules, the shard's common part, and its own file."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

#: Scripts that stand alone; all others begin with COMMON.
ALONE = frozenset({"job"})
COMMON = ("frontier", "shard")


class Script(NamedTuple):
    text: bytes
    digest: bytes


@lru_cache(maxsize=64)
def script(name: str) -> Script:
    parts = (name,) if name in ALONE else (*COMMON, name)
    text = b"".join(read(part) for part in parts)
    return Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())


def read(name: str) -> bytes:
    return resources.files("urlsieve.stores.redis").joinpath("lua", f"{name}.lua").read_bytes()
