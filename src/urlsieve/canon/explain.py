"""One or two URLs go in; which step did what to them, and whether they are one page's, comes out in sentences."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from urlsieve.canon import profiles, whatwg
from urlsieve.canon.encodings import in_encoding
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
        shown = [
            [{"name": s.name, "before": mask_userinfo(s.before), "after": s.after and mask_userinfo(s.after), "why": s.why} for s in steps]
            for steps in self.steps
        ]
        return {"same": self.same, "steps": shown, "keys": list(self.keys)}

    def __str__(self) -> str:
        lines: list[str] = []
        for url, steps, key in zip(self.urls, self.steps, self.keys, strict=True):
            lines.append(_shown(url))
            lines += [f"  {step.name}: {step.why}" + (f"\n    {_shown(step.after)}" if step.after is not None else "") for step in steps]
            lines.append(f"  key: {mask_userinfo(key)}" if key is not None else "  no key: rejected")
        lines.append(self.verdict)
        return "\n".join(lines)


def _shown(url: str) -> str:
    masked = mask_userinfo(url)
    return masked if masked.isprintable() else repr(masked)


def explain(canonicalizer: "Canonicalizer", url_a: str | bytes, url_b: str | bytes | None = None, *, base: str | None = None) -> Explanation:
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
    codec = whatwg_codec(canonicalizer)
    text = whatwg.text_of(url) if codec is None else in_encoding(url, codec)
    usable = None if base is None else whatwg.usable_base(base)
    resolve = whatwg.resolver(usable)
    secret = bytes(16)
    mode = profiles.fragment_mode(canonicalizer.profile, canonicalizer.fragment)
    keep = profiles.FRAGMENTS["keep"]
    traps = canonicalizer.traps or (0, 0, 0)
    stages: list[tuple[str, int, int, tuple[int, int, int]]] = [("parse", 0, keep, (0, 0, 0))]
    bits = 0
    for name, bit in profiles.STEPS[canonicalizer.profile]:
        bits |= bit
        stages.append((name, bits, keep, (0, 0, 0)))
    stages.append(("fragment", bits, mode, (0, 0, 0)))
    stages.append(("limits", bits, mode, traps))

    source = url if codec is None else text
    before, steps = text, []
    final = canonicalizer._program.one(source, resolve, usable is not None)[0]
    for name, bits_so_far, fragment, limits in stages:
        program = profiles.compile_program(bits_so_far, fragment, secret, limits)
        status, _, key, *_ = program.one(source, resolve, usable is not None)
        if status and (status == final or name == "limits"):
            reason = REASON_OF_CODE[status] or ""
            steps.append(Step(name, before, None, f"rejected as {reason}: {_REJECTED[reason]}"))
            return text, tuple(steps), None
        after = key.decode("ascii") if not status else before
        if after != before:
            steps.append(Step(name, before, after, _WHY[name](before, after)))
        before = after
    return text, tuple(steps), before


def whatwg_codec(canonicalizer: "Canonicalizer") -> str | None:
    return canonicalizer._encoding


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
    "parse": lambda b, a: "read as a browser reads it: host in lower case, default port, dot segments and blanks gone, odd characters encoded",
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
    left, right = urlsplit(a), urlsplit(b)
    names = ("scheme", "authority", "path", "query", "fragment")
    different = [name for name, x, y in zip(names, left, right, strict=True) if x != y]
    return f"not the same: they differ in {' and '.join(different) or 'their keys'}"
