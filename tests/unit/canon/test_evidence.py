"""What pages told becomes proposals: the right ones, and none of the traps."""

import pytest

from urlsieve.canon import Canonicalizer
from urlsieve.canon.evidence import kept_by, weighed
from urlsieve.canon.proposals import LEAST, Proposals, proposals
from urlsieve.canon.proposaltext import toml
from urlsieve.canon.rules import Rules
from urlsieve.canon.suffixes import registrable_domain
from urlsieve.canon.witnesses import Log, Told, fits, line_of, number_of, read, thinned, verified_line, written

CANON = Canonicalizer()


def found(told: list[Told], rules: Rules | None = None) -> Proposals:
    canon = CANON if rules is None else Canonicalizer(rules=rules)
    urls = [url for one in told for url in (one.url, one.final) if url is not None]
    keys = dict(zip(urls, canon.canonicalize_many(urls), strict=True))
    return proposals(weighed(told, keys, registrable_domain), rules, {}, registrable_domain)


def keys_of(result: Proposals) -> dict[str, list[str]]:
    """match → what is proposed."""
    return {one.match: [point.key + (f" {point.name}" if point.name else "") for point in one.points] for one in result.rules}


def pair(one: str, other: str, many: int = LEAST) -> list[Told]:
    """Clean pairs: `{}` in the URLs is the number of the page."""
    return [Told(text.replace("{}", str(number)), f"{number:016x}") for number in range(many) for text in (one, other)]


@pytest.mark.parametrize(
    ("one", "other", "match", "what"),
    [
        ("http://www.a.example/{}", "http://a.example/{}", "a.example", "hosts"),
        ("http://a.example/{}", "https://a.example/{}", "=a.example", "https"),
        ("http://a.example/{}", "http://a.example/{}/", "=a.example", "trailing_slash"),
        ("http://a.example/x{}", "http://a.example/X{}", "=a.example", "path_case"),
        ("http://a.example/{}?sid={}", "http://a.example/{}", "=a.example", "drop sid"),
    ],
)
def test_twenty_clean_pairs_make_a_proposal_and_nineteen_say_how_far_it_is(one: str, other: str, match: str, what: str) -> None:
    assert {match: [what]} == keys_of(found(pair(one, other)))
    short = found(pair(one, other, LEAST - 1))
    assert ((), [(LEAST - 1, 0, False, None)]) == (short.rules, [(p.clean, p.against, p.ready, p.bound) for p in short.others])


def test_the_bound_is_three_by_the_number_of_pairs() -> None:
    ((point,),) = [one.points for one in found(pair("http://a.example/{}", "https://a.example/{}", 60)).rules]
    assert (60, 0, 3 / 60) == (point.clean, point.against, point.bound)
    assert 10 == len(point.samples)


def test_one_counter_example_stops_it_and_is_shown() -> None:
    told = [
        *pair("http://a.example/{}", "https://a.example/{}", 500),
        Told("http://a.example/z", "a" * 16),
        Told("https://a.example/z", "b" * 16),
    ]
    result = found(told)
    assert () == result.rules
    (point,) = result.others
    assert (500, 1, (("http://a.example/z", "https://a.example/z"),)) == (point.clean, point.against, point.samples_against)


def test_a_redirect_is_a_clean_pair_where_it_changes_one_thing_and_none_where_it_changes_more() -> None:
    one = [Told(f"http://a.example/{i}", None, f"https://a.example/{i}") for i in range(LEAST)]
    two = [Told(f"http://a.example/{i}", None, f"https://a.example/{i}/") for i in range(LEAST)]
    home = [Told(f"http://m.a.example/{i}", None, "http://www.a.example/") for i in range(LEAST)]
    assert {"=a.example": ["https"]} == keys_of(found(one))
    assert (0, ()) == (len(found(two).rules), found(two).others)
    assert (0, ()) == (len(found(home).rules), found(home).others)


