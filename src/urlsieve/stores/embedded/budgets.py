"""What of sites, domains, job and day is used up, counted in the ledger; offers judged by it, settled pages added to it, and who sleeps
because of it. A store whose rules never had limits has none of these tables and counts nothing.

`used` has a row for every site from the moment when limits came (`begin`); a domain's count is the sum over its sites. The job's URLs are
the count of accepted ones; its pages and bytes, and all of the day's, are counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from urlsieve.frontier.budget import SPENT, Usage, Used, day_of, refusal
from urlsieve.model import Budget, Change, Policy
from urlsieve.stores.embedded import later, seen
from urlsieve.stores.embedded.groups import load, save
from urlsieve.stores.embedded.ledger import Transaction

DomainOf = Callable[[str], str]


def begin(tx: Transaction, domain_of: DomainOf) -> None:
    """From now on everything is counted. What is there already is, once, by enumeration."""
    if tx.value("budgets"):
        return
    sites = tx.execute("SELECT id, name FROM site").fetchall()
    later.take(tx, "used", len(sites) + 1)
    rows = ((number, domain_of(name), seen.count_of_site(tx, number)) for number, name in sites)
    tx.executemany("INSERT INTO used (site, domain, urls) VALUES (?, ?, ?)", rows)
    tx.count("budgets")


def name_sites(tx: Transaction, sites: Sequence[tuple[int, str]], domain_of: DomainOf) -> None:
    """Sites met for the first time."""
    if tx.value("budgets"):
        upsert = "INSERT INTO used (site, domain, urls) VALUES (?, ?, 0) ON CONFLICT (site) DO UPDATE SET domain = excluded.domain"
        tx.executemany(upsert, [(number, domain_of(name)) for number, name in sites])


def accepted(tx: Transaction, by_site: Mapping[int, int]) -> None:
    """So many more of each site (less: negative). The day's count only grows: nobody knows when a URL that is forgotten came."""
    if not tx.value("budgets"):
        return
    upsert = "INSERT INTO used (site, urls) VALUES (?, ?) ON CONFLICT (site) DO UPDATE SET urls = urls + excluded.urls"
    tx.executemany(upsert, list(by_site.items()))


def forget_site(tx: Transaction, number: int) -> None:
    """Purged: nothing of it is left, so it and its domain have not used it either. The job and its day have."""
    if tx.value("budgets"):
        tx.execute("DELETE FROM used WHERE site = ?", (number,))


def of_today(tx: Transaction, now: float, *, urls: int = 0, pages: int = 0, size: int = 0) -> Used:
    """The day's count after these came. A clock that goes back stays in the day that it had reached."""
    today = day_of(now)
    begun = tx.value("day")
    had = [tx.value(f"day.{name}") if today <= begun else 0 for name in Used._fields]
    new = Used(had[0] + urls, had[1] + pages, had[2] + size)
    if urls or pages or size:
        tx.count("day", max(begun, today) - begun)
        for name, value in zip(Used._fields, new, strict=True):
            tx.count(f"day.{name}", value - tx.value(f"day.{name}"))
    return new


def of_job(tx: Transaction) -> Used:
    return Used(tx.value("accepted"), tx.value("pages"), tx.value("bytes"))


def of_sites(tx: Transaction, numbers: Sequence[int]) -> dict[int, Used]:
    return {row[0]: Used(*row[1:]) for row in tx.rows("SELECT site, urls, pages, bytes FROM used WHERE site IN", numbers)}


def of_domains(tx: Transaction, names: Sequence[str]) -> dict[str, Used]:
    select = "SELECT domain, sum(urls), sum(pages), sum(bytes) FROM used WHERE domain IN"
    return {row[0]: Used(*row[1:]) for row in tx.rows(select, names, "GROUP BY domain")}


