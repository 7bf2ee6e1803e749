"""Ports in, a made web out: its pages, their links, and what a crawl of it must find. Pure and the same for the same ports.

Five hosts, English and Chinese. The server serves it, the judge asks it for the truth; neither asks urlsieve what a URL means.
"""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from urlsieve.doors.demo.spelling import TRACKING, Place, write

NEWS, XINWEN, LIBRARY, WORKSHOP, ARCHIVE = range(5)
NAMES = ("Harbour News", "海港新闻", "Library 图书馆", "Workshop", "Archive")
HOSTS = ("localhost", "127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1")
ROBOTS = "User-agent: *\nDisallow: /private/\n"
SESSION = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)
SECTIONS = ("sport", "harbour", "weather", "market")
COLUMNS = ("体育", "港口", "天气", "市场")
WORDS = ("中文", "海港", "图书", "天气", "书法", "算盘")
ARTICLES, PER_LIST, BOOKS, BOOKS_PER_LIST = 64, 8, 80, 16

Identity = tuple[int, bytes, tuple[bytes, ...]]


@dataclass(slots=True)
class Page:
    """`kind`: page, slow, flaky (503 twice), gone (410), missing (404), forbidden (403), pdf, big, redirect, hidden (robots.txt).

    `hrefs` are the links as written, `goals` the names of the pages they lead to, in the same order. `since`: the round it appears in;
    `later`: links that are there from the second round on. `dull`: its links are written plainly.
    """

    name: str
    host: int
    place: Place
    kind: str = "page"
    links: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)
    since: int = 1
    charset: str = "utf-8"
    base: str | None = None
    dull: bool = False
    hrefs: list[str] = field(default_factory=list)
    goals: list[str] = field(default_factory=list)

    def shown(self, round_number: int) -> list[tuple[str, str]]:
        """(href, goal) of the links that the page has in this round."""
        count = len(self.links) if round_number < 2 else len(self.hrefs)
        return list(zip(self.hrefs[:count], self.goals[:count], strict=True))


class World:
    """`ports`: one per host. `max_depth` bounds what is reachable: the calendar has no end of its own."""

    def __init__(self, ports: Sequence[int], max_depth: int = 12) -> None:
        self.ports = tuple(ports)
        self.max_depth = max_depth
        self.pages: dict[str, Page] = {}
        self._chance = random.Random(20261130)
        _news(self)
        _xinwen(self)
        _library(self)
        _workshop(self)
        _archive(self)
        _second_round(self)
        for page in self.pages.values():
            page.goals = [*page.links, *page.later]
            page.hrefs = [self._href(page, self.pages[goal]) for goal in page.goals]
        self._index = {self.identity(page.host, page.place.plain()): page for page in self.pages.values()}

    def add(self, name: str, host: int, path: str, query: Sequence[tuple[str, str]] = (), **more: object) -> Page:
        page = Page(name, host, Place(HOSTS[host], self.ports[host], path, tuple(query)), **more)  # type: ignore[arg-type]
        self.pages[name] = page
        return page

    @property
    def starts(self) -> list[str]:
        """Names of the start pages: every host's home."""
        return [f"home{host}" for host in range(len(HOSTS))]

    def url(self, name: str) -> str:
        """One plain spelling, absolute."""
        place = self.pages[name].place
        return f"http://{place.host}:{place.port}{place.plain()}"

    def find(self, host: int, target: str) -> Page | None:
        """The page that a request line's target means on this host, or None: the server's own view of sameness."""
        return self._index.get(self.identity(host, target))

    @staticmethod
    def identity(host: int, target: str) -> Identity:
        path, _, query = target.partition("?")
        pieces = [unquote_to_bytes(piece) for piece in query.split("&") if piece and piece.partition("=")[0] not in TRACKING]
        return host, unquote_to_bytes(SESSION.sub("", path)), tuple(sorted(pieces))

    def reachable(self, round_number: int) -> dict[str, int]:
        """Name → depth of every page that a crawl must have met by the end of this round: breadth first, to `max_depth`."""
        depths = dict.fromkeys(self.starts, 0)
        waiting = deque(depths)
        while waiting:
            page = self.pages[waiting.popleft()]
            depth = depths[page.name]
            if page.kind == "hidden":
                continue  # known by its links, never read
            step = 0 if page.kind == "redirect" else 1
            if page.kind not in ("page", "slow", "flaky", "redirect") or (step and depth >= self.max_depth):
                continue
            for _, goal in page.shown(round_number):
                if goal not in depths:
                    depths[goal] = depth + step
                    waiting.append(goal)
        return depths

    def _href(self, page: Page, goal: Page) -> str:
        if page.dull:
            return self.url(goal.name)
        base = page.base or page.place.path.rpartition("/")[0] + "/"
        return write(goal.place, self._chance, here=page.place, base=base, charset=page.charset)


