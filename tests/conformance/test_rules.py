"""Rules change while a crawl runs: what merges more costs no second fetch, what merges less loses no page, and old workers catch up."""

import itertools

import pytest

from changing_rules import DROP, HOSTS, apply, fetch, no_rules, rules, the_lease
from sieve_lab import states, urls_of
from urlsieve import Rules, URLItem


@pytest.fixture
def sieve(lab):
    return lab.open(keep_urls=True)


#: A rule, and pairs of URLs that it makes one page.
MERGING = {
    "drop": (DROP, ("http://www.example.com/a?sid=1", "http://www.example.com/a")),
    "drop-other": (DROP, ("http://www.example.com/a?sid=1", "http://www.example.com/a?sid=2")),
    "hosts": (HOSTS, ("http://m.example.com/a", "http://www.example.com/a")),
    "https": ('https = "merge"', ("http://www.example.com/a", "https://www.example.com/a")),
    "path-case": ('path_case = "lower"', ("http://www.example.com/Ab", "http://www.example.com/ab")),
    "slash": ('trailing_slash = "strip"', ("http://www.example.com/a/", "http://www.example.com/a")),
    "rewrite": (
        r"rewrite = [{ re = '^(/dp/[0-9]+)/.*$', to = '$1' }]"
        + '\nexamples = [["http://www.example.com/dp/1/x", "http://www.example.com/dp/1"]]',
        ("http://www.example.com/dp/1/x", "http://www.example.com/dp/1"),
    ),
}
merging = pytest.mark.parametrize("name", list(MERGING))


# -- tightening


@merging
def test_a_page_seen_before_a_rule_came_is_not_fetched_again(sieve, clock, name):
    rule, (found, other) = MERGING[name]
    sieve.push(found)
    assert [found] == fetch(sieve, clock)
    applied = apply(sieve, rule)
    assert (("example.com",), (), 0) == (applied.tightened, applied.loosened, applied.bound)
    assert [True] == sieve.seen(found)
    assert ["seen", "seen", "seen"] == sieve.push([found, found, other]).verdicts if name not in ("drop-other",) else True
    assert [] == fetch(sieve, clock)
    assert [True] == sieve.seen(found)
    assert 1 == sieve.stats().accepted


@merging
def test_two_pages_seen_before_a_rule_made_them_one_stay_seen(sieve, clock, name):
    """And are two again when it goes."""
    rule, (found, other) = MERGING[name]
    sieve.push([found, other])
    assert 2 == len(fetch(sieve, clock))
    applied = apply(sieve, rule)
    assert (0, 0) == (applied.swept.forgotten, applied.swept.merged)
    assert ["seen", "seen"] == sieve.push([found, other]).verdicts
    no_rules(sieve)
    assert ["seen", "seen"] == sieve.push([found, other]).verdicts
    assert (2, 0, {"done": 2}) == (sieve.stats().accepted, sieve.stats().known, states(sieve))


@merging
def test_two_that_wait_when_a_rule_makes_them_one_are_fetched_once(sieve, clock, name):
    rule, (found, other) = MERGING[name]
    sieve.push([found, other])
    apply(sieve, rule)
    assert 1 == len(fetch(sieve, clock))
    assert [True, True] == sieve.seen([found, other])


@merging
def test_of_two_spellings_that_a_rule_merges_the_first_to_be_pushed_is_taken(sieve, clock, name):
    rule, (found, other) = MERGING[name]
    apply(sieve, rule)
    assert ["new", "seen", "seen"] == sieve.push([found, other, found]).verdicts
    assert [found] == fetch(sieve, clock)
    assert [True, True] == sieve.seen([found, other])


def test_info_and_seen_look_under_earlier_keys(sieve):
    url = "http://www.example.com/a?sid=1"
    sieve.push(url, priority=4)
    apply(sieve, DROP)
    assert ("pending", 4) == (sieve.info(url).state, sieve.info(url).priority)
    sieve.push(url)
    assert ("pending", 4) == (sieve.info(url).state, sieve.info(url).priority)
    assert [True, False] == sieve.seen([url, "http://www.example.com/b?sid=1"])


def test_forget_takes_the_earlier_entry_and_the_mark_of_its_own_key(sieve, clock):
    one, two = "http://www.example.com/a?sid=1", "http://www.example.com/a?sid=2"
    sieve.push([one, two, "http://www.example.com/b"])
    apply(sieve, DROP)
    sieve.push(one)
    assert 1 == sieve.forget([one, two, one])  # one page, by whatever names
    assert [False, False] == sieve.seen([one, two])
    assert (1, 0) == (sieve.stats().accepted, sieve.stats().known)
    assert ["new", "seen"] == sieve.push([one, two]).verdicts


