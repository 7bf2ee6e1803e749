"""An address and options in, an open sieve out: the one place that knows every store."""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from urlsieve import checks
from urlsieve.errors import ConfigError, StoreMismatch, StoreUnavailable
from urlsieve.grouping import domains
from urlsieve.model import Header, Level, Policy
from urlsieve.moving.origin import origin_of
from urlsieve.sieve import Sieve
from urlsieve.stores.protocol import Rekeyed

if TYPE_CHECKING:
    from urlsieve.canon.rules import Rules

REDIS = ("redis", "rediss")
#: What was meant as a server and would become a folder, named by its password.
_SLASHLESS = re.compile(r"(?:rediss?(?:\+cluster)?|https?):(?!//)", re.IGNORECASE)


def open(
    address: str | os.PathLike[str],
    *,
    create: bool = True,
    profile: str | None = None,
    rules: object = None,
    secret: int | None = None,
    durability: str | None = None,
    keep_urls: bool | None = None,
    delay: float | None = None,
    concurrency: int | None = None,
    max_attempts: int | None = None,
    backoff: float | None = None,
    group_by: str | None = None,
    identity: str | None = None,
    pages: object = None,
    high_water: int | None = None,
    _clock: Callable[[], float] = time.time,
    _chance: Callable[[int], bytes] = os.urandom,
    _suffixes: str | None = None,
) -> Sieve:
    """Opens the store at `address` (a directory, "memory:", or "redis://host:port/db?job=name"), making it if it is missing and `create`.

    None means: what the store has. profile, secret, group_by and identity are fixed when it is made and must agree later
    (StoreMismatch names the field); rules (a path, or Rules; see `Sieve.apply_rules`), keep_urls, delay (seconds), concurrency,
    max_attempts, backoff (seconds) and high_water (URLs waiting) replace the store's value for all workers. durability belongs to this
    opener: "full" (default: what was acknowledged survives a power cut) or "normal" (consistent after a power cut; the newest may be
    gone); on Redis "normal" is the default and the server's own setting, and "full" needs appendfsync always there.

    Errors: ConfigError, StoreUnavailable (missing with create=False, locked, not writable), StoreMismatch, StoreCorrupt.
    """
    new_rules = None if rules is None else _rules(rules)
    if pages is not None:
        raise ConfigError("page history comes with a later version: open without pages=")
    wanted = {
        "profile": None if profile is None else _profile(profile),
        "secret": None if secret is None else checked_secret(secret),
        "group_by": None if group_by is None else checks.choice("group_by", group_by, ("host", "domain")),
        "identity": None if identity is None else checks.choice("identity", identity, ("content",)),
    }
    change = {
        "keep_urls": _flag("keep_urls", keep_urls),
        "delay": checks.optional("delay", delay, least=0),
        "concurrency": checks.optional("concurrency", concurrency, least=1, whole=True),
        "max_attempts": checks.optional("max_attempts", max_attempts, least=1, whole=True),
        "backoff": checks.optional("backoff", backoff, least=0),
        "high_water": checks.optional("high_water", high_water, least=1, whole=True),
    }
    change = {name: value for name, value in change.items() if value is not None}
    place = _place(address)
    if _is_redis(place):
        durability = None if durability is None else checks.choice("durability", durability, ("full", "normal", "wait"))
    else:
        durable = checks.choice("durability", durability or "full", ("full", "normal")) == "full"

    def bound() -> Any:
        if _is_redis(place):
            return _redis(place, _fresh(wanted, _suffixes, pinned=True), change, bool(create), durability, _clock, _chance)
        return _embedded(place, header=_fresh(wanted, _suffixes), policy=replace(Policy(), **change), create=bool(create), durable=durable)

    def opened() -> Sieve:
        store = bound()
        try:
            _compare(store.header, wanted, store.address)
            if change and any(getattr(store.policy(), name) != value for name, value in change.items()):
                store.set_policy(**change)
            sieve = Sieve(store, clock=_clock, chance=_chance)
            if new_rules is not None:
                sieve.apply_rules(new_rules)
            return sieve
        except BaseException:
            store.close()
            raise

    return opened() if _is_redis(place) else _patiently(opened)


