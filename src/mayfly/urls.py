"""URLs as keys: one spelling for each address, and the site it belongs to.

`canonical` reads a URL as browsers do (WHATWG), then removes what does not change what is shown: fragment, credentials,
default port, tracking parameters, session ids, the wrapping of AMP caches, and spellings of the same percent-encoded
letter. It is idempotent, so that a stored URL is the URL that is fetched.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address

import can_ada
from publicsuffixlist import PublicSuffixList

LONGEST = 2000  # characters; longer ones are generated, and no server promises to take them

_TRACKING = {
    "ito", "cmpid", "cmp", "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid",
    "igsh", "igshid", "mc_cid", "mc_eid", "mkt_tok", "wt_mc", "wt_zmc", "xtor", "_ga", "_gl", "ref_src", "ref_url",
    "s_cid", "smid", "spm", "__twitter_impression", "amp", "outputtype", "wprov", "guccounter", "phpsessid",
    "jsessionid", "cfid", "cftoken", "sessionid", "session_id", "sid", "sess",
}  # fmt: skip
_TRACKING_PREFIXES = (
    "utm_", "mtm_", "matomo_", "pk_", "piwik_", "hsa_", "_hs", "at_campaign", "at_medium", "at_custom", "at_bbc", "ns_",
    "sc_campaign", "sc_channel", "sc_content", "sc_medium", "sc_outcome", "guce_", "aspsessionid",
)  # fmt: skip
_ONLY_WITH = {  # names too common to be dropped whatever their value
    "amp": re.compile(r"|1|true|yes", re.IGNORECASE),
    "outputtype": re.compile(r"amp(?:-type)?", re.IGNORECASE),
    "sid": re.compile(r"[0-9a-z]{16,}", re.IGNORECASE),
    "sess": re.compile(r"[0-9a-z]{16,}", re.IGNORECASE),
    "cmp": re.compile(r".*(?:rss|share|mail|social).*", re.IGNORECASE),
}
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*:")
_TWO_SLASHES = re.compile(r"[/\\]{2}")
_BLANK = "".join(map(chr, range(33)))
_NO_BREAKS = dict.fromkeys(map(ord, "\t\n\r"))
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/?#;]*", re.IGNORECASE)
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_AMP_CACHE = re.compile(r"^https?://(?:[^/]+\.cdn\.ampproject\.org/[acirv]|(?:www\.)?google\.[a-z.]+/amp)/(s/)?(.+)$")
_PLAIN = re.compile(r"https?://((?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*)/")  # whose host need not be asked for
_MOST_ROUNDS = 5


def canonical(url: str, base: str | None = None, sort_query: bool = False) -> str | None:
    """The one spelling of `url`, found on the page `base`; None if it is no web address.

    >>> canonical("HTTP://Example.COM:80/%7euser/?utm_source=rss&b=2&a=1#top")
    'http://example.com/~user/?b=2&a=1'
    >>> canonical("../news?id=1", "https://example.com/a/b/c")
    'https://example.com/a/news?id=1'
    """
    parsed = _parsed(url, base)
    if parsed is None:
        return None
    whole: str = parsed.href
    before, mark, query = whole.partition("?")
    if _is_clean(before) and "%" not in query and "#" not in query:  # most: the parser need not be asked for the parts
        if mark:
            query = _clean_query(query, sort_query)
            whole = f"{before}?{query}" if query else before
        return whole if len(whole) <= LONGEST else None
    return _settled(parsed, sort_query)


def absolute(url: str, base: str | None = None) -> str | None:
    """`url` as seen from `base`, for a request: as it stands but for fragment and credentials; None if not for the web.

    >>> absolute("/a?utm_source=x#top", "https://example.com/b")
    'https://example.com/a?utm_source=x'
    """
    parsed = _parsed(url, base)
    if parsed is None:
        return None
    href: str = parsed.href
    if _is_clean(href.partition("?")[0]) and "#" not in href:
        return href if len(href) <= LONGEST else None
    if parsed.protocol not in ("http:", "https:") or not parsed.hostname.strip("."):
        return None
    whole = f"{parsed.protocol}//{parsed.host}{parsed.pathname}{parsed.search}"
    return whole if len(whole) <= LONGEST else None


def _parsed(url: str, base: str | None) -> can_ada.URL | None:
    if len(url) > 2 * LONGEST:
        return None
    try:
        return can_ada.parse(url if base is None else _joined(url, base))
    except (ValueError, TypeError):  # the latter: halves of letters, as JSON may hold
        return None


def _is_clean(url: str) -> bool:
    """Whether a parsed URL, up to its query, has nothing to clean: fragment, credentials, escapes, parameters, a dot
    behind the host, AMP's wrapping. A pattern for this takes four times as long.
    """
    return (
        url.startswith(("http://", "https://"))
        and "%" not in url
        and "#" not in url
        and ";" not in url
        and "@" not in url
        and "./" not in url
        and ".:" not in url
        and "/amp/" not in url
        and "ampproject" not in url
    )


def _joined(url: str, base: str) -> str:
    """`url` as seen from `base`, by the rules for web addresses (WHATWG); what is still odd the parser sets right."""
    if not url.isprintable() or url[:1] == " " or url[-1:] == " ":
        url = url.strip(_BLANK).translate(_NO_BREAKS)
    origin, path, folder = _parts_of(base)
    if url[:1] != "/" and (scheme := _SCHEME.match(url)):
        rest = url[scheme.end() :]
        if not origin.startswith(scheme[0].lower()) or _TWO_SLASHES.match(rest):
            return url
        url = rest  # "https:x" on a page of https is "x"
    first = url[:1]
    if first and first in "/\\":
        return origin.partition("//")[0] + url if url[1:2] in ("/", "\\") else origin + url
    if first == "?":
        return origin + path + url
    return base if not first or first == "#" else origin + folder + url


@lru_cache(maxsize=1024)
def _parts_of(base: str) -> tuple[str, str, str]:
    parsed = can_ada.parse(base)
    path = str(parsed.pathname)
    return str(parsed.origin), path, path[: path.rindex("/") + 1] if "/" in path else "/"


def _settled(parsed: can_ada.URL, sort_query: bool) -> str | None:
    """Clean until nothing changes: a decoded letter or an unwrapped address may show something to clean again."""
    for _ in range(_MOST_ROUNDS):
        if parsed.protocol not in ("http:", "https:") or not parsed.hostname.strip("."):
            return None
        clean, again = _cleaned(parsed, sort_query)
        if not again:
            return clean if len(clean) <= LONGEST else None
        try:
            parsed = can_ada.parse(clean)
        except ValueError:
            return None
    return None


def _cleaned(parsed: can_ada.URL, sort_query: bool) -> tuple[str, bool]:
    """A cleaned URL, and whether it must be looked at again."""
    path, query, host = parsed.pathname, parsed.search[1:], parsed.host
    again = False
    if ";" in path:
        path = _PATH_SESSION.sub("", path)
    if "%" in path or "%" in query:
        spelled = _respell(path), _respell(query)
        again = spelled != (path, query)
        path, query = spelled
    if query:
        query = _clean_query(query, sort_query)
    if host.endswith("."):
        host = host.rstrip(".")
        again = True
    url = f"{parsed.protocol}//{host}{path}{'?' + query if query else ''}"
    if "amp" in url and (wrapped := _AMP_CACHE.match(url)):
        return f"http{'s' if wrapped[1] else ''}://{wrapped[2]}", True
    return url, again


def _respell(part: str) -> str:
    """`%7e` as `~`, `%c3` as `%C3`: letters that need no escape have none, and hexadecimal digits are large."""
    return _ESCAPE.sub(_unescape, part)


def _unescape(match: re.Match[str]) -> str:
    letter = chr(int(match[1], 16))
    return letter if letter in _UNRESERVED else match[0].upper()


def _clean_query(query: str, sort_query: bool) -> str:
    kept = [part for part in query.split("&") if part and not _is_tracking(part)]
    return "&".join(sorted(kept) if sort_query else kept)


def _is_tracking(part: str) -> bool:
    name, _, value = part.partition("=")
    name = name.lower()
    if name not in _TRACKING and not name.startswith(_TRACKING_PREFIXES):
        return False
    only = _ONLY_WITH.get(name)
    return only is None or only.fullmatch(value) is not None


def same_page(url: str) -> str:
    """A key that canonical URLs share which nearly always show the same page: by http or https, with or without www,
    a last slash, or the mark of a version for phones.

    >>> same_page("https://www.example.com/amp/a/b/") == same_page("http://example.com/a/b")
    True
    """
    rest = url.partition("://")[2].removeprefix("www.")
    host, slash, path = rest.partition("/")
    if "amp" in path:
        path = path.removeprefix("amp/").removesuffix("/").removesuffix("/amp")
    return host + slash + path.removesuffix("/")


def site_of(url: str) -> str:
    """The site of a URL or host name: its registered domain, private suffixes kept apart; an address is its own site.

    >>> site_of("https://www.news.example.co.uk/a"), site_of("someone.github.io"), site_of("http://127.0.0.1:80/")
    ('example.co.uk', 'someone.github.io', '127.0.0.1')
    """
    return _site_of_host(host_of(url) if "/" in url else url)


def host_of(url: str) -> str:
    """The host name in a URL, without port; empty if there is none."""
    plain = _PLAIN.match(url)
    if plain is not None and "xn--" not in url:
        return plain[1]
    try:
        return str(can_ada.parse(url).hostname)
    except (ValueError, TypeError):
        return ""


@lru_cache(maxsize=100_000)
def _site_of_host(host: str) -> str:
    host = host.lower().rstrip(".")
    if is_address(host):
        return host.strip("[]")
    return _suffixes().privatesuffix(host) or host


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()  # takes a tenth of a second


@lru_cache(maxsize=100_000)
def is_address(host: str) -> bool:
    """Whether a host name, as `canonical` writes it, is an IP address."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
