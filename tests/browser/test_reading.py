"""Reading and deciding with the keyboard alone, and all of it without JavaScript."""

import re

import pytest
from playwright.sync_api import Page, expect

OTHERS = re.compile(r"https://[^/]+\.example/")
STORY = "<!doctype html><title>The story</title><h1>The story</h1>"


@pytest.fixture
def outside(window, papers):
    """A window whose other sites are made up: those of the papers are nowhere."""

    def opened(path: str, **how) -> Page:
        page = window(papers, **how).open(path)
        page.context.route(OTHERS, lambda route: route.fulfill(body=STORY, content_type="text/html"))
        return page

    return opened


def focus_is_seen(page: Page) -> bool:
    style, width = page.evaluate(
        "() => { const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);"
        " return [outlineStyle, parseFloat(outlineWidth)]; }"
    )
    return style != "none" and width >= 2


def titles(page: Page) -> list[str]:
    page.wait_for_load_state()  # else the list may have come in part
    return page.locator(".pages h2").all_inner_texts()


def test_a_page_is_found_and_opened_with_the_keyboard_alone(outside, tab_to) -> None:
    page = outside("/")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    assert skip.bounding_box()["x"] >= 0 and focus_is_seen(page)
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Words to search for")).to_be_focused()
    assert focus_is_seen(page)
    page.keyboard.type("old bridge")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Found for “old bridge”")
    first = titles(page)[0]
    assert "old bridge" in first
    tab_to(page, first)
    assert focus_is_seen(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The story")).to_be_visible()
    assert ".example/story-" in page.url


def test_a_source_is_pinned_blocked_and_restored_with_the_keyboard_alone(outside, tab_to) -> None:
    page = outside("/ops/sources")
    tab_to(page, "www.harbour-post.example/sport/")
    assert focus_is_seen(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("https://www.harbour-post.example/sport/")
    tab_to(page, "", "#every")
    page.keyboard.press("ArrowDown")
    tab_to(page, "Pin")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("pinned: at least every 30m")
    tab_to(page, "", "#reason")
    page.keyboard.type("too much of it")
    tab_to(page, "Block")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("It is blocked: too much of it")
    expect(page.locator(".state").first).to_have_text("blocked")
    tab_to(page, "Restore")
    page.keyboard.press("Enter")
    expect(page.locator(".state").first).to_have_text("active")
    tab_to(page, "Unpin")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Unpin")).to_have_count(0)


def test_search_filters_and_paging_need_no_script(outside, sizes) -> None:
    page = outside("/", scripts=False, size=sizes.phone)
    first = titles(page)
    assert len(first) == 30
    page.get_by_role("link", name="More").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("page 2")
    # A slot or two of each page show something at random, so a few may come twice.
    assert len(set(titles(page)) - set(first)) >= 24
    page.get_by_label("Words to search for").fill("bridge")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Found for “bridge”")
    found = titles(page)
    assert found and all("bridge" in title for title in found)
    page.get_by_role("link", name="Only pages of evening.example").first.click()
    expect(page.get_by_role("list", name="Filters")).to_contain_text("evening.example")
    page.wait_for_load_state()
    assert all("evening.example" in about for about in page.locator(".about").all_inner_texts())
    assert set(titles(page)) < set(found)
    page.get_by_role("link", name="Remove the filter").click()
    expect(page).to_have_url(re.compile(r"/\?q=bridge$"))
    assert titles(page) == found
    page.locator(".pages h2 a").first.click()
    expect(page.get_by_role("heading", name="The story")).to_be_visible()


def test_the_dashboard_shows_its_numbers_without_script(outside) -> None:
    page = outside("/ops", scripts=False)
    tiles = page.locator(".tiles").inner_text()
    assert "0.41" in tiles and "75 pages kept" in tiles
    assert page.get_by_role("link", name="the numbers").count() == page.locator("[data-chart]").count()
    page.get_by_role("link", name="Sources", exact=True).click()
    page.get_by_role("link", name="P clicks").click()
    expect(page.get_by_role("columnheader", name="P clicks")).to_have_attribute("aria-sort", "descending")
    page.wait_for_load_state()
    profits = [float(text) for text in page.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert profits == sorted(profits, reverse=True) and len(profits) == 5
    page.get_by_label("Words in the address").fill("quiet")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("caption")).to_contain_text("1 source")
    page.get_by_role("link", name="What if").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("What if")
    expect(page.get_by_role("slider")).to_have_count(0)  # it could do nothing
    page.get_by_label("Fetches per second").fill("0.0004")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("region", name="Sources that drop out")).to_contain_text("quiet.example/")