def test_purge_takes_the_sites_that_a_rule_made_one(sieve):
    sieve.push(["http://m.example.com/a", "http://www.example.com/b", "http://other.example.com/c"])
    apply(sieve, HOSTS)
    sieve.push(["http://m.example.com/a", "http://m.example.com/d"])
    assert 3 == sieve.purge("www.example.com")
    assert [False, False, True] == sieve.seen(["http://m.example.com/a", "http://www.example.com/b", "http://other.example.com/c"])
    assert 1 == sieve.stats().seen


# -- loosening

EVERY = ("pending", "leased", "delayed", "done", "dead", "known")


def prepare(sieve, clock, url):
    """Entries of all states under a key that the rules have made of several; state → its URL, and the lease."""
    urls = {state: url(state) for state in EVERY}
    sieve.mark(urls["known"], known=True)
    leases = {}
    for state in ("leased", "delayed", "done", "dead"):
        sieve.push(URLItem(urls[state], priority=9, depth=2))
        leases[state] = the_lease(sieve)
    sieve.release(leases["delayed"], not_before=clock.now + 500)
    sieve.done(leases["done"])
    sieve.fail(leases["dead"], "no", status=403)
    sieve.push(urls["pending"], priority=3)
    return urls, leases["leased"]


@pytest.mark.parametrize("keep_urls", [True, False])
@pytest.mark.parametrize("name", ["drop", "hosts", "https", "path-case", "slash", "rewrite"])
def test_a_rule_that_goes_gives_every_entry_its_own_key_back(lab, clock, name, keep_urls):
    sieve = lab.open(keep_urls=keep_urls)
    rule = MERGING[name][0]
    of = {
        "drop": lambda word: f"http://www.example.com/{word}?sid=1",
        "hosts": lambda word: f"http://m.example.com/{word}",
        "https": lambda word: f"http://www.example.com/{word}",
        "path-case": lambda word: f"http://www.example.com/{word.upper()}",
        "slash": lambda word: f"http://www.example.com/{word}/",
        "rewrite": lambda word: f"http://www.example.com/dp/{EVERY.index(word)}/x",
    }[name]
    short = {
        "drop": lambda word: f"http://www.example.com/{word}",
        "hosts": lambda word: f"http://www.example.com/{word}",
        "https": lambda word: f"https://www.example.com/{word}",
        "path-case": lambda word: f"http://www.example.com/{word}",
        "slash": lambda word: f"http://www.example.com/{word}",
        "rewrite": lambda word: f"http://www.example.com/dp/{EVERY.index(word)}",
    }[name]
    apply(sieve, rule)
    urls, lease = prepare(sieve, clock, of)
    assert [True] * 6 == sieve.seen([short(word) for word in EVERY])
    dry = sieve.apply_rules(None, dry_run=True)
    applied = no_rules(sieve)
    # https: http and https are one page under the profile's own keys as well
    if name == "https" and sieve.seen(short("pending")) == [True]:
        return
    moved = 5 if keep_urls else 4
    assert (6 - moved, moved, 0) == (applied.swept.forgotten, applied.swept.moved, applied.swept.merged)
    assert (dry.swept, dry.bound) == (applied.swept, 6)
    assert [False] * 6 == sieve.seen([short(word) for word in EVERY])
    kept = [state for state in EVERY if state in ("pending", "leased", "delayed", "dead") or (state == "done" and keep_urls)]
    assert [state in kept for state in EVERY] == sieve.seen([urls[state] for state in EVERY])
    assert [*kept, *(["unseen"] * (6 - len(kept)))] == [sieve.info(urls[state]).state for state in kept] + [
        sieve.info(urls[state]).state for state in EVERY if state not in kept
    ]
    assert {"pending": 1, "leased": 1, "delayed": 1, "dead": 1} | ({"done": 1} if keep_urls else {}) == states(sieve)
    assert [] == sieve.verify(deep=True)
    assert "done" == sieve.done(lease, links=["/link"]).state  # its token is current still
    assert "done" == sieve.info(urls["leased"]).state
    assert [True] == sieve.seen(urls["leased"])
    assert 1 == sieve.retry()
    clock.advance(1000)
    found = fetch(sieve, clock)
    assert {urls["pending"], urls["delayed"], urls["dead"]} < set(found)
    assert 4 == len(found)
    assert ["new"] * 6 == sieve.push([short(word) for word in EVERY]).verdicts


