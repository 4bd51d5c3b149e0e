"""Pages: their links in order, and what they say of themselves.

This runs at every crawl, so the loop over links is written for speed: addresses are remembered, as a page seen again
shows mostly the same; most new ones are seen to be canonical by a pattern; and text around a link is looked for only
near it. All text taken is charged to an allowance in proportion to the page, so that links within links or fifty
thousand links in one paragraph cost no more than a page of that size may.
"""

from __future__ import annotations

import re
from functools import lru_cache

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import DOMNode, HTMLTree
from w3lib.encoding import to_unicode

from mayfly.core.model import Seconds
from mayfly.fetch.charset import decoded
from mayfly.fetch.document import READ_LIMITS, Document, Links, Looks, ReadLimits
from mayfly.fetch.head import (
    Head,
    canonical_of,
    dates_of,
    feeds_of,
    language_of,
    read_head,
    refresh_of,
    robots_of,
    title_of,
)
from mayfly.fetch.nesting import safe_length
from mayfly.urls import canonical

_LITTLE_TEXT = 1_500  # characters
_MOST_FOR_TEXT = 1_500_000  # characters of a page
_TEXT_ALLOWANCE = 8  # times the length of the page
_SMALL_BLOCK = 1_500  # characters; a larger one is not about the link
_SOME = 20  # characters more than the anchor make a context
_HIGHEST = 4  # elements above a link that are looked at
_BLOCKS_END = {"li", "p", "article", "td", "tr", "dd", "dt", "blockquote", "figure", "section", "header", "footer"}
_TOO_WIDE = {"ul", "ol", "nav", "main", "body", "table", "tbody", "html", "form", "dl"}

_PLAIN_LINES = re.compile(
    r"^((?:https?://(?:[a-z0-9][a-z0-9\-]*\.)+[a-z]{2,})?/(?:[A-Za-z0-9_~+,=:@!&\-][A-Za-z0-9_~+,=:@!&./\-]{0,250})?)$|^.*$",
    re.MULTILINE,
)  # addresses that are canonical as they stand, or behind the page's origin, but for the odd ones; and other lines
_PLAIN_CHARS = 300
_SCHEME_CHARS = len("https://")
_NOT_FOUND = (
    "404 ", "not found", "page doesn't exist", "page does not exist", "page no longer exists", "no longer available",
    "nicht gefunden", "existiert nicht", "introuvable", "n'existe pas", "no encontrada", "no encontrado", "no existe",
    "non trovata", "não encontrada", "niet gevonden", "hittades inte", "ikke fundet", "nie znaleziono", "не найдена",
    "見つかりません", "找不到",
)  # fmt: skip


def read_html(
    body: bytes,
    url: str,
    *,
    content_type: str = "",
    now: Seconds,
    limits: ReadLimits = READ_LIMITS,
    with_text: bool = False,
    outward: bool = False,
) -> Document:
    """What an HTML body found at `url` (canonical) shows; the main text only if asked for, as it costs most."""
    text, charset, truncated = _safe_text(body[: limits.body_bytes], content_type)
    tree = HTMLTree.parse(text)
    head = read_head(tree, url)
    index, follow = robots_of(head)
    if outward:
        links, all_read = _outward(tree, head.base, url, limits)
    else:
        links, all_read = _links(tree, head.base, follow, len(text), limits)
    return Document(
        kind="html",
        url=url,
        title=title_of(tree, head),
        language=language_of(tree, head),
        charset=charset,
        canonical=canonical_of(head, url),
        refresh=refresh_of(head, url),
        links=links,
        feeds=feeds_of(head),
        dates=dates_of(head, url, now),
        text=_plain_text(tree, text, main_content=True)[: limits.text_chars] if with_text else "",
        looks=_looks(tree, text, head),
        index=index,
        truncated=truncated or not all_read or len(body) > limits.body_bytes,
    )


def _safe_text(body: bytes, content_type: str) -> tuple[str, str, bool]:
    """The text of a page, its charset, and whether it had to be cut for the parser's sake."""
    text, charset = decoded(body, content_type)
    looked_at = text.encode() if charset.startswith(("utf-16", "utf-32")) else body
    safe = safe_length(looked_at)
    if safe == len(looked_at):
        return text, charset, False
    return to_unicode(looked_at[:safe], "utf-8" if looked_at is not body else charset), charset, True


def _links(tree: HTMLTree, base: str, follow: bool, size: int, limits: ReadLimits) -> tuple[Links, bool]:
    """The links of a page, each address once, in the order of the page; and whether these are all."""
    nodes, urls = _addressed(tree, base)
    found: dict[str, str] = {}  # anchors by address
    contexts: dict[int, str] = {}
    rels: dict[int, str] = {}
    blocks: dict[DOMNode, str] = {}
    most, most_anchor, most_context = limits.links, limits.anchor_chars, limits.context_chars
    left = _TEXT_ALLOWANCE * size + 10_000
    all_read = True
    for node, url in zip(nodes, urls, strict=True):
        if url is None or (known := found.get(url)):
            continue
        text = node.text
        left -= len(text)
        place = len(found)
        if left < 0 or place == most:
            all_read = False
            break
        is_line = text.isprintable() and "  " not in text and text.strip() == text
        found[url] = ((text if is_line else " ".join(text.split())) or _spoken(node))[:most_anchor]
        if known is not None:
            continue  # seen above, without an anchor
        if rel := node.getattr("rel"):
            rels[place] = rel.lower()
        if most_context and left > size:
            alone = node.prev is None and node.next is None
            if not alone or node.parent.tag not in _BLOCKS_END:
                context, cost = _context(node.parent, text, most_context, blocks)
                left -= cost
                if context:
                    contexts[place] = context
    nofollow = [place for place, rel in rels.items() if "nofollow" in rel] if follow else range(len(found))
    return Links(tuple(found), tuple(found.values()), {}, contexts, rels, frozenset(nofollow)), all_read


