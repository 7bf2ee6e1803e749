"""A key and its depth go in; whether a job wants it at all, by its rules' scope, comes out. The limits are data for whoever counts."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import final

from urlsieve._kernel import glob_matches
from urlsieve.canon import spelling
from urlsieve.canon.rulevalues import Bounds, Rule
from urlsieve.model import Budget

_NO_BOUNDS = Bounds()


@final
class Scope:
    """`[scope]` of a job, and each rule's own: its hosts, paths, extensions and depth can only narrow the job's; its limits replace the
    job's one by one."""

    def __init__(self, job: Bounds, rules: Sequence[Rule] = ()) -> None:
        self.job = job
        self._by_host: dict[str, list[Rule]] = {}
        for rule in rules:
            if rule.scope is not None and rule.suspended is None:
                self._by_host.setdefault(rule.host, []).append(rule)
        every = [job, *(rule.scope for those in self._by_host.values() for rule in those if rule.scope is not None)]
        self._host_of = lru_cache(maxsize=65_536)(self._of_host)
        self.narrows = any(replace(bounds, limits=(), traps=()) != _NO_BOUNDS for bounds in every)
        """Whether there is anything that `verdict` refuses."""
        own = [rule for those in self._by_host.values() for rule in those if rule.scope is not None and rule.scope.limits]
        self._limited = [*job.limits, *(pair for rule in own if rule.scope is not None for pair in rule.scope.limits)]
        self.limits_any = bool(self._limited)
        """Whether there is any limit."""
        self.meters = any(budget.pages is not None or budget.bytes is not None for _, budget in self._limited)
        """Whether pages or bytes are limited."""
        self.wide = any(unit in ("job", "day") for unit, _ in self._limited)
        """Whether the job or its day has a limit."""
        self.has_own = bool(own)
        """Whether a rule has limits of its own."""
        self.for_all = {} if own else {unit: budget for unit, budget in job.limits if unit in ("job", "day")}
        """Limits of job and day that are the same for every URL."""
        self._uneven = [rule for rule in own if rule.path is not None]

    def verdict(self, key: str, depth: int = 0) -> str | None:
        """None: in scope; "scope": the job does not want this host, path or extension; "rule": the site's own rule does not; "depth":
        too many links from a start."""
        if not self.narrows:
            return None
        host, path = _parts(key)
        wanted, rules = self._host_of(host)
        if not wanted or not _path_in(self.job, path):
            return "scope"
        own = _first(rules, path)
        if own is not None and not _path_in(own, path):
            return "rule"
        return (
            "depth" if any(bounds is not None and bounds.depth is not None and depth > bounds.depth for bounds in (self.job, own)) else None
        )

    def limits(self, key: str) -> dict[str, Budget]:
        """Unit (site, domain, job, day) to its budget, for a key."""
        host, path = _parts(key)
        found = dict(self.job.limits)
        own = _first(self._host_of(host)[1], path)
        for unit, budget in own.limits if own is not None else ():
            found[unit] = _over(found.get(unit, Budget()), budget)
        return found

    def is_uniform(self, site: str) -> bool:
        """Whether all URLs of a site (host[:port]) have the same limits."""
        host = _parts(f"http://{site}/")[0]
        return not any(rule.covers(host) for rule in self._uneven)

    def _of_host(self, host: str) -> tuple[bool, tuple[Rule, ...]]:
        """Whether the job wants it, and the rules with a scope that cover it, the more specific first."""
        covering = [rule for above in spelling.and_parents(host) for rule in self._by_host.get(above, ()) if rule.covers(host)]
        covering.sort(key=lambda rule: (-len(rule.host), not rule.exact, rule.path is None, -len(rule.path or "")))
        return _host_in(self.job, host), tuple(covering)


def _first(rules: tuple[Rule, ...], path: str) -> Bounds | None:
    """The scope of the most specific rule that covers the path."""
    return next((rule.scope for rule in rules if rule.path is None or _glob(rule.path, path)), None)


def _over(job: Budget, own: Budget) -> Budget:
    return Budget(*(getattr(job if getattr(own, key) is None else own, key) for key in Budget.__slots__))


def _parts(key: str) -> tuple[str, str]:
    """Host without port, and path, of a canonical form."""
    rest = key.partition("://")[2].partition("#")[0].partition("?")[0]
    authority, slash, path = rest.partition("/")
    site = authority.rpartition("@")[2]
    host = site.partition("]")[0] + "]" if site.startswith("[") else site.partition(":")[0]
    return host, slash + path


def _host_in(bounds: Bounds, host: str) -> bool:
    names = list(spelling.and_parents(host))
    if bounds.include_hosts and not _named(bounds.include_hosts, host, names):
        return False
    return not _named(bounds.exclude_hosts, host, names)


def _named(matches: tuple[str, ...], host: str, names: list[str]) -> bool:
    return "=" + host in matches or any(name in matches for name in names)


def _path_in(bounds: Bounds, path: str) -> bool:
    if bounds.include_paths and not any(_glob(glob, path) for glob in bounds.include_paths):
        return False
    if any(_glob(glob, path) for glob in bounds.exclude_paths):
        return False
    extension = _extension(path)
    if bounds.include_extensions and extension not in bounds.include_extensions:
        return False
    return extension not in bounds.exclude_extensions


def _extension(path: str) -> str:
    """In lower case; "" where the last segment has none."""
    name = path.rpartition("/")[2].partition(";")[0]
    stem, dot, extension = name.rpartition(".")
    return extension.lower() if dot and stem and extension.isalnum() and len(extension) <= 8 else ""


def _glob(glob: str, path: str) -> bool:
    return glob_matches(glob.encode(), path.encode())
