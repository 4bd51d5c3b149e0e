"""The server itself: by the book, bounded, and it writes down what it was asked."""

import asyncio
import http.client
import json
import socket
import time
from contextlib import closing

import pytest

from mayfly.errors import UsageError
from mayfly.testing.bench import bench_page
from mayfly.testing.connection import Bounds
from mayfly.testing.journal import Journal
from mayfly.testing.messages import Reply
from mayfly.testing.server import Server, in_thread
from mayfly.testing.trap import Trap


def test_hosts_are_told_apart_by_their_names(server, ask) -> None:
    assert ask(server, "hello.test", "/a?b=1").body == b"hello from hello.test/a?b=1"
    assert ask(server, "HELLO.test.:80").status == 200
    assert ask(server, "bench.test", "/page/3").body == bench_page(3)
    assert ask(server, "nobody.test").status == 421


def test_a_connection_serves_many_requests(server) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)) as client:
        for number in range(20):
            client.request("GET", f"/page/{number}", headers={"Host": "bench.test"})
            assert client.getresponse().read() == bench_page(number)
    assert {visit.connection for visit in server.journal.visits()} == {1}
    assert server.connections == 1


def test_requests_sent_together_are_answered_in_order(server, read) -> None:
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=5)) as client:
        one = b"GET /%d HTTP/1.1\r\nHost: hello.test\r\n\r\n"
        client.sendall(one % 1 + one % 2 + one[:-2] % 3 + b"Connection: close\r\n\r\n")
        raw = read(client, 10_000)
    assert [raw.index(b"hello.test/%d" % number) for number in (1, 2, 3)] == sorted(
        raw.index(b"hello.test/%d" % number) for number in (1, 2, 3)
    )


def test_head_has_the_length_but_no_body(server) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)) as client:
        client.request("HEAD", "/page/1", headers={"Host": "bench.test"})
        reply = client.getresponse()
        assert reply.getheader("Content-Length") == "30000" and reply.read() == b""
        client.request("HEAD", "/page/1", headers={"Host": "bench.test"})
        assert client.getresponse().status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"If_None_Match": '"1"'}, 304),
        ({"If_None_Match": 'W/"1", "2"'}, 304),
        ({"If_None_Match": "*"}, 304),
        ({"If_None_Match": '"2"', "If_Modified_Since": "Sun, 09 Sep 2001 01:46:40 GMT"}, 200),
        ({"If_Modified_Since": "Sun, 09 Sep 2001 01:46:40 GMT"}, 304),
        ({"If_Modified_Since": "Sun, 09 Sep 2001 01:46:39 GMT"}, 200),
        ({"If_Modified_Since": "yesterday"}, 200),
    ],
)
def test_conditions_are_answered_rightly(server, ask, headers, status) -> None:
    got = ask(server, "hello.test", **headers)
    assert got.status == status
    assert (got.body == b"") == (status == 304)
    assert got.headers["etag"] == '"1"' and got.headers["last-modified"] == "Sun, 09 Sep 2001 01:46:40 GMT"


def test_every_request_is_written_down(server, ask) -> None:
    before = time.time()
    ask(server, "hello.test", "/a?b=1", User_Agent="mayfly/1", If_None_Match='"1"')
    got = ask(server, "bench.test", "/page/1")
    first, second = server.journal.visits()
    assert (first.host, first.path, first.target, first.status) == ("hello.test", "/a", "/a?b=1", 304)
    assert (first.user_agent, first.if_none_match, first.if_modified_since) == ("mayfly/1", '"1"', "")
    assert before <= first.at <= first.ended <= second.at <= time.time()
    assert second.bytes == len(got.raw) and second.address == "127.0.0.1"
    assert [row["number"] for row in server.journal.since(1)] == [1]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"PUT / HTTP/1.1\r\nHost: hello.test\r\nContent-Length: 2\r\n\r\nhi", 405),
        (b"GET / HTTP/1.1\r\nHost: hello.test\r\nContent-Length: 2\r\n\r\nhi", 405),
        (b"POST / HTTP/1.1\r\nHost: hello.test\r\nContent-Length: 99999999\r\n\r\nhi", 405),
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000, 431),
        (b"GET http://hello.test/p HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 200),
        (b"GET / HTTP/1.0\r\nHost: hello.test\r\n\r\n", 200),
    ],
)
def test_odd_requests_are_answered_and_the_connection_ends(server, read, parsed, sent, status) -> None:
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=5)) as client:
        client.sendall(sent)
        assert parsed(read(client, 10**6)).status == status


