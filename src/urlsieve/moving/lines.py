"""An entry in, its JSON line out; a line in, an entry or a ValueError that says what is wrong with it."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

from urlsieve import checks
from urlsieve.batch import as_given, storable
from urlsieve.errors import ConfigError
from urlsieve.model import Entry, Klass, State

Record = Mapping[str, Any]

_NAMES: dict[State | None, str] = {None: "known", **{state: state.name.lower() for state in State}}
STATES = {name: state for state, name in _NAMES.items()}
_CLASSES = {klass.name.lower(): klass for klass in Klass}


def line_of(record: Mapping[str, Any], meta: str | None = None) -> bytes:
    """ASCII, so that no tool on the way reads it in another encoding. `meta` is JSON already, and stands there as it is."""
    text = json.dumps(record, separators=(",", ":"))
    return (text if meta is None else f'{text[:-1]},"meta":{meta}}}').encode("ascii") + b"\n"


def entry_line(entry: Entry, *, usual_group: str | None, secret: bool) -> bytes:
    """What has its usual value is left out. Without `secret` the fingerprint would be of no use."""
    record: dict[str, Any] = {"entry": _NAMES[entry.state]}
    if entry.url is None:
        record["site"] = entry.site
    else:
        given = as_given(entry.url)
        if isinstance(given, str):
            record["url"] = given
        else:
            record["url_base64"] = base64.b64encode(given).decode("ascii")
    if secret:
        record["fp"] = entry.fingerprint.hex()
    if entry.group not in ("", usual_group):
        record["group"] = entry.group
    for name in ("priority", "depth", "attempt", "excused"):
        if getattr(entry, name):
            record[name] = getattr(entry, name)
    for name in ("via", "failed_at", "due", "reason", "settled", "since"):
        if getattr(entry, name) is not None:
            record[name] = getattr(entry, name)
    if entry.variant:
        record["variant"] = base64.b64encode(entry.variant).decode("ascii")
    if entry.klass is not Klass.NEW:
        record["class"] = entry.klass.name.lower()
    return line_of(record, entry.meta)


def entry_of(record: Record) -> Entry:
    """Without group_id, and with what the line says of fingerprint, site and group: b"" and "" where it says nothing."""
    state = _choice(record, "entry", STATES)
    url = _url(record)
    if url is None and state not in (None, State.DONE, State.DEAD):
        raise ValueError("it has no URL, and is not done, dead or known")
    try:
        return Entry(
            _bytes(record, "fp", bytes.fromhex),
            state,
            _text(record, "site") or "",
            _text(record, "group") or "",
            0,
            url,
            checks.number("priority", record.get("priority", 0), whole=True),
            checks.number("depth", record.get("depth", 0), whole=True, least=0),
            _text(record, "via"),
            checks.to_json(record.get("meta")),
            _bytes(record, "variant", _base64),
            _choice(record, "class", _CLASSES) if "class" in record else Klass.NEW,
            checks.number("attempt", record.get("attempt", 0), whole=True, least=0),
            checks.number("excused", record.get("excused", 0), whole=True, least=0),
            checks.optional("failed_at", record.get("failed_at")),
            checks.optional("due", record.get("due")),
            (_text(record, "reason") or "")[: checks.MOST_REASON] or None,
            checks.optional("settled", record.get("settled")),
            checks.optional("since", record.get("since")),
        )
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _url(record: Record) -> str | bytes | None:
    if "url_base64" in record:
        return storable(_bytes(record, "url_base64", _base64))
    url = record.get("url")
    if url is not None and (not isinstance(url, str) or not url):
        raise ValueError("'url' is not text")
    return None if url is None else storable(url)


def _choice(record: Record, name: str, values: Mapping[str, Any]) -> Any:
    found = record.get(name)
    if not isinstance(found, str) or found not in values:
        raise ValueError(f"{name!r} is none of {', '.join(values)}")
    return values[found]


def _text(record: Record, name: str) -> str | None:
    return checks.text(name, record.get(name))


def _bytes(record: Record, name: str, read: Callable[[str], bytes]) -> bytes:
    found = record.get(name, "")
    try:
        return read(found)
    except (TypeError, ValueError):
        raise ValueError(f"{name!r} is damaged") from None


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError from error
