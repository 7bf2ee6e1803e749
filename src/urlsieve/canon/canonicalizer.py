"""URLs go in, in any number; canonical forms and fingerprints come out. The reusable form of a profile with its options."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, final

from urlsieve import _kernel
from urlsieve._kernel import siphash24
from urlsieve.canon import profiles, reasons, whatwg
from urlsieve.canon.keys import Keys, Lines
from urlsieve.canon.readers import reader_of
from urlsieve.canon.switches import switched
from urlsieve.errors import ConfigError, InvalidURL

if TYPE_CHECKING:
    from urlsieve._kernel import Program, RuleTable
    from urlsieve.canon.explanation import Explanation
    from urlsieve.canon.rules import Rules
    from urlsieve.canon.rulevalues import Rule

Url = str | bytes


@final
class Canonicalizer:
    """A profile with its options, compiled once; may be used by many threads at a time.

    profile: "safe", "exact", "aggressive", or safe with some of aggressive's switches ("safe+strip_www+trailing_slash"); or "scrapy" or
    "classic", which are other programs' identities (docs/profiles.md); the attribute has its one spelling. rules: site rules, a Rules or
    the path of a file; they need safe or aggressive.
    fragment: "drop", "routes" (kept if it is a single-page application's route) or "keep".
    encoding: of the pages the URLs were found in; their query is read in it. secret: the key of the fingerprints, 0 … 2**128 - 1.
    traps: most path segments, most equal segments, most parameters of one name; a URL beyond is rejected as "trap"; 0 = no limit.
    Raises ConfigError for options that make no sense.
    """

    __slots__ = (
        "_compiled",
        "_program",
        "_read",
        "_reader",
        "_resolve",
        "_secret",
        "_steps",
        "encoding",
        "fragment",
        "profile",
        "rules",
        "secret",
        "traps",
    )

    def __init__(
        self,
        *,
        profile: str = "safe",
        rules: object = None,
        fragment: str = "routes",
        encoding: str = "utf-8",
        secret: int = 0,
        traps: tuple[int, int, int] | None = None,
        always_parse: bool = False,
    ) -> None:
        profiles.check(profile, fragment)
        if not 0 <= secret < 1 << 128:
            raise ConfigError("the secret is a number from 0 to 2**128 - 1")
        if traps is not None and (len(traps) != 3 or any(not 0 <= limit < 1 << 32 for limit in traps)):
            raise ConfigError(f"traps are three limits from 0 to 2**32 - 1, not {traps!r}")
        self.profile = switched(profile).text
        self.rules = _rules_of(rules, profile)
        self._compiled = None if self.rules is None else self.rules.compiled(switches=switched(profile).on)
        self.fragment = fragment
        self.encoding = encoding
        self.secret = secret
        self.traps = traps if self.rules is None else _over(traps, self.rules.scope.job.traps)
        self._secret = secret.to_bytes(16, "little")
        self._reader = reader_of(self.profile, encoding)
        self._read = self._reader.read
        always = _kernel.STEP_ALWAYS_PARSE if always_parse else 0  # for tests: no URL takes the kernel's own parser
        self._steps = self._reader.steps | always
        self._program = self._programmed()
        self._resolve = self._reader.resolver(None)

    @classmethod
    def _with_table(cls, table: "RuleTable | None") -> "Canonicalizer":
        """Profile safe with a table of rules that are still being checked."""
        made = cls()
        mode = profiles.FRAGMENTS["routes"]
        made._program = profiles.compile_program(profiles.steps_of("safe"), mode, made._secret, rules=table)
        return made

    def _in_profile(self, profile: str) -> "Canonicalizer":
        """The same with another profile. ConfigError where that cannot be."""
        rules = self.rules if switched(profile).base == "safe" else None
        return Canonicalizer(profile=profile, rules=rules, fragment=self.fragment, encoding=self.encoding, traps=self.traps)

    def _bold(self) -> "Canonicalizer":
        """The same with everything applied that the rules only propose."""
        made = self._in_profile(self.profile)
        if self.rules is not None:
            made._compiled = self.rules.compiled(switches=switched(self.profile).on, proposed=True)
            made._program = made._programmed()
        return made

    def _programmed(self) -> "Program":
        on, form = switched(self.profile).on, profiles.form_of(self.profile)
        mode = profiles.fragment_mode(self.profile, self.fragment)
        steps = self._steps | profiles.steps_of(self.profile)
        return profiles.compile_program(steps, mode, self._secret, self.traps or (0, 0, 0), form, switches=on, rules=self._table)

    @property
    def _table(self) -> "RuleTable | None":
        return None if self._compiled is None else self._compiled.table

    def canonicalize(self, url: Url, *, base: str | None = None) -> str:
        """The canonical form of one URL. Raises InvalidURL, whose `reason` is one word of the closed list."""
        resolve, href = self._against(base)
        status, _, key, *_ = self._program.one(url, resolve, href)
        if status:
            raise InvalidURL(reasons.REASON_OF_CODE[status] or "", url)
        return key.decode()

    def canonicalize_many(self, urls: Iterable[Url], *, base: str | None = None, variants: Sequence[bytes] | None = None) -> Keys:
        """The canonical forms of all URLs, in order. Never raises for data: a rejected URL has the key None and a reason."""
        found = list(_listed(urls))  # a copy: the answer must not change with the caller's list
        resolve, href = self._against(base)
        batch = self._program.batch(found, resolve, href, None if variants is None else list(variants), True)
        return Keys(batch, found, partial(self._absolute, base=base), hosts_are_sites=self._hosts_are_sites)

    @property
    def _hosts_are_sites(self) -> bool:
        """Is the host that a URL names always that of its key?"""
        mapped = self._compiled is not None and any(rule.hosts for rule in self._compiled.rules)
        return not mapped and not {"strip_www", "strip_host_dot"} & set(switched(self.profile).on)

    def fingerprint(self, url: Url, *, variant: bytes = b"", base: str | None = None) -> bytes:
        """16 bytes: site half, then URL half, both little-endian. Raises InvalidURL."""
        if base is None:
            answer = self._program.fingerprint(url, self._resolve, None, variant)
        else:
            answer = self._program.fingerprint(url, *self._against(base), variant)
        if isinstance(answer, int):
            raise InvalidURL(reasons.REASON_OF_CODE[answer] or "", url)
        return answer

    def fingerprints(self, urls: Iterable[Url], *, base: str | None = None, variants: Sequence[bytes] | None = None) -> bytes:
        """16 bytes per URL, in order; zeros where a URL is rejected."""
        resolve, href = self._against(base)
        return self._program.batch(_listed(urls), resolve, href, None if variants is None else list(variants)).fingerprints

    @property
    def is_foreign(self) -> bool:
        """Is the profile another program's identity, with a fingerprint of its own?"""
        return self.profile in profiles.FOREIGN

    def foreign_fingerprints(self, urls: Iterable[Url], *, base: str | None = None) -> list[bytes | None]:
        """What the program a profile stands for keeps of each URL; None where it is rejected.

        "scrapy": 20 bytes, Scrapy's request fingerprint of a GET without a body. "classic": 16 bytes, the MD5 of the key. ConfigError
        for all other profiles.
        """
        found = _listed(urls)
        width = profiles.digest_size(self.profile)
        usable = None if base is None else self._reader.usable_base(base)
        batch = self._program.batch(found, self._reader.digests(usable), None, None, False, True)
        every = batch.digests
        return [None if code else every[width * i : width * i + width] for i, code in enumerate(batch.status)]

    def lines(self, block: bytes | bytearray | memoryview) -> Lines:
        """The URLs of a newline-separated block. A CR before the LF is not part of the URL; a blank line is rejected: "empty"."""
        return Lines(self._program.lines(block, self._resolve))

    def explain(self, url_a: Url, url_b: Url | None = None, *, base: str | None = None) -> "Explanation":
        """Which steps change a URL; with two URLs: whether they are the same, and why."""
        from urlsieve.canon.explanation import explain

        return explain(self, url_a, url_b, base=base)

    def rule_of(self, keys: Keys, i: int) -> "Rule | None":
        """The site rule that URL i of these keys is under, as the rules have it."""
        number = keys.rule(i)[0]
        return (
            None if number is None or self._compiled is None or self.rules is None else self.rules.source_of(self._compiled.rules[number])
        )

    def name_hash(self, name: str) -> int:
        """SipHash-2-4 of a site's name as a signed 64-bit integer: the site half of its URLs' fingerprints, read as one."""
        unsigned = siphash24(self._secret, name.encode())
        return unsigned - (1 << 64) if unsigned >> 63 else unsigned

    def _against(self, base: str | None) -> tuple[whatwg.Resolve, bytes | None]:
        """What the kernel asks about irregular URLs, and the href of the base if there is a usable one."""
        usable = None if base is None else self._reader.usable_base(base)
        if usable is None:
            return self._resolve, None
        return self._reader.resolver(usable), usable.encode() if self._reader.kernel_joins else None

    def _absolute(self, url: Url, base: str | None) -> Url:
        usable = None if base is None else self._reader.usable_base(base)
        return url if usable is None else self._reader.absolute(url, usable)


def _over(traps: tuple[int, int, int] | None, said: "tuple[tuple[str, int], ...]") -> tuple[int, int, int] | None:
    """The limits against traps, with those that the rules name for all sites."""
    if not said:
        return traps
    segments, repeats, names = traps or (0, 0, 0)
    found = {"segments": segments, "repeats": repeats, "names": names, **dict(said)}
    return found["segments"], found["repeats"], found["names"]


def _rules_of(rules: object, profile: str) -> "Rules | None":
    if rules is None:
        return None
    from urlsieve.canon.rules import rules_of

    if switched(profile).base != "safe":
        raise ConfigError(f"profile {profile!r} takes no site rules: they need safe or aggressive")
    return rules_of(rules)


def _listed(urls: Iterable[Url]) -> list[Url]:
    if isinstance(urls, str | bytes):
        raise TypeError("urls is an iterable of URLs, not one URL; put it into a list")
    return urls if type(urls) is list else list(urls)
