"""The newest URLs of each reason that were refused or skipped: bounded, newest first, without passwords."""

import pytest

from sieve_lab import pages
from urlsieve import Outcome, Rules, URLItem
from urlsieve.stores.embedded import ledger


def told(sieve, reason=None):
    return [(f"{one.kind}.{one.reason}", one.url, one.via, one.depth) for one in sieve.rejected(reason)]


def test_what_was_refused_before_the_store_is_kept_with_its_source(sieve, clock):
    assert [] == list(sieve.rejected())
    sieve.push(["mailto:x", URLItem("http://", via="http://c.example/", depth=4)], via="http://b.example/", depth=1)
    clock.advance(5)
    sieve.push(b"http://u:p@e.example:port/\xff", via="http://me:secret@b.example/")
    newest, *others = told(sieve)
    assert ("rejected.invalid", "http://***@e.example:port/\udcff", "http://***@b.example/", 0) == newest
    assert {("rejected.host", "http://", "http://c.example/", 4), ("rejected.scheme", "mailto:x", "http://b.example/", 1)} == set(others)
    assert [clock.now, clock.now - 5, clock.now - 5] == [one.at for one in sieve.rejected()]


@pytest.mark.parametrize("refuses", ["limit", "full"])
def test_what_the_store_refuses_is_kept(sieve, refuses):
    if refuses == "limit":
        sieve.site("a.example").limit = 1
    else:
        sieve.set_policy(high_water=1)
    report = sieve.push([URLItem(url, via="http://from.example/", depth=2, meta={"x": 1}) for url in pages(3)])
    assert 2 == report.rejected
    assert [(f"rejected.{refuses}", url, "http://from.example/", 2) for url in reversed(pages(3)[1:])] == told(sieve)


def test_skips_are_kept_under_their_reason(sieve, clock):
    sieve.push([URLItem("http://u:p@a.example/x", via="http://b.example/", depth=3, meta=[1]), "http://b.example/y"])
    first, second = sorted(sieve.pop(2), key=lambda lease: lease.site)
    sieve.skip(first, "robots")
    clock.advance(1)
    sieve.skip(second.token, "type")
    assert [("skipped.type", "http://b.example/y", None, 0), ("skipped.robots", "http://***@a.example/x", "http://b.example/", 3)] == told(
        sieve
    )
    assert ["robots"] == [one.reason for one in sieve.rejected("skipped.r*")]
    assert ["robots"] == [one.reason for one in sieve.rejected("robots")]
    assert [] == list(sieve.rejected("rejected.*"))


def test_skips_are_kept_also_where_the_text_of_done_urls_is_not(sieve):
    sieve.set_policy(keep_urls=False)
    sieve.push("http://a.example/x")
    sieve.skip(sieve.pop(), "robots")
    assert [("skipped.robots", "http://a.example/x", None, 0)] == told(sieve)


def test_links_that_a_worker_left_out_are_kept_with_their_page(sieve):
    sieve.push("http://a.example/page", depth=1)
    (lease,) = sieve.pop()
    sieve.settle([(lease, Outcome("done", links=("mailto:y",), refused=(("scope", 7, ["http://x.example/"]), ("depth", 1))))])
    assert {"scope": 7, "depth": 1, "scheme": 1} == sieve.stats().rejected
    assert {
        ("rejected.scope", "http://x.example/", "http://a.example/page", 2),
        ("rejected.scheme", "mailto:y", "http://a.example/page", 2),
    } == set(told(sieve))


def test_the_last_hundred_of_each_reason_stay(sieve, clock):
    sieve.push("relative")
    for start in range(0, 240, 60):
        clock.advance(1)
        sieve.push([f"mailto:{number}" for number in range(start, start + 60)])
    kept = list(sieve.rejected("scheme"))
    assert 100 == len(kept)
    assert {f"mailto:{number}" for number in range(140, 240)} == {one.url for one in kept}
    assert sorted((one.at for one in kept), reverse=True) == [one.at for one in kept]
    assert 101 == len(list(sieve.rejected()))
    assert {"scheme": 240, "relative": 1} == sieve.stats().rejected


def test_of_a_large_batch_each_reason_has_its_share(sieve):
    sieve.push([*("mailto:" + "x" * n for n in range(5000)), "relative", *("mailto:" + "y" * n for n in range(1000))])
    assert {"rejected.scheme": 50, "rejected.relative": 1} == {
        name: sum(one[0] == name for one in told(sieve)) for name in ("rejected.scheme", "rejected.relative")
    }


@pytest.mark.parametrize("many", [100, 101, 250])
def test_many_skips_at_once(sieve, many):
    sieve.push(pages(many))
    leases = sieve.pop(many)
    sieve.skip(leases, "robots")
    assert min(many, 100) == len(list(sieve.rejected("robots")))
    assert {"robots": many} == sieve.stats().skipped


def test_reasons_without_end_stand_together(sieve):
    many = ledger.MOST_REASONS + 5
    sieve.push(pages(many))
    for lease in sieve.pop(many):
        sieve.skip(lease, f"reason {lease.url}")
    assert ledger.MOST_REASONS + 1 >= len({one.reason for one in sieve.rejected("skipped.*")})
    if "redis" not in sieve.address:  # where each shard counts by itself
        assert 5 == len(list(sieve.rejected("skipped.other")))


def test_long_urls_are_cut_and_a_password_never_shows(sieve):
    sieve.push(["ftp://user:" + "p" * 70_000 + "@e.example/", "ftp://e.example/" + "é" * 3000], via="http://e.example/" + "v" * 3000)
    long, secret = sorted(sieve.rejected(), key=lambda one: -len(one.url))
    assert "ftp://***…" == secret.url
    assert long.url.startswith("ftp://e.example/éé") and len(long.url) < 2100
    assert all(len(one.via) < 2100 for one in (long, secret))


def test_what_the_rules_leave_out_is_kept_and_seen_by_another_worker(shared):
    first, second = shared.open(), shared.open()
    first.apply_rules(Rules.parse('[scope]\nexclude_paths = ["/x*"]\n'))
    second.push("http://a.example/x1")
    assert [("rejected.scope", "http://a.example/x1", None, 0)] == told(first)
    first.close()
    assert 1 == len(told(second))


def test_what_is_no_pattern_is_an_error(sieve):
    with pytest.raises(Exception, match="reason"):
        list(sieve.rejected(7))
