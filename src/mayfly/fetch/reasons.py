"""Why a fetch brought nothing: every failure has one of these names, in logs, in the store and in docs/reference."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """A named reason, with a sentence for people."""

    sentence: str
    again: bool  # whether the same request may well succeed later

    def __new__(cls, name: str, again: bool, sentence: str) -> Reason:
        made = str.__new__(cls, name)
        made._value_ = name
        made.again, made.sentence = again, sentence
        return made

    BAD_URL = "bad-url", False, "the URL is no web address, or too long"
    FORBIDDEN_ADDRESS = "forbidden-address", False, "the host has only private, loopback or reserved addresses"
    DNS = "dns", True, "the host name has no address"
    CONNECT = "connect", True, "no connection: refused or unreachable"
    CONNECT_TIMEOUT = "connect-timeout", True, "no connection in time"
    TLS = "tls", True, "the certificate or the handshake is not sound"
    TIMEOUT = "timeout", True, "the answer was not complete in time"
    RESET = "reset", True, "the connection was broken off before there was an answer"
    NO_ANSWER = "no-answer", True, "the connection was closed without an answer"
    BAD_ANSWER = "bad-answer", True, "the answer is not HTTP"
    HEADERS_TOO_LARGE = "headers-too-large", False, "more or longer headers than the limit"
    BODY_TOO_LARGE = "body-too-large", False, "more bytes than the limit, on the wire or decoded"
    CUT_SHORT = "cut-short", True, "the body ended before it was complete"
    BAD_ENCODING = "bad-encoding", False, "the body is not in the encoding it says"
    MEDIA = "media", False, "an image, film, sound, font or archive"
    BAD_REDIRECT = "bad-redirect", False, "a redirect without a web address to follow"
    REDIRECT_LOOP = "redirect-loop", False, "a redirect to an address already visited"
    TOO_MANY_REDIRECTS = "too-many-redirects", False, "more redirects than the limit"
    ROBOTS = "robots", False, "robots.txt does not allow it"
    ROBOTS_UNREACHABLE = "robots-unreachable", True, "robots.txt cannot be had, so nothing may be fetched"
    NOT_FOUND = "not-found", False, "status 404 or 410"
    REFUSED = "refused", False, "status 401, 402, 403, 407 or 451"
    BUSY = "busy", True, "status 429 or 503: come back later"
    CLIENT_ERROR = "client-error", False, "another status from 400 to 499"
    SERVER_ERROR = "server-error", True, "a status from 500 to 599"
    ODD_STATUS = "odd-status", True, "a status that makes no sense here, as 304 without having asked"
    ELSEWHERE = "elsewhere", True, "the site is another shard's, which alone may ask it"
    STOPPING = "stopping", True, "the crawl was ending before the request left"
    READER_DIED = "reader-died", False, "the process that read the body ended or took too long"
