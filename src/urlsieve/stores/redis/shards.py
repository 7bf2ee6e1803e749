"""A site's or group's name in, the shard that has everything of its registrable domain out; a batch of offers in, a part per shard out."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

from urlsieve.errors import ConfigError
from urlsieve.model import OfferRow, Offers
from urlsieve.stores.redis import pack
from urlsieve.stores.redis.wire import Argument

#: URLs in one call of a script: none keeps the server from others for long.
MOST_AT_ONCE = 1000
#: In a part: the position (from 1) of a URL and an earlier fingerprint of it, and of one that was seen elsewhere.
EARLIER, ELSEWHERE = struct.Struct("<H16s"), struct.Struct("<H")
#: Names and site halves remembered with their shard.
MOST_REMEMBERED = 65_536


class Part(NamedTuple):
    """Offers of one shard: their positions in the batch, fingerprints, names by hash, and what was pushed of each; packed, the earlier
    fingerprints and which were seen elsewhere: nearly always none."""

    shard: int
    positions: Sequence[int]
    fingerprints: bytes
    names: dict[bytes, bytes]
    bodies: list[bytes]
    others: tuple[bytes, ...] = ()

    def arguments(self) -> list[Argument]:
        """As the scripts take them: fingerprints come before these where they must."""
        flat: list[Argument] = [len(self.names)]
        for half, name in self.names.items():
            flat += (half, name)
        return [*flat, *self.bodies, *self.others]


class Shards:
    """Which of `count` shards: by keyed hash of the registrable domain, the same for every worker and for ever."""

    def __init__(self, job: str, count: int, secret: int, domain_of: Callable[[str], str]) -> None:
        self.count = count
        self.domain_of = domain_of
        self.reckons = False  # new sites are told with their domains
        self._key = secret.to_bytes(16, "little")
        self.keys = [f"urlsieve:{{{job}:s{number}}}:" for number in range(count)]
        self._by_name: dict[str, int] = {}
        self._by_half: dict[bytes, int] = {}

    def of(self, name: str) -> int:
        """A site or group."""
        if self.count == 1:
            return 0
        found = self._by_name.get(name)
        if found is None:
            digest = hashlib.blake2b(self.domain_of(name).encode("utf-8", "surrogatepass"), digest_size=8, key=self._key).digest()
            found = int.from_bytes(digest, "little") % self.count
            if len(self._by_name) >= MOST_REMEMBERED:
                self._by_name = {}
            self._by_name[name] = found
        return found

    def domains(self, sites: Mapping[bytes, str]) -> dict[bytes, bytes]:
        """half → name of sites in; their domains as further names out, where anybody counts by them."""
        return {half + b"d": self.domain_of(name).encode() for half, name in sites.items()} if self.reckons else {}

    def check(self, site: str, group: str) -> None:
        """A group of another registrable domain would be in another shard than its URL: ConfigError."""
        if self.count == 1 or site == group or self.domain_of(site) == self.domain_of(group):
            return
        raise ConfigError(
            f"the group {group!r} is of another registrable domain than the site {site!r} of its URL: on a store of {self.count} shards "
            "they would lie apart; name a group of the same domain, or make the job with shards=1 in its address"
        )

    def of_offers(self, offers: Offers) -> dict[int, list[int]]:
        """Positions by shard, each in order."""
        prints = offers.fingerprints
        many = len(prints) // 16
        if self.count == 1:
            return {0: list(range(many))} if many else {}
        halves = [prints[at : at + 8] for at in range(0, len(prints), 16)]
        by_half = self._by_half
        missing = [i for i, half in enumerate(halves) if half not in by_half]
        if missing:
            if len(by_half) + len(missing) > MOST_REMEMBERED:
                by_half = self._by_half = {}
                missing = list(range(many))
            for i, name in zip(missing, sites_of(offers, missing), strict=True):
                by_half[halves[i]] = self.of(name)
        found: dict[int, list[int]] = {}
        for i, half in enumerate(halves):
            found.setdefault(by_half[half], []).append(i)
        return found

    def parts(self, offers: Offers, *, texts: bool = True) -> Iterable[Part]:
        """All offers, at most MOST_AT_ONCE in a part. Not `texts`: only the sites' names. Made as they are asked for, where nothing in
        them can be refused; else all, before the first is sent."""
        made = (
            self.whole(offers, shard, positions[at : at + MOST_AT_ONCE], texts)
            for shard, positions in self.of_offers(offers).items()
            for at in range(0, len(positions), MOST_AT_ONCE)
        )
        return made if self._irrefusable(offers) else list(made)

    def some(self, offers: Offers, stretches: Iterable[tuple[int, Sequence[int]]]) -> list[Part]:
        """The offers of these stretches (shard, positions), with as few parts as may be."""
        by_shard: dict[int, list[int]] = {}
        for shard, positions in stretches:
            by_shard.setdefault(shard, []).extend(positions)
        return [
            self.whole(offers, shard, positions[at : at + MOST_AT_ONCE], True)
            for shard, positions in by_shard.items()
            for at in range(0, len(positions), MOST_AT_ONCE)
        ]

    def _irrefusable(self, offers: Offers) -> bool:
        """Every URL is a group of its own site, all of them or none: then no group can be of another domain."""
        if offers.columns is None or not offers.fingerprints:
            return False
        first = offers.columns([0])
        return first.group is first.site

    def whole(self, offers: Offers, shard: int, at: Sequence[int], texts: bool) -> Part:
        """With what its URLs were called before. Under earlier rules they were of the same registrable domain, so in the same shard."""
        part = self._part(offers, shard, at, texts)
        if self.reckons:
            halves = {part.fingerprints[at : at + 8] for at in range(0, len(part.fingerprints), 16)}
            part.names.update(self.domains({half: part.names[half].decode() for half in halves}))
        if not offers.earlier and not offers.elsewhere:
            return part
        earlier = b"".join(EARLIER.pack(j, name.fingerprint) for j, i in enumerate(at, 1) for name in offers.earlier.get(i, ()))
        elsewhere = b"".join(ELSEWHERE.pack(j) for j, i in enumerate(at, 1) if i in offers.elsewhere)
        return part._replace(others=(earlier, elsewhere)) if earlier or elsewhere else part

    def _part(self, offers: Offers, shard: int, at: Sequence[int], texts: bool) -> Part:
        prints = offers.fingerprints
        keys = [prints[16 * i : 16 * i + 16] for i in at]
        block = b"".join(keys)
        if not texts:
            names = {key[:8]: name.encode() for key, name in zip(keys, sites_of(offers, at), strict=True)}
            return Part(shard, at, block, names, [b""] * len(keys))
        if offers.columns is not None:
            return self._alike(offers, shard, at, keys, block)
        rows = offers.rows(at)
        names = {}
        for key, row in zip(keys, rows, strict=True):
            self.check(row.site, row.group)
            names[key[:8]] = row.site.encode()
            names[pack.half_of(row.group_id)] = row.group.encode()
        return Part(shard, at, block, names, [body_of(key, row) for key, row in zip(keys, rows, strict=True)])

    def _alike(self, offers: Offers, shard: int, at: Sequence[int], keys: list[bytes], block: bytes) -> Part:
        """Rows that differ in site, group and URL only."""
        assert offers.columns is not None
        c = offers.columns(at)
        names = {key[:8]: name for key, name in zip(keys, c.site, strict=True)}
        ids = struct.pack(f"<{len(keys)}q", *c.group_id)
        groups = [ids[i : i + 8] for i in range(0, len(ids), 8)]
        if c.group is not c.site:
            for site, group in {*zip(c.site, c.group, strict=True)}:
                self.check(site, group)
            names.update(zip(groups, c.group, strict=True))
        middle = pack.common(c.priority, c.depth, c.via, c.meta, c.due)
        bodies = list(map(pack.body, keys, groups, repeat(middle), c.url))
        return Part(shard, at, block, {half: name.encode() for half, name in names.items()}, bodies)


def body_of(fingerprint: bytes, row: OfferRow) -> bytes:
    middle = pack.common(row.priority, row.depth, row.via, row.meta, row.due, row.variant)
    return pack.body(fingerprint, pack.half_of(row.group_id), middle, row.url)


def sites_of(offers: Offers, at: Sequence[int]) -> list[str]:
    if offers.sites is not None:
        return offers.sites(at)
    return [row.site for row in offers.rows(at)]


def runs(by_shard: dict[int, list[int]]) -> Iterator[tuple[int, list[int]]]:
    """The batch in its own order: stretches of neighbours of one shard, of at most MOST_AT_ONCE."""
    shard_of = {i: shard for shard, positions in by_shard.items() for i in positions}
    run: list[int] = []
    for i in sorted(shard_of):
        if run and (shard_of[run[0]] != shard_of[i] or len(run) == MOST_AT_ONCE):
            yield shard_of[run[0]], run
            run = []
        run.append(i)
    if run:
        yield shard_of[run[0]], run
