"""Mayfly: a crawler for content that is worth something today.

Read `ARCHITECTURE.md` first, then `core/events.py`, `core/scheduler.py`, `core/policies/`, `lab/replay.py`.
"""

__version__ = "0.1.0"
