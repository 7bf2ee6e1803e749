"""What a store promises below the façade: locks, rules and their generation, blobs, flags, compare-and-set."""

from dataclasses import replace

import pytest

from sieve_lab import hosts, pages, states
from urlsieve import ConfigError
from urlsieve.model import Change, Health, HealthChange, Mode, OfferRow, Offers, State, Verdict
from urlsieve.stores.protocol import OUTDATED

MOST = 512 * 1024


@pytest.fixture
def store(sieve):
    return sieve._store


def offers_of(sieve, urls):
    """What the façade would hand to the store for plain URLs."""
    fingerprint, name_hash = sieve.canonicalizer.fingerprint, sieve.canonicalizer.name_hash
    names = [url.split("/")[2] for url in urls]
    rows = [OfferRow(name, name, name_hash(name), url) for name, url in zip(names, urls, strict=True)]
    return Offers(b"".join(fingerprint(url) for url in urls), lambda at: [rows[i] for i in at])


def test_an_offer_under_older_rules_changes_nothing_and_says_so(sieve, store, clock):
    generation = store.rules().generation
    assert store.replace_rules("# the next", generation, clock.now) is not None
    offered = store.offer(offers_of(sieve, pages(3)), Mode.NEW, generation, clock.now)
    assert offered.stale_rules
    assert {} == states(sieve)
    assert [False] * 3 == sieve.seen(pages(3))
    offered = store.offer(offers_of(sieve, pages(3)), Mode.NEW, generation + 1, clock.now)
    assert (False, [Verdict.NEW] * 3) == (offered.stale_rules, list(offered.verdicts))


def test_a_worker_of_older_rules_reloads_and_offers_again(shared):
    one, two = shared.open(), shared.open()
    one.push(pages(1))
    generation = two._store.rules().generation
    assert two._store.replace_rules("", generation, shared.clock.now) is not None
    assert 2 == one.push(pages(3)).new
    assert generation + 1 == one.stats().as_dict()["canonical"]["rules_generation"]


def test_rules_are_replaced_by_compare_and_set(store, clock):
    generation = store.rules().generation
    assert store.replace_rules("# first", generation, clock.now) is not None
    assert store.replace_rules("# late", generation, clock.now) is None
    assert (generation + 1, "# first") == store.rules()[:2]


def test_rules_are_kept(shared):
    store = shared.open()._store
    store.replace_rules("# kept", store.rules().generation, shared.clock.now)
    assert "# kept" == shared.reopen()._store.rules().book


def test_a_lock_is_one_owners_until_it_expires_and_its_token_only_grows(store, clock):
    first, holder = store.lock("round", "one", 60.0, clock.now)
    assert (True, "one") == (isinstance(first, int), holder)
    assert (None, "one") == store.lock("round", "two", 60.0, clock.now)
    assert "two" == store.lock("merge", "two", 60.0, clock.now)[1]
    clock.advance(61)
    second, holder = store.lock("round", "two", 60.0, clock.now)
    assert "two" == holder
    assert second > first
    assert (None, "two") == store.lock("round", "one", 60.0, clock.now)
    assert not store.unlock("round", first)
    assert store.unlock("round", second)
    third, holder = store.lock("round", "one", 60.0, clock.now)
    assert ("one", True) == (holder, third > second)


def test_the_owner_of_a_lock_may_keep_it(store, clock):
    store.lock("round", "one", 60.0, clock.now)
    clock.advance(50)
    assert "one" == store.lock("round", "one", 60.0, clock.now)[1]
    clock.advance(50)
    assert (None, "one") == store.lock("round", "two", 60.0, clock.now)


def test_a_lock_holds_for_other_processes_and_over_a_restart(shared):
    now = shared.clock.now
    token, _ = shared.open()._store.lock("round", "one", 60.0, now)
    assert (None, "one") == shared.open()._store.lock("round", "two", 60.0, now)
    store = shared.reopen()._store
    assert (None, "one") == store.lock("round", "two", 60.0, now)
    assert store.unlock("round", token)


def test_a_blob_is_shared_by_key_until_it_expires(sieve, clock):
    site = sieve.site("a.example")
    assert site.blob("robots") is None
    site.blob("robots", b"User-agent: *", ttl=100.0)
    assert b"User-agent: *" == sieve.site("a.example").blob("robots")
    assert site.blob("consent") is None
    assert sieve.site("b.example").blob("robots") is None
    clock.advance(99)
    assert b"User-agent: *" == site.blob("robots")
    clock.advance(2)
    assert site.blob("robots") is None


def test_a_blob_is_replaced_and_may_be_empty_or_any_bytes(sieve):
    site = sieve.site("a.example")
    for value in (b"first", b"", bytes(range(256)) * 10):
        site.blob("k", value)
        assert value == site.blob("k")


def test_a_blob_is_at_most_512_kib(sieve):
    site = sieve.site("a.example")
    site.blob("large", b"x" * MOST)
    assert MOST == len(site.blob("large"))
    with pytest.raises(ConfigError):
        site.blob("large", b"y" * (MOST + 1))
    assert b"x" * MOST == site.blob("large")


def test_a_blob_is_seen_by_other_workers(shared):
    shared.open().site("a.example").blob("robots", b"Disallow: /")
    assert b"Disallow: /" == shared.open().site("a.example").blob("robots")
    assert b"Disallow: /" == shared.reopen().site("a.example").blob("robots")


def test_contains_answers_a_flag_for_each(sieve, store):
    sieve.push(pages(2))
    assert b"\1\0\1" == store.contains(offers_of(sieve, ["http://a.example/p1", "http://a.example/x", "http://a.example/p0"]))
    assert b"" == store.contains(offers_of(sieve, []))


def test_a_settle_on_an_outdated_health_does_nothing_at_all(sieve, store, clock):
    sieve.push(pages(2))
    lease, other = sieve.pop(2)
    (row,), groups = store.load([lease.token])
    health = groups[row.group_id].health
    sieve.fail(other, "x", status=429, retry_after=60)
    change = Change(lease.token, State.DONE)
    outdated = HealthChange(row.group_id, health.version, replace(health, failures=1), row.group)
    assert bytes((OUTDATED,)) == store.settle([change], [outdated], clock.now)
    assert {"leased": 1, "delayed": 1} == states(sieve)
    assert b"\1" == bytes(store.settle([change], [], clock.now))


def test_a_settle_of_a_lost_token_leaves_the_others_whole(sieve, store, clock):
    sieve.push(hosts(2))
    one, two = sieve.pop(2)
    sieve.done(one)
    flags = store.settle([Change(one.token, State.DEAD), Change(two.token, State.DONE)], [], clock.now)
    assert b"\0\1" == bytes(flags)
    assert {"done": 2} == states(sieve)


def test_load_gives_rows_of_current_tokens_only(sieve, store):
    sieve.push(hosts(2))
    one, two = sieve.pop(2)
    sieve.done(one)
    rows, groups = store.load([one.token, two.token, "nonsense"])
    assert [None, two.url, None] == [row and row.url for row in rows]
    assert [Health()] == [group.health for group in groups.values()]


def test_changed_tells_when_another_may_have_written(shared):
    one, two = shared.open(), shared.open()
    before = one._store.changed()
    assert before == one._store.changed()
    two.push(pages(1))
    assert before != one._store.changed()


def test_forget_and_purge_raise_the_generation(sieve):
    sieve.push([*pages(2), *hosts(2)])
    first = sieve.stats().generation
    sieve.forget(pages(1))
    second = sieve.stats().generation
    sieve.purge(site="h1.example")
    assert first < second < sieve.stats().generation
