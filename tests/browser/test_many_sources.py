"""The dashboard of a hundred thousand sources: their order, search, parts, keys; and what another budget would do."""

import re

import pytest
from playwright.sync_api import Page, expect

# Heads of the table, which column is under them, and what the store calls it.
COLUMNS = {"λ new/day": (1, "link_rate"), "P clicks": (2, "page_profit"), "Value/fetch": (7, "worth")}


@pytest.fixture
def table(window, much) -> Page:
    page = window(much).open("/ops/sources")
    at_work(page)
    return page


def at_work(page: Page) -> None:
    """Its script has begun, which it does after the page was loaded: before, it sees nobody go back."""
    expect(page.locator("#found [data-htmx-powered]").first).to_be_attached()


def rows(page: Page, column: int = 0) -> list[str]:
    return page.locator(f"#found tbody tr > :nth-child({column + 1})").all_inner_texts()


def numbers(page: Page, column: int) -> list[float]:
    return [float(text.replace(",", "")) for text in rows(page, column)]


def sort_by(page: Page, name: str, way: str) -> None:
    head = page.get_by_role("columnheader", name=name)
    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", way)


def best(ask, much, order: str, only: str = "true") -> list[str]:
    """What has to stand in the first part."""
    query = f"SELECT url FROM sources JOIN estimates ON source = id WHERE {only} ORDER BY {order} LIMIT 50"
    return [url.removeprefix("https://") for (url,) in ask(much, query)]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_click_on_a_head_sorts_all_of_them(table, much, ask, name) -> None:
    column, key = COLUMNS[name]
    ways = [("descending", "DESC"), ("ascending", "ASC")]
    if name == "Value/fetch":  # it begins with the dearest
        ways.reverse()
    for way, order in ways:
        sort_by(table, name, way)
        shown = numbers(table, column)
        assert shown == sorted(shown, reverse=order == "DESC")
        assert rows(table) == best(ask, much, f"{key} {order}")


def test_addresses_and_intervals_are_in_order_too(table, much, ask) -> None:
    sort_by(table, "Source", "ascending")
    assert rows(table) == sorted(rows(table)) and len(rows(table)) == 50
    sort_by(table, "Every", "ascending")
    least = ask(much, "SELECT url FROM sources JOIN estimates ON source = id ORDER BY interval, id LIMIT 50")
    assert {row.split("/")[0] for row in rows(table)} == {url.split("/")[2] for (url,) in least}


def test_words_and_states_leave_out_the_others(table, much, ask) -> None:
    table.get_by_label("Words in the address").press_sequentially("host77.example")  # no button: it searches by itself
    expect(table.locator("caption")).to_contain_text("of 20 sources")
    assert all("host77.example" in row for row in rows(table)) and len(rows(table)) == 20
    table.get_by_label("Words in the address").fill("")
    expect(table.locator("caption")).to_contain_text("of 100,000 sources")
    table.get_by_label("State").select_option("retired")
    expect(table.locator("caption")).to_contain_text("of 1,000 sources")
    assert set(rows(table, 9)) == {"retired"}
    sort_by(table, "P clicks", "descending")  # of the retired only
    expect(table.locator("caption")).to_contain_text("of 1,000 sources")
    assert rows(table) == best(ask, much, "page_profit DESC", "state = 'retired'")
    table.get_by_label("Words in the address").fill("no source is called so")
    expect(table.locator("#found")).to_contain_text("No source is like that")


def test_the_next_part_goes_on_where_the_first_ended_and_back_is_back(table) -> None:
    sort_by(table, "P clicks", "descending")
    first, least = rows(table), numbers(table, 2)[-1]
    table.get_by_role("link", name="Next", exact=True).click()
    expect(table.locator("caption")).to_contain_text("51–100 of 100,000")
    assert numbers(table, 2)[0] <= least and not set(rows(table)) & set(first)
    assert "page=2" in table.url
    table.get_by_role("link", name="Last", exact=True).click()
    expect(table.locator("caption")).to_contain_text("99,951–100,000")
    table.go_back()
    expect(table.locator("caption")).to_contain_text("51–100 of 100,000")
    at_work(table)  # it was loaded again
    table.go_back()
    expect(table.locator("caption")).to_contain_text("1–50 of 100,000")
    assert rows(table) == first


def test_the_keyboard_sorts_and_keeps_its_place(table, tab_to) -> None:
    tab_to(table, "P clicks")
    table.keyboard.press("Enter")
    head = table.get_by_role("columnheader", name="P clicks")
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(head.get_by_role("link")).to_be_focused()
    best = numbers(table, 2)[0]
    table.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(head.get_by_role("link")).to_be_focused()
    assert numbers(table, 2)[0] < best
    first = rows(table)[0]
    tab_to(table, first)
    table.keyboard.press("Enter")
    expect(table.get_by_role("heading", level=1)).to_have_text(f"https://{first}")


# What if


def then(page: Page, name: str) -> float:
    """What the table says of the other budget."""
    text = page.get_by_role("row", name=name).locator("td").nth(1).inner_text()
    return float(re.sub(r"[^\d.e-]", "", text))


def moved(page: Page, least: float, most: float) -> float:
    """The budget in the field, once it lies there and the answer to it has come."""
    field = page.get_by_label("Fetches per second")
    expect(page).to_have_url(re.compile(r"budget="))
    budget = float(field.input_value())
    assert least <= budget <= most
    expect(page).to_have_url(re.compile(rf"budget={re.escape(field.input_value())}$"))
    return budget


def test_the_budget_is_moved_by_keys_and_by_hand(window, scarce) -> None:
    page = window(scarce).open("/ops/what-if")
    slider = page.get_by_role("slider")
    now = {name: then(page, name) for name in ("Quality", "Price", "Sources crawled")}
    assert slider.evaluate("(one) => one.value") == "0"

    slider.focus()
    for _ in range(2):
        page.keyboard.press("PageUp")
    budget = moved(page, 0.041, 0.4)
    assert slider.get_attribute("aria-valuetext") == f"{budget:g} fetches per second"
    assert then(page, "Quality") > now["Quality"] and then(page, "Price") < now["Price"]
    coming = page.get_by_role("region", name="Sources that come in")
    assert int(coming.get_by_role("heading").inner_text().split()[0]) > 50
    assert coming.get_by_role("listitem").count() == 15
    assert page.get_by_role("region", name="Sources that drop out").get_by_role("listitem").count() == 0
    told = page.request.get(f"{scarce.url}/api/plan?budget={budget}").json()["exact"]
    assert then(page, "Quality") == pytest.approx(told["quality"], rel=0.05)
    assert then(page, "Sources crawled") == told["sources_in"]

    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.7, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.25, middle, steps=2)
    page.mouse.up()
    moved(page, 0.004, 0.02)
    leaving = page.get_by_role("region", name="Sources that drop out")
    expect(leaving.get_by_role("listitem")).to_have_count(15)
    assert then(page, "Quality") < now["Quality"] and then(page, "Price") > now["Price"]
    assert then(page, "Sources crawled") < now["Sources crawled"]
