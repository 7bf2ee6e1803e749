"""What callers hand to the façade, checked by kind: the same as values of ours out, or a ConfigError that names it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from urlsieve import checks
from urlsieve.batch import Defaults
from urlsieve.errors import ConfigError, LeaseLost
from urlsieve.model import REASONS, Entry, Lease, Outcome, URLItem

Ticket = Lease | str
_KINDS = ("done", "fail", "skip", "release")


def defaults(priority: object, depth: object, via: object, meta: object, parent: object) -> Defaults:
    checks.number("priority", priority, whole=True)
    checks.number("depth", depth, whole=True, least=0)
    if parent is not None and not isinstance(parent, Lease):
        raise ConfigError(f"parent must be a Lease, not {type(parent).__name__}")
    via = checks.text("via", via)
    if isinstance(parent, Lease):
        depth, via = parent.depth + 1, via or parent.url
    return Defaults(priority, depth, checks.text("via", via), checks.to_json(meta))  # type: ignore[arg-type]


def tickets(lease: Any) -> tuple[bool, list[Ticket]]:
    """(was a list given, the list)."""
    if isinstance(lease, (Lease, str)):
        return False, [lease]
    if isinstance(lease, Iterable) and not isinstance(lease, (Mapping, bytes)):
        return True, list(lease)
    raise ConfigError(f"a lease, a token or a list of them is expected, not {type(lease).__name__}")


def token_of(ticket: object) -> str:
    if isinstance(ticket, Lease):
        return ticket.token
    if isinstance(ticket, str):
        return ticket
    raise ConfigError(f"a lease or a token is expected, not {type(ticket).__name__}")


def lost(ticket: Ticket) -> LeaseLost:
    what = f"the lease of {ticket.key}" if isinstance(ticket, Lease) else f"the token {ticket[:64]!r}"
    return LeaseLost(f"{what} is not current: it expired and was taken back, was settled before, or is not of this store")


def names(groups: object) -> list[str]:
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise ConfigError("groups must be a list of group names")
    found = list(groups)
    if not all(isinstance(name, str) for name in found):
        raise ConfigError("groups must be a list of group names")
    return list(dict.fromkeys(checks.text("groups", name) or "" for name in found))


def strings(name: str, values: object) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ConfigError(f"{name} must be a list of URLs")
    found = tuple(values)
    if not all(isinstance(value, str) for value in found):
        raise ConfigError(f"{name} must be a list of URLs, as text")
    return found


def links_of(values: object) -> tuple[str | URLItem, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise ConfigError("links must be a list of URLs")
    found = tuple(values)
    for link in found:
        if not isinstance(link, (str, bytes, URLItem)):
            raise ConfigError(f"a link is a str or a URLItem, not {type(link).__name__}")
    return found


def pairs_of(values: object) -> list[tuple[Ticket, Outcome]]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ConfigError("settle takes a list of (lease, Outcome)")
    pairs = []
    for pair in values:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ConfigError(f"settle takes pairs of a lease and an Outcome, not {type(pair).__name__}")
        token_of(pair[0])
        pairs.append((pair[0], checked(pair[1])))
    return pairs


def entry(one: object) -> Entry:
    """What `entries` gives is whole; what somebody made may not be."""
    if not isinstance(one, Entry):
        raise ConfigError(f"an Entry is expected, not {type(one).__name__}")
    if not isinstance(one.fingerprint, bytes) or len(one.fingerprint) != 16 or not one.site:
        raise ConfigError("an Entry has 16 bytes of fingerprint and a site")
    if one.url is not None and not one.group:
        raise ConfigError(f"an Entry of {one.site} has a URL but no group")
    return one


def checked(outcome: object) -> Outcome:
    if not isinstance(outcome, Outcome):
        raise ConfigError(f"an Outcome is expected, not {type(outcome).__name__}")
    checks.choice("kind", outcome.kind, _KINDS)
    checks.optional("status", outcome.status, whole=True, least=0)
    checks.optional("size", outcome.size, whole=True, least=0)
    for field in ("retry_after", "elapsed", "not_before", "group_until"):
        checks.optional(field, getattr(outcome, field))
    if outcome.kind in ("fail", "skip") and (not isinstance(outcome.reason, str) or not outcome.reason):
        raise ConfigError(f"{outcome.kind} needs a reason in words")
    if outcome.final_url is not None and not isinstance(outcome.final_url, str):
        raise ConfigError("final_url must be text")
    strings("redirects", outcome.redirects)
    links_of(outcome.links)
    _check_refused(outcome.refused)
    reason = checks.text("reason", outcome.reason)
    reason = reason and reason[: checks.MOST_REASON]  # it is shown to people, not data
    return outcome if reason == outcome.reason else replace(outcome, reason=reason)


def _check_refused(pairs: object) -> None:
    if not isinstance(pairs, (tuple, list)) or not all(isinstance(pair, (tuple, list)) and 2 <= len(pair) <= 3 for pair in pairs):
        raise ConfigError("refused must be pairs of a reason and a number; some of the URLs may follow")
    for word, many, *examples in pairs:
        checks.choice("refused", word, REASONS)
        checks.number("refused", many, whole=True, least=0)
        for urls in examples:
            strings("refused", urls)