def test_a_journal_on_disk_has_every_request_as_it_ended(tmp_path, ask) -> None:
    path = tmp_path / "journal.jsonl"
    with path.open("w") as file, in_thread(Server({}, journal=Journal(most=1, file=file))) as server:
        for target in ("/a", "/b", "/c"):
            ask(server, "nobody.test", target)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(row["target"], row["status"]) for row in rows] == [("/a", 421), ("/b", 421), ("/c", 421)]
    assert all(row["at"] <= row["ended"] for row in rows)


def test_who_wants_tls_where_there_is_none_is_told_at_once(server, read, parsed) -> None:
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=5)) as client:
        client.sendall(bytes.fromhex("1603010200010001fc0303") + bytes(40))
        assert parsed(read(client, 1000)).status == 400


def test_connections_are_bounded_in_number_and_time() -> None:
    with in_thread(Server({}, bounds=Bounds(connections=2, idle_seconds=0.5))) as server:
        address = ("127.0.0.1", server.port)
        clients = [socket.create_connection(address, timeout=5) for _ in range(3)]
        try:
            begun = time.monotonic()
            assert clients[2].recv(1) == b"" and time.monotonic() - begun < 0.4
            assert clients[0].recv(1) == b"" and time.monotonic() - begun < 4
        finally:
            for client in clients:
                client.close()


def test_a_client_that_does_not_read_is_cut() -> None:
    whole = Reply(bytes(10**7))
    with in_thread(Server({"big.test": lambda request: whole}, bounds=Bounds(idle_seconds=0.5))) as server:
        with closing(socket.create_connection(("127.0.0.1", server.port), timeout=5)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: big.test\r\n\r\n" * 50)
            time.sleep(1.2)
            assert server.present == 0
        assert server.journal.total == 1, "nothing more is answered while the client does not read"


def test_an_address_can_disappear_and_come_back() -> None:
    sites = {"hello.test": lambda request: Reply(b"hello")}
    with in_thread(Server(sites, addresses=("127.0.0.1", "127.0.0.2"))) as server:
        address = ("127.0.0.2", server.port)
        socket.create_connection(address, timeout=5).close()
        server.run(server.disappear("127.0.0.2"))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, timeout=5)
        socket.create_connection(("127.0.0.1", server.port), timeout=5).close()
        server.run(server.reappear("127.0.0.2"))
        socket.create_connection(address, timeout=5).close()


def test_it_runs_in_an_event_loop_too() -> None:
    async def main() -> bytes:
        async with Server({"hello.test": lambda request: Reply(b"hello")}) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET / HTTP/1.1\r\nHost: hello.test\r\nConnection: close\r\n\r\n")
            data = await reader.read()
            writer.close()
            await writer.wait_closed()
            return data

    assert asyncio.run(main()).endswith(b"hello")


def test_it_stays_on_this_machine() -> None:
    for kind in (Trap, lambda addresses: Server({}, addresses=addresses)):
        with pytest.raises(UsageError, match="loopback"):
            kind(addresses=("0.0.0.0",))


def test_a_port_in_use_is_an_error_at_once() -> None:
    with in_thread(Server({})) as server, pytest.raises(OSError), in_thread(Server({}, port=server.port)):
        pass


def test_a_trap_records_every_connection() -> None:
    with Trap(("127.0.0.1", "127.0.0.3")) as trap:
        assert trap.wait(1, seconds=0.1) == []
        with closing(socket.create_connection(("127.0.0.1", trap.port), timeout=5)) as client:
            client.sendall(b"GET /secret HTTP/1.1\r\n\r\n")
            assert client.recv(1) == b""
        socket.create_connection(("127.0.0.3", trap.port), timeout=5).close()
        first, second = trap.wait(2)
    assert first.data.startswith(b"GET /secret") and first.address == "127.0.0.1"
    assert second.address == "127.0.0.3" and second.data == b""
