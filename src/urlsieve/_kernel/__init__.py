"""The native core: bytes go in, canonical forms, keyed fingerprints and verdicts of a set come out. Mechanism only; policy is canon's."""

from urlsieve._kernel._core import (
    FRAGMENT_DROP,
    FRAGMENT_KEEP,
    FRAGMENT_ROUTES,
    STEP_ALWAYS_PARSE,
    STEP_EMPTY_PIECES,
    STEP_EMPTY_QUERY,
    STEP_NOISE,
    STEP_PATH_SESSION,
    STEP_PERCENT,
    STEP_QUERY_SESSION,
    STEP_SORT,
    Batch,
    FingerprintSet,
    LineBatch,
    Program,
    siphash24,
)

__all__ = [
    "FRAGMENT_DROP",
    "FRAGMENT_KEEP",
    "FRAGMENT_ROUTES",
    "STEP_ALWAYS_PARSE",
    "STEP_EMPTY_PIECES",
    "STEP_EMPTY_QUERY",
    "STEP_NOISE",
    "STEP_PATH_SESSION",
    "STEP_PERCENT",
    "STEP_QUERY_SESSION",
    "STEP_SORT",
    "Batch",
    "FingerprintSet",
    "LineBatch",
    "Program",
    "siphash24",
]
