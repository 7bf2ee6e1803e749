"""URLs go in, in any number; canonical forms and fingerprints come out. The reusable form of a profile with its options."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, final

from urlsieve import _kernel
from urlsieve._kernel import siphash24
from urlsieve.canon import profiles, reasons, whatwg
from urlsieve.canon.encodings import codec_of, in_encoding
from urlsieve.canon.keys import Keys, Lines
from urlsieve.errors import ConfigError, InvalidURL

if TYPE_CHECKING:
    from urlsieve.canon.explain import Explanation

Url = str | bytes


@final
class Canonicalizer:
    """A profile with its options, compiled once; may be used by many threads at a time.

    profile: "safe" or "exact". fragment: "drop", "routes" (kept if it is a single-page application's route) or "keep".
    encoding: of the pages the URLs were found in; their query is read in it. secret: the key of the fingerprints, 0 … 2**128 - 1.
    traps: most path segments, most equal segments, most parameters of one name; a URL beyond is rejected as "trap"; 0 = no limit.
    Raises ConfigError for options that make no sense.
    """

    __slots__ = ("_encoding", "_program", "_resolve", "_secret", "encoding", "fragment", "profile", "secret", "traps")

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
        if rules:
            raise ConfigError("site rules come with a later version")
        if not 0 <= secret < 1 << 128:
            raise ConfigError("the secret is a number from 0 to 2**128 - 1")
        if traps is not None and (len(traps) != 3 or any(not 0 <= limit < 1 << 32 for limit in traps)):
            raise ConfigError(f"traps are three limits from 0 to 2**32 - 1, not {traps!r}")
        self.profile = profile
        self.fragment = fragment
        self.encoding = encoding
        self.secret = secret
        self.traps = traps
        self._encoding = codec_of(encoding)
        self._secret = secret.to_bytes(16, "little")
        steps = _kernel.STEP_ALWAYS_PARSE if always_parse else 0   # for tests: no URL takes the kernel's own parser
        for _, bit in profiles.STEPS[profile]:
            steps |= bit
        mode = profiles.fragment_mode(profile, fragment)
        self._program = profiles.compile_program(steps, mode, self._secret, traps or (0, 0, 0))
        self._resolve = whatwg.resolver(None)

    def canonicalize(self, url: Url, *, base: str | None = None) -> str:
        """The canonical form of one URL. Raises InvalidURL, whose `reason` is one word of the closed list."""
        usable = None if base is None else whatwg.usable_base(base)
        text = url if self._encoding is None else in_encoding(url, self._encoding)
        resolve = self._resolve if usable is None else whatwg.resolver(usable)
        status, _, key, *_ = self._program.one(text, resolve, usable is not None)
        if status:
            raise InvalidURL(reasons.REASON_OF_CODE[status] or "", url)
        return key.decode("ascii")

    def canonicalize_many(self, urls: Iterable[Url], *, base: str | None = None, variants: Sequence[bytes] | None = None) -> Keys:
        """The canonical forms of all URLs, in order. Never raises for data: a rejected URL has the key None and a reason."""
        found = _listed(urls)
        usable = None if base is None else whatwg.usable_base(base)
        batch = self._program.batch(
            self._read(found), whatwg.resolver(usable), usable is not None, None if variants is None else list(variants), True
        )
        return Keys(batch, found, partial(self._absolute, base=usable))

    def fingerprint(self, url: Url, *, variant: bytes = b"", base: str | None = None) -> bytes:
        """16 bytes: site half, then URL half, both little-endian. Raises InvalidURL."""
        if self._encoding is None and base is None:
            answer = self._program.fingerprint(url, self._resolve, False, variant)
        else:
            usable = None if base is None else whatwg.usable_base(base)
            text = url if self._encoding is None else in_encoding(url, self._encoding)
            answer = self._program.fingerprint(text, whatwg.resolver(usable), usable is not None, variant)
        if isinstance(answer, int):
            raise InvalidURL(reasons.REASON_OF_CODE[answer] or "", url)
        return answer

    def fingerprints(self, urls: Iterable[Url], *, base: str | None = None, variants: Sequence[bytes] | None = None) -> bytes:
        """16 bytes per URL, in order; zeros where a URL is rejected."""
        usable = None if base is None else whatwg.usable_base(base)
        return self._program.batch(
            self._read(_listed(urls)), whatwg.resolver(usable), usable is not None, None if variants is None else list(variants)
        ).fingerprints

    def lines(self, block: bytes | bytearray | memoryview) -> Lines:
        """The URLs of a newline-separated block. A CR before the LF is not part of the URL; a blank line is rejected as "empty"."""
        resolve = self._resolve if self._encoding is None else self._resolve_line
        return Lines(self._program.lines(block, resolve))

    def explain(self, url_a: Url, url_b: Url | None = None, *, base: str | None = None) -> "Explanation":
        """Which steps change a URL; with two URLs: whether they are the same, and why."""
        from urlsieve.canon.explain import explain

        return explain(self, url_a, url_b, base=base)

    def name_hash(self, name: str) -> int:
        """SipHash-2-4 of a site's name as a signed 64-bit integer: the site half of its URLs' fingerprints, read as one."""
        unsigned = siphash24(self._secret, name.encode())
        return unsigned - (1 << 64) if unsigned >> 63 else unsigned

    def _read(self, urls: list[Url]) -> list[Url]:
        codec = self._encoding
        return urls if codec is None else [in_encoding(url, codec) for url in urls]

    def _resolve_line(self, url: Url) -> bytes | int:
        return whatwg.resolve(in_encoding(url, self._encoding or "utf-8"))

    def _absolute(self, url: Url, base: str | None) -> Url:
        if base is None:
            return url
        text = url if self._encoding is None else in_encoding(url, self._encoding)
        href = whatwg.resolve(text, base)
        if isinstance(href, int) or href == whatwg.resolve(text):
            return url
        return href.decode("ascii")


def _listed(urls: Iterable[Url]) -> list[Url]:
    if isinstance(urls, str | bytes):
        raise TypeError("urls is an iterable of URLs, not one URL; put it into a list")
    return urls if type(urls) is list else list(urls)
