"""The dashboard: what a crawl does, what it is worth, and why. Pages are made here; figures come as small JSON.

Read `watch.py` first: what is kept in memory between two looks. Each other file is a page or a figure.
"""
