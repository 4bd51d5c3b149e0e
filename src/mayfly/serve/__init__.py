"""SHOWS: the reader and the HTTP API. `app.py` puts them together, `guard.py` who may come in, `server.py` runs it."""
