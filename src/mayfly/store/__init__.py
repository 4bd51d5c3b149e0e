"""What is kept: sources, pages, links, clicks, and what happened to them. `store.py` is the interface."""
