"""Requests as JSON: what goes out comes back as it was, what cannot is named, and nothing is loaded because a store says so."""

import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from zoneinfo import ZoneInfo

import pytest
import scrapy
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import FormRequest, JsonRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.http.request.rpc import XmlRpcRequest

from urlsieve.doors.scrapy import wire
from urlsieve.doors.scrapy.identity import again_variant, variant_of


def decorated(function):
    def inner(self, response):
        return function(self, response)

    return inner


class Spider(scrapy.Spider):
    name = "wire"

    def parse(self, response):
        pass

    def __private(self, response):
        pass

    parse_more = decorated(parse)
    hidden = property(lambda self: self.__private)


SPIDER = Spider()


def there_and_back(request):
    written = json.loads(json.dumps(wire.write(request, SPIDER), allow_nan=False))
    return wire.read(request.url, written, request.priority, SPIDER)


def same(a, b):
    return type(a) is type(b) and a.to_dict() == b.to_dict()


def shape(value):
    """With the type of everything in it."""
    kind = type(value).__name__
    if isinstance(value, dict):
        return kind, [(shape(key), shape(part)) for key, part in value.items()]
    if isinstance(value, set):
        return kind, sorted(map(repr, value))
    if isinstance(value, (list, tuple)):
        return kind, [shape(part) for part in value]
    return kind, repr(value)


