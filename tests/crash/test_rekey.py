"""Rekey: another profile, secret or form; nothing that was seen is forgotten, whatever others do and whenever it is killed."""

import json
import random
import sqlite3
import time
from contextlib import closing

import pytest

import urlsieve
from sieve_lab import check_conservation, pages, states
from urlsieve import ConfigError, LeaseLost, Outcome, StoreMismatch, StoreUnavailable, URLItem, opening
from urlsieve.stores.embedded import merging

pytestmark = pytest.mark.crash
WWW = "safe+strip_www"


def entries(sieve):
    """What a store knows of each text, but for what hangs on the header."""
    return sorted(
        (repr(entry._replace(fingerprint=b"", group_id=0, site="")) for entry in sieve.entries() if entry.url is not None),
    )


@pytest.fixture(params=["plain", "runs and blocks"])
def small(request, monkeypatch):
    if request.param != "plain":
        monkeypatch.setattr(merging, "LONGEST_JOURNAL", 50)
    return request.param


@pytest.fixture
def store(fast_path, small):
    """URLs in every state, with settings, blobs, limits and counts; half of the texts of done ones are in blocks."""
    place = fast_path / "store"
    with urlsieve.open(place, delay=0.0) as sieve:
        sieve.push([f"http://www.h{i % 9}.example/{i}" for i in range(300)], priority=5)
        sieve.push(URLItem("http://post.example/f", variant=b"POST"), meta={"a": 1}, via="http://hub.example/", depth=3)
        sieve.push(URLItem("http://post.example/g", variant=b"POST"), priority=900)
        sieve.push(b"http://h1.example/\xff")
        sieve.push(URLItem("http://later.example/", due=sieve.now() + 1e6))
        sieve.mark(pages(3, host="known.example"), known=True)
        sieve.mark(pages(3, host="marked.example"))
        sieve.push(["bad:url", "http://h1.example/" + "x" * 70_000])
        leases = sieve.pop(60, lease=1e5)
        sieve.done(leases[:30])
        sieve.fail(leases[30:35], "gone away", status=403)
        sieve.fail(leases[35:40], "slow", status=500)
        sieve.skip(leases[40:42], "robots")
        if small != "plain":
            sieve._store._packing.pack()
            sieve.revisit([leases[0].url, leases[1].url])
        sieve.forget(leases[29].url)
        sieve.site("www.h1.example").limit = 500
        sieve.group("www.h2.example").delay = 7.0
        sieve.group("www.h3.example").pause()
        sieve.group("www.h4.example").block(sieve.now() + 1e5)
        sieve._store.set_blob("www.h5.example", "robots", b"User-agent: *", sieve.now(), 1e6)
        sieve.import_fingerprints("md5", [bytes([i]) * 16 for i in range(20)])
    return place


def test_another_secret_changes_no_entry(store):
    with urlsieve.open(store) as sieve:
        before, counts, held = entries(sieve), sieve.stats(), list(sieve.entries(("leased",)))
        secret = sieve._store.header.secret
    report = opening.rekey(store, secret="new")
    assert (0, {}, 3, "own-1") == (report.merged, dict(report.refused), report.imported, report.level)
    with urlsieve.open(store) as sieve:
        assert secret != sieve._store.header.secret
        assert before == entries(sieve)
        after = sieve.stats()
        assert (counts.accepted, counts.done, counts.dead, counts.leased) == (after.accepted, after.done, after.dead, after.leased)
        assert (0, counts.rejected, counts.skipped, counts.epoch) == (after.known, after.rejected, after.skipped, after.epoch)
        assert {"md5": 20, "own-1": 3} == after.levels["imported"]
        assert [True] * 3 == sieve.seen(pages(3, host="known.example"))
        assert 500 == sieve.site("www.h1.example").limit
        assert (7.0, True) == (sieve.group("www.h2.example").delay, sieve.group("www.h3.example").row.paused)
        assert "blocked" in sieve.why("www.h4.example").reasons
        assert b"User-agent: *" == sieve._store.blob("www.h5.example", "robots", sieve.now())
        assert 5 == len(list(sieve.failed()))
        assert 4 == len(list(sieve.rejected()))
        assert len(held) == after.leased
        check_conservation(sieve)


