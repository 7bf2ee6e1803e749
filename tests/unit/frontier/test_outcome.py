"""The outcomes table as a pure function: kind and status in, the row of the table out."""

import pytest

from urlsieve.frontier.outcome import Kind, classify, reason_of
from urlsieve.model import Outcome

DONE, GONE, REFUSED, FAILED, THROTTLED = Kind.DONE, Kind.GONE, Kind.REFUSED, Kind.FAILED, Kind.THROTTLED


@pytest.mark.parametrize(
    "status,expected",
    [(None, DONE), (200, DONE), (204, DONE), (301, DONE), (304, DONE), (404, GONE), (410, GONE), (429, THROTTLED), (400, REFUSED), (403, REFUSED), (451, REFUSED), (408, FAILED), (425, FAILED), (500, FAILED), (503, FAILED), (599, FAILED), (0, FAILED), (199, FAILED), (999, FAILED)],
)  # fmt: skip
def test_done_by_status(status, expected):
    assert expected is classify(Outcome("done", status=status))


@pytest.mark.parametrize(
    "status,expected",
    [(None, FAILED), (404, GONE), (410, GONE), (429, THROTTLED), (400, REFUSED), (499, REFUSED), (408, FAILED), (425, FAILED), (500, FAILED), (503, FAILED), (200, FAILED), (301, FAILED)],
)  # fmt: skip
def test_fail_by_status(status, expected):
    assert expected is classify(Outcome("fail", reason="x", status=status))


@pytest.mark.parametrize("status", [None, 403, 404, 500, 503, 429])
def test_a_named_time_throttles_whatever_the_status(status):
    assert THROTTLED is classify(Outcome("fail", reason="x", status=status, retry_after=5.0))


def test_skip_and_release_do_not_look_at_the_status():
    assert Kind.SKIPPED is classify(Outcome("skip", reason="type", status=500))
    assert Kind.RELEASED is classify(Outcome("release", status=429))


def test_done_with_an_error_status_is_classified_as_fail_is():
    for status in range(400, 600):
        assert classify(Outcome("done", status=status)) is classify(Outcome("fail", reason="x", status=status))


def test_the_reason_is_the_callers_words_else_the_status_else_the_kind():
    assert "broken" == reason_of(Outcome("fail", reason="broken", status=500))
    assert "500" in reason_of(Outcome("done", status=500))
    assert reason_of(Outcome("fail"))
