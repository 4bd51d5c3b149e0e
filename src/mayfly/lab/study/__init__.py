"""STUDY. Section 3 of the paper on a visit log: how interest fades, where new pages are linked, who has any.

Columns in, answers out; nothing here opens a file. Read `visits.py` (the columns), then `patterns.py` (which pages are
ephemeral), `cover.py` (the smallest set of sources) and `hosts.py`.
"""