def _patiently(opened: Callable[[], Sieve]) -> Sieve:
    """A store that is replaced (restore, rekey) while it is being opened is opened anew: the one that lies there then is whole."""
    from urlsieve.stores.embedded.files import Replaced

    for pause in _PAUSES:
        try:
            return opened()
        except Replaced:
            time.sleep(pause)
    return opened()


#: Seconds before each further attempt.
_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)


def restore(backup: str | os.PathLike[str], address: str | os.PathLike[str], *, force: bool = False) -> None:
    """Makes the store at `address` from a folder that `Sieve.backup` made. An existing store is replaced only with `force`, in one step:
    a crash leaves either. Tokens of leases given before are refused afterwards.

    Errors: ConfigError, StoreUnavailable (no backup there), StoreMismatch, StoreCorrupt, StoreFull.
    """
    from urlsieve.stores.embedded import copies

    copies.restore(_folder(backup), _folder(address), force=bool(force))


def upgrade(address: str | os.PathLike[str], *, progress: Callable[[int], object] = lambda done: None) -> tuple[int, int]:
    """(schema before, schema now). A store made by an older version becomes one of this version. Killed in the middle it goes on when it is
    called again; until then no version opens the store. `progress` is told how many URLs are through.

    Errors: ConfigError, StoreUnavailable, StoreMismatch (it is newer), StoreCorrupt, StoreFull.
    """
    from urlsieve.stores.embedded import upgrading

    return upgrading.upgrade(_folder(address), progress=progress)


def rekey(
    address: str | os.PathLike[str],
    *,
    profile: str | None = None,
    secret: int | str | None = None,
    canonical: bool = False,
    to: str | os.PathLike[str] | None = None,
    progress: Callable[[int], object] = lambda done: None,
) -> Rekeyed:
    """The store gets another profile, another secret ("new": a random one), or today's canonical form (`canonical`); what is seen stays so.

    It is made anew beside the old one, which may be used meanwhile, and put in its place in one step; whoever has it open is told to open
    it anew, and tokens of leases stay valid. What has no text becomes an imported level. Killed, the old store is as it was, and rekey
    called again for the same goes on where it was; for something else it begins anew. `to`: the address of a new store instead, of any
    kind, and the old one stays as it is; its leased URLs are pending there. progress: told how many texts are through.

    Errors: ConfigError, StoreUnavailable, StoreMismatch, StoreCorrupt, StoreFull (it needs as much room again).
    """
    from urlsieve import levels, ruling

    place = _place(address)
    if to is None and (_is_redis(place) or place == "memory:"):
        raise ConfigError("only a store in a folder is rekeyed in its place: name a new store with to= (--to), it gets the URLs")
    store = _bound(place)
    try:
        header = _other_header(store.header, profile, secret, canonical)
        ruled = store.rules()
        name = levels.free_name(store.imported())
        level = levels.own(store.header, ruled, name)
        if to is None:
            if secret == "new":
                header = _begun(store.half_rekeyed(), header)
            found: Rekeyed = store.rekey(ruling.rekeying(store, header, level)._replace(random=secret == "new"), progress)
            return found
        return _rekey_to(store, _place(to), header, level)
    finally:
        store.close()


def _bound(place: str) -> Any:
    """A store that is there, also one of another canonical form."""
    if _is_redis(place):
        return _redis(place, _fresh(_NOTHING, None), {}, False, None, time.time, os.urandom)
    return _embedded(place, header=_fresh(_NOTHING, None), policy=Policy(), create=False, durable=True)


_NOTHING: dict[str, Any] = {"profile": None, "secret": None, "group_by": None, "identity": None}


