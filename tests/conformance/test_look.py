"""Questions that change nothing: why, info, stats, sites, groups, doctor, verify, wait."""

import hashlib
import json
import threading
import time

import pytest

import urlsieve
from sieve_lab import figures, hosts, pages, states, urls_of
from urlsieve import URLItem, UrlsieveError

URL = "http://a.example/"


def test_why_of_a_url_names_its_state(sieve, clock):
    assert "unseen" in sieve.why(URL).reasons
    sieve.push(URL)
    (lease,) = sieve.pop(1)
    assert "leased" in sieve.why(URL).reasons
    sieve.done(lease)
    assert "done" in sieve.why(URL).reasons
    sieve.push("http://a.example/dead")
    sieve.fail(sieve.pop(1)[0], "broken", status=403)
    assert "dead" in sieve.why("http://a.example/dead").reasons
    sieve.push(URLItem("http://a.example/later", due=clock.now + 10))
    assert "delayed" in sieve.why("http://a.example/later").reasons


def test_why_of_a_dead_url_says_what_it_died_of(sieve):
    sieve.push(URL)
    sieve.fail(sieve.pop(1)[0], "certificate expired", status=403)
    assert "certificate expired" in str(sieve.why(URL))


def test_why_of_a_group_names_what_holds_it(lab, clock):
    sieve = lab.open(delay=10.0)
    assert "empty" in sieve.why("nowhere.example").reasons
    sieve.push(pages(3))
    (lease,) = sieve.pop(1)
    assert "turn" in sieve.why("a.example").reasons
    assert "turn" in sieve.why("http://a.example/p2").reasons
    sieve.done(lease)
    sieve.group("a.example").concurrency = 1
    clock.advance(10)
    sieve.pop(1)
    clock.advance(10)
    assert "in_flight" in sieve.why("a.example").reasons


def test_why_names_what_goes_first(sieve):
    sieve.push(pages(5))
    sieve.push("http://b.example/", priority=9)
    assert "lower_priority" in sieve.why("http://a.example/p4").reasons


def test_why_of_an_emptied_group_is_empty(sieve):
    sieve.push(pages(2))
    sieve.done(sieve.pop(2))
    assert "empty" in sieve.why("a.example").reasons


def test_why_can_be_read_by_people_and_programs(sieve):
    sieve.push(URL)
    why = sieve.why(URL)
    assert len(str(why)) > 5
    assert why.text
    assert json.loads(json.dumps(why.as_dict()))["reasons"] == list(why.reasons)


def test_why_writes_nothing(sieve):
    sieve.push(pages(3))
    before = figures(sieve)
    for question in (URL, "a.example", "unknown.example", "http://unknown.example/", "", "::", "http://a.example/p1"):
        try:
            sieve.why(question)
        except UrlsieveError:
            pass
    assert before == figures(sieve)


def test_info_shows_an_entry_whole(sieve, clock):
    sieve.push("http://a.example/x?utm_source=1", priority=5, depth=2, via="http://v.example/")
    info = sieve.info("http://a.example/x")
    assert ("pending", "a.example", 5, 2, "http://v.example/") == (info.state, info.group, info.priority, info.depth, info.via)
    assert "http://a.example/x?utm_source=1" == info.url
    (lease,) = sieve.pop(1)
    info = sieve.info("http://a.example/x")
    assert ("leased", 1, lease.deadline) == (info.state, info.attempt, info.deadline)


def test_info_of_the_unknown_and_the_known(sieve):
    assert "unseen" == sieve.info(URL).state
    sieve.mark(URL, known=True)
    assert "known" == sieve.info(URL).state


def test_info_tells_variants_apart(sieve):
    sieve.push(URLItem(URL, variant=b"POST"))
    assert "unseen" == sieve.info(URL).state
    assert "pending" == sieve.info(URL, variant=b"POST").state


def test_info_counts_what_is_ahead(sieve):
    sieve.push(pages(10))
    assert 7 == sieve.info("http://a.example/p7").ahead


