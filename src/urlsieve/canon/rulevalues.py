"""Site rules as values: what a file of rules says, checked for its types; nothing is done here."""

from dataclasses import dataclass, replace

from urlsieve.model import Budget

CONFIRMABLE = ("hosts", "https", "path_case")
"""Keys that merge whole sites or paths: without `confirmed` they are proposed, not applied."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The first match of `re` in the path becomes `to`, in which $1 … $9 are its groups, $0 all of it and $$ a dollar."""

    re: str
    to: str


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Who looked, when (an ISO date), and on what evidence."""

    by: str
    at: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is in scope, of a job or of one rule's sites. Empty tuples and None: no limit. Extensions are without dot; "" is none."""

    include_hosts: tuple[str, ...] = ()
    exclude_hosts: tuple[str, ...] = ()
    include_paths: tuple[str, ...] = ()
    exclude_paths: tuple[str, ...] = ()
    include_extensions: tuple[str, ...] = ()
    exclude_extensions: tuple[str, ...] = ()
    depth: int | None = None
    limits: tuple[tuple[str, Budget], ...] = ()  # site, domain, job, day; in this order
    traps: tuple[tuple[str, int], ...] = ()  # segments, repeats, names: at most so many in a URL; in this order; 0: any number


@dataclass(frozen=True, slots=True)
class Rule:
    """One `[[site]]`. None and empty: the key is not there, and the profile's own way holds."""

    match: str
    line: int
    path: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    hosts: tuple[tuple[str, str], ...] = ()
    https: str | None = None
    rewrite: tuple[Rewrite, ...] = ()
    fragment: str | None = None
    path_case: str | None = None
    trailing_slash: str | None = None
    sort: str | None = None
    noise: bool = True
    confirmed: Confirmed | None = None
    suspended: Confirmed | None = None
    examples: tuple[tuple[str, str], ...] = ()
    scope: Bounds | None = None

    @property
    def host(self) -> str:
        return self.match.removeprefix("=")

    @property
    def exact(self) -> bool:
        return self.match.startswith("=")

    @property
    def name(self) -> str:
        """As it is called in messages."""
        return self.match if self.path is None else f"{self.match} {self.path}"

    @property
    def proposed(self) -> tuple[str, ...]:
        """The keys that wait for somebody to confirm them."""
        return () if self.confirmed is not None else self.merges

    @property
    def merges(self) -> tuple[str, ...]:
        """The keys that somebody has confirmed, or has to."""
        return tuple(key for key in CONFIRMABLE if getattr(self, key))

    @property
    def applied(self) -> "Rule":
        """The rule without what is only proposed."""
        return replace(self, hosts=(), https=None, path_case=None) if self.proposed else self

    def covers(self, host: str) -> bool:
        """Is this host (without a port) one that the rule's match names?"""
        return host == self.host or (not self.exact and host.endswith("." + self.host))


def order_of(rule: Rule) -> tuple[str, bool, bool, int, int, str]:
    """How the rules stand in the kernel's table: by host, then the more specific first."""
    path = rule.path
    return (rule.host, not rule.exact, path is None, -len(path or ""), (path or "").count("*") + (path or "").count("?"), path or "")
