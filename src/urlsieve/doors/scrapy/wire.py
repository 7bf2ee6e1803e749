"""A request in, JSON out, and back: what a store keeps of a request beside its URL.

Only what differs from a plain GET is written. Values that JSON does not have are tagged: {"$bytes": base64}, {"$tuple": […]},
{"$set": […]}, {"$datetime": iso}, {"$date": iso}, {"$decimal": text}, {"$float": "nan"}, {"$item": [class, {…}]}, and {"$dict": [[key,
value]…]} for keys that are no text or begin with "$". Callbacks are names of the spider's methods. Classes are found among those that the
program has loaded: nothing is imported because a store says so."""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from scrapy import Item, Request, Spider
from scrapy.http.request import NO_CALLBACK

VERSION = 1
#: Characters of JSON that a store takes with a URL; deeper nesting than this is refused.
MOST, DEEPEST = 524_288, 60
_NO_CALLBACK = "$no_callback"
_PLAIN_HEADERS = "latin-1"


class Unwritable(ValueError):
    """This request cannot be kept as JSON. The message names the field."""


class Unreadable(ValueError):
    """What the store has cannot be made a request of this spider again."""


# -- out


def write(request: Request, spider: Spider, *, with_url: bool = False) -> dict[str, Any]:
    """Raises Unwritable. with_url: the URL too, for an entry whose text may stay as it was first found."""
    try:
        return _write(request, spider, with_url)
    except Unwritable:
        raise
    except Exception as error:  # classes of the user's own may raise anything, and the request must not be lost for it
        raise Unwritable(f"writing it raised {type(error).__name__}: {error}") from error


def _write(request: Request, spider: Spider, with_url: bool) -> dict[str, Any]:
    written: dict[str, Any] = {"scrapy": VERSION}
    kind = type(request)
    if kind is not Request:
        written["class"] = _class_name(kind, "class")
    if with_url:
        written["url"] = request.url
    for field in ("callback", "errback"):
        value = getattr(request, field)
        if value is not None:
            written[field] = _method_name(value, spider, field)
    if request.method != "GET":
        written["method"] = request.method
    if request.body:
        written["body"] = base64.b64encode(request.body).decode("ascii")
    headers = request.headers
    if headers:
        written["headers"] = [[_latin(name), [_latin(value) for value in headers.getlist(name)]] for name in headers]
    if request.dont_filter:
        written["dont_filter"] = True
    if request.encoding != "utf-8":
        written["encoding"] = request.encoding
    for field in ("meta", "cb_kwargs"):
        values = getattr(request, field)
        if values:
            written[field] = _pairs(values, field)
    for field in ("cookies", "flags", *(name for name in kind.attributes if name not in Request.attributes)):
        value = getattr(request, field)
        if value:
            written[field] = to_plain(value, field)
    size = len(json.dumps(written))
    if size > MOST:
        raise Unwritable(f"it has {size} characters as JSON; at most {MOST} are kept with a URL")
    return written


def _latin(value: bytes) -> str:
    return value.decode(_PLAIN_HEADERS)


def _method_name(value: object, spider: Spider, field: str) -> str:
    if value is NO_CALLBACK:
        return _NO_CALLBACK
    if isinstance(value, str):
        return value
    function = getattr(value, "__func__", None)
    if function is not None and getattr(value, "__self__", None) is spider:
        name = getattr(value, "__name__", "")
        if getattr(getattr(spider, name, None), "__func__", None) is function:
            return str(name)
        for kind in type(spider).__mro__:  # a method under another name: private, or decorated
            for name, member in vars(kind).items():
                if member is function:
                    return name
    raise Unwritable(f"{field} is not a method of the spider but {value!r}")


def _class_name(kind: type, field: str) -> str:
    name = f"{kind.__module__}:{kind.__qualname__}"
    if _loaded(name) is not kind:
        raise Unwritable(f"{field} {kind.__qualname__!r} is not found under its name in module {kind.__module__!r}")
    return name


def _pairs(values: Mapping[Any, Any], field: str) -> dict[str, Any]:
    """meta and cb_kwargs: text keys are the rule, and then the object is readable as it is."""
    found = {}
    for key, value in values.items():
        if type(key) is not str:
            raise Unwritable(f"{field} has the key {key!r}, which is no text")
        found[key] = value if type(value) in _AS_IS else to_plain(value, f"{field}[{key!r}]")
    return found


_AS_IS = frozenset({str, int, bool, type(None)})


def to_plain(value: object, field: str, depth: int = 0) -> Any:
    """Exact types only: a subclass would come back as another type than it went."""
    kind = type(value)
    if kind in _AS_IS:
        return value
    if depth > DEEPEST:
        raise Unwritable(f"{field} is nested more than {DEEPEST} deep, or contains itself")
    writer = _WRITERS.get(kind)
    if writer is not None:
        return writer(value, field, depth + 1)
    if isinstance(value, Item):
        fields = {key: to_plain(part, f"{field}[{key!r}]", depth + 1) for key, part in value.items()}
        return {"$item": [_class_name(kind, field), fields]}
    raise Unwritable(f"{field} is {_article(kind)}, which JSON cannot keep")


