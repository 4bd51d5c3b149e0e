"""What the newspapers write: headlines, addresses and paragraphs, the same for the same seed and page."""

from __future__ import annotations

import random
from functools import lru_cache

_WHO = (
    "Councillors", "Mayors", "Judges", "Professors", "Harbour masters", "Engine drivers", "Nurses", "Farmers",
    "Teachers", "Police", "Curators", "Water works", "Footballers", "Astronomers", "Ministers", "Fishermen",
    "Bankers", "Actors", "Doctors", "Architects", "Students", "Firefighters", "Cyclists", "Pilots",
)  # fmt: skip
_DOES = (
    "reject", "approve", "delay", "open", "close", "defend", "rebuild", "study", "sell", "buy", "praise", "question",
    "win", "lose", "measure", "find", "promise", "cancel", "extend", "review",
)  # fmt: skip
_WHAT = (
    "new tram line", "old bridge", "budget plan", "night trains", "flood wall", "school meals", "wind farm",
    "rare orchard", "parking rules", "summer festival", "harvest report", "stolen painting", "coastal path",
    "tax reform", "comet survey", "hospital wing", "market hall", "power contract", "youth team", "census results",
    "library hours", "ferry timetable", "peat bog", "radio archive",
)  # fmt: skip
_WHERE = (
    "in Norwick", "after long debate", "for the third time", "in the lower town", "before winter", "in Eastmoor",
    "by a narrow vote", "at last", "on the northern shore", "despite protests", "in Saltholm", "within a year",
    "as costs rise", "in Wendbury", "after the storm", "with regret",
)  # fmt: skip
_CLAUSES = (
    "the plan had been discussed since spring", "nobody at the meeting spoke against it",
    "the figures will be published next week", "residents had asked for more time",
    "the work is to begin in the autumn", "two of the three offers came in late",
    "it was the warmest month since records began", "the committee will meet again on Thursday",
    "the money comes from a fund set up ten years ago", "a spokeswoman called the result encouraging",
    "critics doubt that the numbers add up", "the old building had stood empty for years",
    "several hundred people signed a letter", "the weather kept most visitors away",
    "experts from three countries took part", "the contract runs until the end of the decade",
)  # fmt: skip
_JOINTS = ("and", "while", "because", "although", "but", "so")


@lru_cache(maxsize=100_000)
def headline(seed: int, page: int) -> str:
    """The title of a page.

    >>> headline(1, 7) == headline(1, 7) != headline(1, 8)
    True
    """
    dice = random.Random(f"title {seed} {page}")
    return " ".join(dice.choice(words) for words in (_WHO, _DOES, _WHAT, _WHERE))


def slug(seed: int, page: int) -> str:
    """The title as part of an address; the number makes it unique."""
    return f"{headline(seed, page).lower().replace(' ', '-')}-{page}"


def paragraphs(seed: int, page: int) -> list[str]:
    """The text of a page, about 300 words."""
    dice = random.Random(f"text {seed} {page}")
    return [" ".join(_sentence(dice) for _ in range(dice.randint(2, 4))) for _ in range(dice.randint(5, 8))]


@lru_cache(maxsize=100_000)
def teaser(seed: int, page: int) -> str:
    """A sentence to go with the title."""
    return _sentence(random.Random(f"teaser {seed} {page}"))


def _sentence(dice: random.Random) -> str:
    first, second = dice.sample(_CLAUSES, 2)
    return f"{first[0].upper()}{first[1:]}, {dice.choice(_JOINTS)} {second}."
