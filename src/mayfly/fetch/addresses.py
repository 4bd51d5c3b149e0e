"""Which addresses may be connected to, and where a host's are.

Every name is resolved here, and what is connected to is what was vetted: a name that answers differently the second
time gains nothing. Addresses that carry another inside (IPv4-mapped, NAT64, 6to4, Teredo) are judged by that one.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, NamedTuple, TypeAlias

import aiodns
from aiohttp.abc import AbstractResolver, ResolveResult

from mayfly.core.model import Seconds
from mayfly.errors import UsageError
from mayfly.urls import is_address

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

SHORTEST_TTL: Seconds = 30.0
LONGEST_TTL: Seconds = 3600.0
FAILURE_TTL: Seconds = 60.0
_MOST_NAMES = 100_000

# Blocks that are not on the public internet. Written out, for `is_global` differs between versions of Python.
_RESERVED = [
    ip_network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7",
        "fe80::/10", "fec0::/10", "ff00::/8",
    )
]  # fmt: skip
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


class Vetting:
    """Says which addresses may be connected to: public ones, and those in the networks that were allowed."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed: list[Network] = []
        self._known: dict[str, bool] = {}
        for block in allowed:
            try:
                self._allowed.append(ip_network(block.strip(), strict=False))
            except ValueError:
                raise UsageError(f"'{block}' is no network; write one as 127.0.0.0/8 or fd00::/8") from None

    def allows(self, address: str) -> bool:
        """Whether this address may be connected to.

        >>> Vetting().allows("::ffff:10.0.0.1"), Vetting().allows("8.8.8.8"), Vetting(["10.0.0.0/8"]).allows("10.0.0.1")
        (False, True, True)
        """
        known = self._known.get(address)
        if known is None:
            if len(self._known) > _MOST_NAMES:
                self._known.clear()
            known = self._known[address] = self._judged(address)
        return known

    def _judged(self, address: str) -> bool:
        try:
            ip = ip_address(address.strip("[]").partition("%")[0])
        except ValueError:
            return False
        if self._listed(ip):
            return True
        return all(self._listed(one) or not _reserved(one) for one in _carried(ip) or (ip,))

    def _listed(self, ip: Address) -> bool:
        return any(ip.version == block.version and ip in block for block in self._allowed)


def _reserved(ip: Address) -> bool:
    return any(ip.version == block.version and ip in block for block in _RESERVED)


