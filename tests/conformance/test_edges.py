"""Callers who make small mistakes, and callers who do everything at once."""

import random
import threading
import time

import pytest

import urlsieve
from sieve_lab import check_conservation, hosts, pages, states, urls_of
from urlsieve import ConfigError, Outcome, URLItem, UrlsieveError

URL = "http://a.example/"


@pytest.fixture
def lease(sieve):
    sieve.push(URL)
    (lease,) = sieve.pop(1)
    return lease


def test_one_link_given_as_text_is_one_link_and_not_its_letters(sieve, lease):
    try:
        sieve.done(lease, links="/x")
    except ConfigError:
        assert {"leased": 1} == states(sieve)
        return
    assert ["http://a.example/x"] == urls_of(sieve.pop(10))


def test_one_redirect_given_as_text_is_one_hop_and_not_its_letters(sieve, lease):
    try:
        sieve.done(lease, redirects="/hop")
    except ConfigError:
        assert {"leased": 1} == states(sieve)
        return
    assert {"done": 2} == states(sieve)


def test_one_group_given_as_text_is_one_group_and_not_its_letters(sieve):
    sieve.push([URL, "http://b.example/"])
    try:
        leases = sieve.pop(10, groups="a.example")
    except ConfigError:
        return
    assert [URL] == urls_of(leases)


@pytest.mark.parametrize("links", [5, object(), [5], [None], [URL, 7]], ids=repr)
def test_links_that_are_none_are_refused_and_the_lease_stays(sieve, lease, links):
    with pytest.raises(ConfigError):
        sieve.done(lease, links=links)
    assert {"leased": 1} == states(sieve)


@pytest.mark.parametrize("pairs", [5, [5], [("token",)], ["ab"], [("x", "done")], [(None, Outcome())]], ids=repr)
def test_pairs_that_are_none_are_refused(sieve, lease, pairs):
    with pytest.raises(ConfigError):
        sieve.settle(pairs)
    assert {"leased": 1} == states(sieve)


@pytest.mark.parametrize("reason", [None, 5, b"bytes", ["x"]], ids=repr)
def test_a_reason_is_text(sieve, lease, reason):
    with pytest.raises(ConfigError):
        sieve.fail(lease, reason)
    with pytest.raises(ConfigError):
        sieve.skip(lease, reason)
    assert {"leased": 1} == states(sieve)


@pytest.mark.parametrize("field", ["base", "via"])
def test_base_and_via_are_text(sieve, field):
    with pytest.raises(ConfigError):
        sieve.push("/x", **{field: 5})
    assert {} == states(sieve)


def test_a_base_that_is_no_url_makes_relative_ones_relative(sieve):
    assert ["rejected:relative", "new"] == sieve.push(["/x", URL], base="mailto:x@y.example").verdicts


@pytest.mark.parametrize("parent", [5, object(), b"token"], ids=repr)
def test_a_parent_is_a_lease(sieve, parent):
    with pytest.raises(ConfigError):
        sieve.push("/x", parent=parent)
    assert {} == states(sieve)


def test_an_error_of_the_callers_own_iterable_comes_through_and_nothing_is_pushed(sieve):
    def broken():
        yield from pages(5)
        raise RuntimeError("the caller's file is gone")

    with pytest.raises(RuntimeError, match="file is gone"):
        sieve.push(broken())
    assert {} == states(sieve)


def test_a_source_of_urls_may_use_the_sieve_itself(sieve):
    def source():
        for url in pages(5):
            sieve.push(url + "/before")
            yield url

    assert 5 == sieve.push(source()).new
    assert {"pending": 10} == states(sieve)


def test_a_url_item_may_hold_bytes(sieve):
    assert 1 == sieve.push(URLItem(b"http://a.example/\xff")).new
    assert b"http://a.example/\xff" == sieve.pop(1)[0].url.encode("utf-8", "surrogateescape")


def test_single_questions_take_single_urls(sieve):
    sieve.push(URL)
    assert [True] == sieve.seen(URL)
    assert [] == sieve.seen([])
    assert 1 == sieve.forget(URL)


def test_a_forgotten_url_gives_its_place_under_the_limit_back(sieve):
    sieve.site("a.example").limit = 5
    sieve.push(pages(5))
    sieve.forget(pages(2))
    report = sieve.push(pages(5, start=10))
    assert (2, 3) == (report.new, report.rejected)
    sieve.purge(site="a.example")
    assert 5 == sieve.push(pages(9)).new


