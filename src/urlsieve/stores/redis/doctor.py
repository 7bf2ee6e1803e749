"""INFO of a server in; what is refused at opening, and what is worth knowing about it, out."""

from __future__ import annotations

from collections.abc import Iterator

from urlsieve.errors import ConfigError, StoreMismatch, UrlsieveError
from urlsieve.stores.redis.job import SCHEMA, Job
from urlsieve.stores.redis.verify import counters
from urlsieve.stores.redis.wire import Call, info_of

HIGH_MEMORY = 0.8
#: A shard with so many times the mean is worth a word.
UNEVEN = 8.0
#: URLs per shard in the mean from which that says something.
ENOUGH = 10_000


def refuse_unsafe(job: Job, durability: str | None) -> None:
    """An evicting server forgets that URLs were seen, so everything is fetched again."""
    found = info(job, job.first_patience)
    policy = found.get("maxmemory_policy", "noeviction")
    if policy != "noeviction" and not job.address.accept_data_loss:
        raise StoreMismatch(
            f"the server of {job.where} has maxmemory-policy {policy}: when its memory is full it silently drops URLs that were seen and "
            "URLs that wait, and old URLs come back as new. Set maxmemory-policy noeviction, or accept the loss with i_accept_data_loss=1 "
            "in the address",
            "maxmemory-policy",
        )
    if durability == "wait":
        raise ConfigError('durability="wait" (replicas have it) is not in this version; "normal" is the server\'s own setting')
    if durability == "full" and not _syncs_always(job, found):
        raise ConfigError(
            f'durability="full" needs appendonly yes and appendfsync always on the server of {job.where}; without, up to about a second of '
            'what was acknowledged is lost with the power: set them, or open with durability="normal"'
        )


def info(job: Job, patience: float | None = None) -> dict[str, str]:
    (text,) = job.wire.ask([Call("", "", ("INFO",))], patience=patience)
    return info_of(text)


def _syncs_always(job: Job, found: dict[str, str]) -> bool:
    return found.get("aof_enabled") == "1" and _setting(job, "appendfsync") == "always"


def _setting(job: Job, name: str) -> str | None:
    """None where CONFIG is forbidden."""
    try:
        ((_, value),) = job.wire.ask([Call("", "", ("CONFIG", "GET", name))])
    except (UrlsieveError, ValueError):
        return None
    return str(value.decode())


def doctor(job: Job) -> list[tuple[str, str, str]]:
    return list(_findings(job, info(job)))


def _findings(job: Job, found: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    server = "Valkey" if "valkey_version" in found else "Redis"
    version = found.get("valkey_version", found.get("redis_version", "?"))
    yield "ok", f"{server} {version}, schema {SCHEMA}, {job.shards.count} shards", ""
    policy = found.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        yield "error", f"maxmemory-policy {policy}", "set noeviction: a full server silently forgets URLs, and fetches them again"
    if found.get("aof_enabled") == "1":
        sync = _setting(job, "appendfsync") or "unknown"
        lost = "nothing" if sync == "always" else "up to about a second"
        yield "ok", f"appendonly yes, appendfsync {sync}: a power cut loses {lost}", ""
    else:
        yield "warn", "appendonly no", "set appendonly yes: a crash of the server loses everything since its last snapshot"
    evicted = int(found.get("evicted_keys", "0"))
    if evicted:
        yield "error", f"{evicted:,} keys were evicted", "URLs may be lost or come twice: set noeviction, run verify --deep"
    used, most = int(found.get("used_memory", "0")), int(found.get("maxmemory", "0"))
    if not most:
        yield "warn", f"{used >> 20:,} MiB used, maxmemory not set", "set maxmemory: else the system kills a server that outgrows it"
    elif used > HIGH_MEMORY * most:
        yield "warn", f"{used >> 20:,} of {most >> 20:,} MiB used", "raise maxmemory or purge: a full server refuses new URLs"
    else:
        yield "ok", f"{used >> 20:,} of {most >> 20:,} MiB used", ""
    if found.get("rdb_last_bgsave_status") == "err" or found.get("aof_last_write_status") == "err":
        yield "error", "the server cannot write its data to disk", "see its log: a full disk, or rights"
    seen = [number.get("seen", 0) for number in counters(job, range(job.shards.count))]
    mean = sum(seen) / len(seen)
    if mean < ENOUGH:  # the few sites of a small job lie as they fall
        return
    uneven = max(seen) / mean
    word = "warn" if uneven > UNEVEN else "ok"
    yield word, f"largest shard {uneven:.1f} x the mean", "one site has much of everything" if word == "warn" else ""
