"""Each misbehaviour does what its name says. What a crawler makes of them is tested with the crawler."""

import http.client
import re
import socket
import ssl
import time
import zlib
from collections.abc import Iterator
from contextlib import closing

import brotli
import pytest

from mayfly.testing.certificates import make_certificates, openssl_missing
from mayfly.testing.misbehaviour import BAD_CERTIFICATES, MISBEHAVIOURS, TROUBLE, trouble_sites
from mayfly.testing.server import Server, in_thread
from mayfly.testing.trouble import answers, bombs

PAGE = answers.PAGE
NEVER_ENDING = {"silence", "slow-headers", "dripping-body", "robots-silent"}
RESET = {"reset-before-headers", "reset-in-body"}
SLOW_TO_READ = {"endless-body", "endless-chunks", "endless-continue"}  # 20 to 200 MB


@pytest.mark.parametrize("name", sorted(MISBEHAVIOURS.keys() - NEVER_ENDING - SLOW_TO_READ - RESET))
def test_every_one_ends_and_is_written_down(server, ask, name) -> None:
    one = MISBEHAVIOURS[name]
    got = ask(server, one.host, one.path or f"/{one.name}", most=30_000_000, seconds=1.0)
    (visit,) = server.journal.visits(one.host)
    assert visit.ended is not None and len(got.raw) <= visit.bytes and one.about


def test_the_front_page_of_trouble_lists_them_all(server, ask) -> None:
    page = ask(server, TROUBLE, "/").body.decode()
    assert re.findall(r'href="([^"]+)"', page) == [one.url for one in MISBEHAVIOURS.values()]
    assert ask(server, TROUBLE, "/nothing").status == 404


@pytest.mark.parametrize("name", ["silence", "slow-headers", "dripping-body"])
def test_slow_ones_are_slow(server, ask, name) -> None:
    got = ask(server, TROUBLE, f"/{name}", seconds=10)
    (visit,) = server.journal.visits()
    assert 1.9 < visit.ended - visit.at < 9
    assert len(got.raw) < 130
    assert (b"\r\n\r\n" in got.raw) == (name == "dripping-body")


def test_plays_end_when_the_client_leaves(server, ask) -> None:
    ask(server, TROUBLE, "/endless-body", most=10**6)
    ask(server, TROUBLE, "/silence", seconds=0.1)
    time.sleep(0.3)
    (silent,) = server.journal.visits(path="/silence")
    assert silent.ended - silent.at < 1
    visit = server.journal.visits(path="/endless-body")[0]
    assert visit.ended is not None and visit.bytes < 100_000_000 and server.present == 0


@pytest.mark.parametrize("name", ["endless-body", "endless-chunks", "endless-continue", "giant-header", "many-headers"])
def test_long_ones_are_long(server, ask, name) -> None:
    got = ask(server, TROUBLE, f"/{name}", most=9_000_000)
    assert len(got.raw) >= 9_000_000
    if "header" in name:
        assert b"\r\n\r\n" not in got.raw
        assert max(map(len, got.raw.split(b"\r\n"))) > 8_000_000 or got.raw.count(b"\r\n") > 400_000


def test_lengths_lie(server, ask) -> None:
    short = ask(server, TROUBLE, "/length-too-short", seconds=0.3)
    assert int(short.headers["content-length"]) < len(short.body) and short.body.endswith(b"smuggled")
    long = ask(server, TROUBLE, "/length-too-long")
    assert int(long.headers["content-length"]) == 10 * len(long.body)
    assert ask(server, TROUBLE, "/length-twice").raw.count(b"Content-Length") == 2
    assert ask(server, TROUBLE, "/length-negative").headers["content-length"] == "-5"
    both = ask(server, TROUBLE, "/length-and-chunks").headers
    assert {"content-length", "transfer-encoding"} <= both.keys()


@pytest.mark.parametrize("name", ["bad-chunks", "cut-chunks", "length-too-long"])
def test_broken_bodies_are_broken_for_other_clients_too(server, name) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)) as client:
        client.request("GET", f"/{name}", headers={"Host": TROUBLE})
        with pytest.raises(http.client.HTTPException):
            client.getresponse().read()