def _outward(tree: HTMLTree, base: str, url: str, limits: ReadLimits) -> tuple[Links, bool]:
    """Where links to other hosts lead: all that is asked of a page that is no source, for a third of the work."""
    home = url[: url.find("/", _SCHEME_CHARS) + 1]
    found = dict.fromkeys(one for one in _addressed(tree, base)[1] if one is not None and not one.startswith(home))
    urls = tuple(found)[: limits.links]
    return Links(urls, ("",) * len(urls)), len(urls) == len(found)


def _addressed(tree: HTMLTree, base: str) -> tuple[list[DOMNode], list[str | None]]:
    """The elements that link, and the canonical address each leads to; None where it leads to no other page."""
    nodes = list(tree.document.get_elements_by_tag_name("a"))  # a selector takes three times as long
    hrefs = [node.getattr("href") for node in nodes]
    if None in hrefs:
        nodes = [node for node, href in zip(nodes, hrefs, strict=True) if href is not None]
        hrefs = [href for href in hrefs if href is not None]
    return nodes, _addresses(hrefs, base)


def _addresses(hrefs: list[str], base: str) -> list[str | None]:
    """The canonical addresses of what stands in links. One search for all finds those that need no closer look."""
    lines = "\n".join(hrefs)
    origin = _plain_origin(base[: base.find("/", _SCHEME_CHARS) + 1])
    plain = _PLAIN_LINES.findall(lines)
    if len(plain) != len(hrefs) or origin is None:  # a line feed in one of them, or no link at all
        return [_address(href, base) for href in hrefs]
    if _may_be_odd(lines):
        plain = ["" if _may_be_odd(url) else url for url in plain]
    return [
        (origin + url if url[0] == "/" else url) if url else _address(href, base)
        for url, href in zip(plain, hrefs, strict=True)
    ]


def _address(href: str, base: str) -> str | None:
    """The canonical address of what stands in a link; None for what leads to no other page."""
    if href[:1] == "#":
        return None
    return _remembered(href, base) if len(href) <= _PLAIN_CHARS else canonical(href, base)


@lru_cache(maxsize=8_192)
def _remembered(href: str, base: str) -> str | None:
    href = href.partition("#")[0].strip()
    return canonical(href, base) if href else None


@lru_cache(maxsize=1_024)
def _plain_origin(root: str) -> str | None:
    """What stands before a plain path in its canonical address; None where paths may hold other addresses."""
    root = canonical(root) or ""
    return root[:-1] if root and "ampproject" not in root else None


def _may_be_odd(url: str) -> bool:
    """Whether an address may hold another one (AMP caches), or has more than one spelling."""
    return "/amp/" in url or "ampproject" in url or "xn--" in url or "/." in url


def _spoken(node: DOMNode) -> str:
    """What a link without text is called: by its label, its title, or the image it shows."""
    name = node.getattr("aria-label") or node.getattr("title")
    if not name:
        image = node.query_selector("img[alt]")
        name = image.getattr("alt") if image else ""
    return " ".join(name.split()) if name else ""


def _context(block: DOMNode, text: str, most: int, blocks: dict[DOMNode, str]) -> tuple[str, int]:
    """Text around a link in the nearest small block, from `block` up, without its own; and how much was looked at.

    The texts of blocks are kept: to gather one takes time even if it is empty, and thousands of links may share it.
    """
    cost = 0
    enough = len(text) + _SOME
    for _ in range(_HIGHEST):
        if block is None or (tag := block.tag) in _TOO_WIDE:
            break
        around = blocks.get(block)
        if around is None:
            around = blocks[block] = block.text[: _SMALL_BLOCK + 1]
        size = len(around)
        cost += size
        if size > _SMALL_BLOCK:
            break
        if size > enough:
            before, _, after = around.partition(text) if text else ("", "", around)
            rest = " ".join(f"{before[-most:]} {after[: 2 * most]}".split())
            if len(rest) > _SOME:
                return rest[:most], cost
        if tag in _BLOCKS_END:
            break
        block = block.parent
    return "", cost


def _looks(tree: HTMLTree, text: str, head: Head) -> Looks | None:
    """What a page is in truth. Its text is looked at only if something about it is odd."""
    said = f"{(tree.title or '')[:300]} {head.heading} ".lower().replace("’", "'")
    odd = any(phrase in said for phrase in _NOT_FOUND)
    if not odd and not head.has_password:
        return None
    if len(_plain_text(tree, text, main_content=False)) > _LITTLE_TEXT:
        return None
    return "soft-404" if odd else "log-in"


def _plain_text(tree: HTMLTree, text: str, main_content: bool) -> str:
    """The text people see; of a huge page that of its beginning, as the time it takes grows with the square."""
    if len(text) > _MOST_FOR_TEXT:
        tree = HTMLTree.parse(text[:_MOST_FOR_TEXT])
    return str(extract_plain_text(tree, main_content=main_content, links=False))