def test_tokens_stay_valid_and_order_too(fast_path):
    place = fast_path / "store"
    with urlsieve.open(place) as sieve:
        sieve.push(pages(30), priority=1)
        sieve.push(pages(5, start=100), priority=9)
        leases = sieve.pop(10, lease=1000.0)
    opening.rekey(place, secret="new")
    with urlsieve.open(place) as sieve:
        assert ["done"] * 10 == [settled.state for settled in sieve.done(leases)]
        assert pages(25, start=5) == [lease.url for lease in sieve.pop(30)]
        check_conservation(sieve)


@pytest.mark.parametrize("secret", [None, "new", 7])
def test_entries_that_become_one_keep_the_state_that_matters_most(fast_path, secret):
    place = fast_path / "store"
    urls = {}
    with urlsieve.open(place, max_attempts=1) as sieve:
        for one in ("leased", "done", "pending", "delayed", "dead"):
            for other in ("leased", "done", "pending", "delayed", "dead"):
                for state, host in ((one, "www.e.example"), (other, "e.example")):
                    urls[f"http://{host}/{one}-{other}"] = state
        sieve.push([url for url, state in urls.items() if state != "delayed"])
        sieve.push([URLItem(url, due=sieve.now() + 1e6) for url, state in urls.items() if state == "delayed"])
        leases = {lease.url: lease for lease in sieve.pop(100, lease=1e5)}
        for url, lease in leases.items():
            state = urls[url]
            if state == "done":
                sieve.done(lease)
            elif state == "dead":
                sieve.fail(lease, "x", status=403)
            elif state == "pending":
                sieve.release(lease)
    report = opening.rekey(place, profile=WWW, secret=secret)
    assert (25, 25) == (report.entries, report.merged)
    rank = ["leased", "done", "pending", "delayed", "dead"]
    with urlsieve.open(place) as sieve:
        for one in rank:
            for other in rank:
                assert min(one, other, key=rank.index) == sieve.info(f"http://www.e.example/{one}-{other}").state, (one, other)
        check_conservation(sieve)


def test_text_that_is_no_url_any_more_is_counted_and_its_old_fingerprint_kept(fast_path):
    place = fast_path / "store"
    bad = [f"http://e.example/%zz{number}" for number in range(40)]
    with urlsieve.open(place) as sieve:
        sieve.push([*bad, *pages(5)])
        sieve.done([lease for lease in sieve.pop(30, lease=1e5) if lease.url != bad[0]])
        sieve._store._packing.pack()
        sieve.fail(sieve.pop(3), "x", status=403)
    report = opening.rekey(place, profile="classic")
    assert (5, {"invalid": 40}, 40) == (report.entries, dict(report.refused), report.imported)
    with urlsieve.open(place) as sieve:
        assert {"invalid": 40} == sieve.stats().rejected
        assert [False] * 40 == sieve.seen(bad)
        assert [True] * 5 == sieve.seen(pages(5))
        check_conservation(sieve)
    opening.rekey(place, profile="safe")
    with urlsieve.open(place) as sieve:
        assert [True] * 40 == sieve.seen(bad), "their old fingerprints are known where they are URLs again"
        check_conservation(sieve)


@pytest.mark.parametrize("keep_urls", [True, False])
def test_a_store_without_texts_forgets_nothing(fast_path, keep_urls):
    place = fast_path / "store"
    with urlsieve.open(place, keep_urls=keep_urls) as sieve:
        sieve.push(pages(300))
        sieve.done(sieve.pop(200))
        waiting = states(sieve)["pending"]
    opening.rekey(place, secret="new")
    opening.rekey(place, secret="new", profile=WWW)
    with urlsieve.open(place) as sieve:
        assert [True] * 300 == sieve.seen(pages(300))
        assert 0 == sieve.push(pages(300)).new
        assert waiting == states(sieve)["pending"]
        check_conservation(sieve)
        assert 200 == sieve.forget(pages(200))
        assert [False] * 200 + [True] * 100 == sieve.seen(pages(300))


