"""Answers that are well formed and wrong: redirects, validators, types, charsets, refusals."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from mayfly.testing.messages import Answer, Reply, Request, http_date

Answerer: TypeAlias = Callable[[Request, int], Answer]
CHAIN = 30
PAGE = b"<!doctype html><title>Trouble</title><p>An ordinary page.</p>\n"
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001"
    "e221bc330000000049454e44ae426082"
)
FORBIDDEN = {  # addresses outside, as a redirect may spell them; {port} is our own, where whoever comes is seen
    "10": "http://10.0.0.1/",
    "mapped": "http://[::ffff:10.0.0.1]/",
    "nat64": "http://[64:ff9b::a00:1]/",
    "6to4": "http://[2002:a00:1::]/",
    "hex": "http://0x7f.1:{port}/stolen",
    "decimal": "http://2130706433:{port}/stolen",
    "octal": "http://0177.0.0.1:{port}/stolen",
    "zero": "http://0.0.0.0:{port}/stolen",
    "loopback": "http://127.0.0.1:{port}/stolen",
    "localhost": "http://localhost:{port}/stolen",
    "loopback6": "http://[::1]:{port}/stolen",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "link-local6": "http://[fe80::1]/",
    "unique-local6": "http://[fd00::1]/",
    "cgnat": "http://100.64.0.1/",
}
SCHEMES = {
    "file": "file:///etc/hostname",
    "ftp": "ftp://ftp.trouble.test/a",
    "javascript": "javascript:alert(1)",
    "data": "data:text/html,<p>hello</p>",
    "gopher": "gopher://127.0.0.1:70/_",
}
INVALID = {
    "broken": "http://[::1",
    "empty": "",
    "no-host": "http:///",
    "bad-port": "http://trouble.test:99999/",
    "spaces": "http://trou ble.test/a b",
    "injected": "http://trouble.test/ordinary%0d%0aSet-Cookie:%20a=1",
    "credentials": "http://user:secret@trouble.test/ordinary",
}


def ordinary(request: Request, visit: int) -> Reply:
    return Reply(PAGE)


def redirect_to(target: str) -> Answerer:
    """A redirect to a fixed place; `{port}` becomes the server's own."""
    return partial(_redirect, target)


def _redirect(target: str, request: Request, visit: int) -> Reply:
    return _moved(target.replace("{port}", str(request.local[1])))


def _moved(target: str, status: int = 302) -> Reply:
    return Reply(b"", status, headers=(("Location", target),))


def redirect_loop(request: Request, visit: int) -> Reply:
    return _moved("/redirect-loop" if request.path.endswith("/again") else "/redirect-loop/again")


def redirect_itself(request: Request, visit: int) -> Reply:
    return _moved(request.target, 301)


def redirect_chain(request: Request, visit: int) -> Reply:
    step = request.path.rpartition("/")[2]
    done = int(step) if step.isdecimal() and len(step) < 6 else 0
    return Reply(PAGE) if done >= CHAIN else _moved(f"/redirect-chain/{done + 1}")


def redirect_nowhere(request: Request, visit: int) -> Reply:
    return Reply(PAGE, 302)


def unasked_304(request: Request, visit: int) -> Reply:
    return Reply(status=304)


def etag_changes(request: Request, visit: int) -> Reply:
    return Reply(PAGE, etag=f'"{visit}"')


def etag_stuck(request: Request, visit: int) -> Reply:
    return Reply(_changing(visit), headers=(("ETag", '"stuck"'),))


def lying_304(request: Request, visit: int) -> Reply:
    return Reply(_changing(visit), etag='"stuck"', modified=1e9)


def future_date(request: Request, visit: int) -> Reply:
    return Reply(_changing(visit), headers=(("Last-Modified", http_date(time.time() + 10 * 365 * 86400)),))


def _changing(visit: int) -> bytes:
    return PAGE + f'<p><a href="/ordinary?story={visit}">Story {visit}</a></p>\n'.encode()


def busy(status: int, after: str) -> Answerer:
    """Refuses, and says when to come again: `after` is a Retry-After, or `date` for one two seconds from now."""
    return partial(_busy, status, after)


def _busy(status: int, after: str, request: Request, visit: int) -> Reply:
    value = http_date(time.time() + 2.99) if after == "date" else after
    return Reply(b"busy\n", status, "text/plain", (("Retry-After", value),))


def busy_then_well(request: Request, visit: int) -> Reply:
    return Reply(PAGE) if visit > 2 else _busy(503, "1", request, visit)


def error_500(request: Request, visit: int) -> Reply:
    return Reply(b"<h1>Internal error</h1>", 500)


def forbidden(request: Request, visit: int) -> Reply:
    return Reply(b"<h1>Are you a robot?</h1>", 403)


def wrong_charset(request: Request, visit: int) -> Reply:
    page = "<!doctype html><meta charset=iso-8859-2><title>Новости</title><p>Это в windows-1251.</p>\n"
    return Reply(page.encode("windows-1251"), type="text/html; charset=utf-8")


def unknown_charset(request: Request, visit: int) -> Reply:
    return Reply(PAGE, type="text/html; charset=klingon")


def image_as_html(request: Request, visit: int) -> Reply:
    return Reply(_PNG * 50)


def html_as_image(request: Request, visit: int) -> Reply:
    return Reply(PAGE, type="image/png")


def no_type(request: Request, visit: int) -> Reply:
    return Reply(PAGE, type="")


def unknown_encoding(request: Request, visit: int) -> Reply:
    return Reply(PAGE, headers=(("Content-Encoding", "rot13"),))


def lying_encoding(request: Request, visit: int) -> Reply:
    return Reply(PAGE, headers=(("Content-Encoding", "gzip"),))
