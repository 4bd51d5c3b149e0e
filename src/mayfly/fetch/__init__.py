"""Fetches and reads: one polite, bounded, vetted request; and readers for everything that shows links.

Nothing here schedules. Whatever comes from the web is hostile, so every failure is a value with a named reason
(`reasons.py`) and every size has a limit. Read `http.py` first, then `document.py`.
"""
