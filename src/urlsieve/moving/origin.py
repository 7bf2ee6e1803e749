"""A store's header in, the first line of its export out; and back.

The secret is in it, because URLs whose text is not kept can only move under their fingerprints, and those hold only under the same
secret and the same canonical form. Whoever has it can make URLs collide: an export is as private as the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from urlsieve.errors import ConfigError
from urlsieve.model import Header, Policy

#: Of the lines of an export. A newer one is refused.
FORMAT = 1
MARK = "urlsieve_export"
_TEXTS = ("profile", "identity", "group_by", "vectors", "suffixes")


class Origin(NamedTuple):
    """Where an export comes from. secret: None where it was left out."""

    profile: str
    identity: str
    group_by: str
    canonical_version: int
    vectors: str
    suffixes: str
    secret: int | None
    policy: Mapping[str, Any]
    rules: str

    def holds_in(self, header: Header) -> bool:
        """Whether its fingerprints are those of a store with this header."""
        ours = (header.secret, header.profile, header.identity, header.canonical_version, header.vectors)
        return ours == (self.secret, self.profile, self.identity, self.canonical_version, self.vectors)


def first_record(header: Header, policy: Policy, rules: str, now: float, *, secret: bool) -> dict[str, Any]:
    found = {MARK: FORMAT, "at": now, **asdict(header)}
    if secret:
        found["secret"] = f"{header.secret:032x}"
    else:
        del found["secret"]
    return {**found, "policy": asdict(policy), "rules": rules}


def origin_of(record: Mapping[str, Any]) -> Origin:
    """ConfigError says why the line cannot begin an export."""
    version = record.get(MARK)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ConfigError("its first line does not say what export it is")
    if version > FORMAT:
        raise ConfigError(f"it has format {version}, and this urlsieve reads up to {FORMAT}: use a newer one")
    texts = {name: record.get(name, "") for name in _TEXTS}
    secret = record.get("secret")
    try:
        secret = None if secret is None else int(secret, 16)
    except (TypeError, ValueError):
        secret = -1
    whole = isinstance(record.get("canonical_version"), int)
    sound = whole and all(isinstance(value, str) for value in texts.values()) and (secret is None or 0 <= secret < 2**128)
    policy, rules = record.get("policy", {}), record.get("rules", "")
    if not sound or not isinstance(policy, dict) or not isinstance(rules, str):
        raise ConfigError("its first line is damaged")  # without saying it: the secret is in it
    return Origin(**texts, canonical_version=record["canonical_version"], secret=secret, policy=policy, rules=rules)
