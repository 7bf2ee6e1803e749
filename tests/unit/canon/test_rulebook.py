"""The rules as a store keeps them: what of the sets before still matters, and for which URLs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules_lab import loaded, rule_sets, switches, targets
from rules_oracle import Site
from urlsieve.canon import Canonicalizer, Rules, rulebook
from urlsieve.canon.rulebook import Book, Changed
from urlsieve.errors import ConfigError, StoreMismatch

SAID = Changed(0, 0.0, "apply")
DROP = Rules.parse('[[site]]\nmatch = "e.com"\ndrop = ["sid"]\n')
DROPS = Rules.parse('[[site]]\nmatch = "e.com"\ndrop = ["sid", "ref"]\n')
OTHER = Rules.parse('[[site]]\nmatch = "other.org"\ndrop = ["sid"]\n')


def test_a_book_is_read_as_it_was_written() -> None:
    book = Book().next(DROP, Changed(0, 1.5, "apply", "Ann")).next(DROPS, Changed(0, 2.5, "confirm", "Bob", "e.com", "because"))
    again = rulebook.read(2, book.text, "S")
    assert book == again
    assert (2, "Bob", "e.com", "because") == (
        again.changes[1].generation,
        again.changes[1].by,
        again.changes[1].match,
        again.changes[1].evidence,
    )


def test_a_newer_book_is_refused() -> None:
    with pytest.raises(StoreMismatch, match="use a newer one"):
        rulebook.read(1, '{"format": 2}', "S")


@pytest.mark.parametrize(
    ("sets", "former"),
    [
        ([DROP], [0]),
        ([DROP, DROPS], [1, 0]),
        ([DROP, DROPS, DROP], [2, 0]),  # under the second nothing can be told of today's; it is kept because it was the last
        ([DROP, None], [1]),
        ([DROP, OTHER, DROP], [2, 0]),
    ],
)
def test_of_the_sets_before_those_stay_that_can_tell_something(sets: list[Rules | None], former: list[int]) -> None:
    book = Book()
    for rules in sets:
        book = book.next(rules, SAID)
    assert former == [generation for generation, _ in book.former]


def test_a_rule_is_as_old_as_it_is_unchanged() -> None:
    book = Book().next(DROP, SAID).next(Rules.parse(OTHER.text + "\n" + DROP.text), SAID)
    rules = {rule.match: rule for rule in book.rules.rules} if book.rules else {}
    assert (1, 2) == (book.since(rules["e.com"]), book.since(rules["other.org"]))


def test_rule_of_finds_by_match_or_match_and_path() -> None:
    rules = Rules.parse('[[site]]\nmatch = "e.com"\npath = "/a*"\ndrop = ["x"]\n[[site]]\nmatch = "e.com"\ndrop = ["y"]\n')
    assert "/a*" == rulebook.rule_of(rules, "e.com /a*").path
    assert rulebook.rule_of(rules, "e.com").path is None
    with pytest.raises(ConfigError, match=r"there is no rule 'f\.com'; there are: e\.com, e\.com /a\*"):
        rulebook.rule_of(rules, "f.com")


@settings(max_examples=100)
@given(rule_sets, rule_sets, switches, st.lists(targets, min_size=2, max_size=6))
def test_the_laws_of_what_is_asked_and_swept(old: list[Site], new: list[Site], on: set[str], urls: list[str]) -> None:
    """Whoever has another key than before is of a site that is touched. Where an earlier key is asked, two URLs that had one have one now.
    Two that had one key and have two now are of a site that is swept, as it was named before."""
    try:
        before, after = loaded(old), loaded(new)
        profile = "+".join(["safe", *sorted(on)])
        then, now = Canonicalizer(profile=profile, rules=before), Canonicalizer(profile=profile, rules=after)
    except ConfigError:
        return
    names = tuple(sorted(on))
    asked = rulebook.asked(after, before, names)
    touched, loosened = rulebook.touched(after, before, names)
    a, b = then.canonicalize_many(urls), now.canonicalize_many(urls)
    good = [i for i in range(len(urls)) if a[i] is not None and b[i] is not None]
    for i in good:
        if a[i] != b[i]:
            assert touched.covers(a.site(i)) or touched.covers(b.site(i))
    for i in good:
        for j in good:
            if a[i] == a[j] and asked.covers(a.host(i)) and asked.covers(a.host(j)):
                assert b[i] == b[j]
            if a[i] == a[j] and b[i] != b[j]:
                assert loosened.covers(a.site(i))
