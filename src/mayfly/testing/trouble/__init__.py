"""How to misbehave, one function each: bytes on the wire, answers that lie, documents that trap, hosts that fail.

Each takes the request and the number of the visit (from 1) and gives the answer. The table is `misbehaviour.py`.
"""
