"""What is done to a store while the power may go: each a short use of the public interface that meets one protocol of file operations."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from power.recording import SECRET, Diary, content
from urlsieve import Outcome, Rules, opening
from urlsieve.stores.embedded.ledger import Ledger

#: Where the store is, below the folder that is recorded.
STORES = {"create": "new/folders/store"}
GOLDEN = Path(__file__).parents[1] / "golden"


def empty(root: Path) -> None:
    from urlsieve import testing

    with testing.open(root / "store", clock=testing.VirtualClock(1_799_999_000.0), secret=SECRET):
        pass


@dataclass(frozen=True)
class Workload:
    """`prepare` makes what is there before; `run` is recorded. `normal`: the store is opened with durability="normal"."""

    run: Callable[[Diary, Path], None]
    prepare: Callable[[Path], None] = empty
    normal: bool = False


def pages(count: int, start: int = 0) -> list[str]:
    return [f"http://h{number % 7}.example/page/{number}" for number in range(start, start + count)]


def filled(root: Path) -> None:
    """A store with runs, a journal, done and dead URLs, leases; properly closed."""
    from urlsieve import testing

    with testing.open(root / "store", clock=testing.VirtualClock(1_799_999_000.0), secret=SECRET) as sieve:
        for start in range(0, 180, 30):
            sieve.push(pages(30, start))
        leases = sieve.pop(60)
        sieve.done(leases[:40])
        sieve.fail(leases[40:45], "gone", status=404)
        sieve.fail(leases[45:50], "slow")


def create(diary: Diary, root: Path) -> None:
    diary.note(world=None, durable=True)
    with diary.open(root / STORES["create"], secret=SECRET, delay=0.0) as sieve:
        diary.pushed(sieve, pages(5))


def push(diary: Diary, root: Path, **options: Any) -> None:
    for turn in range(3):
        with diary.open(root / "store", secret=SECRET, **options) as sieve:
            for start in range(0, 60, 12):
                diary.pushed(sieve, pages(12, 1000 * turn + start))
            diary.pushed(sieve, pages(20, 1000 * turn + 50))
            sieve.push(pages(10, 1000 * turn), mode="raise", priority=5)


def crawl(diary: Diary, root: Path, **options: Any) -> None:
    with diary.open(root / "store", secret=SECRET, **options) as sieve:
        diary.pushed(sieve, pages(12))
        for turn in range(6):
            leases = diary.popped(sieve, 4)
            if not leases:
                break
            first, *rest = leases
            sieve.done(first, links=pages(8, 100 + 10 * turn))
            if rest:
                sieve.settle([(rest[0], Outcome("fail", reason="gone", status=404))])
                sieve.done(rest[1:2], final_url=f"http://h1.example/final/{turn}")
                sieve.release(rest[2:3])
        sieve.push(pages(3), mode="again")
        diary.popped(sieve, 3)
        sieve.mark(pages(4, 500))
        sieve.mark(pages(4, 600), known=True)


def flush(diary: Diary, root: Path, **options: Any) -> None:
    """The journal becomes a run, three times."""
    with diary.open(root / "store", secret=SECRET, **options) as sieve:
        for start in range(0, 140, 20):
            diary.pushed(sieve, pages(20, start))


def merge(diary: Diary, root: Path, **options: Any) -> None:
    """Runs become one, twice; then all of them."""
    with diary.open(root / "store", secret=SECRET, **options) as sieve:
        for start in range(0, 360, 45):
            diary.pushed(sieve, pages(45, start))
        sieve.forget(pages(30, 20))
        diary.pushed(sieve, pages(45, 1000))
        sieve.compact()
        diary.pushed(sieve, pages(5, 2000))


def pack(diary: Diary, root: Path, **options: Any) -> None:
    with diary.open(root / "store", secret=SECRET, **options) as sieve:
        diary.pushed(sieve, pages(90))
        sieve.done(diary.popped(sieve, 70))
        sieve._store.pack()
        sieve.push(pages(8), mode="again")
        sieve.forget(pages(50, 5))
        sieve._store.pack()
        diary.pushed(sieve, pages(5, 1000))


def forget(diary: Diary, root: Path, **options: Any) -> None:
    with diary.open(root / "store", **options) as sieve:
        sieve.forget(pages(20, 10))
        diary.pushed(sieve, pages(10, 15))
        sieve.forget(pages(40, 100))
        diary.pushed(sieve, pages(45, 1000))
        sieve.compact()
        diary.pushed(sieve, pages(3, 100))


def purge(diary: Diary, root: Path, **options: Any) -> None:
    with diary.open(root / "store", **options) as sieve:
        sieve.purge("h1.example")
        diary.pushed(sieve, ["http://h1.example/again"])
        sieve.purge("h2.example")
        diary.pushed(sieve, pages(45, 1000))
        sieve.compact()
        sieve.purge("h3.example")


RULES = """
[[site]]
match = "h{site}.example"
drop = ["sid"]
"""


def with_parameters(root: Path) -> None:
    from urlsieve import testing

    with testing.open(root / "store", clock=testing.VirtualClock(1_799_999_000.0), secret=SECRET) as sieve:
        for sid in range(4):
            sieve.push([f"{url}?sid={sid}" for url in pages(30)])
        sieve.done(sieve.pop(20))


def rules(diary: Diary, root: Path, **options: Any) -> None:
    with diary.open(root / "store", **options) as sieve:
        for site in (1, 2, 3):
            sieve.apply_rules(Rules.parse("".join(RULES.format(site=number) for number in range(site + 1))), by="Ann")
            diary.note(step=site)
            sieve.push([f"{url}?sid=9" for url in pages(20)])
        sieve.suspend_rule("h1.example", by="Bob")
        sieve.push([f"{url}?sid=1" for url in pages(10)])
        sieve.apply_rules(None, by="Ann")


def imported(diary: Diary, root: Path, **options: Any) -> None:
    with diary.open(root / "store", **options) as sieve:
        for start in range(0, 250, 50):
            sieve.import_fingerprints("md5", [number.to_bytes(16, "big") for number in range(start, start + 50)], name="old")
        sieve.import_fingerprints("md5", [number.to_bytes(16, "little") for number in range(1, 20)], name="other")
        sieve.drop_imported("old")
        diary.pushed(sieve, pages(5, 1000))
        sieve.drop_imported("other")


def backup(diary: Diary, root: Path) -> None:
    with diary.open(root / "store") as sieve:
        diary.pushed(sieve, pages(5, 1000))
        diary.note(copy="copy", whole=False)
        sieve.backup(root / "copy")
        diary.note(copy="copy", whole=True, world=diary.last)
        diary.pushed(sieve, pages(5, 2000))


def backed_up(root: Path) -> None:
    from urlsieve import testing

    filled(root)
    with testing.open(root / "store", clock=testing.VirtualClock(1_799_999_000.0)) as sieve:
        sieve.backup(root / "copy")
        sieve.push(pages(60, 1000))


def content_at(place: Path) -> dict[str, Any]:
    from urlsieve import testing

    with testing.open(place, clock=testing.VirtualClock(1_799_999_000.0), create=False) as sieve:
        return content(sieve._store._ledger)


def restore_over(diary: Diary, root: Path) -> None:
    with diary.open(root / "store") as sieve:
        diary.pushed(sieve, pages(5, 2000))
    _restore(diary, root, root / "store")


def restore_new(diary: Diary, root: Path) -> None:
    diary.note(world=None, durable=True)
    _restore(diary, root, root / "store")


def _restore(diary: Diary, root: Path, place: Path) -> None:
    opening.restore(root / "copy", place, force=True)
    with diary.open(place) as sieve:
        diary.world(content(sieve._store._ledger), durable=True)
        diary.pushed(sieve, pages(5, 3000))


def only_a_copy(root: Path) -> None:
    backed_up(root)
    shutil.rmtree(root / "store")


def upgrade(diary: Diary, root: Path) -> None:
    opening.upgrade(root / "store")
    with diary.open(root / "store") as sieve:
        diary.pushed(sieve, pages(5, 2000))


def rekey(diary: Diary, root: Path) -> None:
    """While another pushes and settles."""
    with diary.open(root / "store") as sieve:
        leases = diary.popped(sieve, 6)

        def meanwhile(done: int) -> None:
            if leases:  # once: at its end it has the store for itself
                diary.pushed(sieve, pages(5, 2000))
                sieve.done(leases)
                leases.clear()

        opening.rekey(root / "store", secret=SECRET + 1, progress=meanwhile)
        diary.note(rekeyed=True)
    with diary.open(root / "store") as sieve:
        found = content(sieve._store._ledger)
        diary.world(found, durable=True)
        assert SECRET + 1 == sieve._store.header.secret
        diary.pushed(sieve, pages(5, 3000))


def packed(root: Path) -> None:
    from urlsieve import testing

    filled(root)
    with testing.open(root / "store", clock=testing.VirtualClock(1_799_999_000.0)) as sieve:
        sieve._store.pack()
        sieve.mark(pages(5, 4000), known=True)


def golden(name: str) -> Callable[[Path], None]:
    def prepare(root: Path) -> None:
        shutil.copytree(GOLDEN / name, root / "store")

    return prepare


def normally(run: Callable[..., None]) -> Callable[[Diary, Path], None]:
    return lambda diary, root: run(diary, root, durability="normal")


ALL: dict[str, Workload] = {
    "create": Workload(create, lambda root: None),
    "push": Workload(push),
    "crawl": Workload(crawl),
    "flush": Workload(flush),
    "merge": Workload(merge),
    "pack": Workload(pack),
    "forget": Workload(forget, filled),
    "purge": Workload(purge, filled),
    "rules": Workload(rules, with_parameters),
    "imported": Workload(imported, filled),
    "backup": Workload(backup, filled),
    "restore over a store": Workload(restore_over, backed_up),
    "restore": Workload(restore_new, only_a_copy),
    "rekey": Workload(rekey, packed),
    "upgrade from schema 1": Workload(upgrade, golden("embedded-1")),
    "upgrade from schema 2": Workload(upgrade, golden("embedded-2")),
    **{
        f"{run.__name__}, normal": Workload(normally(run), prepare, normal=True)
        for run, prepare in (
            (push, empty),
            (crawl, empty),
            (merge, empty),
            (pack, empty),
            (forget, filled),
            (rules, with_parameters),
            (imported, filled),
        )
    },
}

__all__ = ["ALL", "Ledger", "Workload"]
