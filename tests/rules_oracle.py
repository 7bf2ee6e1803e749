"""Site rules and the switches of aggressive once more, in plain Python and for the tests only.

Written from the specification's order of steps: 0-3, the switches of the authority, hosts and https, 4-5, rewrite, path_case, trailing slash,
6 with drop and keep, 7, 8. Regular expressions are Python's. Slow, short, and without a look at the kernel.
"""

import re
from dataclasses import dataclass, field

import canon_oracle
from canon_oracle import Rejected, checked
from urlsieve.canon.noise import NAMES, SESSIONS, WIDE

INDEX = re.compile(r"/(?:index\.(?:html|htm|php|asp|aspx|jsp|shtml|xhtml|cgi)|default\.(?:htm|html|asp|aspx))\Z", re.IGNORECASE)
SUBDELIMS = {"path": "!$&'()*+,;=", "query": "!$()*,;", "fragment": "!$&'()*+,;="}


@dataclass
class Site:
    """A [[site]] as it is written."""

    match: str
    path: str | None = None
    drop: list[str] = field(default_factory=list)
    keep: list[str] | None = None
    hosts: dict[str, str] = field(default_factory=dict)
    https: bool = False
    rewrite: list[tuple[str, str]] = field(default_factory=list)
    fragment: str | None = None
    lower: bool = False
    strip: bool = False
    unsorted: bool = False
    noise: bool = True


def glob(pattern: str, text: str) -> bool:
    parts = re.findall(r"\\[*?\\]|[*?]|[^*?]", pattern)
    return re.fullmatch("".join({"*": ".*", "?": "."}.get(part) or re.escape(part.removeprefix("\\")) for part in parts), text) is not None


def select(sites: list[Site], host: str, path: str) -> Site | None:
    best = None
    for site in sites:
        name = site.match.removeprefix("=")
        exact = site.match.startswith("=")
        if host != name and (exact or not host.endswith("." + name)):
            continue
        if site.path is not None and not glob(site.path, path):
            continue
        wild = (site.path or "").count("*") + (site.path or "").count("?")
        rank = (len(name), exact, site.path is not None, len(site.path or ""), -wild, [-ord(c) for c in site.path or ""])
        if best is None or rank > best[0]:
            best = (rank, site)
    return None if best is None else best[1]


def target(site: Site, name: str) -> str:
    while name in site.hosts:
        name = site.hosts[name]
    return name


def subdelims(part: str, where: str, on: set[str]) -> str:
    if "decode_subdelims" not in on:
        return part
    return re.sub("%([0-9A-F]{2})", lambda m: c if (c := chr(int(m[1], 16))) in SUBDELIMS[where] else m[0], part)


def spelled_path(path: str, on: set[str]) -> str:
    """2 (dot segments), 4 and 5; the parser is asked for dot segments."""
    path = canon_oracle.href("http://h" + ("" if path.startswith("/") else "/") + path).removeprefix("http://h")
    path = subdelims(canon_oracle.percent(path), "path", on)
    least = 1 if "session_wide" in on else 8
    segments = []
    for segment in path.split("/"):
        left = re.sub(rf";jsessionid=[0-9A-Za-z.!_$*-]{{{least},}}(?=;|$)", "", segment, flags=re.IGNORECASE)
        segments.append(segment if left in (".", "..") else left)
    return "/".join(segments)


def tidy(path: str, on: set[str]) -> str:
    if "collapse_slashes" in on:
        path = re.sub("//+", "/", path)
    while True:
        before = path
        if "drop_index" in on:
            path = INDEX.sub("/", path)
        if "trailing_slash" in on and len(path) > 1 and path.endswith("/") and not path.endswith("//"):
            path = path[:-1]
        if path == before:
            return path