def _carried(ip: Address) -> tuple[IPv4Address, ...]:
    """IPv4 addresses inside an IPv6 one, through which a packet would reach them."""
    if isinstance(ip, IPv4Address):
        return ()
    if ip.ipv4_mapped:
        return (ip.ipv4_mapped,)
    if ip.sixtofour:
        return (ip.sixtofour,)
    if ip.teredo:
        return ip.teredo
    low = int(ip) & 0xFFFF_FFFF
    if ip in _NAT64 or (int(ip) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return (IPv4Address(low),)
    return ()


class ConnectTo(NamedTuple):
    """`HOST:PORT:TO_HOST:TO_PORT`, as in curl: requests for the first go to the second. An empty part means any, or the
    same.
    """

    host: str
    port: str
    to_host: str
    to_port: str

    @classmethod
    def parse(cls, text: str) -> ConnectTo:
        """Read one rule.

        >>> ConnectTo.parse("::127.0.0.1:8080")
        ConnectTo(host='', port='', to_host='127.0.0.1', to_port='8080')
        """
        parts, rest = [], text
        while True:
            if rest.startswith("[") and "]" in rest:
                part, rest = rest[1:].split("]", 1)
                if rest and not rest.startswith(":"):
                    break
            else:
                part, colon, after = rest.partition(":")
                rest = colon + after
            parts.append(part.lower())
            if not rest:
                break
            rest = rest[1:]
        ports = [part for part in parts[1::2] if part]
        if len(parts) != 4 or not all(port.isdigit() and 0 < int(port) < 65536 for port in ports):
            raise UsageError(f"'{text}' is no HOST:PORT:HOST:PORT; an example: ::127.0.0.1:8080 sends all there")
        return cls(*parts)

    def applies(self, host: str, port: int) -> bool:
        """Whether requests for this host and port are sent elsewhere."""
        return self.host in ("", host.strip("[]")) and self.port in ("", str(port))


class Routes:
    """All the rules of `--connect-to`, the first that applies wins."""

    def __init__(self, rules: Sequence[ConnectTo] = ()) -> None:
        self._rules = rules

    def target(self, host: str, port: int) -> tuple[str, int]:
        """Where a request for this host and port is to connect."""
        for rule in self._rules:
            if rule.applies(host, port):
                return rule.to_host or host, int(rule.to_port or port)
        return host, port


class ForbiddenAddress(OSError):
    """A host all of whose addresses are refused."""


class _Answer(NamedTuple):
    addresses: tuple[str, ...]  # none: it failed
    until: Seconds
    why: str = ""


class Resolver(AbstractResolver):
    """Names to vetted addresses. Answers are kept for their time to live, within limits; failures for a minute."""

    def __init__(
        self,
        vetting: Vetting,
        routes: Routes,
        nameservers: Sequence[str] | None = None,
        port: int | None = None,
        clock: Callable[[], Seconds] = time.monotonic,
    ) -> None:
        self._vetting = vetting
        self._routes = routes
        self._nameservers = nameservers
        self._port = port
        self._clock = clock
        self._dns: aiodns.DNSResolver | None = None
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        self._asking: dict[str, asyncio.Task[_Answer]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Called by aiohttp for every new connection to a name."""
        to_host, to_port = self._routes.target(host, port)
        addresses = (to_host,) if is_address(to_host) else await self._addresses(to_host)
        allowed = [address for address in addresses if self._vetting.allows(address)]
        if not allowed:
            raise ForbiddenAddress(f"{host} is at {', '.join(addresses)}")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=to_port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in allowed
        ]

    async def address_of(self, host: str, port: int) -> str | None:
        """Where a name on the web is, to be gentle with it; None if it has no address or we were told where it is."""
        if self._routes.target(host, port) != (host, port):
            return None
        if is_address(host):
            return host
        try:
            return (await self._addresses(host))[0]
        except OSError:
            return None

    async def close(self) -> None:
        """Part of aiohttp's interface."""
        for task in self._asking.values():
            task.cancel()
        if self._dns is not None:
            await self._dns.close()

    async def _addresses(self, host: str) -> tuple[str, ...]:
        answer = self._answers.get(host)
        if answer is None or answer.until <= self._clock():
            task = self._asking.get(host)
            if task is None:  # one question at a time for a name, however many wait for it
                task = self._asking[host] = asyncio.ensure_future(self._ask(host))
                task.add_done_callback(lambda _: self._asking.pop(host, None))
            answer = await asyncio.shield(task)
        if not answer.addresses:
            raise OSError(answer.why)
        return answer.addresses

    async def _ask(self, host: str) -> _Answer:
        if self._dns is None:
            more: dict[str, Any] = {} if self._port is None else {"udp_port": self._port, "tcp_port": self._port}
            self._dns = aiodns.DNSResolver(nameservers=self._nameservers, timeout=3.0, tries=2, **more)
        try:
            found = await self._dns.getaddrinfo(host, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM)
            nodes = [(_text(node.addr[0]), node.ttl) for node in found.nodes]
            lifetime = min((ttl for _, ttl in nodes), default=0)
            until = self._clock() + kept_for(lifetime)
            answer = _Answer(tuple(dict.fromkeys(address for address, _ in nodes)), until, "no address")
        except aiodns.error.DNSError as error:
            answer = _Answer((), self._clock() + FAILURE_TTL, str(error.args[-1] if error.args else error))
        self._answers[host] = answer
        self._answers.move_to_end(host)
        if len(self._answers) > _MOST_NAMES:
            self._answers.popitem(last=False)
        return answer


def kept_for(ttl: Seconds) -> Seconds:
    """How long an answer is kept.

    >>> kept_for(0), kept_for(300), kept_for(1_000_000)
    (30.0, 300.0, 3600.0)
    """
    return float(min(max(ttl, SHORTEST_TTL), LONGEST_TTL))


def _text(address: str | bytes) -> str:
    return address.decode("ascii", "replace") if isinstance(address, bytes) else address
