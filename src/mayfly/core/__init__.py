"""DECIDE. What to fetch next, and nothing else.

Pure: no IO, no clock, no logging, no global randomness. Whoever drives it says what time it is and what
happened. May import the standard library, numpy and scipy. Read `events.py`, then `scheduler.py`.
"""
