"""The whole loop on one machine: a web that lives on loopback, a crawl of it, readers who click, and a verdict.

`scene.py` says what world it is, `stage.py` runs the commands on it, `readers.py` are its people, `verdict.py` judges
what the crawl kept and what other policies would have, `story.py` tells it. Nothing here is used by a real crawl.
"""

SECONDS = 90.0  # it is shown for
