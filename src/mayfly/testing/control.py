"""`control.test`: what a test asks the web itself when it runs in another process. Its visits are not written down.

`/clock` gives now and the trace's start and end, `/journal?since=N` the visits from number N on, and
`/clicks?since=T&until=T` the readers' clicks, never those of the future. Rows are JSON, one a line.
"""

from __future__ import annotations

import json
from urllib.parse import parse_qs

import numpy as np

from mayfly.testing.journal import Journal
from mayfly.testing.messages import Reply, Request, Site
from mayfly.testing.web import Web

HOST = "control.test"
_ROWS = "application/x-ndjson"


def control_site(web: Web, journal: Journal) -> Site:
    """The site for this web and the journal of its server."""

    def answer(request: Request) -> Reply:
        asked = {name: values[-1] for name, values in parse_qs(request.query).items()}
        try:
            since, until = float(asked.get("since", "-inf")), float(asked.get("until", "inf"))
        except ValueError:
            return Reply(b"since and until must be numbers\n", 400, "text/plain")
        match request.path:
            case "/clock":
                rows = [json.dumps({"now": web.clock(), "start": web.trace.start, "end": web.trace.end})]
            case "/clicks":
                rows = list(web.clicks(min(until, web.clock()), since))
            case "/journal":
                first = int(since) if np.isfinite(since) else 0
                rows = [json.dumps(row) for row in journal.since(max(0, first))]
            case _:
                return Reply(b"/clock, /clicks and /journal are here\n", 404, "text/plain")
        return Reply("".join(f"{row}\n" for row in rows).encode(), type=_ROWS)

    return answer
