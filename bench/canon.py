"""Canonical form and fingerprint of a crawl-like stream and of a real list go in; our figure, each peer's and the ratio come out.

    python bench/canon.py [--quick]

The peers do what a crawler uses them for: w3lib's canonicalize_url and SHA-1 of it; Scrapy's Request and its fingerprint;
courlan's clean_url; can_ada's parse and href, which canonicalises less and hashes nothing: the price of a WHATWG parse alone, for scale.
"""

import gzip
import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.report import emit, interleaved, machine  # noqa: E402

from urlsieve._kernel import FingerprintSet  # noqa: E402
from urlsieve.canon import Canonicalizer, Rules, fingerprint, registrable_domain  # noqa: E402

REAL = HERE.parent / "tests/cases/data/kasztp_urls.txt.gz"


def stream(lines: int) -> list[str]:
    made = subprocess.run([sys.executable, str(HERE / "urlstream.py"), str(lines)], capture_output=True, check=True)
    return made.stdout.decode().splitlines()


def rate(work: Callable[[], object], urls: int) -> float:
    """URLs per second of one run."""
    began = time.perf_counter()
    work()
    return urls / (time.perf_counter() - began)


def each(function: Callable[[Any], object], arguments: Sequence[Any]) -> Callable[[], None]:
    def work() -> None:
        for argument in arguments:
            function(argument)

    return work


def peers(sample: list[str]) -> dict[str, Callable[[], None]]:
    import can_ada
    import courlan
    from scrapy import Request
    from scrapy.utils.request import fingerprint as scrapy_fingerprint
    from w3lib.url import canonicalize_url

    def scrapy() -> None:
        for request in [Request(url) for url in sample]:  # new ones each time: the function remembers those it has seen
            scrapy_fingerprint(request)

    return {
        "w3lib canonicalize_url + sha1": each(lambda url: hashlib.sha1(canonicalize_url(url).encode()).digest(), sample),
        "Scrapy request fingerprint": scrapy,
        "courlan clean_url": each(courlan.clean_url, sample),
        "can_ada parse": each(lambda url: can_ada.parse(url).href, sample),
    }


def measure(name: str, urls: list[str], *, rounds: int, sample: int) -> None:
    canon = Canonicalizer(secret=1)
    block = "\n".join(urls).encode()
    few = urls[:sample]
    ours: dict[str, Callable[[], object]] = {
        "list": lambda: canon.fingerprints(urls),
        "keys": lambda: canon.canonicalize_many(urls),
        "lines": lambda: canon.lines(block),
    }
    single: dict[str, Callable[[], object]] = {
        "one per call": each(fingerprint, few),
        "one per call, Canonicalizer": each(canon.fingerprint, few),
    }
    cases: dict[str, Callable[[], float]] = {case: lambda work=work: rate(work, len(urls)) for case, work in ours.items()}
    cases |= {case: lambda work=work: rate(work, len(few)) for case, work in [*single.items(), *peers(few).items()]}
    found = interleaved(cases, rounds)
    for case in (*ours, *single):
        for peer in peers([]) if case == "list" else ["w3lib canonicalize_url + sha1"]:
            emit("canon", f"{name}: {case}", ours=found[case], peer=found[peer], peer_name=peer, unit="URLs/s")


def foreign(name: str, urls: list[str], *, rounds: int, sample: int) -> None:
    """Profile scrapy: what w3lib and Scrapy compute, bit for bit, against themselves."""
    canon = Canonicalizer(profile="scrapy", secret=1)
    few = urls[:sample]
    theirs = peers(few)
    ours: dict[str, Callable[[], object]] = {
        "Scrapy's fingerprints": lambda: canon.foreign_fingerprints(urls),
        "our fingerprints of the key": lambda: canon.fingerprints(urls),
        "keys": lambda: canon.canonicalize_many(urls),
    }
    cases: dict[str, Callable[[], float]] = {case: lambda work=work: rate(work, len(urls)) for case, work in ours.items()}
    cases |= {case: lambda work=theirs[case]: rate(work, len(few)) for case in list(theirs)[:2]}
    found = interleaved(cases, rounds)
    for case in ours:
        for peer in list(theirs)[:2]:
            emit("canon", f"{name}, profile scrapy: {case}", ours=found[case], peer=found[peer], peer_name=peer, unit="URLs/s")


