"""A network address in, whether a crawler may connect to it out: private, loopback, link-local and metadata ones are refused.

The check stands where the socket is made, on the very address it will connect to. So it holds for literal addresses in any
spelling, for names that resolve to a private address, for redirects to one, and a name that answers differently the second
time gains nothing.
"""

from __future__ import annotations

import errno
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

#: Global by the registry's letter, yet not for a crawler: protocol assignments (one cloud's metadata service is among them), the
#: address at which another cloud's host answers its guests, 6to4 relays, and IPv6's old site-local range.
SPECIAL = tuple(ip_network(text) for text in ("192.0.0.0/24", "168.63.129.16/32", "192.88.99.0/24", "fec0::/10"))
NAT64 = IPv6Network("64:ff9b::/96")


class AddressRefused(OSError):
    """Not connected: the address is private, loopback, link-local, reserved or a metadata service."""

    def __init__(self) -> None:
        # without the address: a name with several private ones then raises this error and not a collection of unequal ones
        super().__init__(errno.EACCES, "not a public address (--allow-private permits it)")


def is_public(address: str) -> bool:
    """Only globally reachable unicast counts. An IPv6 form that carries an IPv4 address is judged by both."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        carried = _carried(ip)
        if carried is not None and not _is_global(carried):
            return False
        if ip.ipv4_mapped is not None or ip in NAT64:
            return True  # nothing else to judge: this is an IPv4 address in other clothes
    return _is_global(ip)


def guarded_socket(addr_info: tuple[Any, ...]) -> socket.socket:
    """A socket for one getaddrinfo entry, or AddressRefused: the `socket_factory` of the connector."""
    family, kind, protocol, _, address = addr_info
    if not is_public(address[0]):
        raise AddressRefused
    return socket.socket(family=family, type=kind, proto=protocol)


def _is_global(ip: IPv4Address | IPv6Address) -> bool:
    special = any(ip.version == network.version and ip in network for network in SPECIAL)
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and not special


def _carried(ip: IPv6Address) -> IPv4Address | None:
    """The IPv4 address inside: mapped, 6to4, NAT64, Teredo (its client)."""
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip in NAT64:
        return IPv4Address(int(ip) & 0xFFFF_FFFF)
    if ip.teredo is not None:
        return ip.teredo[1]
    return ip.sixtofour
