"""Limits of the rules on every store: URLs are refused, pages and bytes that are spent let sites sleep, and nothing is lost."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sieve_lab import DAY, SHARED, STORES, Lab, address_of, check_conservation, pages, states, urls_of
from urlsieve import Outcome, Rules, StoreUnavailable, URLItem
from urlsieve.model import Change, State


def limited(sieve, limits, more=""):
    return sieve.apply_rules(Rules.parse(f"[scope]\nlimits = {{ {limits} }}\n{more}"))


def site(name, many, start=0):
    return pages(many, host=name, start=start)


# -- URLs


@pytest.mark.parametrize(
    ("limits", "accepted"),
    [
        ("site = { urls = 2 }", {"a.e.example": 2, "b.e.example": 2, "c.other.example": 2}),
        ("domain = { urls = 3 }", {"a.e.example": 3, "b.e.example": 0, "c.other.example": 3}),
        ("job = { urls = 7 }", {"a.e.example": 4, "b.e.example": 3, "c.other.example": 0}),
        ("day = { urls = 5 }", {"a.e.example": 4, "b.e.example": 1, "c.other.example": 0}),
        ("site = { urls = 3 }, domain = { urls = 5 }, job = { urls = 6 }", {"a.e.example": 3, "b.e.example": 2, "c.other.example": 1}),
        ("site = { urls = 0 }", {"a.e.example": 0, "b.e.example": 0, "c.other.example": 0}),
    ],
)
def test_as_many_urls_are_accepted_as_each_unit_may_have(sieve, limits, accepted):
    limited(sieve, limits)
    for name, many in accepted.items():
        report = sieve.push(site(name, 4))
        assert ["new"] * many + ["rejected:limit"] * (4 - many) == report.verdicts
        assert [True] * many + [False] * (4 - many) == sieve.seen(site(name, 4))
    assert {"limit": 12 - sum(accepted.values())} == sieve.stats().rejected


def test_what_is_there_already_counts_when_limits_come(sieve):
    sieve.push([*site("a.e.example", 3), *site("b.e.example", 2)])
    sieve.mark("http://b.e.example/known", known=True)
    sieve.done(sieve.pop(2))
    limited(sieve, "domain = { urls = 6 }")
    assert ["new", "rejected:limit", "rejected:limit"] == sieve.push(site("c.e.example", 3)).verdicts


def test_an_import_a_redirect_and_a_mark_count_too(sieve, other_store):
    limited(sieve, "domain = { urls = 7 }")
    other_store.push(site("x.e.example", 2))
    sieve.admit(other_store.entries())
    sieve.mark(site("m.e.example", 2))
    sieve.push("http://a.e.example/")
    lease = next(lease for lease in sieve.pop(9) if lease.site == "a.e.example")
    sieve.done(lease, final_url="http://z.e.example/", redirects=["http://y.e.example/"])
    assert ["rejected:limit"] == sieve.push("http://a.e.example/2").verdicts
    limited(sieve, "domain = { urls = 8 }")
    assert ["new", "rejected:limit"] == sieve.push(["http://n.e.example/2", "http://n.e.example/3"]).verdicts


def test_a_redirects_target_is_of_the_job_but_not_of_the_days_urls(sieve, clock):
    limited(sieve, "job = { urls = 9 }, day = { urls = 9 }")
    sieve.push("http://a.e.example/")
    sieve.done(sieve.pop(1), final_url="http://z.e.example/", redirects=["http://y.e.example/"])
    used = sieve._store.used({}, clock.now)
    assert (3, 1) == (used.job.urls, used.day.urls)


def test_what_is_seen_already_is_never_refused(sieve):
    sieve.push(site("a.example", 3))
    limited(sieve, "site = { urls = 3, pages = 1 }")
    sieve.done(sieve.pop(1))
    assert ["seen"] * 3 == sieve.push(site("a.example", 3)).verdicts
    assert "requeued" in sieve.push(site("a.example", 3), mode="again").verdicts


def test_equals_of_a_refused_url_are_refused(sieve):
    limited(sieve, "site = { urls = 1 }")
    assert ["new", "rejected:limit", "rejected:limit", "seen"] == sieve.push([*site("a.example", 2), *site("a.example", 2)[::-1]]).verdicts


def test_forget_and_purge_make_room(sieve):
    limited(sieve, "domain = { urls = 4 }")
    sieve.push([*site("a.e.example", 2), *site("b.e.example", 2)])
    assert ["rejected:limit"] == sieve.push("http://a.e.example/x").verdicts
    sieve.forget("http://a.e.example/p0")
    assert ["new", "rejected:limit"] == sieve.push(["http://a.e.example/x", "http://a.e.example/y"]).verdicts
    sieve.purge("b.e.example")
    assert ["new", "new", "rejected:limit"] == sieve.push(site("b.e.example", 3)).verdicts


def test_a_purged_site_has_used_nothing(sieve, clock):
    limited(sieve, "site = { pages = 2 }, domain = { pages = 5 }")
    sieve.push([*site("a.e.example", 2), *site("b.e.example", 2)])
    sieve.done(sieve.pop(9), size=10)
    sieve.purge("b.e.example")
    number = sieve.canonicalizer.name_hash("b.e.example")
    used = sieve._store.used({"b.e.example": number}, clock.now)
    assert [(4, 40), (0, 0), (2, 20)] == [
        (one.pages, one.bytes) for one in (used.job, used.sites["b.e.example"], used.domains["e.example"])
    ]
    assert [2, 0, 2] == [one.urls for one in (used.job, used.sites["b.e.example"], used.domains["e.example"])]
    assert ["new", "new"] == sieve.push(site("b.e.example", 2)).verdicts
    assert 2 == len(sieve.pop(9))


@pytest.mark.parametrize("asked", [False, True])
def test_a_domain_counts_what_a_worker_brings_who_has_not_heard_of_limits(shared, other_store, clock, asked):
    """asked: the domain was counted before."""
    first, second = shared.open(), shared.open()
    limited(first, "domain = { urls = 4 }")
    if asked:
        assert 1 == first.push("http://a.e.example/").new
    other_store.push(site("x.e.example", 3))
    entries = list(other_store.entries())
    keys = second.canonicalizer.canonicalize_many([entry.url for entry in entries])
    prints = [keys.fingerprints[at : at + 16] for at in range(0, 48, 16)]
    second._store.admit([entry._replace(fingerprint=fp) for entry, fp in zip(entries, prints, strict=True)], clock.now)
    assert ["new"] * (1 - asked) + ["rejected:limit"] * (3 + asked) == first.push(site("x.e.example", 4, start=3)).verdicts


def test_a_days_urls_come_again_the_next_day(sieve, clock):
    limited(sieve, "day = { urls = 2 }")
    assert 2 == sieve.push(site("a.example", 3)).new
    clock.advance(DAY)
    assert ["seen", "seen", "new"] == sieve.push(site("a.example", 3)).verdicts
    assert 1 == sieve.push(site("b.example", 3)).new


def test_a_sites_own_limits_replace_the_jobs_one_by_one(sieve):
    limited(
        sieve, "site = { urls = 1 }, job = { urls = 4 }", '[[site]]\nmatch = "big.example"\n[site.scope]\nlimits = { site = { urls = 9 } }'
    )
    assert [4, 0] == [sieve.push(site(name, 5)).new for name in ("big.example", "small.example")]


def test_links_are_limited_too(sieve):
    sieve.push("http://a.example/")
    limited(sieve, "job = { urls = 2 }")
    sieve.done(sieve.pop()[0], links=["/1", "/2", "/3"])
    assert {"limit": 2} == sieve.stats().rejected
    assert ["http://a.example/1"] == urls_of(sieve.pop(9))


def test_another_worker_obeys_limits_it_has_not_heard_of(shared):
    first, second = shared.open(), shared.open()
    limited(first, "domain = { urls = 2 }")
    assert 2 == second.push([*site("a.e.example", 2), *site("b.e.example", 2)]).new
    assert 0 == first.push(site("c.e.example", 2)).new
    third = shared.reopen()
    assert 0 == third.push(site("d.e.example", 2)).new


@pytest.mark.parametrize("unit", ["site", "domain"])
def test_ato_05_workers_at_once_never_pass_a_limit_of_the_rules(shared, unit):
    """Job and day are of all shards on Redis, where workers at once may go beyond them: see docs/rules.md."""
    limited(shared.open(), f"{unit} = {{ urls = 100 }}")
    urls = site("a.example", 150)
    pushed = [urls[:60] + urls[:20], urls[40:110], urls[90:150], urls[::-1]]
    workers = [shared.open() for _ in pushed]
    with ThreadPoolExecutor(len(workers)) as pool:
        reports = list(pool.map(lambda worker, some: [worker.push(url) for url in some], workers, pushed))
    every = [one for those in reports for one in those]
    assert 100 == sum(one.new for one in every)
    assert len(every) == sum(one.new + one.seen + one.rejected for one in every)
    assert {"limit": sum(one.rejected for one in every)} == workers[0].stats().rejected
    assert 100 == workers[0].stats().accepted


# -- pages and bytes


@pytest.mark.parametrize(
    ("limits", "given"),
    [
        ("site = { pages = 2 }", {"a.e.example": 2, "b.e.example": 2, "c.other.example": 2}),
        ("domain = { pages = 2 }", {"e.example": 2, "c.other.example": 2}),
        ("job = { pages = 3 }", {"": 3}),
        ("day = { pages = 4 }", {"": 4}),
        ("site = { bytes = 150 }", {"a.e.example": 2, "b.e.example": 2, "c.other.example": 2}),
    ],
)
def test_what_is_spent_sleeps_and_nothing_is_lost(sieve, clock, limits, given):
    names = ("a.e.example", "b.e.example", "c.other.example")
    sieve.push([url for name in names for url in site(name, 4)])
    limited(sieve, limits)
    got = []
    while leases := sieve.pop(1):
        got += [lease.site for lease in leases]
        sieve.done(leases, size=100)
    for name, many in given.items():
        assert many == sum(one.endswith(name) for one in got), got
    left = states(sieve)
    assert {"done": len(got), "rest": 12 - len(got)} == {"done": left["done"], "rest": left.get("pending", 0) + left.get("delayed", 0)}
    if "day" not in limits:
        assert sieve.pop(5).next_at is None
    limited(sieve, "site = { pages = 1000 }")
    assert 12 - len(got) == len(sieve.pop(20))
    assert {1} == {sieve.info(url).attempt for name in names for url in site(name, 4) if sieve.info(url).state == "leased"}


def test_over_midnight_there_is_budget_again(sieve, clock):
    sieve.push(site("a.example", 5))
    limited(sieve, "day = { pages = 2 }")
    sieve.done(sieve.pop(9))
    empty = sieve.pop(9)
    assert [] == empty
    assert 0 == empty.next_at % DAY and clock.now < empty.next_at <= clock.now + DAY
    clock.advance(empty.next_at - clock.now - 1)
    assert [] == sieve.pop(9)
    clock.advance(1)
    assert 2 == len(sieve.pop(9))


def test_a_days_budget_of_one_site_sleeps_until_midnight(sieve, clock):
    sieve.push([*site("a.example", 3), *site("b.example", 3)])
    limited(sieve, "", '[[site]]\nmatch = "a.example"\n[site.scope]\nlimits = { day = { pages = 1 } }')
    sieve.done(sieve.pop(9, groups=["a.example"])[:1])
    rest = sieve.pop(9)
    assert {"b.example"} == {lease.site for lease in rest}
    sieve.done(rest)
    again = sieve.pop(9)
    assert [] == again and again.next_at % DAY == 0
    clock.advance(again.next_at - clock.now)
    assert ["a.example"] == [lease.site for lease in sieve.pop(9)]


def test_a_pop_gives_no_more_than_is_left(sieve):
    sieve.push(site("a.example", 9))
    limited(sieve, "site = { pages = 4 }")
    assert 4 == len(sieve.pop(9))


def test_what_is_only_in_flight_puts_nobody_to_sleep(sieve, clock):
    sieve.push(site("a.example", 3))
    limited(sieve, "site = { pages = 1 }")
    (lease,) = sieve.pop(9)
    sieve.fail(lease, "busy", status=503)  # that was no page
    clock.advance(3600)
    leases = sieve.pop(9)
    assert 1 == len(leases)
    sieve.done(leases)
    assert [] == sieve.pop(9)


def test_offers_of_a_spent_unit_are_refused_but_not_a_days(sieve):
    limited(sieve, "site = { pages = 1 }, day = { pages = 2 }")
    sieve.push(["http://a.example/", "http://b.example/"])
    sieve.done(sieve.pop(9))
    assert ["rejected:budget", "new"] == sieve.push(["http://a.example/2", "http://c.example/"]).verdicts
    assert [False] == sieve.seen("http://a.example/2")
    assert ["budget"] == [one.reason for one in sieve.rejected()]


@pytest.mark.parametrize(
    ("outcome", "pages", "size"),
    [
        (Outcome("done", status=304, size=7), 1, 7),
        (Outcome("done", status=301, size=7), 1, 7),
        (Outcome("fail", reason="gone", status=404, size=7), 1, 7),
        (Outcome("fail", reason="no", status=403, size=7), 1, 7),
        (Outcome("fail", reason="busy", status=503, size=7), 0, 7),
        (Outcome("fail", reason="cut", size=7), 0, 7),
        (Outcome("skip", reason="type", size=7), 0, 7),
        (Outcome("release", size=7), 0, 0),
    ],
)
def test_what_a_page_is_and_that_bytes_count_whenever_they_are_said(sieve, clock, outcome, pages, size):
    limited(sieve, "site = { pages = 1000 }, job = { bytes = 1000 }")
    sieve.push("http://a.e.example/")
    (lease,) = sieve.pop()
    sieve.settle([(lease.token, outcome)])
    number = sieve.canonicalizer.name_hash("a.e.example")
    used = sieve._store.used({"a.e.example": number}, clock.now)
    assert [(pages, size)] * 4 == [
        (one.pages, one.bytes) for one in (used.job, used.day, used.sites["a.e.example"], used.domains["e.example"])
    ]
    assert [1, 1, 1, 1] == [one.urls for one in (used.job, used.day, used.sites["a.e.example"], used.domains["e.example"])]


@pytest.mark.parametrize("groups", [None, ["a.example"]])
@pytest.mark.parametrize("unit", ["job", "day"])
def test_wait_does_not_promise_what_a_pop_cannot_give(lab, sieve, clock, unit, groups):
    sieve.push(site("a.example", 3))
    limited(sieve, f"{unit} = {{ pages = 1 }}")
    assert sieve.wait(0, groups=groups)
    sieve.done(sieve.pop(1))
    assert [] == sieve.pop(1, groups=groups)
    assert not sieve.wait(0.03, groups=groups)
    if unit == "day":
        clock.advance(DAY)
    else:
        limited(sieve, f"{unit} = {{ pages = 2 }}")
    assert sieve.wait(0, groups=groups)
    assert 1 == len(sieve.pop(3, groups=groups))


def test_one_who_waits_hears_of_another_workers_rules(shared):
    first, second = shared.open(), shared.open()
    first.push(site("a.example", 3))
    limited(first, "job = { pages = 1 }")
    first.done(first.pop(1))
    assert [] == second.pop(1)
    assert not second.wait(0)
    limited(first, "job = { pages = 2 }")
    assert second.wait(5)
    assert 1 == len(second.pop(1))


@pytest.mark.parametrize("groups", [None, ["a.example"]])
def test_leases_expire_while_the_whole_budget_is_spent(sieve, clock, groups):
    sieve.push([*site("a.example", 2), *site("b.example", 2)])
    limited(sieve, "job = { pages = 2 }")
    (kept,), _lost = sieve.pop(1, lease=1000), sieve.pop(1, lease=10)
    sieve.done(kept)
    (kept,) = sieve.pop(1, lease=1000)
    sieve.done(kept)
    clock.advance(11)
    assert [] == sieve.pop(1, groups=groups)
    assert {"done": 2, "pending": 2} == states(sieve)


def test_sleepers_of_another_worker_wake_when_rules_change(shared, clock):
    first, second = shared.open(), shared.open()
    first.push(site("a.example", 5))
    limited(first, "site = { pages = 1 }")
    first.done(first.pop(9))
    assert [] == first.pop(9) == second.pop(9)
    limited(second, "site = { pages = 3 }")
    assert 2 == len(first.pop(9))


def test_sleep_survives_a_restart_and_so_does_the_count(shared):
    sieve = shared.open()
    sieve.push(site("a.example", 5))
    limited(sieve, "site = { pages = 1 }")
    sieve.done(sieve.pop(1))
    assert [] == sieve.pop(9)
    sieve = shared.reopen()
    assert [] == sieve.pop(9)
    limited(sieve, "site = { pages = 2 }")
    assert 1 == len(sieve.pop(9))


def test_a_site_that_is_spent_leaves_its_group_to_others(lab):
    sieve = lab.open(group_by="domain")
    sieve.push([*site("a.e.example", 30), *site("b.e.example", 3)])
    limited(sieve, "site = { pages = 1 }")
    sieve.done(sieve.pop(1))
    assert ["b.e.example"] == [lease.site for lease in sieve.pop(9)]  # of three: one page is what b may have
    assert {"done": 1, "leased": 1, "pending": 2, "delayed": 29} == states(sieve)
    limited(sieve, "job = { urls = 1000 }")
    assert 31 == len(sieve.pop(50))


@pytest.mark.parametrize("limit", [1, 7])
def test_a_site_that_is_spent_uses_no_turn_of_its_group(lab, clock, limit):
    sieve = lab.open(group_by="domain", delay=10)
    sieve.push([*site("a.e.example", 150), *site("b.e.example", 2)])
    limited(sieve, "site = { pages = 1 }")
    first = sieve.pop(1)
    sieve.done(first)
    clock.advance(11)
    second = sieve.pop(limit)
    while not second and second.next_at == clock.now:
        second = sieve.pop(limit)
    assert ["a.e.example", "b.e.example"] == [lease.site for lease in first + second]
    began = clock.now
    sieve.done(second)
    assert [] == sieve.pop(limit)
    clock.advance(9)
    assert [] == sieve.pop(limit)  # what is fetched has used the turn
    assert clock.now == began + 9
    clock.advance(3)
    assert [] == sieve.pop(limit)
    assert {"done": 2, "delayed": 150} == states(sieve)


def test_a_turn_that_a_hand_has_put_off_is_not_given_back(lab, clock):
    sieve = lab.open(group_by="domain", delay=10)
    sieve.push([*site("a.e.example", 3), *site("b.e.example", 2)])
    limited(sieve, "site = { pages = 1 }")
    (one,) = sieve.pop(1)
    sieve.done(one)
    clock.advance(11)
    (row,) = sieve._store.lease(1, 60.0, clock.now, chance=bytes(8)).rows
    sieve._store.settle([Change(row.token, State.PENDING, next_turn=-60.0)], (), clock.now)
    (row,) = sieve._store.lease(1, 60.0, clock.now, chance=bytes(8)).rows
    clock.advance(11)
    (other,) = sieve._store.lease(1, 60.0, clock.now, chance=bytes(8)).rows  # the group has had another turn
    sieve._store.settle([Change(row.token, State.PENDING, next_turn=-60.0)], (), clock.now)
    assert [] == sieve._store.lease(1, 60.0, clock.now, chance=bytes(8)).rows
    sieve.release(other.token)


def test_many_spent_urls_go_back_many_at_a_time(lab):
    sieve = lab.open(group_by="domain")
    sieve.push([*site("a.e.example", 900), *site("b.e.example", 3)])
    limited(sieve, "site = { pages = 1 }")
    sieve.done(sieve.pop(1))
    assert ["b.e.example"] == [lease.site for lease in sieve.pop(1)]
    assert {"done": 1, "leased": 1, "pending": 2, "delayed": 899} == states(sieve)
    limited(sieve, "job = { urls = 1000 }")
    assert ["http://b.e.example/p1", "http://b.e.example/p2"] == [url for url in urls_of(sieve.pop(2000)) if "b.e" in url]


def test_an_error_half_way_leaves_nothing_leased(lab, monkeypatch):
    sieve = lab.open(group_by="domain")
    sieve.push([*site("a.e.example", 3), *site("b.e.example", 1)])
    limited(sieve, "site = { pages = 1 }")
    sieve.done(sieve.pop(1))
    lease, calls = sieve._store.lease, []

    def broken(*args, **options):
        calls.append(args)
        if len(calls) > 1:
            raise StoreUnavailable("cut")
        return lease(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(sieve._store, "lease", broken, raising=False)
        with pytest.raises(StoreUnavailable):
            sieve.pop(9)
    assert "leased" not in states(sieve)
    assert ["b.e.example"] == [one.site for one in sieve.pop(9)]


def test_asked_again_while_it_goes_back_it_is_not_lost(sieve):
    sieve.push(site("a.example", 2))
    limited(sieve, "site = { pages = 1 }")
    first, *_ = sieve.pop(1)
    sieve.push(site("a.example", 2), mode="again")
    sieve.done(first)
    assert [] == sieve.pop(9)
    limited(sieve, "site = { pages = 9 }")
    assert 2 == len(sieve.pop(9))


@pytest.mark.parametrize(
    ("limits", "unit"), [("site = { pages = 1 }", "site"), ("day = { pages = 1 }", "day"), ("job = { bytes = 1 }", "job")]
)
def test_why_names_the_unit_and_when_it_wakes(sieve, clock, limits, unit):
    sieve.push(site("a.example", 2))
    limited(sieve, limits)
    assert "budget" not in sieve.why("a.example").reasons
    sieve.done(sieve.pop(1), size=5)
    for _ in range(2):
        for subject in ("a.example", "http://a.example/p1"):
            why = sieve.why(subject)
            assert "budget" in why.reasons and f"the budget of the {unit} is spent" in why.text
            assert (None if unit != "day" else clock.now - clock.now % DAY + DAY) == why.until
        sieve.pop(9)


def test_stats_show_what_is_used_of_job_and_day(sieve):
    assert sieve.stats().budgets is None
    limited(sieve, "job = { pages = 9, bytes = 1000 }, day = { urls = 5 }")
    sieve.push(site("a.example", 3))
    sieve.done(sieve.pop(2), size=50)
    assert {
        "job": {"urls": 3, "pages": 2, "bytes": 100, "pages_limit": 9, "bytes_limit": 1000},
        "day": {"urls": 3, "pages": 2, "bytes": 100, "urls_limit": 5},
    } == sieve.stats().as_dict()["budgets"]


def test_without_limits_nothing_is_counted(sieve, clock):
    sieve.push(site("a.example", 3))
    sieve.done(sieve.pop(2), size=9)
    used = sieve._store.used({}, clock.now)
    assert (0, 0) == (used.job.pages, used.day.urls)


# -- laws

_PLACES = count()


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_never_more_than_the_limits_and_nothing_lost_whoever_pushes(data, store_name, fast_path):
    """Several workers, one after the other; units of all kinds; forgetting in between."""
    most = {unit: data.draw(st.integers(0, 8), unit) for unit in data.draw(st.sets(st.sampled_from(["site", "domain", "job"]), min_size=1))}
    place = fast_path / str(next(_PLACES))
    lab = Lab(store_name, address_of(store_name, place), dict(STORES[store_name]))
    sieves = [lab.open() for _ in range(2 if store_name in SHARED else 1)]
    limited(sieves[0], ", ".join(f"{unit} = {{ urls = {many} }}" for unit, many in most.items()))
    names = ["a.e.example", "b.e.example", "c.other.example"]
    urls = [url for name in names for url in site(name, 4)]
    for _ in range(data.draw(st.integers(1, 6))):
        sieve = data.draw(st.sampled_from(sieves))
        some = data.draw(st.lists(st.sampled_from(urls), min_size=1, max_size=12))
        if data.draw(st.integers(0, 3)):
            sieve.push([URLItem(url) for url in some] if data.draw(st.booleans()) else some)
        else:
            sieve.forget(some)
        there = [name for name, flag in zip([url.split("/")[2] for url in urls], sieve.seen(urls), strict=True) if flag]
        assert len(there) <= most.get("job", 99)
        for name in names:
            assert there.count(name) <= most.get("site", 99)
        assert sum(name.endswith("e.example") for name in there) <= most.get("domain", 99)
    check_conservation(sieves[0])
    lab.close()
