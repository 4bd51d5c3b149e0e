"""Link extraction end to end: what is new between two versions of real pages, checked by hand in their source."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mayfly.fetch.reader import read
from mayfly.urls import site_of

SERIES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "web-samples" / "series"
PAGES = {
    "heise.de__newsticker": "https://www.heise.de/newsticker/",
    "heise.de__index": "https://www.heise.de/",
    "spiegel.de__schlagzeilen": "https://www.spiegel.de/schlagzeilen/",
}
ARTICLE = re.compile(r"-\d{7}\.html$|-a-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def articles(series: str, at: int) -> set[str]:
    page = PAGES[series]
    path = SERIES / series / f"{at}.html.gz"
    if not path.exists():
        pytest.skip("the shared series are not beside this checkout")
    links = read(path.read_bytes(), page, now=float(at)).links
    return {
        urlsplit(link.url).path for link in links if site_of(link.url) == site_of(page) and ARTICLE.search(link.url)
    }


@pytest.mark.parametrize(
    ("series", "before", "after", "new"),
    [
        (
            "heise.de__newsticker", 1643447559, 1643448967,
            {"/news/Meinungsfreiheit-OSZE-Team-fordert-Recht-auf-Verschluesselung-und-Anonymitaet-6342388.html"},
        ),
        (
            "heise.de__newsticker", 1643441694, 1643444097,
            {"/tests/Wanderer-angespielt-VR-Grafikperle-im-Stil-von-Myst-6342059.html"},
        ),
        (
            "heise.de__index", 1643447559, 1643448967,
            {
                "/hintergrund/Auslegungssache-55-Entscheidungsalgorithmen-vs-Datenschutz-6336584.html",
                "/news/Meinungsfreiheit-OSZE-Team-fordert-Recht-auf-Verschluesselung-und-Anonymitaet-6342388.html",
                "/news/TGIQF-das-Newsquiz-zur-Kalenderwoche-4-6340886.html",
            },
        ),
        (
            "heise.de__index", 1643409391, 1643411596,  # the links carry a tracking parameter
            {
                "/news/heise-Update-vom-14-Januar-2022-Lesetipps-zum-Wochenende-6342284.html",
                "/ratgeber/Garagentor-smart-machen-So-ruesten-Sie-den-Antrieb-mit-Aktoren-auf-6333577.html",
                "/ratgeber/Wie-Sie-ein-altes-MacBook-Pro-mit-Linux-nachhaltig-machen-6324206.html",
            },
        ),
        (
            "heise.de__index", 1643405710, 1643407928,  # one article moves, with another tracking parameter
            set(),
        ),
        (
            "spiegel.de__schlagzeilen", 1643412996, 1643416963,
            {
                "/ausland/donald-trump-unterstuetzerin-michele-fiore-eine-kugel-bleibt-immer-im-lauf"
                "-a-6c5df5e7-43f7-4ddf-a1b3-5d727c15af1d",
                "/politik/deutschland/freie-sachsen-das-saechsische-koenigshaus-ist-bei-der-gestaltung-der-zukunft"
                "-einzubinden-a-a62f69fa-11a5-4aa3-a814-8ef36ea51c0b",
                "/wirtschaft/unternehmen/ressourcenpass-alte-baustoffe-fuer-neue-haeuser-aufgehuebscht-aus-ruinen"
                "-a-c3d5212b-2240-42ba-8e7c-251cb53dc059",
            },
        ),
    ],
)  # fmt: skip
def test_new_articles_between_two_versions(series: str, before: int, after: int, new: set[str]) -> None:
    assert articles(series, after) - articles(series, before) == new


@pytest.mark.parametrize(("series", "at", "least"), [(name, 1643405710, 90) for name in PAGES])
def test_each_page_shows_articles_with_anchors(series: str, at: int, least: int) -> None:
    assert len(articles(series, at)) >= least
    links = read((SERIES / series / f"{at}.html.gz").read_bytes(), PAGES[series], now=float(at)).links
    named = [link for link in links if link.anchor]
    assert len(named) > 0.95 * len(links)