def test_what_one_key_stood_for_is_told_apart_again(sieve, clock):
    apply(sieve, HOSTS)
    sieve.push(["http://m.example.com/a", "http://www.example.com/a", "http://www.example.com/b"])
    assert ["http://m.example.com/a", "http://www.example.com/b"] == fetch(sieve, clock)
    sieve.suspend_rule("example.com", by="Bob", evidence="they differ")
    assert ["seen", "new", "new", "seen"] == sieve.push(
        ["http://m.example.com/a", "http://www.example.com/a", "http://m.example.com/b", "http://www.example.com/b"]
    ).verdicts
    assert [True, True] == [row.seen > 0 for row in sieve.sites() if row.name in ("m.example.com", "www.example.com")]


def test_a_rule_that_comes_and_goes_and_comes(sieve, clock):
    """Each time what was seen stays seen, and what was not is taken."""
    urls = ["http://www.example.com/a?sid=1", "http://www.example.com/a?sid=2", "http://www.example.com/a"]
    sieve.push(urls[0])
    for _ in range(3):
        apply(sieve, DROP)
        assert ["seen"] == sieve.push(urls[0]).verdicts
        sieve.suspend_rule("example.com", by="Bob", evidence="x")
        assert ["seen"] == sieve.push(urls[0]).verdicts
        sieve.resume_rule("example.com", by="Bob")
        assert [True] == sieve.seen(urls[0])
        no_rules(sieve)
    assert [True, False, False] == sieve.seen(urls)
    assert ["new", "new"] == sieve.push(urls[1:]).verdicts
    assert 3 == len(fetch(sieve, clock))


COLLIDING = ("leased", "done", "pending", "delayed", "dead")  # the earlier stays


@pytest.mark.one_shard
@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(COLLIDING, 2)))
@pytest.mark.parametrize("swapped", [False, True])
def test_of_two_that_become_one_the_better_stays(sieve, clock, one, other, swapped):
    """Under the old rules two keys, under the new ones one: because the change merges more here and less there."""
    first, second = "http://www.example.com/x?a=1&sid=1", "http://www.example.com/x?a=2&sid=1"
    apply(sieve, 'drop = ["sid"]')
    leases = {}

    def become(url, state):
        sieve.push(URLItem(url, priority=5))
        if state == "pending":
            return
        lease = leases[state] = the_lease(sieve)
        if state == "done":
            sieve.done(lease)
        elif state == "dead":
            sieve.fail(lease, "no", status=403)
        elif state == "delayed":
            sieve.release(lease, not_before=clock.now + 100)

    order = [one, other] if not swapped else [other, one]
    order.sort(key=lambda state: state == "pending")  # else its pop would give that one
    for url, state in zip([first, second], order, strict=True):
        become(url, state)
    dry = sieve.apply_rules(rules('drop = ["a"]'), dry_run=True)
    applied = apply(sieve, 'drop = ["a"]')
    assert (0, 1, 1) == (applied.swept.forgotten, applied.swept.moved, applied.swept.merged)
    assert dry.swept == applied.swept
    assert {one: 1} == states(sieve)
    assert one == sieve.info("http://www.example.com/x?sid=1").state
    assert [] == sieve.verify(deep=True)
    if "leased" in leases:
        assert "done" == sieve.done(leases["leased"]).state


def test_a_leased_one_that_goes_loses_its_lease(sieve, clock):
    apply(sieve, 'drop = ["sid"]')
    sieve.push(["http://www.example.com/x?a=1&sid=1", "http://www.example.com/x?a=2&sid=1"])
    leases = sieve.pop(2)
    assert 2 == len(leases)
    apply(sieve, 'drop = ["a"]')
    found = [settled.state for settled in sieve.done(leases)]
    assert ["done", "lost"] == sorted(found)
    assert {"done": 1} == states(sieve)