def test_a_store_of_another_canonical_form_says_so_and_can_be_rekeyed(fast_path):
    place = fast_path / "store"
    with urlsieve.open(place) as sieve:
        sieve.push(pages(20))
        sieve.done(sieve.pop(5))
        sieve.mark(pages(2, host="k.example"), known=True)
    with closing(sqlite3.connect(place / "ledger.db")) as db:
        header = json.loads(db.execute("SELECT value FROM meta WHERE name = 'header'").fetchone()[0])
        db.execute("UPDATE meta SET value = ? WHERE name = 'header'", (json.dumps({**header, "vectors": "other"}),))
        db.commit()
    with pytest.raises(StoreMismatch, match="rekey --canonical"):
        urlsieve.open(place)
    with pytest.raises(ConfigError, match="canonical"):
        opening.rekey(place, secret="new")
    opening.rekey(place, canonical=True)
    with urlsieve.open(place) as sieve:
        assert [True] * 20 == sieve.seen(pages(20))
        assert [True] * 2 == sieve.seen(pages(2, host="k.example"))
        check_conservation(sieve)


def test_rules_go_along_and_what_was_seen_under_earlier_ones_is(fast_path):
    place = fast_path / "store"
    with urlsieve.open(place, keep_urls=False) as sieve:
        sieve.push("http://a.example/p?sid=1")
        sieve.done(sieve.pop())
        sieve.apply_rules(urlsieve.Rules.parse('[[site]]\nmatch = "a.example"\ndrop = ["sid"]\n'))
        assert [True] == sieve.seen("http://a.example/p?sid=1")
    opening.rekey(place, secret="new")
    with urlsieve.open(place) as sieve:
        assert [True] == sieve.seen("http://a.example/p?sid=1")
        sieve.push("http://a.example/q?sid=1")
        assert "http://a.example/q" == sieve.pop(1)[0].key
        check_conservation(sieve)


def test_what_sites_have_used_of_their_limits_goes_along(fast_path):
    place = fast_path / "store"
    with urlsieve.open(place) as sieve:
        sieve.apply_rules(urlsieve.Rules.parse("[scope]\nlimits = { site = { urls = 30, pages = 12 }, domain = { urls = 45 } }\n"))
        sieve.push([*pages(25, host="a.e.example"), *pages(15, host="b.e.example")])
        leases = sieve.pop(10, groups=["a.e.example"], lease=1e5)
        sieve.settle([(lease, Outcome("done", status=200)) for lease in leases])
        names = {name: sieve.canonicalizer.name_hash(name) for name in ("a.e.example", "b.e.example")}
        before = sieve._store.used(names, sieve.now())
    opening.rekey(place, secret="new")
    with urlsieve.open(place) as sieve:
        names = {name: sieve.canonicalizer.name_hash(name) for name in names}
        assert before == sieve._store.used(names, sieve.now())
        assert ["new"] * 5 + ["rejected:limit"] * 2 == sieve.push(pages(7, host="c.e.example")).verdicts
        check_conservation(sieve)


def test_whoever_has_the_store_open_is_told_to_open_it_anew(store):
    with urlsieve.open(store) as sieve:
        (lease,) = sieve.pop(1, lease=1000.0)
        opening.rekey(store, secret="new")
        for verb in (
            lambda: sieve.push("http://n.example/"),
            sieve.pop,
            lambda: sieve.done(lease),
            lambda: sieve.seen("http://n.example/"),
        ):
            with pytest.raises(StoreUnavailable, match="open it anew"):
                verb()
    with urlsieve.open(store) as sieve:
        assert "done" == sieve.done(lease).state
        with pytest.raises(LeaseLost):
            sieve.done(lease)
        assert [False] == sieve.seen("http://n.example/")
        check_conservation(sieve)


