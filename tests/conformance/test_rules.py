"""Rules change while a crawl runs: what merges more costs no second fetch, what merges less loses no page, and old workers catch up."""

import itertools

import pytest

from sieve_lab import drain, states, urls_of
from urlsieve import LeaseLost, Rules, URLItem


@pytest.fixture
def sieve(lab):
    return lab.open(keep_urls=True)


CONFIRMED = '\nconfirmed = { by = "Ann", at = 2026-11-30 }\n'
SITE = '[[site]]\nmatch = "example.com"\n'


def rules(*lines, match="example.com"):
    return Rules.parse(f'[[site]]\nmatch = "{match}"\n' + "\n".join(lines) + CONFIRMED)


DROP = 'drop = ["sid"]'
HOSTS = 'hosts = { "m.example.com" = "www.example.com" }'
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


def apply(sieve, *lines):
    return sieve.apply_rules(rules(*lines), by="Ann")


def no_rules(sieve):
    return sieve.apply_rules(None, by="Bob")


def fetch(sieve, clock):
    """All that waits is fetched; the URLs."""
    found = []
    drain(sieve, clock, lambda sieve, lease: found.append(lease.url) or sieve.done(lease))
    return sorted(found)


def the_lease(sieve):
    (lease,) = sieve.pop(1)
    return lease


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
def test_of_two_spellings_that_a_rule_merges_the_first_to_be_pushed_is_taken(sieve, clock, name):
    rule, (found, other) = MERGING[name]
    apply(sieve, rule)
    assert ["new", "seen", "seen"] == sieve.push([found, other, found]).verdicts
    assert [found] == fetch(sieve, clock)
    assert [True, True] == sieve.seen([found, other])


def test_what_waits_under_an_earlier_key_is_raised_there(sieve):
    sieve.push(["http://www.example.com/a?sid=1", "http://www.example.com/b"])
    apply(sieve, DROP)
    assert ["raised"] == sieve.push("http://www.example.com/a?sid=1", mode="raise", priority=7).verdicts
    assert ["seen"] == sieve.push("http://www.example.com/a?sid=1", mode="raise", priority=7).verdicts
    assert (1, 2, {"pending": 2}) == (sieve.stats().known, sieve.stats().accepted, states(sieve))
    assert [("http://www.example.com/a?sid=1", 7)] == [(lease.url, lease.priority) for lease in sieve.pop(1)]


@pytest.mark.parametrize("keep_urls", [True, False])
@pytest.mark.parametrize("was", ["pending", "leased", "delayed", "done", "dead"])
def test_again_brings_back_the_entry_of_an_earlier_key(lab, clock, was, keep_urls):
    sieve = lab.open(keep_urls=keep_urls)
    url = "http://www.example.com/a?sid=1"
    sieve.push(url, depth=3)
    lease = None if was == "pending" else the_lease(sieve)
    if was == "delayed":
        sieve.release(lease, not_before=clock.now + 1000)
    elif was == "done":
        sieve.done(lease)
    elif was == "dead":
        sieve.fail(lease, "no", status=403)
    apply(sieve, DROP)
    # by several offers at once: one entry
    assert {"pending": ["seen"] * 2, "delayed": ["raised"] * 1 + ["seen"]}.get(was, ["requeued", "seen"]) == sieve.push(
        [url, url], mode="again"
    ).verdicts
    assert (1, 1) == (sieve.stats().accepted, sieve.stats().known)
    assert {"leased" if was == "leased" else "pending": 1} == states(sieve)
    if was == "leased":
        sieve.done(lease)
    assert [url] == fetch(sieve, clock)
    assert ["seen"] == sieve.push(url).verdicts


def test_a_page_that_was_only_known_comes_back_under_its_own_key(sieve, clock):
    url = "http://www.example.com/a?sid=1"
    sieve.mark(url, known=True)
    apply(sieve, DROP)
    assert ["requeued"] == sieve.push(url, mode="again").verdicts
    assert (1, 1) == (sieve.stats().accepted, sieve.stats().known)
    assert [url] == fetch(sieve, clock)


@pytest.mark.parametrize("known", [True, False])
def test_marking_what_was_seen_under_an_earlier_key_only_makes_it_known(sieve, known):
    url = "http://www.example.com/a?sid=1"
    sieve.push(url)
    apply(sieve, DROP)
    assert ["seen", "new"] == sieve.mark([url, "http://www.example.com/b"], known=known).verdicts
    assert (1 if known else 2, 2 if known else 1) == (sieve.stats().accepted, sieve.stats().known)


def test_more_offers_than_one_call_takes_find_their_earlier_keys(sieve, clock):
    """Among them the same page under many earlier keys, known and not, and pages that nobody has seen."""
    urls = [f"http://www.example.com/p{number % 700}?sid={number}" for number in range(2500)]
    sieve.push(urls[:1400])
    apply(sieve, DROP)
    report = sieve.push(urls)
    assert (0, 2500) == (report.new, report.seen)
    assert (1400, 700) == (sieve.stats().accepted, sieve.stats().known)
    assert 1 == sieve.push([*urls, "http://www.example.com/new"]).new


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
    assert 4 == sieve.purge("www.example.com")
    assert [False, False, True] == sieve.seen(["http://m.example.com/a", "http://www.example.com/b", "http://other.example.com/c"])
    assert 1 == sieve.stats().seen


