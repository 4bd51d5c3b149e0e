"""SHOWS: the HTTP API. `app.py` puts it together, `guard.py` says who may come in, `server.py` runs it."""