def change(site: Site, path: str, on: set[str]) -> str:
    for pattern, to in site.rewrite:
        if len(path) > 4096:
            continue
        found = re.search(pattern, path)
        if found:
            made = re.sub(r"\$([0-9$])", lambda m, found=found: "$" if m[1] == "$" else found[int(m[1])] or "", to)
            path = spelled_path(path[: found.start()] + made + path[found.end() :], on)
    if site.lower:
        path = re.sub("%[0-9A-Fa-f]{2}|[A-Z]", lambda m: m[0] if m[0].startswith("%") else m[0].lower(), path)
    return tidy(path, on | ({"trailing_slash"} if site.strip else set()))


def query_of(query: str, site: Site | None, on: set[str]) -> str:
    if "=" not in query:
        return query
    noise = set(NAMES) | set(WIDE if "noise_wide" in on else ()) | set(SESSIONS if "session_wide" in on else ())
    pieces = []
    for piece in query.split("&"):
        name, _, value = piece.partition("=")
        gone = not piece or (name.lower() in noise and (site is None or site.noise)) or canon_oracle.SESSION_PIECE.fullmatch(piece)
        gone = gone or ("drop_blank" in on and not value)
        gone = gone or (site is not None and any(glob(one, name) for one in site.drop))
        gone = gone or (site is not None and site.keep is not None and not any(glob(one, name) for one in site.keep))
        if not gone and not ("dedup_pairs" in on and piece in pieces):
            pieces.append(piece)
    if site is None or not site.unsorted:
        if "sort_full" in on:
            pieces.sort(key=lambda piece: (piece.partition("=")[0].encode(), piece.encode()))
        elif all("=" in piece for piece in pieces):
            pieces.sort(key=lambda piece: piece.partition("=")[0].encode())
    return "&".join(pieces)


def canonical(text: str, sites: list[Site], *, on: set[str] = frozenset(), fragment: str = "routes") -> tuple[str, str, str]:
    """(key, its site, the site as found). Raises Rejected as canon_oracle.canonical does."""
    if len(text.encode()) > canon_oracle.LIMIT:
        raise Rejected("too_long")
    url, _, frag = canon_oracle.parse(text, None).partition("#")
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    user, at, found = authority.rpartition("@")
    if "drop_userinfo" in on:
        user, at = "", ""
    scheme, host, port = head(scheme, found, on)
    path = tidy(spelled_path(slash + path, on), on)
    site = select(sites, host, path)
    if site is not None:
        host, _, port = split_site(target(site, host + port))
        if site.https and scheme == "http" and not port:
            scheme = "https"
        changed = change(site, path, on)
        if select(sites, host, changed) is site and change(site, changed, on) == changed:
            path = changed
    if "query_plus" in on:
        query = query.replace("+", "%20")
    query = query_of(subdelims(canon_oracle.percent(query), "query", on), site, on)
    fragment = "drop" if "fragment_drop" in on else fragment
    fragment = (site and site.fragment) or fragment
    keep = fragment == "keep" or (fragment == "routes" and frag[:1] in ("!", "/") and frag not in ("!", "/", "!/"))
    frag = subdelims(canon_oracle.percent(frag), "fragment", on) if frag and keep else ""
    key = f"{scheme}://{user}{at}{host}{port}{path}{'?' if query else ''}{query}{'#' if frag else ''}{frag}"
    return checked(key), host + port, found


def split_site(site: str) -> tuple[str, str, str]:
    match = re.fullmatch(r"(\[.*\]|[^:]*)(:\d+)?", site)
    return match[1], "", match[2] or ""


def head(scheme: str, site: str, on: set[str]) -> tuple[str, str, str]:
    host, _, port = split_site(site)
    if "strip_host_dot" in on and re.search(r"[^.]\.\Z", host):
        host = host[:-1]
    while "strip_www" in on and re.fullmatch(r"www\.[^.].*\..+|www\.[^.]*\..+", host) and host[4:5] != "." and "." in host[4:-1]:
        host = host[4:]
    if "https_merge" in on and scheme == "http" and not port:
        scheme = "https"
    return scheme, host, port