def _news(world: World) -> None:
    chance = world._chance
    lists = [f"news list {name} {page}" for name in SECTIONS for page in (1, 2)]
    home = world.add("home0", NEWS, "/", links=lists[::2])
    home.links += ["author ann", "author bob", "flaky", "home1", "home2", "home3", "home4"]
    for number, name in enumerate(lists):
        _, _, section, page = name.split()
        articles = [f"news {i}" for i in range(number * PER_LIST, (number + 1) * PER_LIST)]
        onward = [lists[number + 1]] if page == "1" else []
        world.add(name, NEWS, "/section", [("name", section), ("page", page)], links=[*articles, *onward, "home0"])
    for i in range(ARTICLES):
        related = [f"news {chance.randrange(ARTICLES)}" for _ in range(3)]
        links = ["home0", *related, f"xinwen {i}", chance.choice(["author ann", "author bob"])]
        world.add(f"news {i}", NEWS, f"/2026/11/article-{i}.html", links=links)
    for author in ("ann", "bob"):
        world.add(f"author {author}", NEWS, f"/~{author}/", links=["home0", "news 1", "news 2", "gone"])
    world.add("flaky", NEWS, "/live", kind="flaky", links=["home0", "news 3"])
    world.add("gone", NEWS, "/retracted.html", kind="gone")


def _xinwen(world: World) -> None:
    chance = world._chance
    lists = [f"xinwen list {name} {page}" for name in COLUMNS for page in (1, 2)]
    world.add("home1", XINWEN, "/", links=[*lists[::2], "home0", "home2"])
    for number, name in enumerate(lists):
        _, _, column, page = name.split()
        articles = [f"xinwen {i}" for i in range(number * PER_LIST, (number + 1) * PER_LIST)]
        onward = [lists[number + 1]] if page == "1" else []
        world.add(name, XINWEN, f"/栏目/{column}", [("页", page), ("语言", "zh")], links=[*articles, *onward, "home1"])
    for i in range(ARTICLES):
        related = [f"xinwen {chance.randrange(ARTICLES)}" for _ in range(3)]
        world.add(f"xinwen {i}", XINWEN, f"/文章/第{i}篇.html", links=["home1", *related, f"news {i}"])


