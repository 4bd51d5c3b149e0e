"""The live crawler: the scheduler in real time, on the real web. Read `crawler.py` first."""
