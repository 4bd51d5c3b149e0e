"""TRY. Policies on recorded or made-up worlds, in virtual time.

May import core; plotting and Parquet lazily. Read `trace.py` (a world on disk), then `replay.py` (a run on it).
"""