STATS = [
    "accepted",
    "pending",
    "leased",
    "delayed",
    "done",
    "dead",
    "known",
    "seen",
    "rejected",
    "sites",
    "groups",
    "levels",
    "unique_estimate",
    "expected_collisions",
    "canonical",
    "bytes",
    "oldest_pending",
    "epoch",
]


def test_stats_have_every_field_that_the_interface_names(sieve):
    sieve.push([*pages(3), "ftp://x/"])
    found = sieve.stats().as_dict()
    assert [] == [name for name in STATS if name not in found]
    assert {"cache", "table", "filter", "runs"} <= set(found["levels"])
    assert {"version", "profile", "rules_generation"} <= set(found["canonical"])
    assert {"seen", "queue", "text", "history", "total"} <= set(found["bytes"])
    assert (1, "safe") == (found["canonical"]["version"], found["canonical"]["profile"])
    assert {"scheme": 1} == {reason: count for reason, count in found["rejected"].items() if count}
    json.dumps(found)


def test_what_each_level_was_asked_is_counted(sieve):
    if sieve.stats().levels["table"] is None:
        pytest.skip("this store does not count it")
    sieve.push(pages(3))
    sieve.push(pages(5))
    first = sieve.stats().levels
    assert (8, 3, 5) == tuple(first["table"][word] for word in ("asked", "yes", "no"))
    assert 0 == first["runs"]["asked"]  # there are none
    sieve.compact()
    sieve.push(pages(6))
    table, runs = (sieve.stats().levels[name] for name in ("table", "runs"))
    assert (14, 3, 11) == (table["asked"], table["yes"], table["no"])
    assert (6, 5, 1, 1) == tuple(runs[word] for word in ("asked", "yes", "no", "calls"))
    assert runs["ns"] > 0


def test_what_an_imported_level_was_asked_is_counted(sieve):
    if sieve.stats().levels["table"] is None:
        pytest.skip("this store does not count it")
    urls = pages(4)
    sieve.import_fingerprints("md5", [hashlib.md5(url.encode()).digest() for url in urls[:3]], name="old")
    sieve.push(urls)
    found = sieve.stats().levels["imported old"]
    assert (3, 1) == (found["yes"], found["calls"])


def test_stats_follow_every_state(sieve, clock):
    sieve.push(hosts(10))
    leases = sieve.pop(5)
    sieve.done(leases[0])
    sieve.fail(leases[1], "x", status=403)
    sieve.fail(leases[2], "x")
    sieve.mark("http://known.example/", known=True)
    stats = sieve.stats()
    assert (5, 2, 1, 1, 1) == (stats.pending, stats.leased, stats.delayed, stats.done, stats.dead)
    assert (10, 1, 11) == (stats.accepted, stats.known, stats.seen)


def test_the_oldest_pending_is_known(sieve, clock):
    assert sieve.stats().oldest_pending is None
    start = clock.now
    sieve.push(URL)
    clock.advance(100)
    sieve.push("http://b.example/")
    assert start == sieve.stats().oldest_pending
    sieve.done(sieve.pop(1, groups=["a.example"]))
    assert start + 100 == sieve.stats().oldest_pending


def test_the_expected_number_of_collisions_is_tiny_and_not_zero(sieve):
    sieve.push(pages(1000))
    assert 0 < sieve.stats().expected_collisions < 1e-9


def test_sites_count_by_state(sieve):
    sieve.push([*pages(4), *pages(2, host="b.example"), "http://a.example:8080/"])
    sieve.done(sieve.pop(1, groups=["a.example"]))
    rows = {row.name: row for row in sieve.sites()}
    assert {"a.example", "b.example", "a.example:8080"} == set(rows)
    row = rows["a.example"]
    assert (4, 3, 0, 0, 1, 0) == (row.seen, row.pending, row.leased, row.delayed, row.done, row.dead)
    assert (2, 2) == (rows["b.example"].seen, rows["b.example"].pending)
    assert 3 == sieve.stats().sites