def test_a_redirect_to_the_front_page_is_a_counter_example_where_the_other_address_has_the_page() -> None:
    told = pair("http://www.a.example/{}", "http://m.a.example/{}")
    told += [Told("http://m.a.example/z", "a" * 16, "http://www.a.example/"), Told("http://www.a.example/z", "b" * 16)]
    assert () == found(told).rules


def test_one_content_under_many_addresses_is_one_pair() -> None:
    """An error page with status 200: every two addresses have one content, and it proves nothing."""
    told = [Told(f"http://a.example/item?id={i}&sid={j}", "e" * 16) for i in range(30) for j in range(30)]
    told += [Told(f"{scheme}://{host}a.example/{i}", "e" * 16) for i in range(30) for scheme in ("http", "https") for host in ("", "www.")]
    assert () == found(told).rules
    assert [] == [point for point in found(told).others if point.clean > 1]


def test_redirects_of_everything_to_one_address_are_one_pair() -> None:
    told = [Told(f"http://a.example/login?next={i}", None, "http://a.example/login") for i in range(100)]
    (point,) = found(told).others
    assert ("drop", "next", 1) == (point.key, point.name, point.clean)


def test_session_ids_of_one_page_are_one_pair() -> None:
    told = [Told(f"http://a.example/x?sid={i}", "a" * 16) for i in range(100)]
    (point,) = found(told).others
    assert (1, 100) == (point.clean, len(point.values))


def test_a_parameter_that_matters_rarely_is_not_proposed() -> None:
    told = pair("http://a.example/article-{}?page=1", "http://a.example/article-{}", 200)
    told += [Told("http://a.example/list?page=1", "1" * 16), Told("http://a.example/list?page=2", "2" * 16)]
    assert () == found(told).rules


def test_a_page_that_changes_by_itself_proves_nothing_either_way() -> None:
    told = pair("http://a.example/{}", "https://a.example/{}")
    told += [Told("http://a.example/news", "1" * 16), Told("http://a.example/news", "2" * 16), Told("https://a.example/news", "3" * 16)]
    assert {"=a.example": ["https"]} == keys_of(found(told))


def test_what_differs_in_two_things_is_no_pair() -> None:
    assert ((), ()) == (
        found(pair("http://a.example/{}", "https://www.a.example/{}")).rules,
        found(pair("http://a.example/{}", "https://www.a.example/{}")).others,
    )


def test_hosts_of_a_site_become_one_rule_and_others_below_it_are_kept_out() -> None:
    told = [Told(f"http://{host}a.example/{i}", f"{i:016x}") for i in range(LEAST) for host in ("www.", "m.", "")]
    told += [Told(f"https://www.a.example/{i}", f"{i:016x}") for i in range(LEAST)]
    told += [Told("http://blog.a.example/0", "b" * 16)]
    told += pair("http://shop.a.example/{}", "https://shop.a.example/{}")
    result = found(told)
    assert {"a.example": ["hosts"] * 3 + ["https"], "=blog.a.example": [], "=shop.a.example": ["https"]} == keys_of(result)
    whole = next(one for one in result.rules if one.match == "a.example")
    assert (("a.example", "www.a.example"), ("m.a.example", "www.a.example")) == whole.hosts


def test_hosts_are_not_joined_where_two_of_them_have_a_counter_example() -> None:
    told = [*pair("http://www.a.example/{}", "http://a.example/{}"), *pair("http://m.a.example/{}", "http://a.example/{}")]
    told += [Told("http://m.a.example/z", "1" * 16), Told("http://www.a.example/z", "2" * 16)]
    assert () == found(told).rules


def test_what_is_proposed_is_a_file_that_changes_nothing_when_it_is_applied() -> None:
    told = [
        Told(f"{scheme}://{host}a.example/{i}", f"{i:016x}") for i in range(LEAST) for host in ("www.", "") for scheme in ("http", "https")
    ]
    told += pair("http://b.example/{}?sid={}", "http://b.example/{}") + pair("http://b.example/x{}", "http://b.example/X{}/")
    told += pair("http://c.example/{}/", "http://c.example/{}", 5)
    result = found(told)
    assert {"a.example": ["hosts", "https"], "=b.example": ["drop sid"]} == keys_of(result)
    rules = Rules.parse(toml(result, ""), thorough=True)
    canon = Canonicalizer(rules=rules)
    urls = [one.url for one in told]
    assert list(CANON.canonicalize_many(urls)) == list(canon.canonicalize_many(urls))
    assert 1 == rules.counts.proposed
    text = toml(result, "")
    assert '# drop = ["sid"]' in text
    assert "wrong for at most 15 % of its pages (95 % confidence)" in text
    assert "# trailing_slash of c.example: 5 of 20 clean pairs, no counter-example" in text


