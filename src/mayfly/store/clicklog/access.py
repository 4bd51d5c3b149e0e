"""Access logs of web servers: common and combined, with or without the virtual host before them.

What clicks need of a line is path and minute; who asked, from where and with what is looked at once and forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from mayfly.errors import UsageError
from mayfly.store.clicklog.rows import LONGEST_LINE, BadRow, Dropped, Memo, Read, Reading, why_bad
from mayfly.store.clicklog.visits import Request, not_read
from mayfly.store.records import ClickRow
from mayfly.urls import canonical

LINE = re.compile(
    r"(?P<who>[^\[\"]*)\[(?P<time>\d{2}/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "
    r'"(?P<request>(?:[^"\\]|\\.)*)" (?P<status>\d{3}) \S+'
    r'(?: "(?P<referrer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)")?'
)
_REQUEST = re.compile(r"(?P<method>[A-Z]+) (?P<path>\S+)(?: HTTP/[\d.]+)?")


def read_access(lines: Iterable[bytes], how: Reading) -> Iterator[Read]:
    """Views, by the lines of an access log."""
    return views(requests(lines), moment, how)


def views(
    asked: Iterable[Request | BadRow | Dropped], moment: Callable[[str], datetime], how: Reading
) -> Iterator[Read]:
    """Requests as rows to keep; what is none is passed on."""
    moments = Memo(lambda text: how.moment(moment(text))[0])
    addresses = Memo(lambda where: address(*where))
    for one in asked:
        if not isinstance(one, Request):
            yield one
            continue
        try:
            yield ClickRow(addresses[site_of(one, how), one.path], moments[one.time])
        except ValueError as wrong:
            yield why_bad(one.line, wrong)


def requests(lines: Iterable[bytes]) -> Iterator[Request | BadRow | Dropped]:
    """What the lines say was read, and which say nothing of the kind."""
    for number, raw in enumerate(lines, start=1):
        if raw.strip():
            yield _request(number, raw)


def moment(text: str) -> datetime:
    """When it was, as these logs write it."""
    return datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z")


def site_of(asked: Request, how: Reading) -> str:
    """The address of the site a request was for."""
    base = asked.base or how.host
    if base is None:
        raise UsageError("its lines do not say of which host they are: give --host https://example.com")
    return base


def _request(number: int, raw: bytes) -> Request | BadRow | Dropped:
    found = LINE.match(raw.decode(errors="surrogateescape")) if len(raw) <= LONGEST_LINE else None
    if found is None:
        return BadRow(number, "is no line of an access log")
    request = _REQUEST.fullmatch(found["request"])
    if request is None:
        return Dropped(number, "not GET")  # a TLS handshake, or noise
    if why := not_read(request["method"], request["path"], found["status"], found["agent"]):
        return Dropped(number, why)
    base, who = host_of(found["who"]), found["who"].split()
    visitor = who[base is not None] if len(who) > 1 else "".join(who)
    referrer = found["referrer"] or ""
    return Request(number, base, request["path"], found["time"], "" if referrer == "-" else referrer, visitor)


def host_of(who: str) -> str | None:
    """The virtual host, where the format has it: before the address, which has a dash for the identity behind it.

    >>> host_of("example.com:443 192.0.2.1 - - "), host_of("192.0.2.1 - jane ")
    ('https://example.com:443/', None)
    """
    words = who.split()
    if len(words) < 4 or words[1] == "-":
        return None
    scheme = "http" if words[0].endswith(":80") else "https"
    return canonical(f"{scheme}://{words[0]}/") and f"{scheme}://{words[0]}/"


def address(base: str, path: str) -> str:
    """The page a path of a site leads to."""
    url = canonical(path, base)
    if url is None:
        raise ValueError("its path is no web address")
    return url
