"""Makes a small store that has something of everything: what `tests/golden/` keeps of each schema. Run with the program of that schema:
`python tests/golden_maker.py PLACE` writes the folder PLACE and PLACE.json, what it must be found to hold."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import urlsieve
from urlsieve import testing
from urlsieve.stores.embedded import merging

START = 1_700_000_000.0
SECRET = 0x5EC2E7


def fill(sieve: urlsieve.Sieve, clock: testing.VirtualClock) -> None:
    """URLs in every state, with text and without, with all their fields, and settings of groups and sites."""
    sieve.push([f"http://site{i % 40}.example/a/{i}" for i in range(400)])
    sieve.push(
        [f"http://site{i}.example/urgent" for i in range(10)], priority=100, depth=3, via="http://hub.example/", meta={"n": [1, "é"]}
    )
    sieve.push(urlsieve.URLItem("http://post.example/form", variant=b"POST\0a=1", priority=-5))
    sieve.push(urlsieve.URLItem("http://later.example/", due=clock.now + 1e6))
    sieve.push("http://site3.example/a/3", priority=50, mode="raise")
    sieve.mark([f"http://known{i}.example/" for i in range(20)], known=True)
    sieve.mark([f"http://marked{i}.example/" for i in range(5)])
    sieve.push("not a url")
    for lease in sieve.pop(60, lease=1e6):
        sieve.done(lease, links=[lease.url + "/link"])
    sieve.done(sieve.pop(1, groups=["post.example"]))
    sieve._store.pack()  # texts of done URLs in blocks; some of them return below
    for lease in sieve.pop(5, lease=1e6):
        sieve.fail(lease, "refused", status=403)
    sieve.skip(sieve.pop(1)[0], "robots")
    sieve.fail(sieve.pop(1)[0], "timeout")
    sieve.set_policy(keep_urls=False)
    for lease in sieve.pop(10, lease=1e6):
        sieve.done(lease, redirects=["http://target.example/"], final_url="http://target.example/final")
    for lease in sieve.pop(3, lease=1e6):
        sieve.fail(lease, "gone for ever", status=400)
    clock.advance(8 * 86_400.0)  # the dead ones above lose their text at the next pop
    sieve.push("http://site5.example/again", mode="again")
    sieve.revisit([f"http://site{i}.example/a/{i}" for i in range(4)])
    sieve.fail(sieve.pop(1, groups=["site7.example"])[0], "refused again", status=403)
    sieve.pop(7, lease=1e7)
    sieve.forget("http://known3.example/")
    sieve.group("site9.example").pause()
    sieve.group("site8.example").block(clock.now + 1e6)
    sieve.group("site7.example").delay = 3.0
    sieve.site("site6.example").limit = 500
    sieve.site("site6.example").blob("robots", b"User-agent: *", ttl=1e8)


def found(sieve: urlsieve.Sieve) -> dict[str, object]:
    """What can be asked: counts, sites, groups, the state of single URLs."""
    stats = sieve.stats().as_dict()
    keep = ("accepted", "pending", "leased", "delayed", "done", "dead", "known", "seen", "rejected", "sites", "groups", "epoch")
    urls = [
        "http://site3.example/a/3",
        "http://site0.example/a/0",
        "http://known1.example/",
        "http://known3.example/",
        "http://later.example/",
    ]
    return {
        "stats": {name: stats[name] for name in keep},
        "sites": sorted([list(row) for row in sieve.sites()]),
        "groups": sorted([row.name, row.delay, row.paused, row.pending, row.leased, list(row.tops)] for row in sieve.groups()),
        "info": {url: sieve.info(url).state for url in urls},
    }


def text(now: float, what: dict[str, object]) -> str:
    """One line per field."""
    lines = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in {"now": now, **what}.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(place: Path) -> None:
    merging.LONGEST_JOURNAL = 200  # some of the seen set in runs, some in the journal
    clock = testing.VirtualClock(START)
    with testing.open(place, clock=clock, secret=SECRET, high_water=100_000) as sieve:
        fill(sieve, clock)
        assert sieve.verify(deep=True) == []
        place.with_suffix(".json").write_text(text(clock.now, found(sieve)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