@pytest.mark.parametrize("length", [2, 3, 7])
@pytest.mark.parametrize("circle", [False, True])
def test_entries_that_take_one_anothers_place_all_move(sieve, clock, length, circle):
    """By rewrites: /p1 was called /k1, /p2 /k2 …; now /p1 is /k2, /p2 is /k3, and the last one /k1 or a place of its own."""

    def book(shift):
        def target(n):
            return (n + shift) % length if circle else n + shift

        lines = ", ".join(f"{{ re = '^/p{n}$', to = '/k{target(n)}' }}" for n in range(length))
        return f"rewrite = [{lines}]\n" + f'examples = [["http://www.example.com/p0", "http://www.example.com/k{target(0)}"]]'

    apply(sieve, book(0))
    urls = [f"http://www.example.com/p{n}" for n in range(length)]
    for n, url in enumerate(urls):
        sieve.push(url, priority=n)
    applied = apply(sieve, book(1))
    assert (0, length, 0) == (applied.swept.forgotten, applied.swept.moved, applied.swept.merged)
    assert [True] * length == sieve.seen(urls)
    assert list(reversed(urls)) == urls_of(sieve.pop(length))
    keys = [f"http://www.example.com/k{n}" for n in range(length + 1)]
    assert [n < length if circle else n > 0 for n in range(length + 1)] == sieve.seen(keys)


def test_known_and_done_without_text_make_room(lab, clock):
    sieve = lab.open(keep_urls=False)
    apply(sieve, DROP)
    sieve.push("http://www.example.com/done?sid=1")
    sieve.done(the_lease(sieve))
    sieve.mark("http://www.example.com/known?sid=1", known=True)
    sieve.push(["http://www.example.com/kept?sid=1", "http://other.example/x?sid=1"])
    applied = no_rules(sieve)
    assert (2, 1, 0) == (applied.swept.forgotten, applied.swept.moved, applied.swept.merged)
    assert (2, 0) == (sieve.stats().accepted, sieve.stats().known)


def test_variants_move_with_their_variant(sieve):
    apply(sieve, DROP)
    url = "http://www.example.com/form?sid=1"
    items = [URLItem(url), URLItem(url, variant=b"POST a"), URLItem(url, variant=b"POST b")]
    assert 3 == sieve.push(items).new
    applied = no_rules(sieve)
    assert 3 == applied.swept.moved
    assert ["seen"] * 3 == sieve.push(items).verdicts
    assert ["new"] == sieve.push(URLItem(url, variant=b"POST c")).verdicts
    apply(sieve, DROP)
    assert ["seen"] * 3 == sieve.push(items).verdicts


def test_limits_count_what_moves_between_sites(sieve):
    apply(sieve, HOSTS)
    sieve.push([f"http://m.example.com/{n}" for n in range(3)] + ["http://www.example.com/w"])
    sieve.site("www.example.com").limit = 4
    assert ["rejected:limit"] == sieve.push("http://www.example.com/y").verdicts
    no_rules(sieve)
    assert 3 == sieve.push([f"http://www.example.com/{n}" for n in range(4)]).new
    sieve.site("m.example.com").limit = 4
    assert ["new", "rejected:limit"] == sieve.push(["http://m.example.com/x", "http://m.example.com/y"]).verdicts


def test_many_entries_move_in_slices(sieve, clock):
    apply(sieve, DROP)
    urls = [f"http://www.example.com/{n}?sid=1" for n in range(3500)]
    sieve.push(urls)
    sieve.mark([f"http://www.example.com/k{n}?sid=1" for n in range(1500)], known=True)
    leases = sieve.pop(1000)
    sieve.done(leases[:500])
    applied = no_rules(sieve)
    assert (1500, 3500, 0) == (applied.swept.forgotten, applied.swept.moved, applied.swept.merged)
    assert (3500, {"pending": 2500, "leased": 500, "done": 500}) == (sieve.stats().accepted, states(sieve))
    assert 3500 == sum(sieve.seen(urls))
    assert {"done"} == {settled.state for settled in sieve.done(leases[500:])}


def test_other_sites_are_left_alone(sieve, clock):
    both = Rules.parse(f'[[site]]\nmatch = "example.com"\n{DROP}\n[[site]]\nmatch = "other.org"\n{DROP}\n')
    sieve.apply_rules(both, by="Ann")
    sieve.mark(["http://www.example.com/a?sid=1", "http://www.other.org/a?sid=1"], known=True)
    applied = apply(sieve, 'drop = ["ref"]')
    assert (2, 0) == (applied.swept.forgotten, applied.swept.moved)
    sieve.apply_rules(both, by="Ann")
    sieve.mark(["http://www.example.com/a?sid=1", "http://www.other.org/a?sid=1"], known=True)
    applied = sieve.apply_rules(
        Rules.parse(f'[[site]]\nmatch = "example.com"\ndrop = []\n[[site]]\nmatch = "other.org"\n{DROP}\n'), by="Ann"
    )
    assert (1, 1) == (applied.swept.forgotten, applied.swept.sites)
    assert [False, True] == sieve.seen(["http://www.example.com/a?sid=1", "http://www.other.org/a?sid=1"])
