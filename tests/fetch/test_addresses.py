"""Which addresses may be connected to, and how names become addresses."""

import asyncio
import ipaddress
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mayfly.errors import UsageError
from mayfly.fetch.addresses import ConnectTo, ForbiddenAddress, Resolver, Routes, Vetting

PRIVATE = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::",
    "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::10.0.0.1",
    "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "::127.0.0.1", "2001:db8::1", "fe80::5efe:10.0.0.1",
    "2001:0:a00:1::", "fe80::1%eth0", "", "not an address",
]  # fmt: skip
PUBLIC = [
    "8.8.8.8",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1111",
    "64:ff9b::8.8.8.8",
    "::ffff:8.8.8.8",
    "2002:808:808::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_refused(address: str) -> None:
    assert not Vetting().allows(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert Vetting().allows(address)


@given(st.ip_addresses(v=4))
def test_an_address_inside_another_is_judged_alike(inner: ipaddress.IPv4Address) -> None:
    plain = Vetting().allows(str(inner))
    carried = [
        f"::ffff:{inner}",
        f"64:ff9b::{inner}",
        str(ipaddress.IPv6Address((0x2002 << 112) | (int(inner) << 80) | 1)),
    ]
    assert [Vetting().allows(one) for one in carried] == [plain] * 3


def test_networks_that_are_allowed_open_only_themselves() -> None:
    vetting = Vetting(["127.0.0.0/8", "fd00::/8"])
    assert vetting.allows("127.0.0.1")
    assert vetting.allows("::ffff:127.0.0.1")
    assert vetting.allows("fd00::1")
    assert not vetting.allows("10.0.0.1")
    assert not vetting.allows("::ffff:10.0.0.1")
    assert not vetting.allows("::1")
    assert vetting.allows("8.8.8.8")


def test_what_is_no_network_is_said() -> None:
    with pytest.raises(UsageError, match=r"'yes' is no network; write one as 127\.0\.0\.0/8"):
        Vetting(["yes"])


# --connect-to


def test_rules_of_connect_to_are_read_as_in_curl() -> None:
    assert ConnectTo.parse("a.test:80:127.0.0.1:8080") == ("a.test", "80", "127.0.0.1", "8080")
    assert ConnectTo.parse("::[::1]:8080") == ("", "", "::1", "8080")
    assert ConnectTo.parse("A.test::b.test:") == ("a.test", "", "b.test", "")


@pytest.mark.parametrize(
    "text", ["", "a", "a:b:c:d", "a:80:b", "a:80:b:80:c", "a:80:b:99999", "[::1:80:b:80", "[::1]x:80:b:80"]
)
def test_broken_rules_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT:HOST:PORT"):
        ConnectTo.parse(text)


def test_the_first_rule_that_applies_wins() -> None:
    routes = Routes([ConnectTo.parse(rule) for rule in ("a.test:443:one.test:1", "a.test::two.test:", ":80::8080")])
    assert routes.target("a.test", 443) == ("one.test", 1)
    assert routes.target("a.test", 80) == ("two.test", 80)
    assert routes.target("b.test", 80) == ("b.test", 8080)
    assert routes.target("b.test", 443) == ("b.test", 443)


# Names


class NameServer(asyncio.DatagramProtocol):
    """A real DNS server on loopback, for a handful of names."""

    def __init__(self, records: dict[str, tuple[list[str], int]]) -> None:
        self.records = records
        self.asked: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += data[at] + 1
        name, kind = ".".join(labels).lower(), struct.unpack(">H", data[at + 1 : at + 3])[0]
        self.asked.append(name)
        addresses, ttl = self.records.get(name, ([], 0))
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        found = [one for one in addresses if (":" in one) == (family == socket.AF_INET6)] if family else []
        status = 0x8180 if name in self.records else 0x8183
        answer = data[:2] + struct.pack(">HHHHH", status, 1, len(found), 0, 0) + data[12 : at + 5]
        for one in found:
            packed = socket.inet_pton(family, one)
            answer += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, ttl, len(packed)) + packed
        self.transport.sendto(answer, addr)


def with_names(
    records: dict[str, tuple[list[str], int]],
    test: Callable[[Resolver, NameServer, list[float]], Coroutine[Any, Any, None]],
    allowed: tuple[str, ...] = (),
    rules: tuple[str, ...] = (),
) -> None:
    async def run() -> None:
        server = NameServer(records)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: server, local_addr=("127.0.0.1", 0))
        now = [1000.0]
        port = transport.get_extra_info("sockname")[1]
        routes = Routes([ConnectTo.parse(rule) for rule in rules])
        resolver = Resolver(Vetting(allowed), routes, ["127.0.0.1"], port, clock=lambda: now[0])
        try:
            await asyncio.wait_for(test(resolver, server, now), 20)
        finally:
            await resolver.close()
            transport.close()

    asyncio.run(run())


def hosts(answers: list[Any]) -> list[str]:
    return [answer["host"] for answer in answers]


def test_only_the_vetted_addresses_of_a_name_are_given() -> None:
    async def test(resolver: Resolver, server: NameServer, now: list[float]) -> None:
        assert hosts(await resolver.resolve("mixed.example", 80)) == ["8.8.8.8"]
        with pytest.raises(ForbiddenAddress, match=r"private\.example is at 10\.0\.0\.1"):
            await resolver.resolve("private.example", 80)

    with_names({"mixed.example": (["10.0.0.1", "8.8.8.8"], 60), "private.example": (["10.0.0.1"], 60)}, test)


def test_answers_are_kept_for_half_a_minute_at_least() -> None:
    async def test(resolver: Resolver, server: NameServer, now: list[float]) -> None:
        await resolver.resolve("short.example", 80)
        asked = len(server.asked)
        now[0] += 29
        await resolver.resolve("short.example", 80)
        assert len(server.asked) == asked
        server.records["short.example"] = (["8.8.4.4"], 0)
        now[0] += 2
        assert hosts(await resolver.resolve("short.example", 80)) == ["8.8.4.4"]

    with_names({"short.example": (["8.8.8.8"], 0)}, test)


def test_failures_are_kept_for_a_minute() -> None:
    async def test(resolver: Resolver, server: NameServer, now: list[float]) -> None:
        for _ in range(2):
            with pytest.raises(OSError):
                await resolver.resolve("missing.example", 80)
        asked = server.asked.count("missing.example")
        now[0] += 61
        server.records["missing.example"] = (["8.8.8.8"], 60)
        assert hosts(await resolver.resolve("missing.example", 80)) == ["8.8.8.8"]
        assert server.asked.count("missing.example") > asked

    with_names({}, test)


def test_many_who_ask_for_a_name_at_once_are_one_question() -> None:
    async def test(resolver: Resolver, server: NameServer, now: list[float]) -> None:
        answers = await asyncio.gather(*(resolver.resolve("a.example", 80) for _ in range(50)))
        assert all(hosts(one) == ["8.8.8.8"] for one in answers)
        assert server.asked.count("a.example") <= 2  # one for each family

    with_names({"a.example": (["8.8.8.8"], 60)}, test)


def test_connect_to_is_vetted_too() -> None:
    async def test(resolver: Resolver, server: NameServer, now: list[float]) -> None:
        answer = (await resolver.resolve("a.test", 80))[0]
        assert (answer["hostname"], answer["host"], answer["port"]) == ("a.test", "127.0.0.1", 8080)
        with pytest.raises(ForbiddenAddress):
            await resolver.resolve("b.test", 80)
        assert not server.asked

    with_names({}, test, ("127.0.0.0/8",), ("a.test:80:127.0.0.1:8080", "b.test:80:10.0.0.1:80"))
