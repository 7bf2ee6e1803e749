"""Compares the kernel with other programs on generated URLs, as many as you like: what it says must be what they say, on every input.

    python tests/fuzz/differential.py --against ada --count 10000000 [--seed N]

ada: the WHATWG parser; validity and href of http and https. w3lib: profile scrapy, keys and fingerprints (also Scrapy's). go: profile classic
(needs the Go of the vectors). Exit status: 0 they agree, 1 they do not (the first inputs are printed), 2 the other program is not there.
"""

import argparse
import hashlib
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import canon_urls as plain
import foreign_urls
import go_classic
from urlsieve.canon import Canonicalizer, profiles, whatwg

Answer = tuple[object, object, object]
"""An input, what we say, what they say."""

CHUNK = 20_000
_HEADS = ["http://e.com"] * 8 + ["https://WWW.Example.com:8443/", "http://a-b.c_d.org/", "HTTP://e.com:80", "https://u:p@e.com/", "http://"]
_POOL = [
    *(plain.PLAIN * 6 + plain.PERCENT * 2 + plain.ODD + plain.SESSION + ["/"] * 12 + ["?"] * 4 + ["&", "=", "#"] * 3 + plain.PIECES),
    *("/../", "/./", "/%2e%2E/", "/..", "/.", "//", "\\", ":80", ":443", ":", "@", "xn--", "#!/", "#/", ".", "1", "0x", "[", "]"),
]
_SIZES = range(14)


def tame(chance: random.Random, count: int) -> list[str]:
    """Made fast: a head and a dozen tokens; every eighth has the schemes, hosts and ports that are anything."""
    heads, sizes = chance.choices(_HEADS, k=count), chance.choices(_SIZES, k=count)
    parts = chance.choices(_POOL, k=sum(sizes))
    out, at = [], 0
    for i, (head, size) in enumerate(zip(heads, sizes, strict=True)):
        if i % 8 == 0:
            head = chance.choice(plain.SCHEMES) + chance.choice(plain.HOSTS) + chance.choice(plain.PORTS)
        out.append(head + "".join(parts[at : at + size]))
        at += size
    return out


def _against_ada(seed: int, count: int) -> Iterator[Answer]:
    import ada_url

    program = profiles.compile_program(0, profiles.FRAGMENTS["keep"], bytes(16))
    resolve = whatwg.resolver(None)
    batch = tame(random.Random(seed), count)
    found = program.batch(batch, resolve, None, None, True)
    for i, url in enumerate(batch):
        key = found.key(i)
        try:
            href = ada_url.normalize_url(url)
        except ValueError:
            href = ""
        if not href.startswith(("http:", "https:")):
            href = ""
        if href.endswith("#") and href.index("#") == len(href) - 1:
            href = href[:-1]  # a fragment that is empty is none to us
        yield url, "" if key is None else key.decode(), href


def _against_w3lib(seed: int, count: int) -> Iterator[Answer]:
    from scrapy import Request
    from scrapy.utils.request import fingerprint
    from w3lib.url import canonicalize_url

    canon = Canonicalizer(profile="scrapy")
    texts = foreign_urls.urls(seed, count // 2)
    batches: Sequence[Sequence[str | bytes]] = (texts, foreign_urls.as_bytes(texts, seed))
    for batch in batches:
        keys, digests = canon.canonicalize_many(batch), canon.foreign_fingerprints(batch)
        for i, url in enumerate(batch):
            key: str | None = None
            digest: bytes | None = None
            if keys.reasons[i] not in ("relative", "too_long"):
                try:
                    made = canonicalize_url(url)
                    request = Request(url if isinstance(url, str) else url.decode("utf-8", "percentencode"))
                    key = made
                    digest = fingerprint(request)
                except ValueError:
                    pass
            yield url, (keys[i], digests[i]), (key, digest)


def _against_go(seed: int, count: int) -> Iterator[Answer]:
    canon = Canonicalizer(profile="classic")
    batch = foreign_urls.as_bytes(foreign_urls.urls(seed, count), seed)
    with go_classic.Go() as go:
        forms = go.forms(batch)
    keys, digests = canon.canonicalize_many(batch), canon.foreign_fingerprints(batch)
    for i, (url, form) in enumerate(zip(batch, forms, strict=True)):
        key = keys[i]
        if not go_classic.is_ours_to_refuse(url, keys.reasons[i]):
            digest = None if form is None else hashlib.md5(form).digest()
            yield url, (None if key is None else key.encode(), digests[i]), (form, digest)


_PROGRAMS = {"ada": _against_ada, "w3lib": _against_w3lib, "go": _against_go}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", choices=_PROGRAMS, required=True)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None)
    args = parser.parse_args()
    if args.against == "go" and (reason := go_classic.missing()) is not None:
        print(f"differential: {reason}", file=sys.stderr)
        return 2
    seed = random.randrange(1 << 32) if args.seed is None else args.seed
    done = different = accepted = 0
    began = time.monotonic()
    while done < args.count:
        for url, ours, theirs in _PROGRAMS[args.against](seed + done // CHUNK, min(CHUNK, args.count - done)):
            accepted += bool(theirs if isinstance(theirs, str) else theirs[0])  # type: ignore[index]
            if ours != theirs:
                different += 1
                if different <= 10:
                    print(f"{url!r}\n  ours   {ours!r}\n  theirs {theirs!r}")
        done += CHUNK
    print(
        f"differential: {args.against}, {min(done, args.count):,} inputs of seed {seed} on, {accepted:,} accepted by them,"
        f" {different:,} differ, {time.monotonic() - began:.0f} s"
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