def test_broken_connections(server, ask) -> None:
    assert ask(server, TROUBLE, "/empty-reply").raw == b""
    assert len(ask(server, TROUBLE, "/garbage").raw) == 4000
    with pytest.raises(ConnectionResetError):
        ask(server, TROUBLE, "/reset-before-headers")
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=5)) as client:
        client.sendall(b"GET /reset-in-body HTTP/1.1\r\nHost: trouble.test\r\n\r\n")
        assert client.recv(100_000).startswith(b"HTTP/1.1 200 OK")
        with pytest.raises(ConnectionResetError):
            client.recv(100_000)


def test_odd_headers_are_sent_as_they_are(server, ask) -> None:
    assert b"no colon at all\r\n folded\r\n" in ask(server, TROUBLE, "/odd-headers").raw
    assert b"visitor\rSet-Cookie: admin=1\r\n" in ask(server, TROUBLE, "/header-injection").raw


def test_bombs_unpack_to_a_quarter_of_a_gigabyte(server, ask) -> None:
    zipped = ask(server, TROUBLE, "/gzip-bomb")
    assert zipped.headers["content-encoding"] == "gzip" and unpacked(zlib.decompressobj(31), zipped.body) == 2**28
    twice = ask(server, TROUBLE, "/gzip-twice")
    assert zlib.decompress(twice.body, 31) == zipped.body and len(twice.body) < 1000
    assert ask(server, TROUBLE, "/sitemap-bomb/sitemap.xml.gz").body == zipped.body
    squeezed = ask(server, TROUBLE, "/br-bomb")
    opener = brotli.Decompressor()
    assert squeezed.headers["content-encoding"] == "br" and len(squeezed.body) < 100_000
    assert len(opener.process(squeezed.body[: len(squeezed.body) // 8])) > 2**24


def unpacked(opener, data: bytes) -> int:
    total = 0
    while data:
        total += len(opener.decompress(data, 2**22))
        data = opener.unconsumed_tail
    return total


def test_the_zstd_bomb_is_one(server, ask) -> None:
    zstd = pytest.importorskip("compression.zstd" if __import__("sys").version_info >= (3, 14) else "backports.zstd")
    got = ask(server, TROUBLE, "/zstd-bomb")
    assert got.headers["content-encoding"] == "zstd" and len(got.body) < 10_000
    opener, total = zstd.ZstdDecompressor(), 0
    data = got.body
    while not opener.eof:
        total += len(opener.decompress(data, 2**22))
        data = b""
    assert total == bombs.UNPACKED


def location(server, ask, target: str) -> str | None:
    got = ask(server, TROUBLE, target)
    assert got.status in (301, 302)
    return got.headers.get("location")


def test_redirects_lead_where_they_say(server, ask) -> None:
    assert location(server, ask, "/redirect-loop") == "/redirect-loop/again"
    assert location(server, ask, "/redirect-loop/again") == "/redirect-loop"
    assert location(server, ask, "/redirect-itself") == "/redirect-itself"
    assert location(server, ask, "/redirect-nowhere") is None
    assert location(server, ask, "/redirect-empty") == ""
    target = "/redirect-chain"
    for _ in range(answers.CHAIN):
        target = location(server, ask, target)
    assert ask(server, TROUBLE, target).body == PAGE
    assert location(server, ask, "/redirect-to-metadata") == "http://169.254.169.254/latest/meta-data/"
    assert location(server, ask, "/redirect-to-mapped") == "http://[::ffff:10.0.0.1]/"
    assert location(server, ask, "/redirect-to-hex") == f"http://0x7f.1:{server.port}/stolen"
    assert location(server, ask, "/redirect-to-javascript") == "javascript:alert(1)"


def test_validators_lie(server, ask) -> None:
    assert ask(server, TROUBLE, "/unasked-304").status == 304
    first, second = (ask(server, TROUBLE, "/etag-changes") for _ in range(2))
    assert first.body == second.body and first.headers["etag"] != second.headers["etag"]
    first, second = (ask(server, TROUBLE, "/etag-stuck", If_None_Match='"stuck"') for _ in range(2))
    assert first.body != second.body and first.headers["etag"] == second.headers["etag"] and second.status == 200
    first, second = (ask(server, TROUBLE, "/lying-304") for _ in range(2))
    assert first.body != second.body
    assert ask(server, TROUBLE, "/lying-304", If_None_Match='"stuck"').status == 304


def test_refusals_say_when_to_come_again(server, ask) -> None:
    assert ask(server, TROUBLE, "/busy-429").headers["retry-after"] == "2"
    got = ask(server, TROUBLE, "/busy-503-date")
    assert got.status == 503 and got.headers["retry-after"].endswith("GMT")
    assert [ask(server, TROUBLE, "/busy-then-well").status for _ in range(3)] == [503, 503, 200]


def test_types_and_charsets_lie(server, ask) -> None:
    assert ask(server, TROUBLE, "/image-as-html").body.startswith(b"\x89PNG")
    assert ask(server, TROUBLE, "/html-as-image").headers["content-type"] == "image/png"
    assert "content-type" not in ask(server, TROUBLE, "/no-type").headers
    got = ask(server, TROUBLE, "/wrong-charset")
    assert "utf-8" in got.headers["content-type"] and "Новости" in got.body.decode("windows-1251")
    with pytest.raises(UnicodeDecodeError):
        got.body.decode()


def links(got) -> list[str]:
    return re.findall(r'href="([^"]+)"', got.body.decode())


def test_documents_trap_their_readers(server, ask) -> None:
    assert links(ask(server, TROUBLE, "/calendar/2024-03-01")) == ["/calendar/2024-02-29", "/calendar/2024-03-02"]
    first, second = (links(ask(server, TROUBLE, "/session-ids")) for _ in range(2))
    assert len(first) == 10 and not set(first) & set(second)
    assert len(links(ask(server, TROUBLE, "/many-links", most=10**7))) == 50_000
    assert ask(server, TROUBLE, "/deep-nesting").body.count(b"<div>") == 100_000
    assert ask(server, TROUBLE, "/soft-404/a").body == ask(server, TROUBLE, "/soft-404/b/c").body
    wall = ask(server, TROUBLE, "/login-wall/story")
    assert wall.status == 302 and b"type=password" in ask(server, TROUBLE, wall.headers["location"]).body
    assert ask(server, TROUBLE, "/entity-bomb-feed").body.count(b"&e8;") == 10
    assert b'SYSTEM "file:///etc/hostname"' in ask(server, TROUBLE, "/outside-entity").body
    assert not ask(server, TROUBLE, "/cut-feed").body.endswith(b"</rss>")


def test_hosts_fail_as_a_whole(server, ask) -> None:
    assert ask(server, "robots-500.test", "/robots.txt").status == 500
    assert ask(server, "robots-500.test", "/").status == 200
    assert len(ask(server, "robots-huge.test", "/robots.txt", most=10**8).body) > 19_900_000
    assert ask(server, "mirror.test", "/story/3").body == ask(server, "original.test", "/story/3").body
    assert [ask(server, "vanishing.test").status for _ in range(3)] == [200, 200, 200]
    with pytest.raises(ConnectionResetError):
        ask(server, "vanishing.test")


@pytest.fixture(scope="module")
def secure(tmp_path_factory) -> Iterator[tuple[Server, ssl.SSLContext]]:
    if reason := openssl_missing():
        pytest.skip(reason)
    made = make_certificates(tmp_path_factory.mktemp("certificates"), [TROUBLE])
    with in_thread(Server(trouble_sites(), tls=made.context)) as server:
        yield server, ssl.create_default_context(cafile=str(made.authority))


def over_tls(server: Server, context: ssl.SSLContext, host: str) -> bytes:
    with (
        closing(socket.create_connection(("127.0.0.1", server.tls_port), timeout=5)) as plain,
        context.wrap_socket(plain, server_hostname=host) as client,
    ):
        client.sendall(f"GET /ordinary HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return client.recv(1000)


def test_a_good_certificate_is_good(secure) -> None:
    server, context = secure
    assert over_tls(server, context, TROUBLE).startswith(b"HTTP/1.1 200")
    assert server.connect_to == [f":80:127.0.0.1:{server.port}", f":443:127.0.0.1:{server.tls_port}"]


@pytest.mark.parametrize("host", BAD_CERTIFICATES)
def test_a_bad_certificate_is_bad(secure, host) -> None:
    with pytest.raises(ssl.SSLCertVerificationError) as error:
        over_tls(*secure, host)
    assert {"self-signed.test": "self", "expired.test": "expired", "wrong-name.test": "mismatch"}[host] in str(
        error.value
    )
