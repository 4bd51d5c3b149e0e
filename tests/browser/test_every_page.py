"""Every page, wide and on a phone, light and dark: it fits, everyone can use it, and nothing is asked of strangers."""

import pytest

PAPERS = (
    "/", "/?q=bridge&host=evening.example&source=2", "/?q=nothing-has-this-word", "/go/999999", "/docs",
    "/ops", "/ops/sources", "/ops/sources/0", "/ops/hosts", "/ops/health", "/ops/what-if?budget=0.001",
)  # fmt: skip
NOTHING = ("/", "/ops", "/ops/sources", "/ops/sources/0", "/ops/hosts", "/ops/health", "/ops/what-if")
# What a page without data says: what will appear there, and when.
EMPTY = {
    "/": ("mayfly find", "appears here as soon as it is fetched"),
    "/ops": ("mayfly find", "within two seconds of its first request"),
    "/ops/sources": ("mayfly find", "as soon as they are found"),
    "/ops/hosts": ("mayfly find", "from the first crawl on"),
    "/ops/health": ("mayfly find", "from the first crawl on"),
    "/ops/what-if": ("mayfly crawl", "with the first plan"),
}
SERIOUS = """async (axe) => {
  if (!window.axe) (0, eval)(axe);
  const found = await window.axe.run(document, { resultTypes: ["violations"] });
  return found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" ")}`);
}"""
OUTSIDE = """() => [...document.querySelectorAll("nav a")].map((one) => one.getBoundingClientRect())
  .filter((box) => box.left < 0 || box.right > innerWidth || box.height < 24).length"""


@pytest.fixture
def looks(window, sizes):
    """A page in both sizes and both colours: what a size does is the same in any colour."""

    def each(server, path):
        for size, dark in ((sizes.wide, False), (sizes.phone, True)):
            opened = window(server, size, dark)
            yield opened, opened.open(path)

    return each


def assert_sound(opened, page, axe) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], "it is too wide"
    assert page.evaluate(OUTSIDE) == 0, "a part of the site is out of reach"
    assert page.evaluate(SERIOUS, axe) == []
    assert opened.strangers == []


@pytest.mark.parametrize("path", PAPERS)
def test_it_fits_and_is_for_everyone(looks, axe, papers, path) -> None:
    for opened, page in looks(papers, path):
        assert_sound(opened, page, axe)
        assert "/go/" in path or opened.complaints == []  # where nothing is Chromium says so, too


@pytest.mark.parametrize("path", NOTHING)
def test_so_it_is_with_nothing_to_show(window, axe, nothing, sizes, path) -> None:
    opened = window(nothing, sizes.phone)
    assert_sound(opened, opened.open(path), axe)
    assert path == "/ops/sources/0" or opened.complaints == []


def test_so_it_is_with_very_much(window, axe, much, sizes) -> None:
    opened = window(much, sizes.wide, dark=True)
    assert_sound(opened, opened.open("/ops/sources?state=retired&page=2"), axe)
    assert opened.complaints == []


def test_a_stranger_meets_a_form(looks, axe, guarded) -> None:
    for opened, page in looks(guarded, "/ops"):
        assert page.url.endswith("/login?next=/ops") and opened.complaints == []
        assert_sound(opened, page, axe)


def test_who_has_the_token_comes_in(window, guarded, axe, sizes) -> None:
    opened = window(guarded, sizes.phone)
    page = opened.open("/ops")
    page.keyboard.type("not the token")  # the field has the focus already
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    page.wait_for_load_state()
    assert_sound(opened, page, axe)
    page.get_by_label("Token").fill(guarded.token)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="The crawl").wait_for()
    page.goto(guarded.url + "/")
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("heading", name="Log in").wait_for()


@pytest.mark.parametrize("path", EMPTY)
def test_who_sees_nothing_is_told_what_will_be_there_and_when(window, nothing, path) -> None:
    shown = " ".join(window(nothing, scripts=False).open(path).locator("main").inner_text().split())
    for said in EMPTY[path]:
        assert said in shown