def site_rules(hosts: Sequence[str]) -> Rules:
    """One rule for each host; each tenth rewrites paths."""
    rule = '[[site]]\nmatch = "={host}"\ndrop = ["sid", "ref_*"]\n'
    rewrite = "rewrite = [{{ re = '^(/dp/[A-Z0-9]+)/.*$', to = '$1' }}]\nexamples = [['http://{host}/dp/A1/x', 'http://{host}/dp/A1']]\n"
    return Rules.parse("".join((rule + (rewrite if i % 10 == 0 else "")).format(host=host) for i, host in enumerate(hosts)))


def with_rules(name: str, urls: list[str], *, rounds: int) -> None:
    """Profile safe with 500 site rules against itself without: for sites that are not there, for some that are, for the first ones."""
    keys = Canonicalizer().canonicalize_many(urls)
    sites = dict.fromkeys(keys.site(i) for i in range(len(urls)) if keys[i] is not None)
    there = [site for site in sites if registrable_domain(site) is not None and ":" not in site and not site.endswith(".")]
    absent = [f"shop{i}.example{i % 97}.com" for i in range(500)]
    spread = there[:: max(1, len(there) // 250)][:250]
    mixed = [*spread, *absent[: 500 - len(spread)]]
    sets = {"of absent sites": absent, "half of them of its own sites": mixed, "of its first sites": there[:500]}
    plain = Canonicalizer(secret=1)
    cases: dict[str, Callable[[], float]] = {"without": lambda: rate(lambda: plain.fingerprints(urls), len(urls))}
    told = {}
    for case, hosts in sets.items():
        canon = Canonicalizer(secret=1, rules=site_rules(hosts))
        keys = canon.canonicalize_many(urls)
        hits = sum(keys.rule(i)[0] is not None for i in range(len(urls)))
        compiled = canon.rules.compiled() if canon.rules is not None else None
        size = 0 if compiled is None else compiled.table.nbytes
        told[case] = f"500 rules {case} ({hits / len(urls):.0%} of URLs, {size / 1000:.0f} kB)"
        cases[case] = lambda canon=canon: rate(lambda: canon.fingerprints(urls), len(urls))
    found = interleaved(cases, rounds)
    for case, text in told.items():
        emit("canon", f"{name}: {text}", ours=found[case], peer=found["without"], peer_name="without rules", unit="URLs/s")


def filter_path(urls: list[str], rounds: int) -> None:
    """What `uniq` does per block: lines, set, select; the peer is a Python set of the lines as they are, which merges less."""
    block = "\n".join(urls).encode()
    canon = Canonicalizer(secret=1)

    def ours() -> float:
        table = FingerprintSet()
        began = time.perf_counter()
        lines = canon.lines(block)
        lines.select(table.add_many(lines.fingerprints, lines.status))
        return lines.count / (time.perf_counter() - began)

    def python() -> float:
        seen: set[bytes] = set()
        began = time.perf_counter()
        lines = block.split(b"\n")
        b"\n".join([line for line in lines if line not in seen and not seen.add(line)])  # type: ignore[func-returns-value]
        return len(lines) / (time.perf_counter() - began)

    found = interleaved({"ours": ours, "peer": python}, rounds)
    emit("canon", "lines, set, select", ours=found["ours"], peer=found["peer"], peer_name="Python set of raw lines", unit="lines/s")


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    rounds, sample = (3, 3_000) if quick else (9, 20_000)
    machine("canon")
    urls = stream(60_000 if quick else 300_000)
    measure("stream", urls, rounds=rounds, sample=sample)
    with_rules("stream", urls, rounds=rounds)
    foreign("stream", urls, rounds=rounds, sample=sample)
    real = gzip.decompress(REAL.read_bytes()).decode().splitlines()
    measure("real list", real, rounds=rounds, sample=sample)
    with_rules("real list", real, rounds=rounds)
    foreign("real list", real, rounds=rounds, sample=sample)
    filter_path(urls, rounds)


if __name__ == "__main__":
    main()
