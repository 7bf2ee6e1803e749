"""The judge notices every kind of wrong: a table that is always right would be worth nothing."""

from dataclasses import replace

import pytest

from urlsieve.doors.demo.judge import Evidence, Log, judge, orphaned, table
from urlsieve.doors.demo.main import exit_status
from urlsieve.doors.demo.world import World

WORLD = World((41001, 41002, 41003, 41004, 41005))


def event(name, status=200, agent="demo-worker-1"):
    return {"get": name, "status": status, "agent": agent, "at": 0.0, "number": 0, "target": "/"}


def faultless(number=1):
    """What a right crawl leaves behind."""
    truth = WORLD.reachable(number)
    pages = [name for name in truth if WORLD.pages[name].kind != "hidden"]
    if number == 2:
        pages = [name for name in pages if name in WORLD.starts or name not in WORLD.reachable(1)]
    events = [event("robots"), *map(event, pages)]
    if number == 1:
        events += [event("flaky", 503), event("flaky", 503)]
    stats = {"accepted": len(truth), "pending": 0, "leased": 0, "delayed": 0, "dead": 1}
    return Evidence(number, Log(events), stats, [True] * 1000, frozenset(), [], 1.0)


def wrong(evidence, before=None):
    return [figure.name for figure in judge(WORLD, evidence, before) if not figure.ok]


def with_event(evidence, *events):
    return replace(evidence, log=Log([*evidence.log.events, *events]))


def without(evidence, name):
    return replace(evidence, log=Log([event for event in evidence.log.events if event["get"] != name]))


def test_a_right_crawl_is_right():
    assert [] == wrong(faultless())
    assert [] == wrong(faultless(2), faultless(1))
    assert 0 == exit_status([judge(WORLD, faultless())])


@pytest.mark.parametrize(
    ("evidence", "names"),
    [
        (without(faultless(), "news 7"), ["fetched", "lost"]),
        (with_event(faultless(), event("news 7")), ["fetched twice without cause"]),
        (with_event(faultless(), event("flaky", 200)), ["fetched twice without cause"]),
        (with_event(faultless(), event("calendar 12")), ["fetched", "fetched twice without cause"]),
        (with_event(faultless(), event("hidden 1")), ["fetched", "fetched twice without cause", "forbidden by robots.txt, fetched"]),
        (with_event(faultless(), event("stray", 404)), ["asked for what is not there"]),
        (replace(faultless(), known=[False] + [True] * 999), ["discovered", "known"]),
        (replace(faultless(), problems=["a count is wrong"]), ["store's own check, problems"]),
        (replace(faultless(), stats={**faultless().stats, "dead": 0}), ["failed"]),
        (replace(faultless(), stats={**faultless().stats, "leased": 1}), ["lost"]),
        (replace(faultless(), stats={**faultless().stats, "accepted": 1}), ["distinct", "known"]),
    ],
)
def test_each_kind_of_wrong_shows_in_its_figure_and_in_the_exit_status(evidence, names):
    assert names == wrong(evidence)
    assert 1 == exit_status([judge(WORLD, evidence)])
    assert "WRONG" in table("Round 1", judge(WORLD, evidence))


def test_a_sabotaged_truth_is_noticed():
    world = World((41001, 41002, 41003, 41004, 41005))
    world.pages["home0"].links.append("deep 0 0")
    world.pages["home0"].hrefs.insert(0, "/fresh/0/x")
    world.pages["home0"].goals.insert(0, "deep 0 0")
    assert 1 == exit_status([judge(world, faultless())])


def test_a_page_fetched_again_for_a_killed_worker_is_counted_apart_but_only_once():
    orphan = replace(with_event(faultless(), event("slow")), orphans=frozenset({"slow"}))
    figures = {figure.name: figure.got for figure in judge(WORLD, orphan)}
    assert (0, 1) == (figures["fetched twice without cause"], figures["fetched again, worker was killed"])
    assert ["fetched twice without cause"] == wrong(with_event(orphan, event("slow")))


def test_the_second_round_may_ask_again_for_start_pages_only():
    assert ["fetched", "fetched twice without cause"] == wrong(with_event(faultless(2), event("news 7")), faultless(1))


def test_a_dead_worker_leaves_what_it_had_asked_for_and_the_hops_on_the_way():
    assert {"slow"} == orphaned(WORLD, ["slow", "news 1"], ["slow", "news 2"])
    assert {"r1", "r2"} == orphaned(WORLD, ["r1", "r2", "landing x"], ["r1"])
    assert {"ring a", "ring b", "ring c"} == orphaned(WORLD, ["ring a", "ring b", "ring c"], ["ring a"])
