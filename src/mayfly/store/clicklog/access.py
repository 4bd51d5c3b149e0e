"""Access logs of web servers: common and combined, with or without the virtual host before them.

What is read of a line is the path and the minute; who asked, from where and with what is looked at once and forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from mayfly.errors import UsageError
from mayfly.store.clicklog.rows import LONGEST_LINE, BadRow, Dropped, Memo, Read, Reading, why_bad
from mayfly.store.clicklog.visits import not_read
from mayfly.store.records import ClickRow
from mayfly.urls import canonical

LINE = re.compile(
    r"(?P<who>[^\[\"]*)\[(?P<time>\d{2}/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "
    r'"(?P<request>(?:[^"\\]|\\.)*)" (?P<status>\d{3}) \S+(?: "(?:[^"\\]|\\.)*" "(?P<agent>(?:[^"\\]|\\.)*)")?'
)
_REQUEST = re.compile(r"(?P<method>[A-Z]+) (?P<path>\S+)(?: HTTP/[\d.]+)?")


def read_access(lines: Iterable[bytes], how: Reading) -> Iterator[Read]:
    """Views, by the lines of an access log."""
    moments = Memo(lambda text: how.moment(datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z"))[0])
    addresses = Memo(lambda where: address(*where))
    for number, raw in enumerate(lines, start=1):
        if raw.strip():
            yield _row(number, raw, how, moments, addresses)


def _row(number: int, raw: bytes, how: Reading, moments: Memo[float], addresses: Memo[str]) -> Read:
    found = LINE.match(raw.decode(errors="surrogateescape")) if len(raw) <= LONGEST_LINE else None
    if found is None:
        return BadRow(number, "is no line of an access log")
    request = _REQUEST.fullmatch(found["request"])
    if request is None:
        return Dropped(number, "not GET")  # a TLS handshake, or noise
    if why := not_read(request["method"], request["path"], found["status"], found["agent"]):
        return Dropped(number, why)
    base = host_of(found["who"]) or how.host
    if base is None:
        raise UsageError("its lines do not say of which host they are: give --host https://example.com")
    try:
        return ClickRow(addresses[base, request["path"]], moments[found["time"]])
    except ValueError as wrong:
        return why_bad(number, wrong)


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
