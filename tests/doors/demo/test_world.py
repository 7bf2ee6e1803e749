"""The made web means what it says: every spelling of a page leads to it, for its server and for the canonical form."""

from urllib.parse import urlsplit

import pytest

import urlsieve
from urlsieve.doors.demo.play import spellings
from urlsieve.doors.demo.world import World

PORTS = (41001, 41002, 41003, 41004, 41005)


@pytest.fixture(scope="module")
def world():
    return World(PORTS)


def links(world):
    """(absolute URL as a browser asks for it, name of the page it must lead to)."""
    for page in world.pages.values():
        exact = urlsieve.Canonicalizer(profile="exact", encoding=page.charset)
        base = f"http://{page.place.host}:{page.place.port}{page.base or page.place.plain()}"
        yield from zip(exact.canonicalize_many(page.hrefs, base=base), page.goals, strict=True)


def test_every_link_has_the_key_of_its_page_and_no_two_pages_share_one(world):
    keys = {name: urlsieve.canonicalize(world.url(name)) for name in world.pages}
    assert len(keys) == len(set(keys.values()))
    assert [] == [(url, goal) for url, goal in links(world) if urlsieve.canonicalize(url) != keys[goal]]


def test_the_server_finds_the_page_behind_every_link(world):
    def found(url):
        parts = urlsplit(url)
        return world.find(PORTS.index(parts.port), parts.path + ("?" + parts.query if parts.query else ""))

    assert [] == [(url, goal) for url, goal in links(world) if found(url) is not world.pages[goal]]


def test_the_spellings_are_many_more_than_the_pages(world):
    assert len(spellings(world, 1)) > 3 * len(world.reachable(1))


def test_hundreds_of_pages_are_reachable_the_calendar_is_cut_and_the_second_round_has_new_ones(world):
    first, second = world.reachable(1), world.reachable(2)
    assert len(first) > 300
    assert world.max_depth == max(first.values())
    assert "calendar 11" in first
    assert "calendar 12" not in first
    assert 40 == len(second.keys() - first.keys())


def test_the_same_ports_make_the_same_world(world):
    again = World(PORTS)
    assert {name: page.hrefs for name, page in world.pages.items()} == {name: page.hrefs for name, page in again.pages.items()}
