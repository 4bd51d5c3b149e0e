"""The world of the demo, and how its time and its budget are set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mayfly.core.model import DAY, HOUR, MINUTE, PerSecond, Seconds
from mayfly.lab.excerpt import from_then_on
from mayfly.lab.shapes import Shape, read_shape
from mayfly.lab.trace import Trace
from mayfly.testing.world import Times, served_world

SHAPE_FILE = Path(__file__).with_name("world.toml")
FACTOR = DAY / MINUTE  # a day of the world takes a minute of ours
HEAD_START = 1.0  # days that are over when the web opens, so that its sources are full

BUDGET: PerSecond = 22.0
HOST_DELAY: Seconds = 0.1
# What takes an hour in a world that keeps our time takes as much less in this one.
LOG_PUSH, REPLAN, BIN = HOUR / FACTOR, HOUR / 2 / FACTOR, HOUR / 3 / FACTOR
OFTEN = HOUR / FACTOR  # whoever would miss nothing looks at every source once an hour of the world
# Hosts that do things wrong, by the names they have in `mayfly.testing.misbehaviour`.
WRONG_HOSTS = ("robots-500", "robots-forbids", "vanishing")  # as a whole
WRONG_SOURCES = ("silence", "dripping-body", "error-500", "forbidden", "busy-503", "redirect-loop", "cut-feed")


def shape_of(days: float) -> Shape:
    """The newspapers, for so many days of the world."""
    return replace(read_shape(SHAPE_FILE), days=days)


def days_of(seconds: Seconds) -> float:
    """Days of the world that pass in so many seconds of ours, with those that are over before."""
    return HEAD_START + seconds * FACTOR / DAY


def world_of(seed: int, seconds: Seconds) -> Trace:
    """What there is to be seen in a demo of this seed, without a web that serves it."""
    times = Times(begin=0.0, factor=FACTOR, head_start=HEAD_START * DAY)
    return scene_of(served_world(shape_of(days_of(seconds)), seed, times), 0.0, seconds)


def scene_of(trace: Trace, start: Seconds, seconds: Seconds) -> Trace:
    """The part of it in which the crawl ran. What it saw at its first look it knows to be old."""
    return from_then_on(trace, start, start + seconds, old=False)


def everything(trace: Trace) -> PerSecond:
    """Fetches it takes to miss next to nothing: every page, and every source once an hour of the world."""
    return trace.page_rate + len(trace.source_ids) / OFTEN