@pytest.mark.parametrize(
    "options",
    [{}, {"profile": "safe"}, {"profile": "nonsense"}, {"secret": 2**128}, {"canonical": True}, {"profile": "safe", "canonical": True}],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(store, options):
    before = (store / "ledger.db").stat().st_ino
    with pytest.raises(ConfigError):
        opening.rekey(store, **options)
    assert before == (store / "ledger.db").stat().st_ino
    assert not (store / "rekey").exists()


def test_a_store_that_is_not_there_or_in_memory_is_refused(fast_path):
    with pytest.raises(StoreUnavailable):
        opening.rekey(fast_path / "none", secret="new")
    with pytest.raises(ConfigError):
        opening.rekey("memory:", secret="new")


def test_two_at_once_are_one(store):
    with urlsieve.open(store) as sieve, closing(sieve._store._ledger.seen.shelf.alone("rekey")):
        with pytest.raises(StoreUnavailable, match="another is at it"):
            opening.rekey(store, secret="new")


def test_to_another_store_leaves_the_old_one_as_it_is(fast_path, store):
    with urlsieve.open(store) as sieve:
        before = entries(sieve)
    report = opening.rekey(store, secret=5, to=fast_path / "new")
    assert (0, 3) == (report.merged, report.imported)
    with urlsieve.open(store) as old, urlsieve.open(fast_path / "new") as new:
        assert before == entries(old)
        assert old.stats().accepted == new.stats().accepted
        assert [True] * 3 == new.seen(pages(3, host="known.example"))
        check_conservation(new)
    with pytest.raises(ConfigError, match="already"):
        opening.rekey(store, secret=5, to=fast_path / "new")


def pushed(out):
    return sorted({line.split()[1] for line in out.read_text().splitlines() if line.startswith("pushed ")})


@pytest.mark.slow
@pytest.mark.parametrize("keep_urls", [True, False])
def test_others_go_on_while_the_store_is_rekeyed_again_and_again(fast_path, zygote, keep_urls):
    store, out = fast_path / "store", fast_path / "out"
    urlsieve.open(store, keep_urls=keep_urls, durability="normal", max_attempts=2, backoff=0.01).close()
    end = time.time() + 8
    pids = [zygote.start("live_through_rekeys", str(store), seed, end, str(out)) for seed in range(3)]
    many = 0
    while time.time() < end - 0.5:
        opening.rekey(store, profile=(WWW, "safe")[many % 2], secret="new")
        many += 1
    for pid in pids:
        assert 0 == zygote.wait(pid)
    assert many > 2
    told = out.read_text().splitlines()
    assert told.count("reopened") >= 3
    with urlsieve.open(store) as sieve:
        check_conservation(sieve)
        every = pushed(out)
        assert len(every) > 500
        assert [url for url, seen in zip(every, sieve.seen(every), strict=True) if not seen] == []
        assert 0 == sieve.push(every).new
        if keep_urls:
            held = sum(int(line.split()[1]) for line in told if line.startswith("held "))
            assert sieve.stats().leased <= held


@pytest.mark.slow
def test_a_rekey_that_is_killed_leaves_the_old_store_or_the_new_one(fast_path, zygote):
    store, out = fast_path / "store", fast_path / "out"
    rng = random.Random(5)
    with urlsieve.open(store, durability="normal") as sieve:
        sieve.push([f"http://www.h{i % 31}.example/old/{i}" for i in range(3000)])
        sieve.done(sieve.pop(1000))
        sieve.mark(pages(500, host="known.example"), known=True)
    begun = time.monotonic()
    opening.rekey(store, secret="new")
    takes = time.monotonic() - begun
    end = time.time() + 40 * takes + 10
    live = zygote.start("live_through_rekeys", str(store), 1, end, str(out))
    for number in range(30):
        pid = zygote.start("rekey_now", str(store), (WWW, "safe")[number % 2])
        time.sleep(rng.uniform(0.0, 1.3 * takes))
        zygote.kill(pid)
        with urlsieve.open(store) as sieve:
            assert sieve.stats().accepted
        if number % 10 == 9:
            opening.rekey(store, secret="new")
            assert not (store / "rekey").exists()
    zygote.wait(live, timeout=120)
    with urlsieve.open(store) as sieve:
        check_conservation(sieve)
        every = [*pushed(out), *(f"http://www.h{i % 31}.example/old/{i}" for i in range(3000)), *pages(500, host="known.example")]
        assert [url for url, seen in zip(every, sieve.seen(every), strict=True) if not seen] == []


@pytest.mark.slow
def test_a_hundred_thousand_urls(fast_path):
    place = fast_path / "store"
    every = [f"http://{'www.' if i % 3 else ''}h{i // 3 % 997}.example/page/{i // 3}" for i in range(100_000)]
    with urlsieve.open(place, durability="normal") as sieve:
        sieve.push(every)
        for _ in range(4):
            sieve.settle([(lease, Outcome("done")) for lease in sieve.pop(10_000)])
        sieve._store._packing.pack()
        before = sieve.stats()
    report = opening.rekey(place, profile=WWW, secret="new")
    assert before.accepted == report.entries + report.merged
    assert report.merged > 10_000
    with urlsieve.open(place) as sieve:
        assert 0 == sieve.push(every).new
        check_conservation(sieve)
        assert "done" == sieve.done(sieve.pop(1)[0]).state
