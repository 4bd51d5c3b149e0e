"""Pages sent on as they land: signed, again until they are taken, never to a private address unless that is allowed."""

import hashlib
import hmac
import json
import queue
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

SECRET = "a-secret-for-the-webhook"


@pytest.fixture
def receiver():
    """A server that answers with the statuses it is given, then with 204; what it took stands in `taken`."""
    taken: queue.Queue = queue.Queue()
    statuses: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = statuses.pop(0) if statuses else 204
            taken.put((status, dict(self.headers), body))
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/new", taken, statuses
    server.shutdown()
    server.server_close()


def flags(url: str, *more: str) -> list[str]:
    return ["--webhook-url", url, "--webhook-secret", SECRET, *more]


def until(holds) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


ALLOWED = ("--allow-private-addresses", "127.0.0.0/8")


def test_batches_are_signed_tried_again_and_go_on_after_a_restart(serving, lands, kept, receiver, tmp_path) -> None:
    url, taken, statuses = receiver
    home = tmp_path / "home"
    home.mkdir()
    lands(home, 1, 2)
    statuses += [500, 302]
    with serving(home, *flags(url, *ALLOWED)) as running:
        until(lambda: kept("sent", home=home) is not None)
        lands(home, 3, 4)
        got = [taken.get(timeout=30) for _ in range(3)]
        assert [status for status, _, _ in got] == [500, 302, 204]
        for _, headers, body in got:
            signed = f"{headers['X-Mayfly-Timestamp']}.".encode() + body
            assert (
                headers["X-Mayfly-Signature"]
                == "sha256=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
            )
        told = json.loads(got[-1][2])
        assert all(json.loads(body)["after"] == 2 for _, _, body in got)
        assert [page["url"][-1] for page in told["pages"]] in (["3"], ["3", "4"])
        while told["next"] < 4:
            told = json.loads(taken.get(timeout=30)[2])
        status, log = running.stop()
        assert status == 0 and "status 500" in log and "status 302" in log
    lands(home, 5)
    with serving(home, *flags(url, *ALLOWED)):
        told = json.loads(taken.get(timeout=30)[2])
        assert (told["after"], told["next"], [page["url"][-1] for page in told["pages"]]) == (4, 5, ["5"])


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_private_address_is_refused(serving, lands, kept, receiver, tmp_path, name) -> None:
    url, taken, _ = receiver
    home = tmp_path / "home"
    home.mkdir()
    lands(home, 1)
    with serving(home, *flags(url.replace("127.0.0.1", name))) as running:
        until(lambda: kept("sent", home=home) is not None)
        lands(home, 2)
        until(lambda: 'webhook_total{result="failed"}' in running.http.get("/metrics").text)
        assert "mayfly_webhook_behind 1.0" in running.http.get("/metrics").text
        assert "private, loopback or reserved addresses" in running.stop()[1]
    assert taken.empty()
