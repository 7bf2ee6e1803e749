"""A profile's name and options go in, a compiled program of the kernel comes out: here is which profile has which steps."""

from typing import Final

from urlsieve import _kernel
from urlsieve._kernel import Program, RuleTable
from urlsieve.canon.noise import NAMES, SESSIONS, WIDE
from urlsieve.canon.switches import SWITCHES, switched
from urlsieve.errors import ConfigError

Step = tuple[str, int]
"""A step's name and its bit in the kernel. The order is that of the specification, and of the kernel."""

STEPS: Final[dict[str, tuple[Step, ...]]] = {
    "exact": (),
    "safe": (
        ("percent", _kernel.STEP_PERCENT),
        ("path_session", _kernel.STEP_PATH_SESSION),
        ("empty_query", _kernel.STEP_EMPTY_QUERY),
        ("empty_pieces", _kernel.STEP_EMPTY_PIECES),
        ("noise", _kernel.STEP_NOISE),
        ("query_session", _kernel.STEP_QUERY_SESSION),
        ("sort", _kernel.STEP_SORT),
    ),
}

FOREIGN: Final = {"scrapy": (_kernel.FORM_SCRAPY, 20), "classic": (_kernel.FORM_CLASSIC, 16)}
"""Profiles that are another program's identity: the kernel's form, and the bytes of that program's own digest."""

FRAGMENTS: Final = {"drop": _kernel.FRAGMENT_DROP, "routes": _kernel.FRAGMENT_ROUTES, "keep": _kernel.FRAGMENT_KEEP}


def _lines(*lists: tuple[str, ...]) -> bytes:
    return b"".join(name.encode() + b"\n" for names in lists for name in names)


_NOISE: Final = _lines(NAMES)


def names() -> str:
    return ", ".join(sorted((*STEPS, *FOREIGN, "aggressive")))


def normal(profile: str) -> str:
    """The one spelling of a profile's text: switches in their order, and `aggressive` for all of them. ConfigError if it is none."""
    check(profile, "routes")
    return switched(profile).text


def check(profile: str, fragment: str) -> None:
    """Raises ConfigError for what is not there."""
    base, on = switched(profile)
    if base not in STEPS and base not in FOREIGN:
        raise ConfigError(f"unknown profile {profile!r}; there are {names()}, and safe+SWITCH (as safe+strip_www)")
    if "fragment_drop" in on and fragment == "keep":
        raise ConfigError(f"profile {profile!r} drops the fragment; fragment='keep' needs a profile without fragment_drop")
    if fragment not in FRAGMENTS:
        raise ConfigError(f"unknown fragment={fragment!r}; it is one of {', '.join(FRAGMENTS)}")
    if (profile == "exact" or profile in FOREIGN) and fragment == "keep":
        raise ConfigError(f"profile {profile!r} always drops the fragment; fragment='keep' needs profile 'safe'")


def steps_of(profile: str) -> int:
    """The bits of all steps of a profile."""
    base, on = switched(profile)
    return sum(bit for _, bit in STEPS.get(base, ())) + sum(SWITCHES[name] for name in on)


def noise_of(switches: tuple[str, ...]) -> bytes:
    """The noise names with these switches, as the kernel takes them."""
    if "noise_wide" not in switches and "session_wide" not in switches:
        return _NOISE
    return _lines(NAMES, WIDE if "noise_wide" in switches else (), SESSIONS if "session_wide" in switches else ())


def form_of(profile: str) -> int:
    """Whose form the kernel makes."""
    return FOREIGN[profile][0] if profile in FOREIGN else _kernel.FORM_OURS


def digest_size(profile: str) -> int:
    """Bytes of the other program's digest. ConfigError if there is no other program."""
    if profile not in FOREIGN:
        raise ConfigError(f"profile {profile!r} has no fingerprint of another program; there are {', '.join(FOREIGN)}")
    return FOREIGN[profile][1]


def fragment_mode(profile: str, fragment: str) -> int:
    base, on = switched(profile)
    return FRAGMENTS["drop"] if base == "exact" or base in FOREIGN or "fragment_drop" in on else FRAGMENTS[fragment]


def compile_program(
    steps: int,
    fragment: int,
    secret: bytes,
    traps: tuple[int, int, int] = (0, 0, 0),
    form: int = _kernel.FORM_OURS,
    *,
    switches: tuple[str, ...] = (),
    rules: RuleTable | None = None,
) -> Program:
    return Program(steps=steps, fragment=fragment, noise=noise_of(switches), traps=traps, secret=secret, form=form, rules=rules)
