"""One URL in, one response out: a single request without redirects, within limits of time, size and type."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from types import TracebackType

import aiohttp
from yarl import URL

from urlsieve.doors.crawler.address import AddressRefused, guarded_socket
from urlsieve.doors.crawler.sniff import HEAD, is_html

REDIRECTS = frozenset({301, 302, 303, 307, 308})


class NotForUs(Exception):
    """To be skipped, not retried. `reason`: address, size or type."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class FetchFailed(Exception):
    """No answer, or a broken one. The message says what."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`size` in bytes after decompression; the rest in seconds: to connect, between two reads, altogether."""

    size: int = 10_000_000
    connect: float = 10.0
    read: float = 20.0
    total: float = 120.0


@dataclass(frozen=True, slots=True)
class Response:
    """`body` is empty unless the status is 2xx. `location` as sent; `elapsed` and `retry_after` in seconds."""

    status: int
    body: bytes = b""
    charset: str | None = None
    location: str | None = None
    retry_after: float | None = None
    elapsed: float = 0.0
    etag: str | None = None
    last_modified: str | None = None


@dataclass(slots=True)
class Fetcher:
    """Holds the connections. Use with `async with`."""

    user_agent: str
    allow_private: bool = False
    accept_language: str | None = None
    limits: Limits = field(default_factory=Limits)
    _session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Fetcher:
        limits = self.limits
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, socket_factory=None if self.allow_private else guarded_socket),
            timeout=aiohttp.ClientTimeout(total=limits.total, connect=limits.connect, sock_read=limits.read),
            headers=self._headers(),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,  # a proxy would connect for us, unchecked
        )
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._session is not None:
            await self._session.close()

    def _headers(self) -> dict[str, str]:
        headers = {"User-Agent": self.user_agent, "Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1"}
        return headers if self.accept_language is None else headers | {"Accept-Language": self.accept_language}

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        html: bool = True,
        most: int | None = None,
        cut: int | None = None,
    ) -> Response:
        """`url` in its exact canonical form, sent as it is. Raises NotForUs or FetchFailed.

        `html`: what is none is NotForUs("type"), whatever its Content-Type says. `most`: bytes instead of the limit of a page.
        `cut`: take that many bytes and leave the rest, instead of NotForUs("size").
        """
        if self._session is None:
            raise RuntimeError("a Fetcher is used with `async with`")
        started = time.monotonic()
        try:
            # requoting would change what is asked for: the spelling on the page is what the server understands
            async with self._session.get(URL(url, encoded=True), headers=headers, allow_redirects=False) as answer:
                body = b""
                if 200 <= answer.status < 300:
                    body = await self._read(answer, html, self.limits.size if most is None else most, cut)
                return _response(answer, body, time.monotonic() - started)
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, AddressRefused):
                raise NotForUs("address") from error
            raise FetchFailed(f"connect: {error.os_error.strerror or error.os_error}") from error
        except TimeoutError as error:
            raise FetchFailed("timeout") from error
        except aiohttp.ClientPayloadError as error:
            raise FetchFailed(f"body: {_words(error)}") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: a host that no resolver takes
            raise FetchFailed(f"{type(error).__name__}: {_words(error)}") from error

    async def _read(self, answer: aiohttp.ClientResponse, html: bool, limit: int, cut: int | None) -> bytes:
        """The first bytes decide whether it is HTML, before the rest is waited for."""
        if cut is None and (answer.content_length or 0) > limit:
            raise NotForUs("size")
        limit = limit if cut is None else cut
        unsure = html
        body = bytearray()
        async for chunk in answer.content.iter_chunked(65536):
            body += chunk
            if unsure and len(body) >= HEAD:
                _only_html(answer, body)
                unsure = False
            if len(body) > limit:
                if cut is None:
                    raise NotForUs("size")
                return bytes(body[:cut])
        if unsure and body:
            _only_html(answer, body)
        return bytes(body)


def _words(error: Exception) -> str:
    """One line without the URL, which may hold a password: the reason is kept and shown."""
    if isinstance(error, aiohttp.InvalidURL):
        return "it cannot be asked for"
    text = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    return " ".join(text.split())[:200]


def _only_html(answer: aiohttp.ClientResponse, body: bytearray) -> None:
    declared = answer.headers.get("Content-Type")
    words = re.split(r"[;,\s]", declared.strip().lower(), maxsplit=1) if declared is not None else [None]
    if not is_html(bytes(body[:HEAD]), words[0], answer.charset):
        raise NotForUs("type")


def _response(answer: aiohttp.ClientResponse, body: bytes, elapsed: float) -> Response:
    headers = answer.headers
    return Response(
        status=answer.status,
        body=body,
        charset=answer.charset,
        location=headers.get("Location") if answer.status in REDIRECTS else None,
        retry_after=retry_after(headers.get("Retry-After"), headers.get("Date"), time.time()),
        elapsed=elapsed,
        etag=headers.get("ETag"),
        last_modified=headers.get("Last-Modified"),
    )


def retry_after(value: str | None, date: str | None, now: float) -> float | None:
    """Seconds to wait: a number, or a date (against the server's own clock where it told it). None: no (readable) header."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value)
    until = _timestamp(value)
    if until is None:
        return None
    said = _timestamp(date) if date else None
    return max(0.0, until - (now if said is None else said))


def _timestamp(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
