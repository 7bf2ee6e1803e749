"""`python -m bench WHAT [--quick]`: runs one benchmark; every result is one JSON line on standard output."""

import runpy
import sys

BENCHES = {
    "canon": "canonical form and fingerprint against w3lib, Scrapy, courlan and can_ada",
    "uniq": "`urlsieve uniq` against sort -u, mawk and a Python set",
    "embedded": "the embedded store against plain SQLite",
    "scrapy_door": "Scrapy on the embedded store against Scrapy in memory",
    "redis": "the Redis store against scrapy-redis",
    "text": "texts of done URLs in the embedded store against rows of SQLite, in bytes per URL",
    "seen": "check-and-add of fingerprints against SQLite, LMDB, RocksDB, a set and a Bloom filter",
    "runs": "the kernel's map and sorted runs against a dict and a SQLite B-tree",
}


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in BENCHES:
        lines = [f"  {name:13}{what}" for name, what in BENCHES.items()]
        print("usage: ./dev bench WHAT [--quick]\n" + "\n".join(lines), file=sys.stderr)
        return 0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2
    name = sys.argv.pop(1)
    sys.argv[0] = f"bench {name}"
    runpy.run_module(f"bench.{name}", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
