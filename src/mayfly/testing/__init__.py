"""A web that lives on loopback, for tests, demo and benchmarks: publishers, readers who click, every misbehaviour.

Only time and the world are made up here; the HTTP is real. Read `web.py` first, then `server.py` and the table in
`misbehaviour.py`. `python -m mayfly.testing` runs it all.
"""
