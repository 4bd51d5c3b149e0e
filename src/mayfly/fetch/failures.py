"""From whatever went wrong to the reason for it."""

from __future__ import annotations

import ssl
import time
from email.utils import parsedate_to_datetime

import aiohttp

from mayfly.core.model import DAY, Seconds
from mayfly.fetch.addresses import ForbiddenAddress
from mayfly.fetch.answers import Limits
from mayfly.fetch.decoding import BadEncoding, CutShort, TooLarge
from mayfly.fetch.reasons import Reason

_LONGEST_RETRY_AFTER: Seconds = DAY


class Stop(Exception):
    """Ends a fetch from within, with its reason."""

    def __init__(
        self, reason: Reason, detail: str = "", status: int | None = None, retry_after: Seconds | None = None
    ) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.status, self.retry_after = reason, detail, status, retry_after


def refused(answer: aiohttp.ClientResponse) -> Stop:
    """What a status other than success means."""
    status = answer.status
    if status in (404, 410):
        reason = Reason.NOT_FOUND
    elif status in (401, 402, 403, 407, 451):
        reason = Reason.REFUSED
    elif status in (429, 503):
        reason = Reason.BUSY
    elif 400 <= status < 500:
        reason = Reason.CLIENT_ERROR
    else:
        reason = Reason.SERVER_ERROR if 500 <= status < 600 else Reason.ODD_STATUS
    return Stop(reason, f"status {status}", status, _retry_after(answer.headers.get("Retry-After", ""), time.time()))


def _retry_after(text: str, now: Seconds) -> Seconds | None:
    """Seconds to wait, from a number or a date; a day at most.

    >>> _retry_after("120", 0.0), _retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 0.0), _retry_after("soon", 0.0)
    (120.0, 60.0, None)
    """
    text = text.strip()
    try:
        wait = float(text) if text.isascii() and text.isdigit() else parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(wait, 0.0), _LONGEST_RETRY_AFTER)


def explained(error: Exception, limits: Limits) -> Stop:
    """The reason behind an exception."""
    match error:
        case TooLarge():
            return Stop(Reason.BODY_TOO_LARGE, str(error))
        case BadEncoding():
            return Stop(Reason.BAD_ENCODING, str(error))
        case CutShort() | aiohttp.ClientPayloadError():
            return Stop(Reason.CUT_SHORT, str(error))
        case aiohttp.ServerTimeoutError():
            return Stop(Reason.CONNECT_TIMEOUT, f"not within {limits.connect_seconds:g} s")
        case TimeoutError():
            return Stop(Reason.TIMEOUT, f"not within {limits.seconds:g} s")
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError() | ssl.SSLError():
            return Stop(Reason.TLS, str(error))
        case aiohttp.ClientConnectorError(os_error=ForbiddenAddress() as refused):
            return Stop(Reason.FORBIDDEN_ADDRESS, str(refused))
        case aiohttp.ClientConnectorDNSError():
            return Stop(Reason.DNS, str(error.os_error))
        case aiohttp.ClientConnectorError():
            return Stop(Reason.CONNECT, str(error.os_error))
        case aiohttp.ServerDisconnectedError():
            return Stop(Reason.NO_ANSWER, "closed without an answer")
        case aiohttp.ClientResponseError() if "Got more than" in error.message or "too many" in error.message.lower():
            return Stop(Reason.HEADERS_TOO_LARGE, error.message)
        case aiohttp.ClientResponseError():
            return Stop(Reason.BAD_ANSWER, error.message)
        case aiohttp.ClientOSError() | ConnectionError():
            return Stop(Reason.RESET, str(error))
        case aiohttp.InvalidURL() | ValueError():
            return Stop(Reason.BAD_URL, str(error))
    return Stop(Reason.BAD_ANSWER, f"{type(error).__name__}: {error}")