def _article(kind: type) -> str:
    name = kind.__qualname__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _list(value: Any, field: str, depth: int) -> list[Any]:
    return [to_plain(part, f"{field}[{i}]", depth) for i, part in enumerate(value)]


def _dict(value: dict[Any, Any], field: str, depth: int) -> dict[str, Any]:
    if all(type(key) is str and not key.startswith("$") for key in value):
        return {key: to_plain(part, f"{field}[{key!r}]", depth) for key, part in value.items()}
    pairs = ([to_plain(key, f"a key of {field}", depth), to_plain(part, f"{field}[{key!r}]", depth)] for key, part in value.items())
    return {"$dict": list(pairs)}


def _float(value: float, field: str, depth: int) -> Any:
    return value if math.isfinite(value) else {"$float": str(value)}


def _datetime(value: datetime, field: str, depth: int) -> dict[str, str]:
    if value.fold or not (value.tzinfo is None or type(value.tzinfo) is timezone):
        raise Unwritable(f"{field} is a datetime of {value.tzinfo or 'an hour that comes twice'}: only UTC and fixed offsets can be kept")
    return {"$datetime": value.isoformat()}


_WRITERS: dict[type, Callable[[Any, str, int], Any]] = {
    float: _float,
    list: _list,
    dict: _dict,
    tuple: lambda value, field, depth: {"$tuple": _list(value, field, depth)},
    set: lambda value, field, depth: {"$set": sorted(_list(value, field, depth), key=json.dumps)},
    bytes: lambda value, field, depth: {"$bytes": base64.b64encode(value).decode("ascii")},
    datetime: _datetime,
    date: lambda value, field, depth: {"$date": value.isoformat()},
    Decimal: lambda value, field, depth: {"$decimal": str(value)},
}


# -- back


def read(url: str, meta: Any, priority: int, spider: Spider) -> Request:
    """Raises Unreadable. A URL that somebody else pushed comes without our mark: it goes to the spider's parse, what was pushed with it
    stands in meta["urlsieve_meta"]."""
    if not isinstance(meta, dict) or "scrapy" not in meta:
        given = {} if meta is None else {"urlsieve_meta": meta}
        return Request(url, dont_filter=True, priority=priority, meta=given)
    if meta["scrapy"] != VERSION:
        raise Unreadable(f"it was written as version {meta['scrapy']!r} by another urlsieve; this one reads version {VERSION}")
    try:
        return _read(meta.get("url", url), meta, priority, spider)
    except Unreadable:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as error:
        raise Unreadable(f"what the store has of it is not a request: {error}") from error


def _read(url: str, written: dict[str, Any], priority: int, spider: Spider) -> Request:
    kind = _class(written["class"], Request) if "class" in written else Request
    given: dict[str, Any] = {"url": url, "priority": priority}
    for field in ("callback", "errback"):
        if field in written:
            given[field] = _method(written[field], spider)
    for field in ("method", "dont_filter", "encoding"):
        if field in written:
            given[field] = written[field]
    if "body" in written:
        given["body"] = base64.b64decode(written["body"], validate=True)
    if "headers" in written:
        given["headers"] = {
            name.encode(_PLAIN_HEADERS): [value.encode(_PLAIN_HEADERS) for value in values] for name, values in written["headers"]
        }
    for field in ("meta", "cb_kwargs"):
        if field in written:
            given[field] = {key: from_plain(value) for key, value in written[field].items()}
    for field in ("cookies", "flags", *(name for name in kind.attributes if name not in Request.attributes)):
        if field in written:
            given[field] = from_plain(written[field])
    return kind(**given)


def _method(name: str, spider: Spider) -> Callable[..., Any]:
    if name == _NO_CALLBACK:
        return NO_CALLBACK
    found = getattr(spider, name, None)
    if not callable(found):
        raise Unreadable(f"the spider {spider.name!r} has no method {name!r}")
    return found  # type: ignore[no-any-return]


def _loaded(name: str) -> object:
    module, _, path = name.partition(":")
    found: object = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _class(name: str, base: type) -> Any:
    found = _loaded(name)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise Unreadable(f"{name} is not a loaded {base.__name__} class: import it where the spider is defined")
    return found


def from_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [from_plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, held),) = value.items()
        if tag.startswith("$"):
            reader = _TAGS.get(tag)
            if reader is None:
                raise Unreadable(f"it has a value of the unknown kind {tag!r}")
            return reader(held)
    return {key: from_plain(part) for key, part in value.items()}


def _item(held: Any) -> Item:
    name, fields = held
    item: Item = _class(name, Item)()
    for key, part in fields.items():
        item[key] = from_plain(part)
    return item


_TAGS: dict[str, Callable[[Any], Any]] = {
    "$tuple": lambda held: tuple(from_plain(held)),
    "$set": lambda held: set(from_plain(held)),
    "$bytes": lambda held: base64.b64decode(held, validate=True),
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$decimal": Decimal,
    "$float": float,
    "$dict": lambda held: {from_plain(key): from_plain(part) for key, part in held},
    "$item": _item,
}