def test_a_redirects_target_is_recorded_even_when_the_queue_is_full(lab):
    sieve = lab.open(high_water=2)
    sieve.push(hosts(3))
    (lease,) = sieve.pop(1)
    sieve.push(pages(1))
    sieve.done(lease, final_url="http://target.example/")
    assert [True] == sieve.seen(["http://target.example/"])
    assert 2 == sieve.stats().done


def test_a_long_reason_or_meta_is_no_obstacle(sieve, lease):
    sieve.fail(lease, "x" * 100_000, status=403)
    assert "dead" == sieve.info(URL).state
    assert sieve.info(URL).reason.startswith("xxx")


def test_reasons_may_be_in_any_script(sieve, lease):
    sieve.fail(lease, "拒绝 \ud800 \0 ünï", status=403)
    assert sieve.info(URL).reason.startswith("拒绝")


def test_skips_under_odd_names_are_counted(sieve):
    sieve.push(hosts(4))
    leases = sieve.pop(4)
    for lease, reason in zip(leases, ["类型", "a b c", "x" * 1000, "'; --"], strict=True):
        sieve.skip(lease, reason)
    assert 4 == sum(sieve.stats().as_dict()["skipped"].values())


def test_ten_thousand_leases_are_settled_in_one_step(sieve):
    sieve.push([f"http://h{number % 11}.example/{number}" for number in range(10_000)])
    leases = sieve.pop(10_000)
    assert 10_000 == len(leases)
    assert {"done"} == {settled.state for settled in sieve.done(leases)}
    assert {"done": 10_000} == states(sieve)


def everything_at_once(sieve, seed, stop, errors):
    """One thread's share of every verb on the same few hosts."""
    rng = random.Random(seed)
    verbs = [
        lambda: sieve.push([f"http://c{rng.randrange(6)}.example/{rng.randrange(400)}" for _ in range(rng.randrange(1, 30))], mode=rng.choice(["new", "new", "raise", "again"]), priority=rng.randrange(3)),
        lambda: sieve.done(sieve.pop(rng.randrange(1, 20)), links=["/l", "/m"], final_url=rng.choice([None, "/target"])),
        lambda: sieve.fail(sieve.pop(2), "x", status=rng.choice([None, 403, 429, 500])),
        lambda: sieve.release(sieve.pop(3)),
        lambda: sieve.skip(sieve.pop(1), "type"),
        lambda: sieve.forget([f"http://c{rng.randrange(6)}.example/{rng.randrange(400)}"]),
        lambda: sieve.mark([f"http://c{rng.randrange(6)}.example/{rng.randrange(500)}"], known=rng.random() < 0.5),
        lambda: sieve.purge(site=f"c{rng.randrange(6)}.example") if rng.random() < 0.05 else None,
        lambda: sieve.extend(sieve.pop(2), 5.0),
        lambda: (sieve.stats(), list(sieve.groups()), sieve.why("c1.example")),
        lambda: sieve.group(f"c{rng.randrange(6)}.example").unblock(),
    ]  # fmt: skip
    while not stop.is_set():
        try:
            rng.choice(verbs)()
        except BaseException as error:
            errors.append(error)
            raise


def test_threads_that_do_everything_at_once_leave_a_sound_store(lab, clock):
    sieve = lab.open(max_attempts=5)
    stop, errors = threading.Event(), []
    threads = [threading.Thread(target=everything_at_once, args=(sieve, seed, stop, errors)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for _ in range(15):
        time.sleep(0.1)
        clock.advance(20)
    stop.set()
    for thread in threads:
        thread.join()
    assert [] == errors
    check_conservation(sieve)


def test_closing_while_others_work_ends_them_with_an_error_of_ours(lab):
    sieve = lab.open()
    ended = []

    def worker(seed):
        try:
            while True:
                sieve.push([f"http://h{seed}.example/{number}" for number in range(20)])
                sieve.done(sieve.pop(5))
                sieve.stats()
        except UrlsieveError as error:
            ended.append(error)

    threads = [threading.Thread(target=worker, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    sieve.close()
    for thread in threads:
        thread.join(30)
    assert 4 == len(ended)
    lab.opened.remove(sieve)


def test_ord_09_one_who_waits_is_woken_by_another_process(fast_path, zygote):
    with urlsieve.open(str(fast_path / "store")) as sieve:
        woken = []
        thread = threading.Thread(target=lambda: woken.append(sieve.wait(30)))
        thread.start()
        assert 0 == zygote.run("push_then", str(fast_path / "store"), pages(10), "stop")
        thread.join(20)
        assert [True] == woken
        assert 10 == len(sieve.pop(20))