def usage(tx: Transaction, sites: Mapping[int, str], domain_of: DomainOf, now: float) -> Usage:
    """sites: id → name."""
    if not tx.value("budgets"):
        return Usage(of_job(tx), Used(), {}, {}, {})
    domains = {name: domain_of(name) for name in sites.values()}
    own = of_sites(tx, list(sites))
    shared = of_domains(tx, list(set(domains.values())))
    return Usage(of_job(tx), of_today(tx, now), {name: own.get(number, Used()) for number, name in sites.items()}, domains, shared)


class Gate:
    """An offer's URLs, judged one after the other: what was let in counts for those after it."""

    def __init__(self, tx: Transaction, sites: Mapping[int, str], domain_of: DomainOf, now: float) -> None:
        self._domains = {number: domain_of(name) for number, name in sites.items()}
        self._sites = of_sites(tx, list(sites))
        self._shared = of_domains(tx, list(set(self._domains.values())))
        self._job, self._day = of_job(tx), of_today(tx, now)

    def refuses(self, site: int, limits: Mapping[str, Budget]) -> str | None:
        used = {"job": self._job, "day": self._day}
        used["site"], used["domain"] = self._sites.get(site, Used()), self._shared.get(self._domains[site], Used())
        return refusal(limits, used)

    def taken(self, site: int) -> None:
        domain = self._domains[site]
        self._sites[site] = self._sites.get(site, Used()).more(urls=1)
        self._shared[domain] = self._shared.get(domain, Used()).more(urls=1)
        self._job, self._day = self._job.more(urls=1), self._day.more(urls=1)


def fetched(tx: Transaction, changes: Iterable[tuple[int, Change]], now: float) -> None:
    """(entry, its change) of what was settled: pages and bytes. Before their texts may go."""
    counted = {entry: change for entry, change in changes if change.pages or change.size}
    if not counted or not tx.value("budgets"):
        return
    by_site: dict[int, tuple[int, int]] = {}
    for entry, fp in tx.rows("SELECT id, fp FROM text WHERE id IN", list(counted)):
        site, change = int.from_bytes(fp[:8], "little", signed=True), counted.pop(entry, None)
        if change is not None:  # chunks repeat their last one
            pages, size = by_site.get(site, (0, 0))
            by_site[site] = pages + change.pages, size + change.size
    upsert = (
        "INSERT INTO used (site, pages, bytes) VALUES (?, ?, ?) "
        "ON CONFLICT (site) DO UPDATE SET pages = pages + excluded.pages, bytes = bytes + excluded.bytes"
    )
    tx.executemany(upsert, [(site, pages, size) for site, (pages, size) in by_site.items()])
    pages, size = (sum(part) for part in zip(*by_site.values(), strict=True))
    tx.count("pages", pages)
    tx.count("bytes", size)
    of_today(tx, now, pages=pages, size=size)


# -- sleepers


def sleep(tx: Transaction, groups: Mapping[int, tuple[str, float]], now: float) -> None:
    """group → (why, until): their turn comes then, as their rows are about to say; `wake` finds them before."""
    if groups:
        later.take(tx, "asleep", len(groups))
        tx.execute("DELETE FROM asleep WHERE until <= ?", (now,))
        tx.executemany(
            "INSERT OR IGNORE INTO asleep (grp, why, until, turn) SELECT id, ?, ?, next_turn FROM grp WHERE id = ?",
            [(why, until, group_id) for group_id, (why, until) in groups.items()],
        )


def wake(tx: Transaction, policy: Policy, now: float) -> None:
    """Other rules: all who sleep for a budget look again."""
    tx.execute("UPDATE held SET due = 0 WHERE state = 2 AND reason GLOB ?", (f"{SPENT}*",))
    if not tx.value("asleep"):
        return
    turns = dict(tx.execute("SELECT grp, turn FROM asleep").fetchall())
    groups = load(tx, turns)
    for number, group in groups.items():
        group.next_turn = min(group.next_turn, turns[number])
    save(tx, groups.values(), policy, now)
    tx.execute("DELETE FROM asleep")