def _library(world: World) -> None:
    """Lists and searches are in GBK, so what stands in a query raw is sent as GBK; the paths are UTF-8 all the same."""
    chance = world._chance
    lists = [f"books {page}" for page in range(BOOKS // BOOKS_PER_LIST)]
    searches = [f"search {word}" for word in WORDS]
    world.add("home2", LIBRARY, "/", links=[*lists, "search 中文", "pdf", "big", "missing", "home0"])
    for number, name in enumerate(lists):
        books = [f"book {i}" for i in range(number * BOOKS_PER_LIST, (number + 1) * BOOKS_PER_LIST)]
        links = [*books, *chance.sample(searches, 3), "home2"]
        page = world.add(name, LIBRARY, "/books/list", [("lang", "zh"), ("page", str(number))], links=links)
        page.charset, page.base = "gbk", "/books/"
    for word in WORDS:
        links = [*chance.sample(searches, 2), *(f"book {chance.randrange(BOOKS)}" for _ in range(4))]
        page = world.add(f"search {word}", LIBRARY, "/search", [("q", word), ("sort", "date")], links=links)
        page.charset, page.place = "gbk", Place(HOSTS[LIBRARY], world.ports[LIBRARY], "/search", page.place.query, "gbk")
    for i in range(BOOKS):
        related = [f"book {chance.randrange(BOOKS)}" for _ in range(2)]
        links = ["home2", *related, chance.choice(searches)]
        world.add(f"book {i}", LIBRARY, f"/books/b{i}", [("lang", "zh"), ("fmt", "html")], links=links)
    world.add("pdf", LIBRARY, "/files/annual report.pdf", kind="pdf")
    world.add("big", LIBRARY, "/files/dump.html", kind="big")
    world.add("missing", LIBRARY, "/books/lost", kind="missing")


def _workshop(world: World) -> None:
    """What makes crawlers stumble: a calendar without end, a slow page, redirects in a row and in a ring, pages that say no."""
    odd = ["calendar 0", "forbidden", "r1", "ring a", "door", "room"]
    world.add("home3", WORKSHOP, "/", links=[*odd, "hidden 1", "hidden 2", "home0"])
    reach = world.max_depth + 2  # beyond what may be met: it looks endless from where a crawler stands
    for month in range(-reach, reach + 1):
        year, index = divmod(2026 * 12 + 10 + month, 12)
        links = [f"calendar {m}" for m in (month - 1, month + 1) if abs(m) <= reach]
        links += ["slow"] if month == world.max_depth - 3 else []
        world.add(f"calendar {month}", WORKSHOP, "/calendar", [("y", str(year)), ("m", str(index + 1))], links=links)
    world.add("slow", WORKSHOP, "/slow report", kind="slow", links=["home3", "news 5"])
    world.add("forbidden", WORKSHOP, "/members", kind="forbidden")
    for number in (1, 2, 3):
        world.add(f"hidden {number}", WORKSHOP, f"/private/{number}", kind="hidden", links=["hidden 3"])
    for number in (1, 2, 3):
        goal = f"r{number + 1}" if number < 3 else "landing"
        world.add(f"r{number}", WORKSHOP, f"/r/{number}", kind="redirect", links=[goal])
    world.add("landing", WORKSHOP, "/landing", links=["home3"])
    for name, goal in (("a", "b"), ("b", "c"), ("c", "b")):
        world.add(f"ring {name}", WORKSHOP, f"/ring/{name}", kind="redirect", links=[f"ring {goal}"], dull=True)
    world.add("door", WORKSHOP, "/door", [("from", "street")], kind="redirect", links=["room"])
    world.add("room", WORKSHOP, "/room", links=["home3", "door"])


def _archive(world: World) -> None:
    """Old addresses: thirty that all lead to one page, ten that lead to another host."""
    old = [f"old {i}" for i in range(40)]
    world.add("home4", ARCHIVE, "/", links=[*old, "home0"])
    world.add("now", ARCHIVE, "/where is it now", links=["home4"])
    for i, name in enumerate(old):
        world.add(name, ARCHIVE, "/old", [("id", str(i)), ("v", "2")], kind="redirect", links=["now" if i < 30 else f"news {i}"])


def _second_round(world: World) -> None:
    """Each home page gets four new links; each new page leads to one more that nothing else links to."""
    for host in range(len(HOSTS)):
        for i in range(4):
            world.add(f"fresh {host} {i}", host, f"/fresh/{i}", links=[f"deep {host} {i}", f"home{host}"], since=2)
            world.add(f"deep {host} {i}", host, f"/fresh/{i}/深", links=[f"fresh {host} {(i + 1) % 4}"], since=2)
        world.pages[f"home{host}"].later = [f"fresh {host} {i}" for i in range(4)]
