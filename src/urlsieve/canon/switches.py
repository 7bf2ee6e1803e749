"""A profile's name as text goes in (`safe`, `aggressive`, `safe+strip_www`, `aggressive-https_merge`), what it stands for comes out.

A switch merges more than safe dares; docs/why.md has for each the page it loses. The order below is the normal order in a profile's text.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from urlsieve import _kernel
from urlsieve.errors import ConfigError

SWITCHES: Final[dict[str, int]] = {
    "https_merge": _kernel.STEP_HTTPS,
    "strip_www": _kernel.STEP_WWW,
    "strip_host_dot": _kernel.STEP_HOST_DOT,
    "trailing_slash": _kernel.STEP_SLASH,
    "collapse_slashes": _kernel.STEP_COLLAPSE,
    "drop_index": _kernel.STEP_INDEX,
    "query_plus": _kernel.STEP_PLUS,
    "decode_subdelims": _kernel.STEP_SUBDELIMS,
    "drop_userinfo": _kernel.STEP_USERINFO,
    "drop_blank": _kernel.STEP_BLANK,
    "dedup_pairs": _kernel.STEP_DEDUP,
    "sort_full": _kernel.STEP_SORT_FULL,
    "noise_wide": 0,  # more names for the noise step
    "session_wide": _kernel.STEP_SHORT_SESSION,  # and more names
    "fragment_drop": 0,  # the fragment's mode
}
"""A switch's name and its bit in the kernel."""


class Switched(NamedTuple):
    """`base`: a profile that takes no switches, or "safe"; `on`: the switches, in normal order."""

    base: str
    on: tuple[str, ...]

    @property
    def text(self) -> str:
        """The one spelling of it: what a store binds."""
        if len(self.on) == len(SWITCHES):
            return "aggressive"
        return "+".join((self.base, *self.on))


@lru_cache(maxsize=64)
def switched(profile: str) -> Switched:
    """ConfigError for a switch that is none, or beside a profile that takes none. Whether there is such a base is not looked at."""
    plus = profile.replace("-", "+-").split("+")
    base, changes = plus[0], plus[1:]
    on = set(SWITCHES) if base == "aggressive" else set()
    if changes and base not in ("safe", "aggressive"):
        raise ConfigError(f"profile {profile!r}: only safe and aggressive have switches; write safe+{changes[0].lstrip('-')}")
    for change in changes:
        name = change.lstrip("-")
        if name not in SWITCHES:
            raise ConfigError(f"profile {profile!r}: unknown switch {name!r}{nearest(name, SWITCHES)}; there are {', '.join(SWITCHES)}")
        if change.startswith("-"):
            on.discard(name)
        else:
            on.add(name)
    return Switched("safe" if base == "aggressive" else base, tuple(name for name in SWITCHES if name in on))


def nearest(word: str, words: "dict[str, int] | tuple[str, ...]") -> str:
    """` (did you mean …?)`, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(word, words, 1)
    return f" (did you mean {near[0]}?)" if near else ""