def test_a_limit_counts_what_comes_back_from_known_and_nothing_twice(sieve):
    """What is new comes before what comes back, as in every batch."""
    sieve.site("www.example.com").limit = 2
    sieve.mark("http://www.example.com/k?sid=1", known=True)
    sieve.push("http://www.example.com/a?sid=1")
    apply(sieve, DROP)
    wanted = ["http://www.example.com/k?sid=1", "http://www.example.com/a?sid=1", "http://www.example.com/c?sid=3"]
    assert ["rejected:limit", "seen", "new"] == sieve.push(wanted, mode="again").verdicts
    assert 2 == sieve.stats().accepted


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
    both = Rules.parse(f'{SITE}{DROP}\n[[site]]\nmatch = "other.org"\n{DROP}\n')
    sieve.apply_rules(both, by="Ann")
    sieve.mark(["http://www.example.com/a?sid=1", "http://www.other.org/a?sid=1"], known=True)
    applied = apply(sieve, 'drop = ["ref"]')
    assert (2, 0) == (applied.swept.forgotten, applied.swept.moved)
    sieve.apply_rules(both, by="Ann")
    sieve.mark(["http://www.example.com/a?sid=1", "http://www.other.org/a?sid=1"], known=True)
    applied = sieve.apply_rules(Rules.parse(f'{SITE}drop = []\n[[site]]\nmatch = "other.org"\n{DROP}\n'), by="Ann")
    assert (1, 1) == (applied.swept.forgotten, applied.swept.sites)
    assert [False, True] == sieve.seen(["http://www.example.com/a?sid=1", "http://www.other.org/a?sid=1"])


# -- two workers


def test_an_old_worker_offers_again_under_the_new_rules(shared):
    new, old = shared.open(keep_urls=True), shared.open()
    old.push("http://m.example.com/a")
    apply(new, HOSTS)
    assert ["seen", "seen", "new"] == old.push(["http://m.example.com/a", "http://m.example.com/a", "http://m.example.com/b"]).verdicts
    assert ["seen"] == new.push("http://www.example.com/b").verdicts
    new.suspend_rule("example.com", by="Bob", evidence="x")
    assert ["new", "seen", "seen"] == old.push(["http://www.example.com/b", "http://m.example.com/b", "http://m.example.com/a"]).verdicts


def test_an_old_worker_asks_and_forgets_under_the_new_rules(shared):
    new, old = shared.open(keep_urls=True), shared.open()
    apply(new, HOSTS)
    old.push(["http://m.example.com/a", "http://m.example.com/b"])
    no_rules(new)
    assert [True, False] == old.seen(["http://m.example.com/a", "http://www.example.com/a"])
    apply(new, HOSTS)
    assert 1 == old.forget(["http://www.example.com/a", "http://m.example.com/a"])
    no_rules(new)
    assert 0 == old.forget(["http://www.example.com/b"])
    assert 1 == old.forget(["http://m.example.com/b"])
    assert 0 == new.stats().seen


def test_an_old_worker_names_redirect_targets_by_the_new_rules(shared):
    new, old = shared.open(keep_urls=True), shared.open()
    new.push(["http://www.example.com/start", "http://x.org/start", "http://y.org/plain"])
    leases = old.pop(3)
    apply(new, HOSTS)
    outcomes = [{"final_url": "http://m.example.com/end"} if "start" in lease.url else {} for lease in leases]
    assert ["done"] * 3 == [old.done(lease, **outcome).state for lease, outcome in zip(leases, outcomes, strict=True)]
    assert [True, True] == new.seen(["http://www.example.com/end", "http://m.example.com/end"])
    assert (4, {"done": 4}) == (new.stats().accepted, states(new))
    no_rules(new)
    assert [True, False] == new.seen(["http://m.example.com/end", "http://www.example.com/end"])


def test_a_lease_of_an_old_worker_outlives_a_sweep(shared):
    new, old = shared.open(keep_urls=True), shared.open()
    apply(new, HOSTS)
    old.push(["http://m.example.com/a", "http://m.example.com/b"])
    one, other = old.pop(2)
    no_rules(new)
    assert old.extend(one, 100)
    assert "done" == old.done(one).state
    assert "dead" == old.fail(other, "no", status=403).state
    with pytest.raises(LeaseLost):
        old.done(one)
    assert [True, True, False, False] == new.seen([f"http://{host}.example.com/{path}" for host in ("m", "www") for path in "ab"])
    assert 1 == old.retry()


def test_an_old_list_of_failures_brings_nothing_back_under_a_shared_key(shared):
    new, old = shared.open(keep_urls=True), shared.open()
    apply(new, HOSTS)
    old.push("http://m.example.com/a")
    old.fail(the_lease(old), "no", status=403)
    found = list(old.failed())
    no_rules(new)
    assert 0 == old.retry(found)
    assert [False] == new.seen("http://www.example.com/a")
    assert 1 == old.retry()


def test_whoever_comes_second_changes_the_rules_of_the_first(shared):
    one, other = shared.open(), shared.open()
    apply(one, DROP)
    applied = other.apply_rules(rules(HOSTS, DROP), by="Bob")
    assert (2, ("example.com",)) == (applied.generation, applied.tightened)
    assert 2 == one.rules_history().generation
    assert one.rules == other.rules