texts = st.text(st.characters(), max_size=8)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | texts
    | st.binary(max_size=8)
    | st.datetimes(timezones=st.none() | st.just(timezone(timedelta(hours=2)))).map(lambda when: when.replace(fold=0))
    | st.dates()
    | st.decimals(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.sets(st.integers() | texts | st.binary(max_size=3), max_size=3)
        | st.dictionaries(texts | st.integers() | st.sampled_from(["$bytes", "$"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(value=plain)
def test_every_value_that_is_written_comes_back_as_the_same_value_of_the_same_type(value):
    back = wire.from_plain(json.loads(json.dumps(wire.to_plain(value, "meta"), allow_nan=False)))
    assert shape(value) == shape(back)


@given(
    method=st.sampled_from(["GET", "POST", "PATCH"]),
    body=st.binary(max_size=20),
    meta=st.dictionaries(texts, plain, max_size=3),
    cb_kwargs=st.dictionaries(texts, plain, max_size=3),
    headers=st.dictionaries(st.sampled_from(["X-A", "Referer", "Cookie"]), st.lists(st.binary(max_size=5), min_size=1, max_size=3)),
    priority=st.integers(-5, 5),
    dont_filter=st.booleans(),
    callback=st.sampled_from([None, SPIDER.parse, SPIDER.parse_more, SPIDER.hidden, NO_CALLBACK]),
)
def test_a_request_comes_back_equal(method, body, meta, cb_kwargs, headers, priority, dont_filter, callback):
    request = scrapy.Request(
        "http://a.example/?q=1#f",
        method=method,
        body=body,
        meta={key: value for key, value in meta.items() if key != "verbatim_url"},
        cb_kwargs=cb_kwargs,
        headers=headers,
        priority=priority,
        dont_filter=dont_filter,
        callback=callback,
        flags=["f"],
        cookies={"a": "b"},
    )
    back = there_and_back(request)
    assert same(request.replace(callback=None), back.replace(callback=None))
    assert request.callback == back.callback


def test_nan_and_infinity_come_back():
    back = there_and_back(scrapy.Request("http://a.example/", meta={"f": [float("nan"), float("-inf")]}))
    assert "[nan, -inf]" == repr(back.meta["f"])


class Product(scrapy.Item):
    name = scrapy.Field()


@pytest.mark.parametrize(
    "request_",
    [
        JsonRequest("http://a.example/", data={"a": 1}, dumps_kwargs={"indent": 2}),
        FormRequest("http://a.example/", formdata={"a": "b"}),
        XmlRpcRequest("http://a.example/", methodname="m", params=(1,)),
        scrapy.Request("http://a.example/", encoding="latin-1", body="é", method="PUT"),
        scrapy.Request("http://a.example/", cookies=[{"name": "a", "value": "b", "domain": "a.example"}]),
        scrapy.Request("http://a.example/", meta={"item": Product(name=(1, b"x"))}),
    ],
)
def test_subclasses_cookies_encodings_and_items_come_back(request_):
    assert same(request_, there_and_back(request_))


class Colour(IntEnum):
    RED = 1


class Text(str):
    pass


def deep():
    value: list = []
    value.append(value)
    return value


REFUSED = {
    "a lambda": ({"callback": lambda response: None}, "callback is not a method of the spider"),
    "another spider's method": ({"errback": Spider().parse}, "errback is not a method of the spider"),
    "an object": ({"meta": {"a": object()}}, "meta['a'] is an object, which JSON cannot keep"),
    "an enum": ({"meta": {"a": {"b": [Colour.RED]}}}, "meta['a']['b'][0] is a Colour"),
    "a subclass of str": ({"cb_kwargs": {"a": Text("x")}}, "cb_kwargs['a'] is a Text"),
    "a key that is no text": ({"meta": {1: 2}}, "meta has the key 1, which is no text"),
    "what contains itself": ({"meta": {"a": deep()}}, "is nested more than 60 deep, or contains itself"),
    "too much": ({"meta": {"a": "x" * wire.MOST}}, "characters as JSON; at most 524288 are kept"),
    "too big a body": ({"body": b"x" * wire.MOST, "method": "POST"}, "characters as JSON; at most 524288 are kept"),
    "a time of a place": ({"meta": {"a": datetime(2026, 1, 2, tzinfo=ZoneInfo("UTC"))}}, "meta['a'] is a datetime of UTC"),
    "a local class of items": ({"meta": {"a": type("Local", (scrapy.Item,), {})()}}, "is not found under its name"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_written_is_named(case):
    arguments, message = REFUSED[case]
    with pytest.raises(wire.Unwritable) as refused:
        wire.write(scrapy.Request("http://a.example/", **arguments), SPIDER)
    assert message in str(refused.value)


UNREADABLE = [
    {"scrapy": 2},
    {"scrapy": 1, "callback": "no_such"},
    {"scrapy": 1, "callback": "name"},
    {"scrapy": 1, "callback": 7},
    {"scrapy": 1, "class": "os:system"},
    {"scrapy": 1, "class": "antigravity:x"},
    {"scrapy": 1, "class": 7},
    {"scrapy": 1, "body": "not base64!"},
    {"scrapy": 1, "headers": 3},
    {"scrapy": 1, "meta": [1]},
    {"scrapy": 1, "meta": {"a": {"$item": ["subprocess:Popen", {}]}}},
    {"scrapy": 1, "meta": {"a": {"$item": []}}},
    {"scrapy": 1, "meta": {"a": {"$what": 1}}},
    {"scrapy": 1, "meta": {"a": {"$datetime": "soon"}}},
    {"scrapy": 1, "meta": {"a": {"$decimal": "x"}}},
    {"scrapy": 1, "meta": {"a": {"$dict": [[[1], 2]]}}},
    {"scrapy": 1, "url": "no url"},
    {"scrapy": 1, "method": 1, "encoding": "klingon", "body": "YQ==", "meta": {"a": {"$set": [[1]]}}},
]


@pytest.mark.parametrize("meta", UNREADABLE, ids=json.dumps)
def test_sec_01_what_is_damaged_or_foreign_in_a_store_is_unreadable_and_nothing_is_loaded_for_it(meta):
    import sys

    with pytest.raises(wire.Unreadable):
        wire.read("http://a.example/", meta, 0, SPIDER)
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize("meta", [None, {"batch": 1}, [1, 2], "text", 0])
def test_what_somebody_else_pushed_goes_to_parse_with_its_meta(meta):
    request = wire.read("http://a.example/", meta, 3, SPIDER)
    assert (None, True, 3) == (request.callback, request.dont_filter, request.priority)
    assert ({} if meta is None else {"urlsieve_meta": meta}) == request.meta


def variant(*args, **kwargs):
    return variant_of(scrapy.Request("http://a.example/", *args, **kwargs))


def test_a_get_without_a_body_has_no_variant():
    assert b"" == variant()


def test_can_08_no_border_between_the_parts_of_a_request_can_move():
    kinds = [
        variant(method="POST"),
        variant(method="POST", body="o"),
        variant(method="POS", body="To"),
        variant(method="PUT"),
        variant(body="o"),
        variant(meta={"urlsieve_variant": "o"}),
        variant(meta={"urlsieve_variant": ""}),
        variant(method="POST", body="own", meta={"urlsieve_variant": "x"}),
        variant(method="POST", body="ownx"),
        variant(meta={"verbatim_url": True}),
    ]
    assert len(kinds) == len(set(kinds))
    assert variant(meta={"urlsieve_variant": "é"}) == variant(meta={"urlsieve_variant": "é".encode()})


def test_what_scrapy_keeps_in_meta_on_the_way_makes_no_other_request():
    def again(**arguments):
        return again_variant(b"", wire.write(scrapy.Request("http://a.example/", **arguments), SPIDER))

    alike = again(meta={"a": 1, "depth": 1, "retry_times": 2}, headers={"Referer": "x"}, priority=1)
    assert alike == again(meta={"a": 1, "depth": 7, "download_slot": "s"})
    assert len({alike, again(meta={"a": 2}), again(cb_kwargs={"a": 1}), again(headers={"X": "1"}), again(callback=SPIDER.parse)}) == 5


def test_dates_are_not_taken_for_one_another():
    back = there_and_back(scrapy.Request("http://a.example/", meta={"a": [date(2026, 1, 2), datetime(2026, 1, 2), Decimal("1.10")]}))
    assert "[datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 0, 0), Decimal('1.10')]" == repr(back.meta["a"])
