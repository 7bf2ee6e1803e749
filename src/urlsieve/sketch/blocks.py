"""What callers give as fingerprints goes in; the same comes out, or a ConfigError."""

from __future__ import annotations

from urlsieve.errors import ConfigError


def block(fingerprints: object) -> bytes:
    """16 bytes each."""
    if not isinstance(fingerprints, bytes) or len(fingerprints) % 16:
        raise ConfigError("fingerprints are a block of bytes, 16 each")
    return fingerprints