def _other_header(header: Header, profile: str | None, secret: int | str | None, canonical: bool) -> Header:
    from urlsieve.canon import CANONICAL_VERSION, vectors_digest

    form = (CANONICAL_VERSION, vectors_digest())
    if (header.canonical_version, header.vectors) != form and not canonical:
        raise ConfigError("the store has another canonical form, and a rekey brings today's: say so with canonical=True (--canonical)")
    change: dict[str, Any] = {"canonical_version": form[0], "vectors": form[1]}
    if profile is not None:
        change["profile"] = _profile(profile)
    if secret is not None:
        change["secret"] = secrets.randbits(128) if secret == "new" else checked_secret(secret)
    other = replace(header, **change)
    if other == header:
        raise ConfigError("nothing would change: name another profile, a secret, or canonical where the form is another")
    return other


def _begun(half: Header | None, header: Header) -> Header:
    """Of a rekey that was interrupted, if that is the same but for the secret, which was drawn."""
    return header if half is None or replace(half, secret=header.secret) != header else half


def _rekey_to(store: Any, place: str, header: Header, level: Level) -> Rekeyed:
    """By export and import. What has no text is known by its old fingerprint there."""
    source = Sieve(store, clock=time.time, chance=os.urandom)
    with open(
        place,
        profile=header.profile,
        secret=header.secret,
        group_by=header.group_by,
        identity=header.identity,
        _suffixes=header.suffixes or None,
    ) as target:
        if target.stats().seen or target.imported():
            raise ConfigError(f"the store {target.address} has URLs already: name a new one")
        refused: dict[str, int] = {}

        def reject(word: str, why: str, line: bytes) -> None:
            if word != "no_text":
                refused[word] = refused.get(word, 0) + 1

        moved = target.import_lines(source.export(), rejected=reject)
        bare = 0
        for part in _bare(source):
            bare += target._store.add_imported(level, part)
        return Rekeyed(moved.new, moved.seen, refused, bare, level.name if bare else "")


def _bare(source: Sieve) -> Iterator[bytes]:
    found = (entry.fingerprint for entry in source.entries(("done", "dead", "known")) if entry.url is None)
    while part := list(islice(found, 10_000)):
        yield b"".join(part)


def _folder(address: object) -> Path:
    place = _place(address)
    if place == "memory:":
        raise ConfigError("a store in memory has no folder: give the folder of a store")
    if _is_redis(place):
        raise ConfigError("a store on a Redis server has no folder: the server makes and restores backups; export and import move its URLs")
    return Path(place).absolute()


def receiving(address: str | os.PathLike[str], first: bytes) -> Sieve:
    """The store at `address` for the export whose first line this is; a missing one is made with the export's header."""
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        record = {}
    origin = origin_of(record if isinstance(record, dict) else {})
    try:
        if address != "memory:":  # of those there is a new one at every opening
            return open(address, create=False)
    except StoreUnavailable:
        pass
    return open(
        address,
        profile=origin.profile,
        secret=origin.secret,
        group_by=origin.group_by,
        identity=origin.identity,
        _suffixes=origin.suffixes or None,
    )


def checked_secret(secret: object) -> int:
    if isinstance(secret, bool) or not isinstance(secret, int) or not 0 <= secret < 2**128:
        raise ConfigError("secret must be a whole number from 0 to 2**128 - 1")  # never shown
    return secret


def _profile(profile: object) -> str:
    """In its one spelling: what a store binds is compared as text."""
    from urlsieve.canon.profiles import normal

    if not isinstance(profile, str):
        raise ConfigError(f"profile must be a text, not {profile!r}")
    return normal(profile)


def _rules(rules: object) -> Rules:
    """A set, or what a file has; read before the store is made."""
    from urlsieve.canon.rules import rules_of

    found = rules_of(rules)
    assert found is not None
    return found


