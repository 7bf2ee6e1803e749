"""A step and what it made of a URL go in, the sentence that says why comes out."""

from collections import Counter
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from urlsieve.canon.rulevalues import Rule

REJECTED: Final = {
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


_SAFE: Final[dict[str, Callable[[str, str], str]]] = {
    "classic": lambda b, a: "sorted, cut and lowered as small crawlers do, which also merges pages that differ",
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
_SWITCHES: Final[dict[str, Callable[[str, str], str]]] = {
    "https_merge": lambda b, a: "switch: http on its default port is taken for https",
    "strip_www": lambda b, a: "switch: www. is taken for the name below it",
    "strip_host_dot": lambda b, a: "switch: the host's final dot is dropped",
    "trailing_slash": lambda b, a: "switch: one trailing slash is dropped",
    "collapse_slashes": lambda b, a: "switch: several slashes are taken for one",
    "drop_index": lambda b, a: "switch: an index file is taken for its folder",
    "query_plus": lambda b, a: "switch: + in the query is taken for %20",
    "decode_subdelims": lambda b, a: "switch: delimiters are decoded where they delimit nothing",
    "drop_userinfo": lambda b, a: "switch: user and password are dropped",
    "drop_blank": lambda b, a: f"switch: parameters without a value are dropped: {_dropped(b, a)}",
    "dedup_pairs": lambda b, a: "switch: of equal pairs the first stays",
    "sort_full": lambda b, a: "switch: parameters sorted by name and value",
    "noise_wide": lambda b, a: f"switch: names that are noise on most sites: {_dropped(b, a)}",
    "session_wide": lambda b, a: "switch: names of sessions with any value are dropped",
}
WHY: Final = _SAFE | _SWITCHES


def why_of_rule(key: str, rule: Rule, before: str, after: str) -> str:
    """Why a site rule's key changed the URL."""
    if key == "hosts":
        return f"this site is known to show the pages of {urlsplit(after).netloc.rpartition('@')[2]}"
    if key == "drop":
        return f"these parameters do not choose the page here: {_dropped(before, after)}"
    if key == "keep":
        return f"only {', '.join(rule.keep or ()) or 'no parameter'} may choose the page here; dropped: {_dropped(before, after)}"
    if key == "rewrite":
        return f"the path is rewritten by {' and then '.join(one.re for one in rule.rewrite)}"
    if key == "fragment":
        return f"the fragment's mode is {rule.fragment} here"
    return {
        "https": "http and https are known to show the same pages here",
        "path_case": "capital and small letters of a path are known to mean the same here",
        "trailing_slash": "a path with and without its last slash mean the same here",
    }[key]


def verdict(keys: tuple[str | None, ...]) -> str:
    """The last line of an explanation."""
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
