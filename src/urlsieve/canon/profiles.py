"""A profile's name and options go in, a compiled program of the kernel comes out: here is which profile has which steps."""

from typing import Final

from urlsieve import _kernel
from urlsieve._kernel import Program
from urlsieve.canon.noise import NAMES
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
LATER: Final = ("aggressive", "classic")

FOREIGN: Final = {"scrapy": (_kernel.FORM_SCRAPY, 20)}
"""Profiles that are another program's identity: the kernel's form, and the bytes of that program's own digest."""

FRAGMENTS: Final = {"drop": _kernel.FRAGMENT_DROP, "routes": _kernel.FRAGMENT_ROUTES, "keep": _kernel.FRAGMENT_KEEP}

_NOISE: Final = b"".join(name.encode() + b"\n" for name in NAMES)


def check(profile: str, fragment: str) -> None:
    """Raises ConfigError for what is not there."""
    if profile in LATER:
        raise ConfigError(f"profile {profile!r} is not in this version; there are {', '.join(sorted([*STEPS, *FOREIGN]))}")
    if profile not in STEPS and profile not in FOREIGN:
        raise ConfigError(f"unknown profile {profile!r}; there are {', '.join(sorted([*STEPS, *FOREIGN]))}")
    if fragment not in FRAGMENTS:
        raise ConfigError(f"unknown fragment={fragment!r}; it is one of {', '.join(FRAGMENTS)}")
    if (profile == "exact" or profile in FOREIGN) and fragment == "keep":
        raise ConfigError(f"profile {profile!r} always drops the fragment; fragment='keep' needs profile 'safe'")


def steps_of(profile: str) -> int:
    """The bits of all steps of a profile."""
    return sum(bit for _, bit in STEPS.get(profile, ()))


def form_of(profile: str) -> int:
    """Whose form the kernel makes."""
    return FOREIGN[profile][0] if profile in FOREIGN else _kernel.FORM_OURS


def digest_size(profile: str) -> int:
    """Bytes of the other program's digest. ConfigError if there is no other program."""
    if profile not in FOREIGN:
        raise ConfigError(f"profile {profile!r} has no fingerprint of another program; there are {', '.join(sorted(FOREIGN))}")
    return FOREIGN[profile][1]


def fragment_mode(profile: str, fragment: str) -> int:
    return FRAGMENTS["drop"] if profile == "exact" or profile in FOREIGN else FRAGMENTS[fragment]


def compile_program(
    steps: int, fragment: int, secret: bytes, traps: tuple[int, int, int] = (0, 0, 0), form: int = _kernel.FORM_OURS
) -> Program:
    return Program(steps=steps, fragment=fragment, noise=_NOISE, traps=traps, secret=secret, form=form)
