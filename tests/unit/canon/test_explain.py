"""Explanations: each step that changes a URL is named, in order, with a sentence; two URLs are the same or differ somewhere."""

import json

from hypothesis import given

from canon_urls import urls
from urlsieve.canon import Canonicalizer, explain

CANON = Canonicalizer(traps=(256, 8, 32))


def test_every_step_that_changes_the_url_is_there_in_order() -> None:
    url = "HTTP://E.com:80/%7eu;jsessionid=0123456789?b=2&a=1&&utm_source=x&PHPSESSID=0123456789abcdef0123456789#top"
    told = explain(url)
    assert ["parse", "percent", "path_session", "empty_pieces", "noise", "query_session", "sort", "fragment"] == [
        s.name for s in told.steps[0]
    ]
    assert "http://e.com/~u?a=1&b=2" == told.key == told.steps[0][-1].after
    assert "utm_source" in told.steps[0][4].why
    assert "PHPSESSID" in told.steps[0][5].why
    assert None is told.same


@given(urls)
def test_the_steps_lead_from_the_url_to_its_key(url: str) -> None:
    told = CANON.explain(url)
    keys = CANON.canonicalize_many([url])
    assert (keys[0],) == told.keys
    for before, after in zip(told.steps[0], told.steps[0][1:], strict=False):
        assert before.after == after.before
    if told.key is None:
        assert None is told.steps[0][-1].after
        assert f"rejected as {keys.reasons[0]}" in told.steps[0][-1].why
    elif told.steps[0]:
        assert told.key == told.steps[0][-1].after
    assert all(step.before != step.after and step.why for step in told.steps[0])
    json.dumps(told.as_dict())
    assert str(told)


def test_two_spellings_are_the_same_and_two_pages_are_not() -> None:
    same = explain("http://e.com/?b=1&a=2#x", "http://E.com?a=2&b=1")
    assert (True, same.keys[0]) == (same.same, same.keys[1])
    assert "the same" in str(same)
    other = explain("http://e.com/a?x=1", "https://e.com/b?x=1")
    assert False is other.same
    assert "differ in scheme and path" in str(other)


def test_a_rejected_url_is_explained_and_is_the_same_as_nothing() -> None:
    told = explain("ftp://e.com/", "ftp://e.com/")
    assert False is told.same
    assert (None, None) == told.keys
    assert "neither http nor https" in str(told)
    assert "rejected as trap" in str(CANON.explain("http://e.com/" + "a/" * 9))
    assert "rejected as too_long" in str(explain("http://e.com/" + "a" * 70_000))


def test_user_info_is_never_shown() -> None:
    told = explain("http://alice:secret@E.com/a", "https://alice:secret@e.com/b?utm_source=1&x=1")
    assert "***@e.com" in str(told)
    assert "secret" not in str(told)
    assert "secret" not in json.dumps(told.as_dict()["steps"])


def test_a_base_is_used() -> None:
    assert "http://e.com/b" == explain("b", base="http://e.com/a").key
    assert True is explain("b", "http://e.com/b", base="http://e.com/a").same


def test_as_dict_has_what_the_command_prints() -> None:
    assert {"same", "steps", "keys"} == set(explain("http://E.com").as_dict())
    assert {"same": None, "steps": [[]], "keys": ["http://e.com/"]} == explain("http://e.com/").as_dict()


def test_control_characters_do_not_reach_a_terminal() -> None:
    assert "\x1b" not in str(explain("http://e.com/\x1b[31m"))
