"""One or two URLs go in; which step did what to them, and whether they are one page's, comes out in sentences."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from urlsieve._kernel import Program
from urlsieve.canon import profiles
from urlsieve.canon.reasons import REASON_OF_CODE
from urlsieve.errors import mask_userinfo

if TYPE_CHECKING:
    from urlsieve.canon.canonicalizer import Canonicalizer


@dataclass(frozen=True, slots=True)
class Step:
    """One step that changed a URL. `after` is None where the URL was rejected."""

    name: str
    before: str
    after: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """same: None for one URL. steps: for each URL those that changed it, in order. keys: for each URL its key, or None."""

    same: bool | None
    steps: tuple[tuple[Step, ...], ...]
    keys: tuple[str | None, ...]
    urls: tuple[str, ...]
    verdict: str

    @property
    def key(self) -> str | None:
        """The first URL's key, or None if it is rejected."""
        return self.keys[0]

    def as_dict(self) -> dict[str, object]:
        """What `explain --json` prints; user info in the steps is masked."""
        return {"same": self.same, "steps": [[_masked(step) for step in steps] for steps in self.steps], "keys": list(self.keys)}

    def __str__(self) -> str:
        lines: list[str] = []
        for url, steps, key in zip(self.urls, self.steps, self.keys, strict=True):
            lines.append(_shown(url))
            for step in steps:
                lines.append(f"  {step.name}: {step.why}")
                if step.after is not None:
                    lines.append(f"    {_shown(step.after)}")
            lines.append(f"  key: {mask_userinfo(key)}" if key is not None else "  no key: rejected")
        lines.append(self.verdict)
        return "\n".join(lines)


def _masked(step: Step) -> dict[str, str | None]:
    after = None if step.after is None else mask_userinfo(step.after)
    return {"name": step.name, "before": mask_userinfo(step.before), "after": after, "why": step.why}


def _shown(url: str) -> str:
    masked = mask_userinfo(url)
    return masked if masked.isprintable() else repr(masked)


def explain(
    canonicalizer: "Canonicalizer", url_a: str | bytes, url_b: str | bytes | None = None, *, base: str | None = None
) -> Explanation:
    """See Canonicalizer.explain."""
    told = [_one(canonicalizer, url, base) for url in ((url_a,) if url_b is None else (url_a, url_b))]
    keys = tuple(key for _, _, key in told)
    same = None if url_b is None else keys[0] is not None and keys[0] == keys[1]
    return Explanation(
        same=same,
        steps=tuple(steps for _, steps, _ in told),
        keys=keys,
        urls=tuple(text for text, _, _ in told),
        verdict=_verdict(keys),
    )


def _one(canonicalizer: "Canonicalizer", url: str | bytes, base: str | None) -> tuple[str, tuple[Step, ...], str | None]:
    """Runs the same kernel with one step more each time, and notes what changes."""
    resolve, href = canonicalizer._against(base)
    text = before = canonicalizer._read(url)
    steps: list[Step] = []
    final = canonicalizer._program.one(url, resolve, href)[0]
    for name, program in _stages(canonicalizer):
        status, _, key, *_ = program.one(url, resolve, href)
        if status and (status == final or name == "limits"):
            reason = REASON_OF_CODE[status] or ""
            steps.append(Step(name, before, None, f"rejected as {reason}: {_REJECTED[reason]}"))
            return text, tuple(steps), None
        after = before if status else key.decode()  # too long only until a later step has dropped something
        if after != before:
            steps.append(Step(name, before, after, _WHY[name](before, after)))
        before = after
    return text, tuple(steps), before


def _stages(canonicalizer: "Canonicalizer") -> Iterator[tuple[str, Program]]:
    """The steps in order, each with the program that does it and all before it."""
    secret, none = bytes(16), (0, 0, 0)
    bits, keep = canonicalizer._steps, profiles.FRAGMENTS["keep"]
    mode = profiles.fragment_mode(canonicalizer.profile, canonicalizer.fragment)
    if canonicalizer.profile in profiles.FOREIGN:
        form = profiles.form_of(canonicalizer.profile)
        yield canonicalizer.profile, profiles.compile_program(bits, mode, secret, none, form)
        yield "limits", profiles.compile_program(bits, mode, secret, canonicalizer.traps or none, form)
        return
    yield "parse", profiles.compile_program(bits, keep, secret, none)
    for name, bit in profiles.STEPS[canonicalizer.profile]:
        bits |= bit
        yield name, profiles.compile_program(bits, keep, secret, none)
    yield "fragment", profiles.compile_program(bits, mode, secret, none)
    yield "limits", profiles.compile_program(bits, mode, secret, canonicalizer.traps or none)


_REJECTED = {
    "empty": "nothing is left once blanks and controls at the ends are stripped",
    "invalid": "the WHATWG parser refuses it (a port above 65535, for example)",
    "scheme": "its scheme is neither http nor https",
    "host": "it has no host, or one that no parser accepts",
    "too_long": "the text or its key is longer than 65,536 bytes",
    "relative": "it has no scheme, and there is no http or https base to resolve it against",
    "trap": "too many segments, equal segments or parameters of one name: a site that makes URLs without end",
}


def _pieces(url: str) -> list[str]:
    return urlsplit(url).query.split("&")


def _dropped(before: str, after: str) -> str:
    gone = Counter(_pieces(before)) - Counter(_pieces(after))
    return ", ".join(piece.partition("=")[0] or "an empty piece" for piece in gone) or "?"


_WHY: dict[str, Callable[[str, str], str]] = {
    "scrapy": lambda b, a: "what w3lib's canonicalize_url, and so Scrapy's duplicate filter, makes of it",
    "parse": lambda b, a: "read as a browser reads it: host in lower case; default port, dot segments and blanks at the ends gone",
    "percent": lambda b, a: "one spelling of percent-encoding: upper-case digits, only what must be encoded is",
    "path_session": lambda b, a: "a Java session id in the path says who asks, not for what",
    "empty_query": lambda b, a: "a ? with nothing behind it asks for nothing",
    "empty_pieces": lambda b, a: "empty pieces between & say nothing",
    "noise": lambda b, a: f"says how a visitor came, not what the page is: {_dropped(b, a)}",
    "query_session": lambda b, a: f"a session id says who asks, not for what: {_dropped(b, a)}",
    "sort": lambda b, a: "parameters sorted by name; those of one name keep their order",
    "fragment": lambda b, a: "a fragment that is no route of a single-page application is never sent to a server",
}


def _verdict(keys: tuple[str | None, ...]) -> str:
    if len(keys) == 1:
        return "accepted" if keys[0] is not None else "rejected"
    a, b = keys
    if a is None or b is None:
        return "not the same: a rejected URL is the same as none"
    if a == b:
        return "the same: both have one key"
    try:
        left, right = urlsplit(a), urlsplit(b)
    except ValueError:  # a key of another program need not be a URL
        return "not the same: their keys differ"
    names = ("scheme", "authority", "path", "query", "fragment")
    different = [name for name, x, y in zip(names, left, right, strict=True) if x != y]
    return f"not the same: they differ in {' and '.join(different) or 'their keys'}"