def test_groups_show_their_queue_and_settings(lab, clock):
    sieve = lab.open(delay=5.0)
    sieve.push(pages(4), priority=7)
    sieve.pop(1)
    (row,) = list(sieve.groups())
    assert ("a.example", 3, 1, False) == (row.name, row.pending, row.leased, row.paused)
    assert clock.now + 5 == row.next_turn
    assert 7 == max(top for top in row.tops if top is not None)


def test_many_sites_are_listed_each_once(sieve):
    sieve.push(hosts(5000))
    names = [row.name for row in sieve.sites()]
    assert (5000, 5000) == (len(names), len(set(names)))
    names = [row.name for row in sieve.groups()]
    assert (5000, 5000) == (len(names), len(set(names)))


def test_listing_may_be_interleaved_with_writing(sieve):
    sieve.push(hosts(3000))
    for number, _ in enumerate(sieve.sites()):
        if number % 500 == 0:
            sieve.push(f"http://extra{number}.example/")
            sieve.done(sieve.pop(1))


def test_can_10_spellings_of_one_host_are_one_site_and_one_group(sieve):
    report = sieve.push(
        ["http://münchen.example/x", "http://MÜNCHEN.example/x", "http://xn--mnchen-3ya.example/x", "http://MÜNCHEN.example/y"]
    )
    assert (2, 2) == (report.new, report.seen)
    assert (1, 1) == (sieve.stats().sites, sieve.stats().groups)


def test_a_sound_store_verifies_and_doctor_has_no_error(sieve):
    sieve.push(pages(10))
    sieve.done(sieve.pop(3))
    assert [] == sieve.verify()
    assert [] == sieve.verify(deep=True)
    findings = sieve.doctor()
    assert findings
    assert [] == [finding for finding in findings if finding.level == "error"]
    assert all(finding.level in {"ok", "warn", "error"} and finding.what for finding in findings)


def test_wait_says_at_once_whether_something_may_be_popped(sieve):
    assert sieve.wait(0) is False
    sieve.push(URL)
    assert sieve.wait(0) is True
    sieve.pop(1)
    assert sieve.wait(0) is False


def test_wait_gives_up_after_its_time(sieve):
    assert sieve.wait(0.05) is False


def test_ord_09_one_who_waits_is_woken_by_a_push(tmp_path):
    for address in ("memory:", str(tmp_path / "store")):
        with urlsieve.open(address) as sieve:
            woken = []
            thread = threading.Thread(target=lambda sieve=sieve, woken=woken: woken.append(sieve.wait(30)))
            thread.start()
            time.sleep(0.05)
            sieve.push(pages(10))
            thread.join(20)
            assert [True] == woken
            assert 10 == len(sieve.pop(20))


def test_one_who_waits_is_woken_when_a_delay_ends(tmp_path):
    with urlsieve.open("memory:") as sieve:
        sieve.push(URLItem(URL, due=time.time() + 0.2))
        assert sieve.wait(20) is True
        assert [URL] == urls_of(sieve.pop(1))


def test_keepalive_extends_as_long_as_the_work_takes(tmp_path):
    with urlsieve.open(str(tmp_path / "store"), durability="normal") as sieve:
        sieve.push(hosts(3))
        leases = sieve.pop(3, lease=1.0)
        with sieve.keepalive(leases):
            for _ in range(5):
                time.sleep(0.5)
                assert [] == sieve.pop(3)
        assert ["done"] * 3 == [settled.state for settled in sieve.done(leases)]


def test_keepalive_survives_a_lease_that_was_settled_meanwhile():
    with urlsieve.open("memory:") as sieve:
        sieve.push(hosts(2))
        first, second = sieve.pop(2, lease=0.6)
        with sieve.keepalive([first, second]):
            sieve.done(first)
            time.sleep(1.2)
            assert [] == sieve.pop(2)
        assert "done" == sieve.done(second).state


@pytest.mark.parametrize("deep", [False, True])
def test_verify_of_an_empty_store(sieve, deep):
    assert [] == sieve.verify(deep=deep)
    assert {} == states(sieve)
