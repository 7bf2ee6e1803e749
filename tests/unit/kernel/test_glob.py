"""Globs of rules: what they match is what the same thing as a regular expression matches."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urlsieve._kernel import glob_matches

parts = st.sampled_from(["a", "b", "/", "*", "?", "\\*", "\\?", "\\\\", "ab", "**", "."])
patterns = st.lists(parts, max_size=8)
texts = st.text(alphabet="ab/*?\\.", max_size=12)


def as_regex(pattern: list[str]) -> str:
    meaning = {"*": ".*", "**": ".*", "?": "."}
    return "".join(meaning.get(part) or re.escape(part[1:] if part.startswith("\\") else part) for part in pattern)


@given(patterns, texts)
def test_a_glob_matches_the_whole_text_as_its_regular_expression_does(pattern: list[str], text: str) -> None:
    wanted = re.fullmatch(as_regex(pattern), text, re.DOTALL) is not None
    assert wanted == glob_matches("".join(pattern).encode(), text.encode())


@pytest.mark.parametrize("pattern", [b"a" * 129, b"*a*" + b"b" * 63, b"?" * 64])
def test_a_glob_that_is_too_long_is_refused(pattern: bytes) -> None:
    with pytest.raises(ValueError, match="128 bytes"):
        glob_matches(pattern, b"")


def test_the_longest_globs_are_taken() -> None:
    assert glob_matches(b"a" * 100 + b"*" + b"b" * 28, b"a" * 100 + b"x" + b"b" * 28)
    assert glob_matches(b"*" + b"?" * 63 + b"*", b"x" * 63)
    assert not glob_matches(b"*" + b"?" * 63 + b"*", b"x" * 62)


def test_a_hostile_glob_on_a_long_text_takes_no_time() -> None:
    # backtracking would try 65,536 places for each of the twenty stars
    began = time.process_time()
    assert not glob_matches(b"*a" * 20 + b"*b", b"a" * 65536)
    assert time.process_time() - began < 0.5