def test_rules_that_there_are_stay_and_what_is_new_for_their_hosts_is_to_be_added_by_hand() -> None:
    rules = Rules.parse('[[site]]\nmatch = "a.example"\ndrop = ["sid"]\n')
    told = pair("http://a.example/{}?sid={}", "https://a.example/{}")
    result = found(told, rules)
    assert [("=a.example", "a.example")] == [(one.match, one.under) for one in result.rules]
    again = Rules.parse(toml(result, rules.text))
    assert rules == again
    assert "# To add by hand to the rule a.example" in toml(result, rules.text)


def test_lines_are_read_as_they_were_written_and_strange_ones_are_left_out() -> None:
    told = [
        Told("http://a.example/", "1" * 16),
        Told("http://a.example/", None, "http://b.example/"),
        Told("http://a.example/", "1" * 16, "http://b.example/"),
    ]
    text = b"".join(map(line_of, told)) + verified_line("a.example") * 3 + b"x\tnew\n\xff\np\n"
    log = read([text, text])
    assert (told, {"a.example": 6}) == (log.told, log.verified)
    assert log == read([written(log)])


@pytest.mark.parametrize(
    "url",
    [
        "http://u:p@a.example/",
        "http://a.example/\u00e9",
        "http://a.example/a b",
        "http://a.example/" + "x" * 2000,
        "ftp://a.example/",
        "http://a.example/\tx",
        "http://a.example\n",
    ],
)
def test_what_cannot_stand_in_a_line_is_not_told_of(url: str) -> None:
    assert not fits(url)


def test_when_there_are_too_many_whole_pages_go_and_pairs_stay_pairs() -> None:
    told = pair("http://www.a.example/page/{}", "http://a.example/Page/{}/?x={}", 3000) + pair(
        "http://b.example/{}", "https://b.example/{}", 10
    )
    log = thinned(Log(told), 60_000, lambda one: False, lambda host: registrable_domain(host) or host)
    assert len(written(log)) < 80_000
    assert 20 == sum("b.example" in one.url for one in log.told), "a small site stays whole"
    large = [one for one in log.told if "b.example" not in one.url]
    assert 100 < len(large) < 2000
    assert {2} == {sum(other.mark == one.mark for other in large) for one in large}
    assert {"www.a.example", "a.example"} == set(log.shares)
    assert all(number_of(one.url) < log.shares["a.example"] for one in large)


def test_counter_examples_stay_when_others_go_and_a_share_never_grows_again() -> None:
    told = pair("http://a.example/{}", "https://a.example/{}", 3000)
    clash = [Told(f"http://a.example/z{i}", f"{i:016x}") for i in range(3)] + [Told(f"https://a.example/z{i}", "f" * 16) for i in range(3)]
    told += clash
    keys = {one.url: one.url for one in told}
    log = thinned(Log(told), 30_000, kept_by(weighed(told, keys, registrable_domain), keys), lambda host: host)
    assert set(clash) <= set(log.told)
    again = thinned(log, 1_000_000, lambda one: False, lambda host: host)
    assert log.shares == again.shares


def test_sites_that_were_told_of_longest_ago_go_first() -> None:
    told = [Told(f"http://s{i}.example/{j}", f"{j:016x}") for i in range(50) for j in range(20)]
    log = thinned(Log(told), 20_000, lambda one: False, lambda host: host)
    left = {one.url.split("/")[2] for one in log.told}
    assert "s49.example" in left and "s0.example" not in left