def _flag(name: str, value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False, not {value!r}")
    return value


def _place(address: object) -> str:
    if not isinstance(address, (str, os.PathLike)):
        raise ConfigError(f"address must be a path or an address, not {type(address).__name__}")
    text = os.fspath(address)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ConfigError("address is empty or not a path")
    if _SLASHLESS.match(text):  # not shown: it may hold a password
        raise ConfigError("the address of a server has two slashes behind its colon (redis://…); a folder of that name is ./NAME")
    scheme, colon, _ = text.partition("://")
    if _is_redis(text):
        return text
    if colon:
        raise ConfigError(f"stores of the kind {scheme!r} are not in this version: give a directory, memory:, or redis://host/db?job=name")
    if text.startswith("memory:") and text != "memory:":
        raise ConfigError(f"a store in memory has no name: give memory:, not {text!r}")
    return text if text == "memory:" else str(Path(text).expanduser())


def _is_redis(place: str) -> bool:
    return place.partition("://")[0] in REDIS and "://" in place


def _fresh(wanted: dict[str, Any], suffixes: str | None, *, pinned: bool = False) -> Header:
    """The header of a store that is made now. `suffixes`: the pinned list of the store that it takes over from. `pinned`: with a list
    whatever groups go by."""
    from urlsieve.canon import CANONICAL_VERSION, vectors_digest

    group_by = wanted["group_by"] or "host"
    return Header(
        profile=wanted["profile"] or "safe",
        secret=secrets.randbits(128) if wanted["secret"] is None else wanted["secret"],
        group_by=group_by,
        identity=wanted["identity"] or "content",
        canonical_version=CANONICAL_VERSION,
        vectors=vectors_digest(),
        suffixes=(suffixes or _suffixes()) if pinned or group_by == "domain" else "",
    )


@lru_cache(maxsize=1)
def _suffixes() -> str:
    from urlsieve.canon import suffix_list_text

    return base64.b85encode(zlib.compress(suffix_list_text().encode(), 9)).decode("ascii")


def _embedded(place: str, *, header: Header, policy: Policy, create: bool, durable: bool) -> Any:
    from urlsieve.stores.embedded import EmbeddedStore

    return EmbeddedStore.bind(place, header=header, policy=policy, domains=domains, create=create, durable=durable)


def _redis(
    address: str,
    header: Header,
    change: dict[str, Any],
    create: bool,
    durability: str | None,
    clock: Callable[[], float],
    chance: Callable[[int], bytes],
) -> Any:
    """The server's clock counts, unless the caller brings one of its own (tests in virtual time)."""
    try:
        from urlsieve.stores.redis import RedisStore
    except ModuleNotFoundError as error:
        if error.name != "redis":
            raise
        raise ConfigError("a Redis store needs the package redis: pip install 'urlsieve[redis]'") from None
    return RedisStore.bind(
        address,
        header=header,
        policy=replace(Policy(keep_urls=False), **change),
        domains=domains,
        create=create,
        durability=durability,
        clock=clock,
        callers_clock=clock is not time.time,
        home=int.from_bytes(chance(4), "little"),
    )


def _compare(header: Header, wanted: dict[str, Any], where: str) -> None:
    for field, value in wanted.items():
        have = getattr(header, field)
        if value is not None and value != have:
            shown = "another secret" if field == "secret" else f"{field} {have!r}, not {value!r}"
            raise StoreMismatch(f"the store {where} has {shown}: open it without {field}=, or make a new store", field)
    from urlsieve.canon import CANONICAL_VERSION, vectors_digest

    for field, value in (("canonical_version", CANONICAL_VERSION), ("vectors", vectors_digest())):
        if getattr(header, field) != value:
            raise StoreMismatch(
                f"the store {where} was made with another canonical form ({field} differs): its fingerprints would not be found. "
                "`urlsieve rekey --canonical --store …` gives it today's form (--to for one on Redis); "
                "or use the version of urlsieve (and of ada-url) that made it",
                field,
            )
